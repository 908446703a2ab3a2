"""What of a document goes into the keyword index: the tokens of its chunks and, with the first, of its names and metadata."""

import json
from collections.abc import Iterable
from typing import Any

from ..text import analyzer
from .marks.links import plain, targets

Terms = tuple[str, str, str]  # tokens of a chunk's headings, of its text, and of what else is known of it


def terms(
    doc_id: str,
    collection: str | None,
    metadata: str,
    chunks: Iterable[tuple[str, str]],
    called: Iterable[str] | None,
) -> list[Terms]:
    """The terms of chunks, which are given as heading path and text. `metadata` is JSON; `called` are titles and aliases.

    What is told once for a document goes with the first chunk. `called` is None if that is not the first of the document.
    """
    path = doc_id.removeprefix(f"{collection}/")
    path_words = analyzer.searchable(analyzer.stem(path))
    found: list[Terms] = []
    headings: dict[str, str] = {}
    for heading_path, content in chunks:
        if heading_path not in headings:
            headings[heading_path] = f"{analyzer.searchable(plain(heading_path))} {path_words}"
        words, identifiers = analyzer.written(plain(content))
        context = [identifiers, *map(analyzer.searchable, targets(content))]
        if called is not None and not found:
            context += dict.fromkeys([*analyzer.names(doc_id, path), *map(analyzer.name, called)])
            context += map(analyzer.searchable, _values(json.loads(metadata)))
        found.append((headings[heading_path], words, " ".join(context)))
    return found


def _values(metadata: Any) -> list[str]:
    """All words and numbers in metadata, those in lists included."""
    if isinstance(metadata, dict | list):
        return [found for value in (metadata.values() if isinstance(metadata, dict) else metadata) for found in _values(value)]
    return [] if metadata is None or isinstance(metadata, bool) else [str(metadata)]
