"""Find the titles, aliases, links and tags of a markdown text.

Links are [[wikilinks]], ![[embeds]] and relative links of markdown; their targets are not resolved
here. Tags come from the metadata and from the text, without #, and spelled as text/equality.py does.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..text.characters import lines_at
from ..text.equality import spelled
from ..text.links import DocumentLinks, Link, distinct_names, path_of
from ..text.terms import LONGEST_TARGET, WIKILINK, plain
from .code import without_code, without_hidden
from .headings import ATTRIBUTES
from .structure import Heading, Markup, below, markdown_structure

# The target of an inline link and of a reference definition; one with spaces is in <>.
_IN_BRACKETS = rf"<([^<>\n]{{1,{LONGEST_TARGET}}})>"
LINK_TARGET = re.compile(
    rf"\]\([ \t]*+(?:{_IN_BRACKETS}|([^\s()<>]++(?:\([^\s()<>]*+\)[^\s()<>]*+)*+))"
)
REFERENCE = re.compile(
    rf"\n {{0,3}}\[(?!\^)[^\]\n]{{1,{LONGEST_TARGET}}}\]:[ \t]*+(?:{_IN_BRACKETS}|(\S++))"
)
ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")  # a URL, or a place in the same document
PLACEHOLDERS = ("{{", "<%", "…")  # of templates, and of removed data: URIs

# Obsidian's tags: no white space, and no signs but _, - and /.
SIGN = (
    r"\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u303f\uff00-\uff0f\uff1a-\uff20"
    r"!-,.:-@\[-^`{-~\s"
)
TAG = re.compile(rf"#(?<=[\s,;*_~|(]#)(?<!\]\(#)([^{SIGN}]{{1,200}})")
SPACED_TAG = re.compile(r"(?<!\S)#(\w+(?: \w+){0,4} \w{2,})#(?!\w)")  # of Bear; "C# or F#" has none
HEADING_LINE = re.compile(r"\n {0,3}#{1,6}[ \t][^\n]*")
HTML_TAG = re.compile(r"<[A-Za-z][^<>\n=]*=[^<>\n]*>")  # with attributes, such as a colour

EMPHASIS = re.compile(r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}(?=\s|$)")


def document_links(
    text: str, skipped: int, metadata: Mapping[str, Any], markup: Markup = markdown_structure
) -> DocumentLinks:
    """Find the titles, links and tags of a text with plain newlines.

    The first `skipped` lines are front matter, which may have links.
    """
    body = below(text, skipped)
    matter = "\n" + text[: len(text) - len(body) + 1]
    structure = markup(body)
    prose = without_hidden(without_code(structure))
    links = links_in(matter, 0) + links_in(prose, skipped)
    tags = tags_in(without_links(prose))
    return DocumentLinks(titles(metadata, structure.headings), tuple(links), tuple(tags))


def links_in(text: str, skipped: int) -> list[Link]:
    """The links of a text that begins with a line break, below `skipped` lines; each target once per
    line.
    """
    found = sorted(_find_links(text))
    lines = lines_at(text, [start for start, _, _ in found], skipped)
    links = (Link(line, target, kind) for line, (_, target, kind) in zip(lines, found, strict=True))
    return list(dict.fromkeys(links))


def _find_links(text: str) -> Iterator[tuple[int, str, str]]:
    for link in WIKILINK.finditer(text) if "[[" in text else ():
        target = link["target"].strip()
        is_command = text.startswith("{{", link.start() - 2)  # of Roam: {{[[TODO]]}}
        if path_of(target) and not is_command and not _is_placeholder(target):
            yield link.start(), target, "embed" if link[0][0] == "!" else "wikilink"
    for link in (*LINK_TARGET.finditer(text), *REFERENCE.finditer(text)):
        target = link[1] or link[2]
        if _is_relative(target):
            start = link.start() + (link[0][0] == "\n")  # a reference begins behind the line break
            yield start, target[:LONGEST_TARGET], "markdown"


def _is_relative(target: str) -> bool:
    if ELSEWHERE.match(target) or _is_placeholder(target):
        return False
    return path_of(target, "markdown") != ""


def _is_placeholder(target: str) -> bool:
    return any(sign in target for sign in PLACEHOLDERS)


def without_links(text: str) -> str:
    """Remove the targets of all links."""
    return LINK_TARGET.sub("](", WIKILINK.sub("", text))


def tags_in(text: str) -> list[str]:
    """The tags of a text without code and links, which begins with a line break.

    '#123' is not a tag.
    """
    text = HEADING_LINE.sub(
        lambda line: ATTRIBUTES.sub("", line[0].rstrip()), HTML_TAG.sub("", text)
    )
    spaced = [tag[1] for tag in SPACED_TAG.finditer(text)]
    names = [tag[1].strip("/") for tag in TAG.finditer(SPACED_TAG.sub("", text))]
    tags = map(spelled, spaced + names)
    return list(dict.fromkeys(tag for tag in tags if tag and not tag.isdigit()))


def titles(metadata: Mapping[str, Any], headings: Iterable[Heading]) -> tuple[str, ...]:
    """The `title` of the metadata, and the first heading if its level is 1."""
    written = []
    if isinstance(metadata.get("title"), str):
        written.append(metadata["title"])
    heading = next((heading for heading in headings if heading.title), None)
    if heading and heading.level == 1:
        written.append(heading.title)
    without_marks = (EMPHASIS.sub("", TAG.sub("", plain(title))) for title in written)
    return distinct_names(" ".join(title.split()) for title in without_marks)
