"""Read org-mode files: headlines, blocks and tables, and metadata such as `#+title:`, `#+date:` and
`#+filetags:`.

Syntax: "Org Syntax" (orgmode.org/worg/org-syntax.html). A line of asterisks and a
space is always a headline: within blocks, Org writes `,*`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from ...documents.front_matter import MAX_METADATA, FrontMatter
from ...documents.links import ELSEWHERE, titles
from ...documents.markdown import Markdown, Parsed
from ...documents.noise import without_noise
from ...documents.structure import Block, Heading, Structure, code_of, is_in
from ...documents.yaml_values import Value
from ...text.characters import with_plain_newlines
from ...text.links import DocumentLinks, Link
from ...text.terms import LONGEST_TARGET

HEADLINE = re.compile(r"\n(\*+)[ \t]+([^\n]*)")
# States of a task are in upper case, as Org's defaults and most custom ones are. "TODO [#A] Call Ann
# [1/3] :home:" is "Call Ann".
STATE = re.compile(
    r"(?:(?:TODO|NEXT|DOING|STARTED|WAIT|WAITING|HOLD|SOMEDAY|PROJ|DONE|CANCELED|CANCELLED|KILL"
    r"|COMMENT)(?:\s+|$))+"
)
PRIORITY = re.compile(r"\[#\w{1,2}\]\s*")
PROGRESS = re.compile(r"\s*\[\d*(?:/\d*|%)\]")
TAGS = re.compile(r"(?:^|[ \t]+):((?:[\w@#%]+:)+)[ \t]*$")
LONGEST = 1000  # characters of a headline that are read
LINK = re.compile(r"\[\[([^][]+)\](?:\[([^][]*)\])?\]")

KEYWORD = re.compile(r"\n[ \t]*#\+(\w+):[ \t]*([^\n]*)")
PROPERTY = re.compile(r"\n[ \t]*:([\w-]+):[ \t]+([^\n]*)")
ID = re.compile(r"\n[ \t]*:ID:[ \t]+(\S{1,200})", re.IGNORECASE)
MOST_IDS = 1000  # of headlines in one file
TIMESTAMP = re.compile(r"[<\[](\d{4}-\d\d-\d\d[^>\]\n]*)[>\]]")
ALIAS = re.compile(r'"([^"]+)"|(\S+)')
# Keywords for Org's processing and export, unrelated to the subject of the file.
TECHNICAL = (
    "startup", "options", "property", "setupfile", "todo", "seq_todo", "typ_todo", "tags",
    "archive", "columns", "link", "macro",
    "include", "constants", "bind", "priorities", "select_tags", "exclude_tags", "name", "caption",
    "header", "plot", "call",
)  # fmt: skip
EXPORT_KEYWORD = re.compile(
    r"(?:html|latex|beamer|odt|texinfo|md|ascii|reveal|hugo|attr)_\w+|latex|html|odt|toc"
)

BLOCK = re.compile(r"\n[ \t]*#\+begin_(?P<kind>src|example|export|verse)\b[^\n]*", re.IGNORECASE)
FIXED_WIDTH = re.compile(
    r"\n[ \t]*:(?:[ \t][^\n]*)?(?:\n[ \t]*:(?:[ \t][^\n]*)?(?=\n|\Z))*(?=\n|\Z)"
)
TABLE = re.compile(r"\n[ \t]*\|[^\n]*(?:\n[ \t]*\|[^\n]*)*")
TABLE_HEADER = re.compile(r"\n[^\n]*\n[ \t]*\|-[-+|]*[ \t]*(?=\n)")
NOISE = re.compile(
    r"\n[ \t]*(?:#(?:[ \t][^\n]*)?|:(?:PROPERTIES|LOGBOOK|END|ID|ROAM_ALIASES):[^\n]*|CLOCK:[^\n]*"
    r"|-{5,}[ \t]*"
    r"|#\+(?!caption)\w+:[^\n]*)(?=\n|\Z)",
    re.IGNORECASE,
)


def front_matter(text: str) -> FrontMatter:
    """The keywords and properties above the first headline, by lower-case key. The tags of all
    headlines count as tags of the file too, and their IDs as aliases, to which links lead.

    '#+title: Plan\\n#+filetags: :work:\\n* Call Ann :phone:' -> {"title": "Plan", "tags": ["work",
    "phone"]}, 0 lines
    """
    text = "\n" + with_plain_newlines(text).removeprefix("\ufeff")
    above = text
    first = HEADLINE.search(text)
    if first:
        above = text[: first.start()]
    above = above[:MAX_METADATA]
    metadata: dict[str, Value] = {}
    tags: list[str] = []
    aliases: list[str] = []
    for keyword in KEYWORD.finditer(above):
        key = keyword[1].lower()
        value = TIMESTAMP.sub(r"\1", keyword[2].strip())
        if key == "filetags":
            tags += re.split(r"[:\s]+", value)
        elif value and not (key in TECHNICAL or EXPORT_KEYWORD.fullmatch(key)):
            if key in metadata:  # a title may have several lines
                value = f"{metadata[key]} {value}"
            metadata[key] = value
    for pair in PROPERTY.finditer(above):
        if pair[1].upper() == "ROAM_ALIASES":
            aliases += [quoted or word for quoted, word in ALIAS.findall(pair[2])]
    aliases += [f"id:{found[1]}" for found in islice(ID.finditer(text), MOST_IDS)]
    if aliases:
        metadata["aliases"] = [*aliases]
    for headline in HEADLINE.finditer(text):
        own_tags = TAGS.search(headline[2][-LONGEST:])
        if own_tags:
            tags += own_tags[1].split(":")
    tags = list(dict.fromkeys(filter(None, tags)))
    if tags:
        metadata["tags"] = [*tags]
    return FrontMatter(metadata, 0)


def headings(text: str) -> Iterator[Heading]:
    """Yield the headlines, without a task's state, priority, progress and tags."""
    for headline in HEADLINE.finditer(text):
        level = len(headline[1])
        yield Heading(level, _title(headline[2]), headline.start() + 1, headline.end())


def readable(text: str) -> str:
    """Remove comments, drawer markers, clock lines, rules and keywords, except within blocks."""
    pieces = []
    pos = 0
    for block in _code(text):
        line_break = max(block.start - 1, pos)
        pieces.append(NOISE.sub("\n", text[pos:line_break]))
        pieces.append(text[line_break : block.end])
        pos = block.end
    pieces.append(NOISE.sub("\n", text[pos:]))
    return without_noise("".join(pieces))


def blocks(text: str) -> list[Block]:
    """The source code, examples, verses, results and tables of a text."""
    code = _code(text)
    tables = []
    for table in (*TABLE.finditer(text), *FIXED_WIDTH.finditer(text)):
        begin = first = table.start() + 1
        if not is_in(code, begin):
            header = TABLE_HEADER.match(text, table.start(), table.end())
            if header:
                first = header.end() + 1
            tables.append(Block(begin, first, table.end(), text[begin:first]))
    return sorted(code + tables)


def _code(text: str) -> list[Block]:
    """The blocks from #+begin_ to #+end_. An unclosed block is text."""
    code = []
    pos = 0
    unclosed: set[str] = set()  # kinds that no later line closes
    while opening := BLOCK.search(text, pos):
        pos = opening.end()
        kind = opening["kind"].lower()
        if kind in unclosed:
            continue
        end_of_kind = re.compile(rf"\n[ \t]*#\+end_{kind}\b[^\n]*", re.IGNORECASE)
        closing = end_of_kind.search(text, pos)
        if closing:
            pos = closing.end()
            code.append(Block(opening.start() + 1, opening.end() + 1, pos, ""))
        else:
            unclosed.add(kind)
    return code


def _title(headline: str) -> str:
    title = TAGS.sub("", headline[:LONGEST])
    state = STATE.match(title)
    if state:
        title = title[state.end() :]
    title = PRIORITY.sub("", title, count=1)
    return LINK.sub(lambda link: link[2] or link[1], PROGRESS.sub("", title)).strip()


def links(text: str) -> Iterator[Link]:
    """Yield the links to other notes: by ID, by file and by name."""
    text = "\n" + text
    line = 0
    pos = 0
    code = _code(text)
    for link in LINK.finditer(text):
        if is_in(code, link.start()):
            continue
        line += text.count("\n", pos, link.start())
        pos = link.start()
        target = link[1].partition("::")[0].strip()
        if target.startswith("id:"):
            yield Link(line, target, "wikilink")
        elif target.startswith(("file:", "./", "../")):
            yield Link(line, target.removeprefix("file:")[:LONGEST_TARGET], "markdown")
        elif target and target[0] not in "*#(" and not ELSEWHERE.match(target):
            yield Link(line, target[:LONGEST_TARGET], "wikilink")


@lru_cache(1)  # used twice per document: for its tags and for its chunks
def structure(text: str) -> Structure:
    """The structure of a text with a line break before each line."""
    text = readable(text)
    found = blocks(text)
    return Structure(text, list(headings(text)), found, code_of(found))


class Org(Markdown):
    """Implements `formats.Format`."""

    def structure(self, text: str) -> Structure:
        """As in `Markdown`."""
        return structure(text)

    def front_matter(self, text: str) -> FrontMatter:
        return front_matter(text)

    def links(self, parsed: Parsed) -> DocumentLinks:
        """As in `Markdown`. Only `#+title:` is a title: headlines are sections."""
        found = super().links(parsed)
        own = tuple(dict.fromkeys(links(parsed.text)))
        return DocumentLinks(titles(parsed.metadata, ()), own, found.tags)


FORMAT = Org()
