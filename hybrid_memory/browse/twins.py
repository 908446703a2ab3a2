"""Find a document whose text is nearly the same as another."""

import re
from typing import TYPE_CHECKING

from ..store import retry_once
from ..text.characters import citation, storable
from ..text.query import Query

if TYPE_CHECKING:
    from ..storage.interface import Storage
    from ..storage.rows import ChunkRow
    from ..store import HybridStore
TWIN = 0.8  # share of a text's shingles that one other document has
SHINGLE = 9  # characters
TWIN_LEAST = 20  # shingles; a shorter text is never a twin
TWIN_START = 2000  # characters of a text to compare
TWIN_WORDS = 8  # the rarest words, which are searched
TWIN_PASSAGES = 16


@retry_once
def twin(store: "HybridStore", text: str, *, excluding: str | None = None) -> str | None:
    """The citation of a passage with nearly the same text in another document than `excluding`; None
    without one.

    Nearly the same: the text has 28 characters or more, and another document has four fifths of its
    shingles of nine characters, in the passages with most of its rarest words. The passage with the
    most shingles is cited.
    """
    text = storable(text[:TWIN_START])
    shingles = _shingles(text)
    with store.storage.snapshot():
        rows = []
        if len(shingles) >= TWIN_LEAST:
            rows = _with_rarest_words(store.storage, text)
    passages: dict[str, list[tuple[int, ChunkRow]]] = {}
    covered: dict[str, set[str]] = {}
    for row in rows:
        if row.doc_id != excluding:
            shared = shingles & _shingles(row.text)
            covered.setdefault(row.doc_id, set()).update(shared)
            passages.setdefault(row.doc_id, []).append((len(shared), row))
    if not covered:
        return None
    nearest = max(covered, key=lambda doc_id: len(covered[doc_id]))
    if len(covered[nearest]) < TWIN * len(shingles):
        return None
    _, row = max(passages[nearest], key=lambda passage: passage[0])
    return citation(row.doc_id, row.start_line, row.end_line, row.pages)


def _with_rarest_words(storage: "Storage", text: str) -> list["ChunkRow"]:
    """The passages with most of the rarest words of a text."""
    index = storage.keyword()
    counts = index.counts(Query(text, is_literal=True))
    rarest = sorted((word for word in counts if counts[word]), key=lambda word: counts[word])
    if not rarest:
        return []
    words = Query(" ".join(rarest[:TWIN_WORDS]), is_literal=True)
    ranked = index.ranked(words, TWIN_PASSAGES)
    return list(storage.chunks.rows(id for id, _ in ranked.ranking).values())


def _shingles(text: str) -> set[str]:
    """Every run of nine characters of a text's words."""
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return {words[start : start + SHINGLE] for start in range(len(words) - SHINGLE + 1)}
