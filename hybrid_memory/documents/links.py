"""Find the titles, aliases, links and tags of a markdown text.

Links are [[wikilinks]], ![[embeds]] and relative links of markdown; their targets are not resolved
here. Tags come from the metadata and from the text, without #, and spelled as text/equality.py does.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from ..text.equality import name_key, spelled
from .code import without_code, without_hidden
from .structure import Heading, Markup, below, markdown_structure
from .terms import LONGEST_TARGET, MARKDOWN_ENDING, WIKILINK, listed, path_of_wikilink, plain

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

FILE_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,9})\Z")
# A name in [[brackets]] with one of these endings is an attachment; [[Node.js]] is a note.
ATTACHMENTS = frozenset(
    "png jpg jpeg gif bmp svg webp avif heic tif tiff mp3 wav m4a ogg flac 3gp webm mp4 mov mkv ogv pdf epub"
    " canvas base excalidraw csv tsv txt json yaml zip html docx xlsx pptx odt".split()
)

# Obsidian's tags: no white space, and no signs but _, - and /.
SIGN = (
    r"\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u303f\uff00-\uff0f\uff1a-\uff20"
    r"!-,.:-@\[-^`{-~\s"
)
TAG = re.compile(rf"#(?<=[\s,;*_~|(]#)(?<!\]\(#)([^{SIGN}]{{1,200}})")
HEADING_LINE = re.compile(r"\n {0,3}#{1,6}[ \t][^\n]*")

LONGEST_NAME = 240  # characters of a title or an alias
EMPHASIS = re.compile(r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}(?=\s|$)")


class Link(NamedTuple):
    """A link as written: `target` without the displayed text. `kind` is "wikilink", "embed" or
    "markdown".
    """

    line: int
    target: str
    kind: str


class DocumentLinks(NamedTuple):
    """The names and links of a document; `tags` are those in the text."""

    titles: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


NO_LINKS = DocumentLinks()


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
    links = links_in(matter, 1) + links_in(prose, skipped + 1)
    tags = tags_in(without_links(prose))
    return DocumentLinks(titles(metadata, structure.headings), tuple(links), tuple(tags))


def links_in(text: str, first_line: int) -> list[Link]:
    """The links of a text that begins with a line break, each target once per line.

    The text after that line break begins on `first_line`.
    """
    links = []
    pos = 1
    line = first_line
    for start, target, kind in sorted(_find_links(text)):
        line += text.count("\n", pos, start)
        pos = max(pos, start)
        links.append(Link(line, target, kind))
    return list(dict.fromkeys(links))


def _find_links(text: str) -> Iterator[tuple[int, str, str]]:
    if "[[" in text:
        for link in WIKILINK.finditer(text):
            target = link["target"].strip()
            if path_of(target) and not _is_placeholder(target):
                yield link.start(), target, "embed" if link[0][0] == "!" else "wikilink"
    if "](" in text:
        for link in LINK_TARGET.finditer(text):
            target = link[1] or link[2]
            if _is_relative(target):
                yield link.start(), target[:LONGEST_TARGET], "markdown"
    if "]:" in text:
        for reference in REFERENCE.finditer(text):
            target = reference[1] or reference[2]
            if _is_relative(target):
                yield reference.start() + 1, target[:LONGEST_TARGET], "markdown"


def _is_relative(target: str) -> bool:
    if ELSEWHERE.match(target) or _is_placeholder(target):
        return False
    return path_of(target, "markdown") != ""


def _is_placeholder(target: str) -> bool:
    return any(sign in target for sign in PLACEHOLDERS)


def without_links(text: str) -> str:
    """Remove the targets of all links."""
    if "[[" in text:
        text = WIKILINK.sub("", text)
    if "](" in text:
        text = LINK_TARGET.sub("](", text)
    return text


def path_of(target: str, kind: str = "wikilink") -> str:
    """The path in a target, without the place in the document.

    '../a%20b.md?x#sec' of markdown -> '../a b.md'
    """
    if kind != "markdown":
        return path_of_wikilink(target)

    return unquote(re.split("[?#]", target, maxsplit=1)[0], errors="replace").rstrip("/")


def folded(path: str) -> str:
    """The key of a path or name without a markdown ending."""
    return name_key(MARKDOWN_ENDING.sub("", path.strip()))


def key_of(path: str) -> str:
    """The last part of a path or name, folded: the key of the document in the store."""
    return folded(path.rpartition("/")[2])


def is_attachment(target: str, kind: str) -> bool:
    """Whether the target is a file that is not a note, such as an image."""
    path = path_of(target, kind)
    ending = FILE_ENDING.search(path)
    if not ending or MARKDOWN_ENDING.search(path):
        return False
    return kind == "markdown" or ending[1].lower() in ATTACHMENTS


def tags_in(text: str) -> list[str]:
    """The tags of a text without code and links, which begins with a line break.

    '#123' is not a tag.
    """
    if "#" not in text:
        return []
    tags = [spelled(tag[1].strip("/")) for tag in TAG.finditer(HEADING_LINE.sub("\n", text))]
    return list(dict.fromkeys(tag for tag in tags if tag and not tag.isdigit()))


def tags_in_metadata(metadata: str) -> list[str]:
    """The tags in metadata (JSON): a list or words under `tags` or `tag`.

    '{"tags": "ops, Infra/GPU"}' -> ['ops', 'infra/gpu']
    """
    values = json.loads(metadata)
    texts = listed(values.get("tags")) + listed(values.get("tag"))
    tags = [normal_tag(name) for text in texts for name in text.split(",")]
    return [tag for tag in tags if tag]


def filterable_tags(metadata: str, of_text: Iterable[str]) -> set[str]:
    """The tags that match a filter: also the single words of a tag that has several."""
    tags: set[str] = set()
    for name in (*tags_in_metadata(metadata), *of_text):
        tags.update(map(normal_tag, (name, *name.split())))
    return tags - {""}


def normal_tag(tag: str) -> str:
    """Normalize a tag for comparison: ' #Ops' -> 'ops'"""
    return name_key(tag.strip().lstrip("#"))


def above(tag: str) -> list[str]:
    """A tag and the tags above it: 'a/b/c' -> ['a/b/c', 'a/b', 'a']"""
    parts = tag.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def titles(metadata: Mapping[str, Any], headings: Iterable[Heading]) -> tuple[str, ...]:
    """The `title` of the metadata, and the first heading if its level is 1."""
    written = []
    if isinstance(metadata.get("title"), str):
        written.append(metadata["title"])
    heading = next((heading for heading in headings if heading.title), None)
    if heading and heading.level == 1:
        written.append(heading.title)
    without_marks = (EMPHASIS.sub("", TAG.sub("", plain(title))) for title in written)
    return _names(" ".join(title.split()) for title in without_marks)


def aliases(metadata: Mapping[str, Any]) -> list[str]:
    """The values of `aliases` and `alias`. A text with commas is an alias, and so are its parts."""
    written: list[str] = []
    for key in ("aliases", "alias"):
        value = metadata.get(key)
        for alias in listed(value):
            written.append(alias)
            if isinstance(value, str):
                written += alias.split(",")
    return list(_names(plain(alias.strip()) for alias in written))


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= LONGEST_NAME))
