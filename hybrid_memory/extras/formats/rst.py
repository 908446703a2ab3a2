"""Read reStructuredText files: underlined titles, literal blocks and tables, and the field list at
the beginning (docinfo).

The forms are those of "reStructuredText Markup Specification" (docutils.sourceforge.io). A
section's level is the order in which its adornment, with or without a line above, is first met.
What is indented is no title, so that directives have none.
"""

import re
from collections.abc import Iterator

from ...documents.chunker import Heading, Syntax
from ...documents.markdown import MAX_METADATA, FrontMatter, Markdown, Value
from ...documents.noise import without_runs
from ...documents.passages import Block
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
NIKOLA = re.compile(
    r"\n\.\.[ \t]+(\w+):(?:[ \t]+([^\n]*))?(?=\n|\Z)"
)  # its metadata are comments at the top
BLANK = re.compile(r"(?:\n[ \t]*(?=\n|\Z))*")
SEPARATOR = re.compile(r"[,;]")

# A directive, footnote, citation, target or substitution begins like a comment.
COMMENT = re.compile(
    r"(?:(?<=\n)|\A)(?:\n\.\.(?:[ \t]+(?!(?:[^\n]*\w)?::|[\[_|])[^\n]*)?(?=\n|\Z)(?:\n(?:[ \t]+[^\n]*)?(?=\n|\Z))*+)++"
)
RULE = re.compile(rf"(?<=\n)\n({_MARK})\1{{3,}}[ \t]*(?=\n[ \t]*(?:\n|\Z)|\Z)")
_CODE = "code|code-block|sourcecode|parsed-literal|math|highlight|prompt|raw"
LITERAL = re.compile(rf"\n(?P<indent>[ \t]*)(?:\.\.[ \t]+(?:{_CODE})::[^\n]*|[^\n]*::[ \t]*)(?=\n)")
DOCTEST = re.compile(r"\n[ \t]*>>> [^\n]*(?:\n[ \t]*\S[^\n]*)*")
GRID = re.compile(r"\n[ \t]*\+(?:-+\+)+[ \t]*(?:\n[ \t]*[+|][^\n]*)+")
GRID_HEADER = re.compile(r"\n[ \t]*\+=[=+]*\+[ \t]*(?=\n)")
SIMPLE = re.compile(r"\n[ \t]*=+(?:[ \t]+=+)+[ \t]*(?=\n|\Z)")


def front_matter(text: str) -> FrontMatter:
    """The fields below the document's title (or at the beginning), by lower-case key, and a title
    that no other section shares.

    'Plan\\n====\\n:Date: 2026-01-05\\n:Tags: a, b' -> {"title": "Plan", "date": "2026-01-05",
    "tags": ["a", "b"]}, 0 lines
    """
    text = "\n" + with_plain_newlines(text).removeprefix("\ufeff")[:MAX_METADATA]
    metadata: dict[str, Value] = {}
    pos = _end(BLANK, text, 0)
    while found := NIKOLA.match(text, pos):
        _put(metadata, found[1], found[2] or "")
        pos = found.end()
    pos = _end(BLANK, text, pos)
    titles = iter(headings(text, 0))
    first = next(titles, None)
    if first and first.start - 1 <= pos:
        second = next(titles, None)
        if all(other.level > 1 for other in (*((second,) if second else ()), *titles)):
            metadata.setdefault("title", first.title)
        pos = _end(BLANK, text, first.end)
        if second and second.start - 1 == pos:
            pos = _end(BLANK, text, second.end)  # a subtitle
    while found := FIELD.match(text, pos):
        _put(metadata, found[1], found[2])
        pos = found.end()
    return FrontMatter(metadata, 0)


def headings(text: str, start: int) -> Iterator[Heading]:
    """The titles of the sections. An underline that is shorter than its title must have at least
    four characters.
    """
    levels: dict[tuple[str, bool], int] = {}
    pos = last = start
    while found := TITLE.search(text, pos):
        over, title = found["over"], (found["below"] or found["title"]).strip()
        line = over or found["under"]
        above = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        fits = len(line) >= 4 or columns(title) <= len(line)
        if (
            (found.start() == last or not above.strip())
            and fits
            and not (set(title) <= {title[0]} and re.match(_MARK, title))
        ):
            level = levels.setdefault((line[0], over is not None), len(levels) + 1)
            yield Heading(level, _plain(title), found.start() + 1, found.end())
            pos = last = found.end()
        else:
            pos = text.index("\n", found.start() + 1)


def readable(text: str, start: int) -> str:
    """The text without comments and transitions."""
    body = RULE.sub("\n", text[start:])
    if "\n.." in body:
        body = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), body)
    return text[:start] + without_runs(body)


def blocks(text: str, start: int, stop: int) -> list[Block]:
    """Literal blocks, code, interactive sessions and tables of text[start:stop]."""
    found: list[Block] = []
    for block in sorted(
        block
        for find in (_literals, _sessions, _grids, _simple_tables)
        for block in find(text, start - 1, stop)
    ):
        if not found or block.start >= found[-1].end:
            found.append(block)
    return found


def _literals(text: str, pos: int, stop: int) -> Iterator[Block]:
    """What is indented more deeply than the line that ends with `::` or begins with `.. code::`,
    with that line.
    """
    while opening := LITERAL.search(text, pos, stop):
        pos = opening.end()
        deeper = f"[ \t]{{{len(opening['indent']) + 1}}}"
        body = re.compile(rf"(?:\n{deeper}[^\n]*|\n[ \t]*(?=\n))*+").match(text, pos, stop)
        if body and (lines := body[0].rstrip()):
            yield Block(opening.start() + 1, pos + 1, pos + len(lines), "")
            pos += len(lines)


def _sessions(text: str, pos: int, stop: int) -> Iterator[Block]:
    for found in DOCTEST.finditer(text, pos, stop):
        yield Block(found.start() + 1, found.start() + 1, found.end(), "")


def _grids(text: str, pos: int, stop: int) -> Iterator[Block]:
    for found in GRID.finditer(text, pos, stop):
        begin = found.start() + 1
        header = GRID_HEADER.search(text, found.start(), found.end())
        first = header.end() + 1 if header else begin
        yield Block(begin, first, found.end(), text[begin:first])


def _simple_tables(text: str, pos: int, stop: int) -> Iterator[Block]:
    """Tables between lines of `===  ===`: two of them, or three if there is a header."""
    while (top := SIMPLE.search(text, pos, stop)) and (
        bottom := SIMPLE.search(text, top.end(), stop)
    ):
        begin = first = top.start() + 1
        if following := text[bottom.end() + 1 : bottom.end() + LONGEST].split("\n", 1)[0].strip():
            first = bottom.end() + 1
            if not (bottom := SIMPLE.search(text, first, stop)):
                return
        pos = bottom.end()
        yield Block(begin, first, pos, text[begin:first] if following else "")


def _put(metadata: dict[str, Value], name: str, value: str) -> None:
    key, plain = name.strip().lower(), " ".join(value.split())
    if key == "tags":
        metadata[key] = [tag for tag in map(str.strip, SEPARATOR.split(plain)) if tag]
    elif plain:
        metadata[key] = plain


def _plain(title: str) -> str:
    """A title without the marks of inline markup: '``get`` and :ref:`more <x>`' -> 'get and more'"""
    return MARKUP.sub("", TARGET.sub("", title))


def _end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    found = pattern.match(text, pos)
    return found.end() if found else pos


class ReStructuredText(Markdown):
    """Implements `formats.Format`."""

    syntax = Syntax(readable, headings, blocks)

    def front_matter(self, text: str) -> FrontMatter:
        return front_matter(text)


FORMAT = ReStructuredText()
