"""Make the terms of a document, which go into the keyword index: the tokens of its chunks and, with
the first, of its names and metadata.

Of a wikilink the index has the words, as a reader sees them, and its target besides.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..text import analyzer

LONGEST_TARGET = 1000  # characters of a target
SEPARATOR = " > "  # of the headings in a path

# Not behind a letter: x[[1]] is code, and it is not always known whether a text is code.
WIKILINK = re.compile(
    rf"(?<![A-Za-z0-9_\])])(!?)\[\[(?=\S)([^\[\]\n|]{{1,{LONGEST_TARGET}}}?)"
    rf"(?:\\?\|([^\[\]\n]{{0,{LONGEST_TARGET}}}))?\]\]"
)
MARKDOWN_ENDING = re.compile(r"\.(?:md|markdown)\Z", re.IGNORECASE)

# Tokens of a chunk's headings, of its text, and of what else is known of it
Terms = tuple[str, str, str]


def terms(
    doc_id: str,
    collection: str | None,
    metadata: str,
    chunks: Iterable[tuple[str, str]],
    called: Iterable[str] | None,
) -> Iterator[Terms]:
    """Yield the terms of chunks, which are given as heading path and text. `metadata` is JSON;
    `called` are titles and aliases, or None if the first chunk is not the document's first, with
    which goes what is told once for a document.
    """
    path = doc_id.removeprefix(f"{collection}/")
    path_words = analyzer.indexed(analyzer.stem(path))
    heading = ""  # the tokens of the path below, which is often that of several chunks
    indexed_path = ""
    is_first = called is not None
    for heading_path, content in chunks:
        if heading_path != indexed_path:
            heading = analyzer.indexed(plain(heading_path))
            indexed_path = heading_path
        words, identifiers = analyzer.written(plain(content))
        context = [identifiers, *map(analyzer.indexed, targets(content))]
        if is_first:
            context += sorted({*analyzer.names(doc_id, path), *map(analyzer.name, called or ())})
            context += map(analyzer.indexed, texts_in(json.loads(metadata)))
            is_first = False
        yield f"{heading} {path_words}", words, " ".join(context)


def texts_in(metadata: Any) -> list[str]:
    """Return all words and numbers in metadata, those in lists and maps included."""
    if isinstance(metadata, dict):
        metadata = list(metadata.values())
    if isinstance(metadata, list):
        return [text for value in metadata for text in texts_in(value)]
    if metadata is None or isinstance(metadata, bool):
        return []
    return [str(metadata)]


def plain(text: str) -> str:
    """Return the text with the words of its wikilinks in place of the links.

    'With [[people/Steph Ango|Steph]] on [[projects/Atlas#Plan]]s' -> 'With Steph on Atlas > Plans'
    """
    return WIKILINK.sub(_words, text) if "[[" in text else text


def targets(text: str) -> list[str]:
    """Return the targets of the wikilinks whose words are not those that `plain` gives."""
    if "[[" not in text:
        return []
    return [link[2] for link in WIKILINK.finditer(text) if _words(link) != link[2]]


def path_of_wikilink(target: str) -> str:
    """Return the path or the name that a wikilink leads to, without the place there."""
    return target.partition("#")[0].strip().rstrip("\\")


def names_in(value: str) -> list[str]:
    """Return what a value of metadata may be called: itself, and its words if it is a link, with and
    without its path.

    '[[people/Steph Ango|Steph]]' -> itself, 'Steph', 'people/Steph Ango', 'Steph Ango'
    """
    names = [value, value.strip(), plain(value)]
    link = WIKILINK.fullmatch(value.strip())
    if link:
        path = path_of_wikilink(link[2])
        names += [path, path.rpartition("/")[2]]
    return list(dict.fromkeys(names))


def listed(value: Any) -> list[str]:
    """Return a value of metadata as a list of texts; true is 'true' and 3 is '3'. Lists and maps in
    a list are left out.
    """
    items = value if isinstance(value, list) else [value]
    scalars = [item for item in items if not (item is None or isinstance(item, list | dict))]
    return [item if isinstance(item, str) else json.dumps(item) for item in scalars]


def _words(link: re.Match[str]) -> str:
    shown = (link[3] or "").strip()
    if shown:
        return shown
    path, _, place = link[2].partition("#")
    name = MARKDOWN_ENDING.sub("", path.rpartition("/")[2]).strip()
    headings = [] if "^" in place else place.split("#")
    return SEPARATOR.join(filter(None, [name, *headings]))
