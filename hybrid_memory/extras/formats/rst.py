"""Read texts with underlined titles: reStructuredText, of which only titles and paragraphs are read,
and plain text, with markdown's headings, code and tables.

Syntax: "reStructuredText Markup Specification" (docutils.sourceforge.io). A section's level is the
order in which its adornment, with or without a line above, first appears. Indented lines are not
titles, so directives have no titles. In plain text, a line of `=` makes the line above a heading of
the first level, and a line of `-` one of the second.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from heapq import merge

from ...documents.markdown import Markdown
from ...documents.noise import without_noise
from ...documents.structure import Heading, Structure, is_in, plain_structure
from ...text.characters import columns

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

PARAGRAPH = re.compile(r"(?<=\n)[^\S\n]*+\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+")


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


def _plain(title: str) -> str:
    """Remove the marks of inline markup from a title.

    "``get`` and :ref:`more <x>`" -> "get and more"
    """
    return MARKUP.sub("", TARGET.sub("", title))


@lru_cache(1)  # used twice per document: for its links and for its chunks
def structure(text: str) -> Structure:
    """The structure of a text with a line break before each line."""
    text = without_noise(text)
    paragraphs = [paragraph.span() for paragraph in PARAGRAPH.finditer(text, 1)]
    return Structure(text, list(headings(text)), [], [], paragraphs)


class ReStructuredText(Markdown):
    """Implements `formats.Format`."""

    def structure(self, text: str) -> Structure:
        """As in `Markdown`."""
        return structure(text)


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
    underlined = []
    for title in UNDERLINED.finditer(found.text):
        if not is_in(code, title.start()):
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
