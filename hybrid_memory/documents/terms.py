"""What of a document goes into the keyword index: the tokens of its chunks and, with the first, of
its names and metadata.

Of a wikilink the index has the words, as a reader sees them, and its target besides.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..text import analyzer

LONGEST_TARGET = 1000  # characters of a target

# Not behind a letter: x[[1]] is code, and it is not always known whether a text is code.
WIKILINK = re.compile(
    rf"(?<![A-Za-z0-9_\])])(!?)\[\[(?=\S)([^\[\]\n|]{{1,{LONGEST_TARGET}}}?)(?:\\?\|([^\[\]\n]{{0,{LONGEST_TARGET}}}))?\]\]"
)
MARKDOWN_ENDING = re.compile(r"\.(?:md|markdown)\Z", re.IGNORECASE)

Terms = tuple[
    str, str, str
]  # tokens of a chunk's headings, of its text, and of what else is known of it


def terms(
    doc_id: str,
    collection: str | None,
    metadata: str,
    chunks: Iterable[tuple[str, str]],
    called: Iterable[str] | None,
) -> Iterator[Terms]:
    """The terms of chunks, which are given as heading path and text. `metadata` is JSON; `called`
    are titles and aliases.

    What is told once for a document goes with the first chunk. `called` is None if that is not the
    first of the document.
    """
    path = doc_id.removeprefix(f"{collection}/")
    path_words = analyzer.indexed(analyzer.stem(path))
    heading = written = ""  # of the chunk before, which is often the same
    is_first = called is not None
    for heading_path, content in chunks:
        if heading_path != written:
            heading, written = analyzer.indexed(plain(heading_path)), heading_path
        words, identifiers = analyzer.written(plain(content))
        context = [identifiers, *map(analyzer.indexed, targets(content))]
        if is_first:
            context += sorted({*analyzer.names(doc_id, path), *map(analyzer.name, called or ())})
            context += map(analyzer.indexed, _values(json.loads(metadata)))
            is_first = False
        yield f"{heading} {path_words}", words, " ".join(context)


def _values(metadata: Any) -> list[str]:
    """All words and numbers in metadata, those in lists included."""
    if isinstance(metadata, dict | list):
        return [
            found
            for value in (metadata.values() if isinstance(metadata, dict) else metadata)
            for found in _values(value)
        ]
    return [] if metadata is None or isinstance(metadata, bool) else [str(metadata)]


def plain(text: str) -> str:
    """The text with the words of its wikilinks in place of the links.

    'With [[people/Steph Ango|Steph]] on [[projects/Atlas#Plan]]s' -> 'With Steph on Atlas > Plans'
    """
    return WIKILINK.sub(_words, text) if "[[" in text else text


def targets(text: str) -> list[str]:
    """The targets of the wikilinks whose words are not those that `plain` gives."""
    return (
        [link[2] for link in WIKILINK.finditer(text) if _words(link) != link[2]]
        if "[[" in text
        else []
    )


def _words(link: re.Match[str]) -> str:
    path, _, place = link[2].partition("#")
    name = MARKDOWN_ENDING.sub("", path.rpartition("/")[2]).strip()
    return (link[3] or "").strip() or " > ".join(
        filter(None, [name, *([] if "^" in place else place.split("#"))])
    )
