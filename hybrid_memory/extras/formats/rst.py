"""Read texts with underlined titles: reStructuredText, with literal blocks, tables and the field
list at the beginning (docinfo), and plain text, with markdown's headings, code and tables.

Syntax: "reStructuredText Markup Specification" (docutils.sourceforge.io). A section's
level is the order in which its adornment, with or without a line above, first appears. Indented
lines are not titles, so directives have no titles. In plain text, a line of `=` makes the line
above a heading of the first level, and a line of `-` one of the second.
"""

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import merge

from ...documents.front_matter import MAX_METADATA, FrontMatter
from ...documents.markdown import Markdown
from ...documents.noise import without_runs
from ...documents.structure import Block, Heading, Span, Structure, code_of, plain_structure
from ...documents.yaml_values import Value
from ...text.characters import columns, with_plain_newlines

LONGEST = 1000  # characters of a title
_MARK = r"[!-/:-@\[-`{-~]"
TITLE = re.compile(
    rf"\n(?:(?P<over>(?P<mark>{_MARK})(?P=mark)*+)[ \t]*\n[ \t]*(?P<below>\S[^\n]{{0,{LONGEST}}})\n(?P=over)"
    rf"|(?P<title>\S[^\n]{{0,{LONGEST}}})\n(?P<under>({_MARK})\6++))[ \t]*(?=\n|\Z)"
)
MARKUP = re.compile(
    r"\\(?!\s)|(?<!\w)(?::[\w.:+-]+:)?(`{1,2})(?!\s)|(?<=\S)`{1,2}_{0,2}(?!\w)|\*\*?(?=\S)|(?<=\S)\*\*?"
)
TARGET = re.compile(r"\s*<[^<>]*>(?=`)")

FIELD = re.compile(r"\n:((?:[^:\\\n]|\\.)+):(?:[ \t]+|(?=\n|\Z))([^\n]*(?:\n[ \t]+\S[^\n]*)*)")
# Nikola's metadata are comments at the top
NIKOLA = re.compile(r"\n\.\.[ \t]+(\w+):(?:[ \t]+([^\n]*))?(?=\n|\Z)")
BLANK = re.compile(r"(?:\n[ \t]*(?=\n|\Z))*")
SEPARATOR = re.compile(r"[,;]")

# A directive, footnote, citation, target or substitution begins like a comment.
COMMENT = re.compile(
    r"(?:(?<=\n)|\A)(?:\n\.\.(?:[ \t]++(?!(?:[^\n]*\w)?::|[\[_|])[^\n]*)?(?=\n|\Z)"
    r"(?:\n(?:[ \t]+[^\n]*)?(?=\n|\Z))*+)++"
)
RULE = re.compile(rf"(?<=\n)\n({_MARK})\1{{3,}}[ \t]*(?=\n[ \t]*(?:\n|\Z)|\Z)")
PARAGRAPH = re.compile(r"(?<=\n)[^\S\n]*+\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+")
_CODE = "code|code-block|sourcecode|parsed-literal|math|highlight|prompt|raw"
# Runs of blanks or colons are read at most twice; lines of them would take quadratic time otherwise.
LITERAL = re.compile(
    rf"\n(?P<indent>[ \t]*+)"
    rf"(?:\.\.[ \t]++(?:{_CODE})::[^\n]*+|(?:[^:\n]++|:(?!:[ \t]*+\n))*+::[ \t]*+)(?=\n)"
)
DOCTEST = re.compile(r"\n[ \t]*>>> [^\n]*(?:\n[ \t]*\S[^\n]*)*")
GRID = re.compile(r"\n[ \t]*\+(?:-+\+)+[ \t]*(?:\n[ \t]*[+|][^\n]*)+")
GRID_HEADER = re.compile(r"\n[ \t]*\+=[=+]*\+[ \t]*(?=\n)")
SIMPLE = re.compile(r"\n[ \t]*=+(?:[ \t]+=+)+[ \t]*(?=\n|\Z)")


def front_matter(text: str) -> FrontMatter:
    """The fields below the document's title (or at the beginning), by lower-case key, and the title
    if no other section has its level.

    'Plan\\n====\\n:Date: 2026-01-05\\n:Tags: a, b' -> {"title": "Plan", "date": "2026-01-05",
    "tags": ["a", "b"]}, 0 lines
    """
    text = "\n" + with_plain_newlines(text).removeprefix("\ufeff")[:MAX_METADATA]
    metadata: dict[str, Value] = {}
    pos = _end(BLANK, text, 0)
    for comment in _consecutive(NIKOLA, text, pos):
        _put(metadata, comment[1], comment[2] or "")
        pos = comment.end()
    pos = _end(BLANK, text, pos)
    titles = list(headings(text))
    if titles and titles[0].start - 1 <= pos:
        if all(title.level > 1 for title in titles[1:]):
            metadata.setdefault("title", titles[0].title)
        pos = _end(BLANK, text, titles[0].end)
        if len(titles) > 1 and titles[1].start - 1 == pos:  # a subtitle
            pos = _end(BLANK, text, titles[1].end)
    for field in _consecutive(FIELD, text, pos):
        _put(metadata, field[1], field[2])
    return FrontMatter(metadata, 0)


def headings(text: str) -> Iterator[Heading]:
    """Yield the titles of the sections. An underline shorter than its title must have at least four
    characters.
    """
    levels: dict[tuple[str, bool], int] = {}
    pos = 0
    last = 0
    while match := TITLE.search(text, pos):
        over = match["over"]
        title = (match["below"] or match["title"]).strip()
        line = over or match["under"]
        above = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        begins_paragraph = match.start() == last or not above.strip()
        fits = len(line) >= 4 or columns(title) <= len(line)
        is_rule = set(title) <= {title[0]} and re.match(_MARK, title)
        if begins_paragraph and fits and not is_rule:
            level = levels.setdefault((line[0], over is not None), len(levels) + 1)
            yield Heading(level, _plain(title), match.start() + 1, match.end())
            pos = match.end()
            last = pos
        else:
            pos = text.index("\n", match.start() + 1)


def readable(text: str) -> str:
    """Remove comments and transitions."""
    text = RULE.sub("\n", text)
    if "\n.." in text:
        text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    return without_runs(text)


def blocks(text: str) -> list[Block]:
    """The literal blocks, code, interactive sessions and tables of a text."""
    overlapping: list[Block] = []
    for find in (_literals, _sessions, _grids, _simple_tables):
        overlapping += find(text)
    kept: list[Block] = []
    for block in sorted(overlapping):
        if not kept or block.start >= kept[-1].end:
            kept.append(block)
    return kept


def paragraphs(text: str, code: Sequence[Span]) -> Iterator[Span]:
    """Yield the paragraphs outside the code, without regard to other markup."""
    pos = 1
    for start, end in [*code, (len(text), len(text))]:
        for paragraph in PARAGRAPH.finditer(text, pos, start):
            yield paragraph.span()
        pos = max(pos, end)


def _literals(text: str) -> Iterator[Block]:
    """Yield each line that ends with `::` or begins with `.. code::`, with the deeper indented
    lines below it.
    """
    pos = 0
    while opening := LITERAL.search(text, pos):
        pos = opening.end()
        deeper = f"[ \t]{{{len(opening['indent']) + 1}}}"
        body = re.compile(rf"(?:\n{deeper}[^\n]*|\n[ \t]*(?=\n))*+").match(text, pos)
        lines = ""
        if body:
            lines = body[0].rstrip()
        if lines:
            yield Block(opening.start() + 1, pos + 1, pos + len(lines), "")
            pos += len(lines)


def _sessions(text: str) -> Iterator[Block]:
    for session in DOCTEST.finditer(text):
        begin = session.start() + 1
        yield Block(begin, begin, session.end(), "")


def _grids(text: str) -> Iterator[Block]:
    for grid in GRID.finditer(text):
        begin = grid.start() + 1
        header = GRID_HEADER.search(text, grid.start(), grid.end())
        if header:
            first = header.end() + 1
        else:
            first = begin
        yield Block(begin, first, grid.end(), text[begin:first])


def _simple_tables(text: str) -> Iterator[Block]:
    """Yield tables between lines of `===  ===`: two such lines, or three if the table has a header."""
    pos = 0
    while True:
        top = SIMPLE.search(text, pos)
        bottom = top and SIMPLE.search(text, top.end())
        if not top or not bottom:
            return
        begin = top.start() + 1
        first = begin
        following = text[bottom.end() + 1 : bottom.end() + LONGEST].split("\n", 1)[0]
        if following.strip():  # the rows above are the column heads
            first = bottom.end() + 1
            bottom = SIMPLE.search(text, first)
            if not bottom:
                return
        pos = bottom.end()
        yield Block(begin, first, pos, text[begin:first])


def _put(metadata: dict[str, Value], name: str, value: str) -> None:
    key = name.strip().lower()
    plain = " ".join(value.split())
    if key == "tags":
        metadata[key] = [tag.strip() for tag in SEPARATOR.split(plain) if tag.strip()]
    elif plain:
        metadata[key] = plain


def _plain(title: str) -> str:
    """Remove the marks of inline markup from a title.

    "``get`` and :ref:`more <x>`" -> "get and more"
    """
    return MARKUP.sub("", TARGET.sub("", title))


def _end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    match = pattern.match(text, pos)
    if match:
        return match.end()
    return pos


def _consecutive(pattern: re.Pattern[str], text: str, pos: int) -> Iterator[re.Match[str]]:
    """Yield consecutive matches, without anything between them."""
    while match := pattern.match(text, pos):
        yield match
        pos = match.end()


@lru_cache(1)  # used twice per document: for its links and for its chunks
def structure(text: str) -> Structure:
    """The structure of a text with a line break before each line."""
    text = readable(text)
    found = blocks(text)
    code = code_of(found)
    return Structure(text, list(headings(text)), found, code, list(paragraphs(text, code)))


class ReStructuredText(Markdown):
    """Implements `formats.Format`."""

    has_portions = False

    def structure(self, text: str) -> Structure:
        """As in `Markdown`."""
        return structure(text)

    def front_matter(self, text: str) -> FrontMatter:
        return front_matter(text)


FORMAT = ReStructuredText()


UNDERLINED = re.compile(  # not the header of a table, "Name   Age"
    r"(?:(?<=\n)|\A)\n(?!\S[^\n]*\S(?:[ ]{2}|\t)[ \t]*\S)(?P<title>[^\W_][^\n|]{0,200})"
    r"\n(?P<line>={3,}|-{3,})[ \t]*(?=\n|\Z)"
)
UNDERLINES = {"=": 1, "-": 2}


def headings_plain(found: Structure) -> Iterator[Heading]:
    """Yield the headings of plain text: those after `#`, and outside code the single lines that begin a
    paragraph and are underlined.

    `found` is the structure of the text as markdown.
    """
    code = [block for block in found.blocks if not block.header]
    begins = [block.start for block in code]
    underlined = []
    for title in UNDERLINED.finditer(found.text):
        number = bisect(begins, title.start() + 1)
        if not number or code[number - 1].end <= title.start():
            level = UNDERLINES[title["line"][0]]
            underlined.append(
                Heading(level, title["title"].strip(), title.start() + 1, title.end())
            )
    marked = (
        heading for heading in found.headings if "\n" not in found.text[heading.start : heading.end]
    )
    yield from merge(marked, underlined, key=lambda heading: heading.start)


class PlainText(Markdown):
    """Implements `formats.Format`."""

    def structure(self, text: str) -> Structure:
        """As in `Markdown`, with another rule for underlined titles. Rules and comments stay."""
        found = plain_structure(text)
        return found._replace(headings=list(headings_plain(found)))


PLAIN = PlainText()
