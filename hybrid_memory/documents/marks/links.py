"""Links to other documents: [[wikilinks]], ![[embeds]] and relative links of markdown. Where they lead is not known here."""

import re
import unicodedata
from collections.abc import Iterator

from ...typed.names import NamedTuple

LONGEST = 1000  # characters of a target

# Not behind a letter: x[[1]] is code, and it is not always known whether a text is code.
WIKILINK = re.compile(rf"(?<![A-Za-z0-9_\])])(!?)\[\[(?=\S)([^\[\]\n|]{{1,{LONGEST}}}?)(?:\\?\|([^\[\]\n]{{0,{LONGEST}}}))?\]\]")
# What follows the text of a link in markdown, and what a reference leads to.
LINK_TARGET = re.compile(rf"\]\([ \t]*+(?:<([^<>\n]{{1,{LONGEST}}})>|([^\s()<>]++(?:\([^\s()<>]*+\)[^\s()<>]*+)*+))")
REFERENCE = re.compile(rf"\n {{0,3}}\[(?!\^)[^\]\n]{{1,{LONGEST}}}\]:[ \t]*+(?:<([^<>\n]{{1,{LONGEST}}})>|(\S++))")
ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")  # a URL, or a place in the same document
PLACEHOLDERS = ("{{", "<%")  # of templates

MARKDOWN_ENDING = re.compile(r"\.(?:md|markdown)\Z", re.IGNORECASE)
FILE_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,9})\Z")
# A name in [[brackets]] with one of these endings is a file beside the notes; [[Node.js]] is a note.
ATTACHMENTS = frozenset(
    "png jpg jpeg gif bmp svg webp avif heic tif tiff mp3 wav m4a ogg flac 3gp webm mp4 mov mkv ogv pdf epub canvas base"
    " excalidraw csv tsv txt json yaml zip html docx xlsx pptx odt".split()
)


class Link(NamedTuple):
    """A link as it is written: `target` without the text that is shown for it. `kind` is "wikilink", "embed" or "markdown"."""

    line: int
    target: str
    kind: str


def found_in(text: str, first_line: int) -> list[Link]:
    """The links of a text that begins with a line break, each target once a line; the text after it begins on `first_line`."""
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
            if path_of(target, "markdown") and not ELSEWHERE.match(target) and not any(sign in target for sign in PLACEHOLDERS):
                yield link.start() + (pattern is REFERENCE), target[:LONGEST], "markdown"


def without_links(text: str) -> str:
    """The text without the targets of its links."""
    text = WIKILINK.sub("", text) if "[[" in text else text
    return LINK_TARGET.sub("](", text) if "](" in text else text


def plain(text: str) -> str:
    """The text with the words of its wikilinks in place of the links.

    'With [[people/Steph Ango|Steph]] on [[projects/Atlas#Plan]]s' -> 'With Steph on Atlas > Plans'
    """
    return WIKILINK.sub(_words, text) if "[[" in text else text


def targets(text: str) -> list[str]:
    """The targets of the wikilinks whose words are not those that `plain` gives."""
    return [link[2] for link in WIKILINK.finditer(text) if _words(link) != link[2]] if "[[" in text else []


def _words(link: re.Match[str]) -> str:
    path, _, place = link[2].partition("#")
    name = MARKDOWN_ENDING.sub("", path.rpartition("/")[2]).strip()
    return (link[3] or "").strip() or " > ".join(filter(None, [name, *([] if "^" in place else place.split("#"))]))


def names_in(value: str) -> list[str]:
    """What a value of metadata may be called: itself, and its words if it is a link, with and without its path.

    '[[people/Steph Ango|Steph]]' -> itself, 'Steph', 'people/Steph Ango', 'Steph Ango'
    """
    found = [value, plain(value)]
    if link := WIKILINK.fullmatch(value.strip()):
        found += [path_of(link[2]), path_of(link[2]).rpartition("/")[2]]
    return list(dict.fromkeys(found))


def path_of(target: str, kind: str = "wikilink") -> str:
    """The path in a target, without the place in the document: '../a%20b.md?x#sec' of markdown -> '../a b.md'"""
    if kind != "markdown":
        return target.partition("#")[0].strip().rstrip("\\")
    from urllib.parse import unquote  # imported late: searches do not need it

    return unquote(re.split("[?#]", target, maxsplit=1)[0], errors="replace").rstrip("/")


def folded(path: str) -> str:
    """A path or a name as names are compared: without the ending of markdown, case ignored, spaces as one."""
    return " ".join(unicodedata.normalize("NFC", MARKDOWN_ENDING.sub("", path.strip())).casefold().split())


def key_of(path: str) -> str:
    """The last part of a path or a name, folded, under which the store finds it."""
    return folded(path.rpartition("/")[2])


def is_attachment(target: str, kind: str) -> bool:
    """Whether the target is a file that is no note, such as an image."""
    path = path_of(target, kind)
    ending = None if MARKDOWN_ENDING.search(path) else FILE_ENDING.search(path)
    return ending is not None and (kind == "markdown" or ending[1].lower() in ATTACHMENTS)
