"""Read org-mode files: headlines, blocks and tables, and what `#+title:`, `#+date:` and
`#+filetags:` say.

The forms are those of "Org Syntax" (orgmode.org/worg/org-syntax.html). A line of asterisks and a
space is a headline wherever it stands: inside of a block, Org writes `,*`.
"""

import re
from collections.abc import Iterator

from ...documents.chunker import Heading, Syntax
from ...documents.markdown import MAX_METADATA, FrontMatter, Markdown, Value
from ...documents.noise import without_runs
from ...documents.passages import Block
from ...text.characters import with_plain_newlines

HEADLINE = re.compile(r"\n(\*+)[ \t]+([^\n]*)")
# States of a task are in upper case, as Org's own and most of people's are. "TODO [#A] Call Ann
# [1/3] :home:" is "Call Ann".
STATE = re.compile(
    r"(?:(?:TODO|NEXT|DOING|STARTED|WAIT|WAITING|HOLD|SOMEDAY|PROJ|DONE|CANCELED|CANCELLED|KILL"
    r"|COMMENT)(?:\s+|$))+"
)
PRIORITY = re.compile(r"\[#\w{1,2}\]\s*")
PROGRESS = re.compile(r"\s*\[\d*(?:/\d*|%)\]")
TAGS = re.compile(r"(?:^|[ \t]+):((?:[\w@#%]+:)+)[ \t]*$")
LONGEST = 1000  # characters of a headline that are looked at
LINK = re.compile(r"\[\[([^][]+)\](?:\[([^][]*)\])?\]")

KEYWORD = re.compile(r"\n[ \t]*#\+(\w+):[ \t]*([^\n]*)")
PROPERTY = re.compile(r"\n[ \t]*:([\w-]+):[ \t]+([^\n]*)")
TIMESTAMP = re.compile(r"[<\[](\d{4}-\d\d-\d\d[^>\]\n]*)[>\]]")
ALIAS = re.compile(r'"([^"]+)"|(\S+)')
# Keywords that say how Org should treat or print the file, and nothing about its subject.
TECHNICAL = (
    "startup", "options", "property", "setupfile", "todo", "seq_todo", "typ_todo", "tags",
    "archive", "columns", "link", "macro",
    "include", "constants", "bind", "priorities", "select_tags", "exclude_tags", "name", "caption",
    "header", "plot", "call",
)  # fmt: skip
OF_EXPORT = re.compile(
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
    """The keywords and properties above the first headline, by lower-case key; the tags of all
    headlines are the file's, too.

    '#+title: Plan\\n#+filetags: :work:\\n* Call Ann :phone:' -> {"title": "Plan", "tags": ["work",
    "phone"]}, 0 lines
    """
    text = "\n" + with_plain_newlines(text).removeprefix("\ufeff")
    first = HEADLINE.search(text)
    above = text[: first.start() if first else len(text)][:MAX_METADATA]
    metadata: dict[str, Value] = {}
    tags: list[str] = []
    for found in KEYWORD.finditer(above):
        key, value = found[1].lower(), TIMESTAMP.sub(r"\1", found[2].strip())
        if key == "filetags":
            tags += re.split(r"[:\s]+", value)
        elif value and not (key in TECHNICAL or OF_EXPORT.fullmatch(key)):
            metadata[key] = (
                f"{metadata[key]} {value}" if key in metadata else value
            )  # a title may have several lines
    for found in PROPERTY.finditer(above):
        if found[1].upper() == "ROAM_ALIASES":
            metadata["aliases"] = [quoted or word for quoted, word in ALIAS.findall(found[2])]
    tags += [
        tag
        for found in HEADLINE.finditer(text)
        if (own := TAGS.search(found[2][-LONGEST:]))
        for tag in own[1].split(":")
    ]
    if tags := list(dict.fromkeys(filter(None, tags))):
        metadata["tags"] = tags
    return FrontMatter(metadata, 0)


def headings(text: str, start: int) -> Iterator[Heading]:
    """The headlines, without the state of a task, its priority, progress and tags."""
    for found in HEADLINE.finditer(text, start):
        yield Heading(len(found[1]), _title(found[2]), found.start() + 1, found.end())


def readable(text: str, start: int) -> str:
    """The text without comments, marks of drawers, clock lines, rules and keywords, but for those
    in blocks.
    """
    body, kept, pos = text[start:], [], 0
    for block in _code(body, 0, len(body)):
        kept += [
            NOISE.sub("\n", body[pos : max(block.start - 1, pos)]),
            body[max(block.start - 1, pos) : block.end],
        ]
        pos = block.end
    return text[:start] + without_runs("".join([*kept, NOISE.sub("\n", body[pos:])]))


def blocks(text: str, start: int, stop: int) -> list[Block]:
    """Source code, examples, verses, results and tables of text[start:stop]."""
    code = _code(text, start, stop)
    found = [*code]
    taken = iter([*code, Block(stop + 1, stop + 1, stop + 1, "")])
    block = next(taken)
    for table in sorted(
        [*TABLE.finditer(text, start - 1, stop), *FIXED_WIDTH.finditer(text, start - 1, stop)],
        key=re.Match.start,
    ):
        while block.end <= table.start():
            block = next(taken)
        if table.start() + 1 < block.start:
            header = TABLE_HEADER.match(text, table.start(), table.end())
            begin = table.start() + 1
            first = header.end() + 1 if header else begin
            found.append(Block(begin, first, table.end(), text[begin:first]))
    return sorted(found)


def _code(text: str, start: int, stop: int) -> list[Block]:
    """Blocks from #+begin_ to #+end_; one that is not closed is text."""
    found, pos = [], start - 1 if start else 0
    unclosed: set[str] = set()  # kinds that no later line closes
    while opening := BLOCK.search(text, pos, stop):
        pos, kind = opening.end(), opening["kind"].lower()
        if kind in unclosed:
            continue
        if closing := re.compile(rf"\n[ \t]*#\+end_{kind}\b[^\n]*", re.IGNORECASE).search(
            text, pos, stop
        ):
            pos = closing.end()
            found.append(Block(opening.start() + 1, opening.end() + 1, pos, ""))
        else:
            unclosed.add(kind)
    return found


def _title(headline: str) -> str:
    title = TAGS.sub("", headline[:LONGEST])
    title = PRIORITY.sub("", title[found.end() if (found := STATE.match(title)) else 0 :], count=1)
    return LINK.sub(lambda link: link[2] or link[1], PROGRESS.sub("", title)).strip()


class Org(Markdown):
    """Implements `formats.Format`."""

    syntax = Syntax(readable, headings, blocks)

    def front_matter(self, text: str) -> FrontMatter:
        return front_matter(text)


FORMAT = Org()
