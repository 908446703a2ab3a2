"""Make the terms of a document for the keyword index: the tokens of its chunks and, with the first
chunk, those of its names and metadata.

A wikilink is indexed by its displayed words and by its target.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from . import analyzer

LONGEST_TARGET = 1000  # characters of a target
SEPARATOR = " > "  # of the headings in a path

# Not after a letter: x[[1]] is code, and a text may be code unnoticed.
_AFTER_LETTER = r"(?<![A-Za-z0-9_\])].)"
# Each alternative begins with a character, for which `re` looks twice as fast as for a condition
WIKILINK = re.compile(
    rf"(?:!{_AFTER_LETTER}\[|\[{_AFTER_LETTER})\[(?=\S)"
    rf"(?P<target>[^\[\]\n|]{{1,{LONGEST_TARGET}}}?)"
    rf"(?:\\?\|(?P<shown>[^\[\]\n]{{0,{LONGEST_TARGET}}}))?\]\]"
)
MARKDOWN_ENDING = re.compile(r"\.(?:md|markdown)\Z", re.IGNORECASE)

# Tokens of a chunk's headings, of its text, and of its context
Terms = tuple[str, str, str]


def terms(
    doc_id: str,
    collection: str | None,
    metadata: str,
    chunks: Iterable[tuple[str, str, str]],
    names: Iterable[str] | None,
) -> Iterator[Terms]:
    """Yield the terms of chunks, given as heading path, text, and the list items around it.

    `metadata` is JSON. `names` are titles and aliases; None if the first chunk is not the
    document's first, which alone gets the terms of names and metadata.
    """
    path = doc_id.removeprefix(f"{collection}/")
    path_words = analyzer.indexed(analyzer.stem(path))
    for heading_path, content, items in chunks:
        words, identifiers = analyzer.tokens_with_identifiers(plain(content))
        context = [identifiers, *map(analyzer.indexed, targets(content))]
        if items:
            context.append(_around(items))
        if names is not None:
            context += sorted({*analyzer.names(doc_id, path), *map(analyzer.name, names)})
            context += map(analyzer.indexed, texts_in(json.loads(metadata)))
            names = None
        yield f"{_around(heading_path)} {path_words}", words, " ".join(context)


@lru_cache(100)
def _around(text: str) -> str:
    """The tokens of a heading path or of list items, which several chunks often share."""
    return analyzer.indexed(plain(text))


def texts_in(metadata: Any) -> list[str]:
    """All words and numbers in metadata, including those in lists and maps."""
    if isinstance(metadata, dict):
        metadata = list(metadata.values())
    if isinstance(metadata, list):
        return [text for value in metadata for text in texts_in(value)]
    if metadata is None or isinstance(metadata, bool):
        return []
    return [str(metadata)]


def plain(text: str) -> str:
    """Replace wikilinks with their displayed words.

    'With [[people/Steph Ango|Steph]] on [[projects/Atlas#Plan]]s' -> 'With Steph on Atlas > Plans'
    """
    return WIKILINK.sub(_words, text) if "[[" in text else text


def targets(text: str) -> list[str]:
    """The targets of the wikilinks that are displayed with other words."""
    if "[[" not in text:
        return []
    found = WIKILINK.finditer(text)
    return [link["target"] for link in found if _words(link) != link["target"]]


def path_of_wikilink(target: str) -> str:
    """The path or name in a wikilink, without the place in the document.

    'Plan#Costs' -> 'Plan', 'C#' -> 'C#'
    """
    path, _, place = target.partition("#")
    return (path if place.strip("# ") or not path else target).strip().rstrip("\\")


def names_in(value: str) -> list[str]:
    """The names of a metadata value: itself and, if it is a link, its words and its target, with and
    without the path.

    '[[people/Steph Ango|Steph]]' -> itself, 'Steph', 'people/Steph Ango', 'Steph Ango'
    """
    names = [value, value.strip(), plain(value)]
    link = WIKILINK.fullmatch(value.strip())
    if link:
        path = path_of_wikilink(link["target"])
        names += [path, path.rpartition("/")[2]]
    return list(dict.fromkeys(names))


def listed(value: Any) -> list[str]:
    """A metadata value as a list of texts; true is 'true' and 3 is '3'. Lists and maps in a list
    are left out.
    """
    items = value if isinstance(value, list) else [value]
    scalars = [item for item in items if not (item is None or isinstance(item, list | dict))]
    return [item if isinstance(item, str) else json.dumps(item) for item in scalars]


def _words(link: re.Match[str]) -> str:
    shown = (link["shown"] or "").strip()
    if shown:
        return shown
    path, _, place = link["target"].partition("#")
    name = path.rpartition("/")[2]
    if "." in name:
        name = MARKDOWN_ENDING.sub("", name)
    headings = [] if "^" in place else place.split("#")
    return SEPARATOR.join(filter(None, [name.strip(), *headings]))


def embedded_text(heading_path: str, content: str, items: str = "") -> str:
    """The text that the model gets for a chunk: link texts without brackets, after the heading
    path and the list items around it, because the chunk alone may not name its subject.
    """
    above = SEPARATOR.join(filter(None, (heading_path, items)))
    return plain(f"{above}\n\n{content}" if above else content)
