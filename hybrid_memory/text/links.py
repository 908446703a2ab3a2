"""Names, links and tags as documents write them, and the keys by which they are compared."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .equality import name_key
from .terms import MARKDOWN_ENDING, listed, path_of_wikilink, plain

LONGEST_NAME = 240  # characters of a title or an alias


FILE_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,9})\Z")


# A name in [[brackets]] with one of these endings is an attachment; [[Node.js]] is a note.
ATTACHMENTS = frozenset(
    "png jpg jpeg gif bmp svg webp avif heic tif tiff mp3 wav m4a ogg flac 3gp webm mp4 mov mkv ogv pdf epub"
    " canvas base excalidraw csv tsv txt json yaml zip html docx xlsx pptx odt".split()
)


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


def path_of(target: str, kind: str = "wikilink") -> str:
    """The path in a target, without the place in the document.

    '../a%20b.md?x#sec' of markdown -> '../a b.md'; Joplin's ':/id' -> 'id'
    """
    if kind != "markdown":
        return path_of_wikilink(target)

    path = re.split("[?#]", target.removeprefix(":/"), maxsplit=1)[0]
    if "%" in path:
        from urllib.parse import unquote  # few paths have escapes

        path = unquote(path, errors="replace")
    return path.rstrip("/")


def folded(path: str) -> str:
    """The key of a path or name without a markdown ending."""
    return name_key(MARKDOWN_ENDING.sub("", path.strip()))


def key_of(path: str) -> str:
    """The last part of a path or name, folded: the key of the document in the store."""
    return folded(path.rpartition("/")[2])


def names_note(target: str, kind: str) -> bool:
    """Whether the target must be a note, not an attachment such as an image, or a page of the website
    that is made from the notes: in markdown, `/guide/setup` may be either.
    """
    path = path_of(target, kind)
    if kind == "markdown":
        return MARKDOWN_ENDING.search(path) is not None
    ending = FILE_ENDING.search(path)
    return not ending or ending[1].lower() not in ATTACHMENTS


def aliases(metadata: Mapping[str, Any]) -> list[str]:
    """The values of `aliases` and `alias`. A text with commas is an alias, and so are its parts."""
    written: list[str] = []
    for key in ("aliases", "alias"):
        value = metadata.get(key)
        for alias in listed(value):
            written.append(alias)
            if isinstance(value, str):
                written += alias.split(",")
    return list(distinct_names(plain(alias.strip()) for alias in written))


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= LONGEST_NAME))


def tags_in_metadata(metadata: str) -> list[str]:
    """The tags in metadata (JSON): a list or words under `tags` or `tag`.

    '{"tags": "ops, Infra/GPU"}' -> ['ops', 'infra/gpu']
    """
    values = json.loads(metadata)
    texts = listed(values.get("tags")) + listed(values.get("tag"))
    tags = [normal_tag(name) for text in texts for name in text.split(",")]
    return [tag for tag in tags if tag]


def filterable_tags(metadata: str, of_text: Iterable[str]) -> set[str]:
    """The tags that match a filter: also the single words of a tag of the metadata that has several."""
    tags = {normal_tag(name) for name in of_text}
    for name in tags_in_metadata(metadata):
        tags.update(map(normal_tag, (name, *name.split())))
    return tags - {""}


def normal_tag(tag: str) -> str:
    """Normalize a tag for comparison: ' #Ops' -> 'ops'"""
    return name_key(tag.strip().lstrip("#"))


def with_parents(tag: str) -> list[str]:
    """A tag and the tags above it: 'a/b/c' -> ['a/b/c', 'a/b', 'a']"""
    parts = tag.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
