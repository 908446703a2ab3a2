"""Read markdown files, and all files without a format of their own: front matter, then text that is
cut at headings.

Of YAML front matter only what people usually write in notes is read: scalars, quotes, lists, block
scalars, comments. A key whose value uses nested maps, anchors, types or the rest of YAML is
skipped. A block that is not a mapping is part of the text.

Other markups that are text, line by line as it is in the file, derive from `Markdown`.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..text.characters import Lines, digest, storable, with_plain_newlines
from ..text.dates import DATE_KEYS, document_date
from .chunker import Chunk, Syntax, chunks_of
from .files import BadFileError, FileBytes, read
from .links import document_links

if TYPE_CHECKING:
    from .links import DocumentLinks

# Characters of the keys and their values as they are written; they go with every result of a search
MAX_METADATA = 65_536
MANY_KEYS = 100_000  # a mapping with so many keys too many is not read to its end

Scalar = str | int | float | bool
Value = Scalar | list[Scalar] | list[str]
Entry = tuple[str, str, list[str]]  # key, the rest of its line, the lines below it

INDICATORS = ",[]{}#&*!|>%@`"  # no key and no plain scalar begins with one (YAML 1.2.2, 7.3.3)
MAX_KEY_WORDS = 3  # "last modified by: Ann" is a key, "What we found there: nothing" is prose
# yes and no are words since YAML 1.2.
CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}

KEY = re.compile(r"(.+?):(?:\s(.*))?$")
BELOW = re.compile(r"\s|-(?:\s|$)|[]}]|$")
ITEM = re.compile(r"([ \t]*)-(?:\s|$)")
QUOTED = r'"(?:[^"\\]|\\.)*+"|' + r"'(?:[^']|'')*+'"
QUOTED_SCALAR = re.compile(rf"({QUOTED})\s*+(?:#.*)?", re.DOTALL)
FLOW_ITEM = re.compile(rf"\s*+({QUOTED}|[^],[{{}}]*+)\s*+(,|]\s*+(?:#.*)?$)", re.DOTALL)
# Not YAML, but common
WIKILINKS = re.compile(r"\[\[[^\[\]]++\]\](?:\s*+,\s*+\[\[[^\[\]]++\]\])*+\s*+(?:#.*)?")
BLOCK_SCALAR = re.compile(r"([|>])[-+0-9]{0,2}(?:\s+#.*)?")
COMMENT = re.compile(r"(?:^|\s)#")
COMMENT_AFTER_TAGS = re.compile(r"(?:^|\s)#(?:\s|$)")  # for `tags: #a #b`: not YAML, but common


class FrontMatter(NamedTuple):
    """`metadata` by lower-case key, and how many `lines` of the source it takes: 0 where there is
    none.

    `left_out` counts the keys for which there was no room, up to MANY_KEYS.
    """

    metadata: dict[str, Value]
    lines: int
    left_out: int = 0


class NotAMappingError(Exception):
    """A block between two lines of dashes that is not front matter."""


def front_matter(text: str) -> FrontMatter:
    """Read the front matter at the beginning of a text.

    "---\\ntags: [a, b]\\n---\\nText" -> {"tags": ["a", "b"]}, 3 lines
    """
    if not text.startswith(("---", "\ufeff---")):
        return FrontMatter({}, 0)
    lines = with_plain_newlines(text).split("\n")
    end = _closing_line(lines)
    if not end or lines[0].rstrip() != "---":
        return FrontMatter({}, 0)
    metadata = {}
    size = 0
    left_out = 0
    try:
        for key, rest, below in _entries(lines[1:end]):
            length = len(key) + len(": ") + len(rest) + sum(map(len, below)) + len(below)
            if size + length > MAX_METADATA:
                left_out += 1
                if left_out == MANY_KEYS:
                    break
                continue
            size += length
            value = _tags(rest, below) if key == "tags" else _value(rest, below)
            if key and value is not None:
                metadata[key] = value
    except NotAMappingError:
        return FrontMatter({}, 0)
    return FrontMatter(metadata, end + 1, left_out)


def _closing_line(lines: list[str]) -> int:
    """Return the index of the line that closes the front matter, or 0."""
    for number in range(1, len(lines)):
        if lines[number].rstrip() in ("---", "..."):
            return number
    return 0


def _entries(lines: list[str]) -> Iterator[Entry]:
    """Yield the keys of a mapping with their lines. Raises NotAMappingError at a line that is neither
    a key, a comment nor a value.
    """
    entry: Entry | None = None
    for line in lines:
        if entry and BELOW.match(line):
            entry[2].append(line)
        elif line.strip() and not line.startswith("#"):
            pair = KEY.match(line)
            if not pair or line[0] in INDICATORS or line[0].isspace():
                raise NotAMappingError
            if len(pair[1].split()) > MAX_KEY_WORDS:
                raise NotAMappingError
            if entry:
                yield entry
            entry = pair[1].strip(" \t\"'").lower(), (pair[2] or "").strip(), []
    if entry:
        yield entry
    elif any(map(str.strip, lines)):
        raise NotAMappingError


def _value(rest: str, below: list[str]) -> Value | None:
    style = BLOCK_SCALAR.fullmatch(rest)
    if style:
        return _block_scalar(style[1], below)
    if rest.startswith("#"):
        rest = ""
    block = _uncommented(below)
    items = _items(rest, block)
    if items is not None:
        plain = [item for item in items if QUOTED_SCALAR.fullmatch(item) or not KEY.match(item)]
        return [scalar for scalar in map(_scalar, plain) if scalar is not None]
    if not rest and any(map(KEY.match, block.split("\n"))):
        return None
    return _scalar(_folded(f"{rest}\n{block}"))


def value_of(written: str) -> Value:
    """Return what front matter takes a value for; what it would leave out, or cut, is a text. A list is
    without the items that front matter leaves out.

    "3" -> 3, "[a, 3]" -> ["a", 3], "1.10" -> "1.10", "|" -> "|"
    """
    is_text = " #" in written or BLOCK_SCALAR.fullmatch(written)
    value = None if is_text else _value(written, [])
    return written if value is None else value


def _tags(rest: str, below: list[str]) -> list[str]:
    rest = COMMENT_AFTER_TAGS.split(rest, maxsplit=1)[0].strip()
    items = _items(rest, _uncommented(below))
    if items is None:
        listed = _unquoted(rest) or rest
        items = listed.split("," if "," in listed else None)
    names = [(_unquoted(item) or item).strip().lstrip("#") for item in map(str.strip, items)]
    return [name for name in names if name]


def _items(rest: str, block: str) -> list[str] | None:
    """Return the items of a list as they are written, in brackets or below the key; None if this is
    not a list.
    """
    dash = ITEM.match(block)
    if WIKILINKS.fullmatch(rest) and not block:
        return [f'"{link}"' for link in re.findall(r"\[\[[^\[\]]++\]\]", rest)]
    if dash and not rest:
        items = re.split(rf"^[ \t]{{{len(dash[1])}}}-(?:\s|$)", block, flags=re.MULTILINE)[1:]
        return [_folded(item) for item in items]
    source = _folded(f"{rest}\n{block}")
    items = []
    pos = 1
    while source.startswith("[") and (match := FLOW_ITEM.match(source, pos)):
        items.append(match[1].strip())
        if match[2] != ",":
            return items
        pos = match.end()
    return None


def _uncommented(lines: list[str]) -> str:
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


def _folded(text: str) -> str:
    return " ".join(map(str.strip, text.split("\n"))).strip()


def _scalar(source: str) -> Scalar | None:
    quoted = _unquoted(source)
    if quoted is not None:
        return quoted
    plain = COMMENT.split(source, maxsplit=1)[0].strip()
    if plain.lower() in CONSTANTS:
        return CONSTANTS[plain.lower()]
    if WIKILINKS.fullmatch(plain):
        return plain
    if plain[0] in INDICATORS or ITEM.match(plain):
        return None
    try:
        number = float(plain) if "." in plain else int(plain)
    except ValueError:
        return plain
    return number if str(number) == plain else plain  # version 1.10 is not 1.1, and 007 is not 7


def _unquoted(source: str) -> str | None:
    match = QUOTED_SCALAR.fullmatch(source)
    if not match:
        return None
    inner = match[1][1:-1]
    if source[0] == "'":
        return inner.replace("''", "'")
    return re.sub(r'\\(["\\/])', r"\1", inner)


def _block_scalar(style: str, below: list[str]) -> str:
    indent = min((len(line) - len(line.lstrip()) for line in below if line.strip()), default=0)
    text = "\n".join(line[indent:].rstrip() for line in below).strip("\n")
    if style == "|":
        return text
    return re.sub(r"\n(\n*)", lambda breaks: breaks[1] or " ", text)


LONGEST_TITLE = 200  # characters; the title goes with every chunk


class Parsed(NamedTuple):
    """A text with plain newlines whose first `skipped` lines are front matter. `metadata` is all
    that is known of it.
    """

    text: str
    skipped: int
    metadata: Mapping[str, Any]
    left_out: int  # keys of the front matter, because it is too long

    @property
    def links(self) -> "DocumentLinks":
        """Find titles, links and tags."""
        return document_links(self.text, self.skipped, self.metadata)


def parse(text: str, metadata: Mapping[str, Any]) -> Parsed:
    """Read the front matter of a markdown text. The given `metadata` takes precedence over it."""
    return FORMAT.parsed(text, metadata)


def chunk_text(text: str, chunk_size: int = 512, overlap: int = 50) -> list[Chunk]:
    """Cut markdown into chunks of up to `chunk_size` characters that end with a sentence, an item
    or a block where one fits.

    A chunk begins with the last whole sentences of the one before it in its section, if they have
    at most `overlap` characters. A heading without a text of its own becomes part of the next
    chunk, or at the end of the last one. A chunk that begins inside of a table begins with the
    table's header, which is not on its lines. Front matter, rules, HTML comments, data: URIs and
    runs of over 200 characters without a space are left out. Raises ValueError for an overlap that
    leaves no room for new text.
    """
    text = with_plain_newlines(text)
    return chunks_of(text, front_matter(text).lines, chunk_size, overlap)


def chunks(
    parsed: Parsed, chunk_size: int, overlap: int, syntax: Syntax | None = None
) -> list[Chunk]:
    """Cut a text into chunks, with the document's title at the beginning of their heading paths.
    Raises ValueError for impossible sizes.

    The text is markdown unless another `syntax` is given.
    """
    title = parsed.metadata.get("title")
    above = ""
    if isinstance(title, str):
        above = storable(" ".join(title.split())[:LONGEST_TITLE])
    of_text = chunks_of(parsed.text, parsed.skipped, chunk_size, overlap, above, syntax)
    if of_text or not parsed.skipped:
        return of_text
    # A note that is only front matter, such as a contact card: the front matter is its text.
    card = "\n".join(parsed.text.split("\n")[1 : parsed.skipped - 1])
    return [
        replace(chunk, start_line=chunk.start_line + 1, end_line=chunk.end_line + 1)
        for chunk in chunks_of(card, 0, chunk_size, overlap, above)
    ]


class MarkdownReading:
    """A file that has been read; implements `formats.Reading`."""

    extract = None

    def __init__(self, file: FileBytes, metadata: Mapping[str, Any], format: "Markdown") -> None:
        self.mtime = file.mtime
        self.size = file.size
        self.digest = digest(file.data)
        self._data = file.data
        self._given = metadata
        self._format = format
        self._parsed: Parsed | None = None

    @property
    def warnings(self) -> list[tuple[str, str]]:
        warnings = []
        try:
            self._data.decode()
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 at byte {error.start}: read with replacement characters"
            warnings.append((reason, "encoding"))
        if count := self._text.left_out:
            reason = f"keys left out of the front matter because it is too long: {count}"
            warnings.append((reason, "front matter"))
        return warnings

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._text.metadata

    @cached_property
    def links(self) -> "DocumentLinks":
        return self._text.links

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        return document_date(doc_id, self.metadata, self.links.titles, keys)

    def chunks(self, chunk_size: int, overlap: int) -> list[Chunk]:
        return chunks(self._text, chunk_size, overlap, self._format.syntax)

    def close(self) -> None:
        """Do nothing: no file is open."""

    @property
    def _text(self) -> Parsed:
        if self._parsed is None:
            text = self._data.decode(errors="replace")
            self._parsed = self._format.parsed(text, self._given)
        return self._parsed


class Markdown:
    """The format of markdown files; implements `formats.Format`."""

    collection = None
    grows = False
    is_text = True
    syntax: Syntax | None = None  # of markdown

    def front_matter(self, text: str) -> FrontMatter:
        """Read what a text says about itself, and how many lines at its beginning are nothing else."""
        return front_matter(text)

    def parsed(self, text: str, metadata: Mapping[str, Any]) -> Parsed:
        """Return a text and all that is known of it. The given `metadata` takes precedence over what
        it says.
        """
        own = self.front_matter(text)
        known = {**own.metadata, **metadata}
        return Parsed(with_plain_newlines(text), own.lines, known, own.left_out)

    def is_due(
        self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
    ) -> bool:
        """Return true: a file that has changed is always due, because all of it is one text."""
        return True

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> MarkdownReading:
        return MarkdownReading(read(path, max_bytes, follow_symlinks), metadata, self)

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        data = stream.read(min(max_bytes, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})", "size")
        return Lines(data.decode(errors="replace")), digest(data)

    def joined(self, lines: Sequence[str]) -> str:
        return "\n".join(lines)


FORMAT = Markdown()
