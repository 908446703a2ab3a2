"""Read the front matter of a note: YAML between two lines of dashes.

The reader supports the YAML in notes: nested maps and lists in block and flow style, plain, quoted
and block scalars, comments. An unreadable line is left out and reported, without affecting the lines
around it. An anchor, an alias, a merge key or a tag is reported and read as text. An invalid YAML value,
such as `*Italic* otter` or `@ann`, is text.

Keys are converted to lower case. Null values are left out, in lists too. [[Wikilinks]] need no
quotes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..text.dates import DATE_KEYS
from .yaml_values import (
    BLOCK_SCALAR,
    DEEPEST,
    MERGE,
    NODE_PROPERTY,
    NOTE_LINK,
    QUOTED,
    QUOTED_PART,
    TOO_DEEP,
    Flow,
    TooLargeError,
    UnreadableError,
    Value,
    block_text,
    column_of,
    folded,
    scalar,
    unquoted,
)

# Characters of the keys and their values as written; every search result carries them
MAX_METADATA = 65_536
KNOWN_KEYS = frozenset((*DATE_KEYS, "title", "tags", "tag", "aliases", "alias", "description"))
NAMED = 3  # problems of a file that are described; the others are counted
LONGEST_QUOTE = 60  # characters of a line that a problem quotes
NOT_SUPPORTED = "is read as text: anchors, aliases, merge keys and tags of YAML are not supported"

# No plain scalar begins with one of these (YAML 1.2.2, 7.3.3).
INDICATORS = ",[]{}#&*!|>%@`"
FIRST_LINE = re.compile(r"---[^\S\n]*\n")
LAST_LINE = re.compile(r"\n(?:---|\.\.\.)[^\S\n]*(?=\n|\Z)")
KEY = re.compile(r"(.+?):(?:\s(.*))?$")
QUOTED_KEY = re.compile(rf"({QUOTED})\s*+:(?:\s(.*))?$")
SIGN = re.compile(r"[-?:](?:\s|$)")
KEY_WITHOUT_SPACE = re.compile(r"([^\W\d_][\w-]+):(?!//)(\S.*)$")
ITEM = re.compile(r"-(?:\s|$)")
QUOTED_SCALAR = re.compile(rf"({QUOTED})\s*+(?:#.*)?", re.DOTALL)
COMMENT = re.compile(r"(?:^|\s)#")
# `tags: #a #b` is common, though a comment in YAML.
TAG_SIGN = re.compile(r"#[^\s#]")
COMMENT_AFTER_TAGS = re.compile(r"(?:^|\s)#(?:\s|$)")
NEXT_TAG = re.compile(r"\s#")
IN_TAG = re.compile(r"\w|[^\x00-\x7f]")
NOTE_LINKS = re.compile(rf"{NOTE_LINK.pattern}(?:\s*+,\s*+{NOTE_LINK.pattern})*+\s*+(?:#.*)?")


class FrontMatter(NamedTuple):
    """`metadata` by lower-case key, and the number of `lines`, 0 if they are text.

    `problems` describe unreadable parts, each with its line. `end` is where the text ends, if it has a
    block of metadata at its end. `left_out` is as in `formats.Reading`.
    """

    metadata: dict[str, Value]
    lines: int
    problems: tuple[str, ...] = ()
    end: int | None = None
    left_out: str | None = None


NOTHING = FrontMatter({}, 0)


def front_matter(text: str) -> FrontMatter:
    """Read the front matter at the beginning of a text with plain newlines.

    "---\\ntags: [a, b]\\n---\\nText" -> {"tags": ["a", "b"]}, 3 lines

    A block in which most lines are not keys is text; a well-known key counts as two lines. If such
    a block begins with a key, its keys are metadata as well.
    """
    opening = FIRST_LINE.match(text)
    if not opening:
        return NOTHING
    closing = LAST_LINE.search(text, opening.end() - 1)
    if not closing:
        return _unclosed(text, opening.end())
    block = text[opening.end() : closing.start()]
    lines = text.count("\n", 0, closing.start()) + 2
    if not block.strip():
        return FrontMatter({}, lines)
    reader = Reader(block.split("\n"), first_line=2)
    metadata = reader.metadata()
    if reader.keys > reader.strays:
        return FrontMatter(metadata, lines, tuple(reader.problems))
    begins_with_key = reader.keys > 0 and reader.begins_with_key
    if not begins_with_key and not reader.has_known_key:
        return NOTHING
    reason = f"line 2: most lines from here to line {lines - 1} are not keys; all are read as text"
    return FrontMatter(metadata if begins_with_key else {}, 0, (reason,))


def _unclosed(text: str, begin: int) -> FrontMatter:
    """Report the missing last line if the text begins with a well-known key."""
    line = text[begin : begin + MAX_METADATA].split("\n", 1)[0]
    pair = pair_of(line)
    if not pair or pair[0] not in KNOWN_KEYS:
        return NOTHING
    return FrontMatter({}, 0, ("line 1: no line --- closes the front matter; it is read as text",))


def value_of(written: str) -> Value:
    """Parse a value as front matter would; keep it as text if front matter would drop or shorten it.

    "3" -> 3, "[a, 3]" -> ["a", 3], "{port: 22}" -> {"port": 22}, "1.10" -> "1.10", "|" -> "|"
    """
    line = written.strip()
    is_text = "\n" in line or " #" in line or line[:1] in ("", "#")
    if is_text or BLOCK_SCALAR.fullmatch(line):
        return written
    try:
        value = Reader([], first_line=1).value(line, indent=0)
    except TooLargeError:
        return written
    return written if value is None else value


class Reader:
    """Reads lines of YAML from first to last.

    Each reading method begins at the line `_at` and moves it past the lines that it read. `indent`
    is the column of the key or item whose value is read; all lines of the value are indented
    further.
    """

    def __init__(self, lines: list[str], first_line: int) -> None:
        self.problems: list[str] = []
        self.keys = 0  # lines with keys; KNOWN_KEYS count twice
        self.strays = 0  # lines that are neither a key nor part of a value
        self.begins_with_key = False
        self.has_known_key = False
        self._lines = lines
        self._at = 0
        self._first_line = first_line
        self._room = MAX_METADATA
        self._is_tags = False

    def metadata(self) -> dict[str, Value]:
        """Read all lines as the metadata of a note."""
        line = self._content()
        if line is None:
            return {}
        self.begins_with_key = pair_of(line.strip()) is not None
        metadata: dict[str, Value] = {}
        while line is not None:
            self._add_keys(metadata, column_of(line))
            line = self._content()
        return metadata

    def _add_keys(self, metadata: dict[str, Value], indent: int) -> None:
        """Add the keys that begin at this column, as long as there is room."""
        for key, rest in self._pairs(indent):
            begin = self._at - 1
            value = self._value_of_key(key, rest, indent)
            length = sum(map(len, self._lines[begin : self._at])) + self._at - begin - 1
            if length <= self._room:
                self._room -= length
                self._put(metadata, key, value, begin)
            else:
                self._problem(begin, f"the front matter is too long; {shown(key)} is left out")

    def _value_of_key(self, key: str, rest: str, indent: int) -> Value | None:
        begin = self._at - 1
        self._is_tags = key == "tags"
        try:
            value = self.value(rest, indent)
        except TooLargeError as error:
            self._problem(begin, f"{shown(key)} {error}; it is left out")
            self._at += len(self._below(indent))
            return None
        return tag_names(value) if self._is_tags else value

    # Lines

    def _content(self) -> str | None:
        """Skip blank lines and comments, and return the next line."""
        lines = self._lines
        while self._at < len(lines):
            line = lines[self._at]
            text = line.lstrip()
            if text and text[0] != "#":
                return line
            self._at += 1
        return None

    def _is_below(self, indent: int) -> bool:
        """Whether the line can belong to a value. A blank line can."""
        if self._at >= len(self._lines):
            return False
        line = self._lines[self._at]
        return column_of(line) > indent or not line.strip()

    def _below(self, indent: int) -> list[str]:
        """The lines that belong to a value, without moving past them."""
        begin = self._at
        while self._is_below(indent):
            self._at += 1
        lines = self._lines[begin : self._at]
        self._at = begin
        return lines

    def _problem(self, at: int, text: str) -> None:
        self.problems.append(f"line {self._first_line + at}: {text}")

    # Maps and lists

    def _pairs(self, indent: int) -> Iterator[tuple[str, str]]:
        """Yield the keys that begin at this column, each with the rest of its line; the reader is
        then on the next line.

        Lines that are not keys are reported.
        """
        while (line := self._content()) is not None:
            column = column_of(line)
            if column < indent:
                return
            self._at += 1
            text = line[column:]
            pair = pair_of(text) if column == indent else None
            if pair is None and column == indent:
                pair = self._pair_without_space(text)
            if pair:
                if pair[0] in KNOWN_KEYS:
                    self.keys += 2
                    self.has_known_key = True
                elif text[0] not in INDICATORS:  # as in [[Note]]: text
                    self.keys += 1
                yield pair
            else:
                self.strays += 1
                reason = f"{shown(text)} is not a key of the front matter; it is left out"
                self._problem(self._at - 1, reason)

    def _map(self, indent: int, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key, rest in self._pairs(indent):
            begin = self._at - 1
            self._put(found, key, self.value(rest, indent, depth), begin)
        return found

    def _put(self, found: dict[str, Value], key: str, value: Value | None, at: int) -> None:
        if value is None:
            return
        if key == MERGE:
            self._problem(at, f"{shown(key)} {NOT_SUPPORTED}")
        if key in found:
            self._problem(at, f"{shown(key)} occurs twice; the last value counts")
        found[key] = value

    def _list(self, indent: int, depth: int, *, of_key: bool) -> list[Value]:
        """Read the items of a list. The items of a key may begin in the key's column."""
        found: list[Value] = []
        while (line := self._content()) is not None:
            column = column_of(line)
            is_inside = column > indent or (column == indent and of_key)
            if not is_inside or not ITEM.match(line, column):
                break
            item = line[column + 1 :].lstrip(" \t")
            if ITEM.match(item) or is_map(item):
                self._lines[self._at] = item.rjust(len(line))
                value = self._value_below(column, depth, of_key=False)
            else:
                self._at += 1
                value = self.value(item, column, depth, of_key=False)
            if value is not None:
                found.append(value)
        return found

    def _pair_without_space(self, text: str) -> tuple[str, str] | None:
        nearly = KEY_WITHOUT_SPACE.match(text)
        if not nearly:
            return None
        key, rest = nearly.groups()
        self._problem(self._at - 1, f"{shown(text)} is read as {shown(f'{key}: {rest}')}")
        return key.lower(), rest

    # Values

    def value(self, rest: str, indent: int, depth: int = 0, *, of_key: bool = True) -> Value | None:
        """Read the value that begins in the rest of a line, or below it. Raises TooLargeError."""
        rest = rest.strip()
        if not rest or self._is_comment(rest):
            return self._value_below(indent, depth, of_key=of_key)
        if rest[0] in "|>" and (style := BLOCK_SCALAR.fullmatch(rest)):
            below = self._below(indent)
            self._at += len(below)
            return block_text(style, below)
        if rest[0] in "[{":
            return self._bracketed(rest, indent, depth, of_key=of_key)
        if rest[0] in "\"'":
            return self._quoted(rest, indent)
        if NODE_PROPERTY.match(rest):
            self._problem(self._at - 1, f"{shown(rest)} {NOT_SUPPORTED}")
        return scalar(self._plain(rest, indent))

    def _value_below(self, indent: int, depth: int, *, of_key: bool) -> Value | None:
        line = self._content()
        if line is None:
            return None
        column = column_of(line)
        text = line[column:]
        is_list = column >= indent + (not of_key) and ITEM.match(text)
        if column <= indent and not is_list:
            return None
        if depth >= DEEPEST:
            raise TooLargeError(TOO_DEEP)
        if is_list:
            return self._list(indent, depth + 1, of_key=of_key)
        if is_map(text):
            return self._map(column, depth + 1)
        self._at += 1
        return self.value(text, indent, depth + 1)

    def _is_comment(self, text: str) -> bool:
        return text[0] == "#" and not (self._is_tags and TAG_SIGN.match(text))

    def _without_comment(self, text: str) -> str:
        is_tag = self._is_tags and TAG_SIGN.match(text)
        comment = COMMENT_AFTER_TAGS if is_tag else COMMENT
        return comment.split(text, maxsplit=1)[0].rstrip()

    def _plain(self, rest: str, indent: int) -> str:
        """Read a text without quotes."""
        lines = [self._without_comment(rest)]
        while self._is_below(indent):
            line = self._lines[self._at].strip()
            self._at += 1
            if not line.startswith("#"):
                lines.append(self._without_comment(line))
        return folded("\n".join(lines).strip())

    def _quoted(self, rest: str, indent: int) -> Value | None:
        whole = QUOTED_SCALAR.fullmatch(rest)
        if whole:
            return unquoted(whole[1])
        if not QUOTED_PART.match(rest):
            below = self._below(indent)
            whole = QUOTED_SCALAR.fullmatch("\n".join([rest, *below]).rstrip())
            if whole:
                self._at += len(below)
                return unquoted(whole[1])
            self._problem(self._at - 1, f"the quote is not closed; {shown(rest)} is read as text")
        return self._plain(rest, indent)

    def _bracketed(self, rest: str, indent: int, depth: int, *, of_key: bool) -> Value | None:
        """Read a list or map in brackets; a text if it is neither."""
        if NOTE_LINKS.fullmatch(rest):
            return list(NOTE_LINK.findall(rest)) if of_key else self._plain(rest, indent)
        try:
            return self._closed(rest, indent, depth)
        except UnreadableError as error:
            if error.is_open:
                reason = f"the bracket is not closed; {shown(rest)} is read as text"
                self._problem(self._at - 1, reason)
        return self._plain(rest, indent)

    def _closed(self, rest: str, indent: int, depth: int) -> Value | None:
        """Read a list or map in brackets, on this line or several. The line with the closing
        bracket may begin anywhere.

        Raises UnreadableError and TooLargeError.
        """
        end = self._at + len(self._below(indent)) + 1
        for lines in ([], self._lines[self._at : end]):
            flow = Flow("\n".join([rest, *lines]), is_tags=self._is_tags)
            try:
                value = flow.whole(depth)
            except UnreadableError as error:
                if not (error.is_open or lines):
                    raise
            else:
                for text in flow.properties:
                    self._problem(self._at - 1, f"{shown(text)} {NOT_SUPPORTED}")
                self._at += flow.lines_passed
                return value
        raise UnreadableError(is_open=True)


def pair_of(text: str) -> tuple[str, str] | None:
    """The key at the beginning of a text, and the text after its colon.

    'Due date: today' -> ('due date', 'today')
    """
    if text[:1] in ("'", '"') and (quoted := QUOTED_KEY.match(text)):
        key = unquoted(quoted[1]).strip()
        rest = quoted[2]
    else:
        pair = KEY.match(text)
        if not pair or SIGN.match(text) or ("#" in pair[1] and COMMENT.search(pair[1])):
            return None
        key, rest = pair.groups()
        key = key.strip()
    return (key.lower(), rest or "") if key else None


def is_map(text: str) -> bool:
    """Whether the text after a dash, or below a key, begins with a key."""
    if not text or text[0] in INDICATORS:
        return False
    if text[0] in "\"'":
        return QUOTED_KEY.match(text) is not None
    return pair_of(text) is not None


def tag_names(value: Value | None) -> list[Value]:
    """The tags in a value.

    'a, #b' -> ['a', 'b'], '#a #b' -> ['a', 'b'], ['a', 2024] -> ['a', '2024']
    """
    if isinstance(value, str):
        value = [*value.strip("[]").split("," if "," in value else None)]
    texts: list[str] = []
    for text in map(str.strip, _texts_in(value)):
        texts += NEXT_TAG.split(text) if text.startswith("#") else [text]
    return [text.lstrip("#").strip() for text in texts if IN_TAG.search(text)]


def _texts_in(value: Value | None) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (f"{key}: {text}" for text in _texts_in(item))
    elif value is not None:
        yield json.dumps(value)


def named(problems: Sequence[str]) -> str:
    """The first problems in one line, and the number of the others."""
    line = "; ".join(problems[:NAMED])
    if len(problems) > NAMED:
        line += f"; and {len(problems) - NAMED:,} more"
    return line


def shown(text: str) -> str:
    """Shorten a piece of the front matter and quote it for a message."""
    text = text.strip()
    if len(text) > LONGEST_QUOTE:
        text = f"{text[:LONGEST_QUOTE]}…"
    return f"'{text}'"
