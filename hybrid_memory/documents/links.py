"""What a markdown text says of itself and of others: titles and aliases, links to other documents,
tags.

Links are [[wikilinks]], ![[embeds]] and relative links of markdown; where they lead is not known
here. Tags are those of the metadata and those that stand in the text, all without # and case
folded.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .code import without_code, without_hidden
from .noise import readable
from .terms import LONGEST_TARGET, MARKDOWN_ENDING, WIKILINK, plain

# What follows the text of a link in markdown, and what a reference leads to.
LINK_TARGET = re.compile(
    rf"\]\([ \t]*+(?:<([^<>\n]{{1,{LONGEST_TARGET}}})>|([^\s()<>]++(?:\([^\s()<>]*+\)[^\s()<>]*+)*+))"
)
REFERENCE = re.compile(
    rf"\n {{0,3}}\[(?!\^)[^\]\n]{{1,{LONGEST_TARGET}}}\]:[ \t]*+(?:<([^<>\n]{{1,{LONGEST_TARGET}}})>|(\S++))"
)
ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")  # a URL, or a place in the same document
PLACEHOLDERS = ("{{", "<%")  # of templates


FILE_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,9})\Z")
# A name in [[brackets]] with one of these endings is a file beside the notes; [[Node.js]] is a
# note.
ATTACHMENTS = frozenset(
    "png jpg jpeg gif bmp svg webp avif heic tif tiff mp3 wav m4a ogg flac 3gp webm mp4 mov mkv ogv pdf epub"
    " canvas base excalidraw csv tsv txt json yaml zip html docx xlsx pptx odt".split()
)


class Link(NamedTuple):
    """A link as it is written: `target` without the text that is shown for it. `kind` is
    "wikilink", "embed" or "markdown".
    """

    line: int
    target: str
    kind: str


def found_in(text: str, first_line: int) -> list[Link]:
    """The links of a text that begins with a line break, each target once a line; the text after it
    begins on `first_line`.
    """
    found = dict[tuple[int, str, str], None]()
    at, line = 1, first_line
    for start, target, kind in sorted(_places(text)):
        line += text.count("\n", at, start)
        at = max(at, start)
        found[line, target, kind] = None
    return [Link(*each) for each in found]


def _places(text: str) -> Iterator[tuple[int, str, str]]:
    if "[[" in text:
        for link in WIKILINK.finditer(text):
            target = link[2].strip()
            if path_of(target) and not any(sign in target for sign in PLACEHOLDERS):
                yield link.start(), target, "embed" if link[1] else "wikilink"
    for pattern in [LINK_TARGET] * ("](" in text) + [REFERENCE] * ("]:" in text):
        for link in pattern.finditer(text):
            target = link[1] or link[2]
            if (
                path_of(target, "markdown")
                and not ELSEWHERE.match(target)
                and not any(sign in target for sign in PLACEHOLDERS)
            ):
                yield link.start() + (pattern is REFERENCE), target[:LONGEST_TARGET], "markdown"


def without_links(text: str) -> str:
    """The text without the targets of its links."""
    text = WIKILINK.sub("", text) if "[[" in text else text
    return LINK_TARGET.sub("](", text) if "](" in text else text


def names_in(value: str) -> list[str]:
    """What a value of metadata may be called: itself, and its words if it is a link, with and
    without its path.

    '[[people/Steph Ango|Steph]]' -> itself, 'Steph', 'people/Steph Ango', 'Steph Ango'
    """
    found = [value, plain(value)]
    if link := WIKILINK.fullmatch(value.strip()):
        found += [path_of(link[2]), path_of(link[2]).rpartition("/")[2]]
    return list(dict.fromkeys(found))


def path_of(target: str, kind: str = "wikilink") -> str:
    """The path in a target, without the place in the document: '../a%20b.md?x#sec' of markdown ->
    '../a b.md'
    """
    if kind != "markdown":
        return target.partition("#")[0].strip().rstrip("\\")
    from urllib.parse import unquote  # imported late: searches do not need it

    return unquote(re.split("[?#]", target, maxsplit=1)[0], errors="replace").rstrip("/")


def folded(path: str) -> str:
    """A path or a name as names are compared: without the ending of markdown, case ignored, spaces
    as one.
    """
    return " ".join(
        unicodedata.normalize("NFC", MARKDOWN_ENDING.sub("", path.strip())).casefold().split()
    )


def key_of(path: str) -> str:
    """The last part of a path or a name, folded, under which the store finds it."""
    return folded(path.rpartition("/")[2])


def is_attachment(target: str, kind: str) -> bool:
    """Whether the target is a file that is no note, such as an image."""
    path = path_of(target, kind)
    ending = None if MARKDOWN_ENDING.search(path) else FILE_ENDING.search(path)
    return ending is not None and (kind == "markdown" or ending[1].lower() in ATTACHMENTS)


# What Obsidian takes for a tag: no white space, and of the signs only _, - and /.
SIGN = r"\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u303f\uff00-\uff0f\uff1a-\uff20!-,.:-@\[-^`{-~\s"
TAG = re.compile(rf"#(?<=[\s,;*_~|(]#)(?<!\]\(#)([^{SIGN}]{{1,200}})")
HEADING_LINE = re.compile(r"\n {0,3}#{1,6}[ \t][^\n]*")


def in_text(text: str) -> list[str]:
    """The tags of a text without code and links, which begins with a line break. '#123' is no tag."""
    if "#" not in text:
        return []
    found = (tag[1].strip("/") for tag in TAG.finditer(HEADING_LINE.sub("\n", text)))
    return list(dict.fromkeys(tag.casefold() for tag in found if tag and not tag.isdigit()))


def in_metadata(metadata: str) -> list[str]:
    """The tags in metadata (JSON), in a list or in words under `tags` or `tag`.

    '{"tags": "ops, Infra/GPU"}' -> ['ops', 'infra/gpu']
    """
    return [tag for name in _names_of(json.loads(metadata)) if (tag := bare(name))]


def all_of(metadata: str, of_text: Iterable[str]) -> set[str]:
    """What a filter on tags is compared with: also the single words of a tag that has several."""
    return {
        tag
        for name in (*in_metadata(metadata), *of_text)
        for own in (name, *name.split())
        if (tag := bare(own))
    }


def bare(tag: str) -> str:
    """' #Ops' -> 'ops'"""
    return tag.strip().lstrip("#").casefold()


def above(tag: str) -> list[str]:
    """The tag and those that it is nested in: 'a/b/c' -> ['a/b/c', 'a/b', 'a']"""
    parts = tag.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def listed(value: Any) -> list[str]:
    """A value of metadata as a list of texts; true is 'true' and 3 is '3'."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [each if isinstance(each, str) else json.dumps(each) for each in values]


def _names_of(values: Mapping[str, Any]) -> list[str]:
    return [
        name
        for key in ("tags", "tag")
        for value in listed(values.get(key))
        for name in value.split(",")
    ]


LONGEST_NAME = 240  # characters of a title or an alias
FIRST_HEADING = re.compile(r"\n {0,3}(#{1,6})[ \t]+([^\n]+)")
CLOSING_SIGNS = re.compile(r"(?:^|[ \t])#+[ \t]*$")
EMPHASIS = re.compile(r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}(?=\s|$)")


def titles(metadata: Mapping[str, Any], text: str, without_code: str) -> tuple[str, ...]:
    """The `title` of the metadata, and the first heading if it is one of level 1; the text also as
    it is without its code.
    """
    found = [metadata["title"]] if isinstance(metadata.get("title"), str) else []
    heading = FIRST_HEADING.search(without_code)
    if heading and len(heading[1]) == 1:
        found.append(CLOSING_SIGNS.sub("", text[heading.start(2) : heading.end(2)]))
    plain_titles = (
        " ".join(EMPHASIS.sub("", TAG.sub("", plain(title))).split()) for title in found
    )
    return tuple(dict.fromkeys(title for title in plain_titles if 0 < len(title) <= LONGEST_NAME))


def aliases(metadata: Mapping[str, Any]) -> list[str]:
    """The values of `aliases` and `alias`. A text with commas is one alias, and its parts are some,
    too.
    """
    found = []
    for key in ("aliases", "alias"):
        value = metadata.get(key)
        for alias in listed(value):
            found += [alias, *(alias.split(",") if isinstance(value, str) else [])]
    return list(
        dict.fromkeys(
            alias for each in found if 0 < len(alias := plain(each.strip())) <= LONGEST_NAME
        )
    )


class DocumentLinks(NamedTuple):
    """What a text says of itself and of others; `tags` are those that stand in the text."""

    titles: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


NO_LINKS = DocumentLinks()


def document_links(text: str, skipped: int, metadata: Mapping[str, Any]) -> DocumentLinks:
    """The titles, links and tags of a text with plain newlines, whose first `skipped` lines are
    front matter, which may have links.
    """
    lines = text.split("\n", skipped)
    matter = "\n" + "\n".join(lines[:skipped])
    body = readable("\n" + lines[-1] if len(lines) > skipped else "\n")
    bare = without_hidden(without_code(body))
    found = found_in(matter, 1) + found_in(bare, skipped + 1)
    return DocumentLinks(
        titles(metadata, body, bare), tuple(found), tuple(in_text(without_links(bare)))
    )
