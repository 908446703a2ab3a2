"""What of a document goes into the keyword index: the tokens of its chunks and, with the first, of its names and metadata."""

import json
from collections.abc import Iterable, Iterator

from ..text import analyzer
from ..typed.names import Any
from .marks.links import plain, targets

Terms = tuple[str, str, str]  # tokens of a chunk's headings, of its text, and of what else is known of it


def terms(
    doc_id: str, collection: str | None, metadata: str, chunks: Iterable[tuple[str, str]], called: Iterable[str] | None
) -> Iterator[Terms]:
    """The terms of chunks, which are given as heading path and text. `metadata` is JSON; `called` are titles and aliases.

    What is told once for a document goes with the first chunk. `called` is None if that is not the first of the document.
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
        return [found for value in (metadata.values() if isinstance(metadata, dict) else metadata) for found in _values(value)]
    return [] if metadata is None or isinstance(metadata, bool) else [str(metadata)]
