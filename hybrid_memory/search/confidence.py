"""How sure a result is. Unlike a score, which is relative to the best result, confidence can be compared between searches.

It is the mean of two signs, each 0 to 1. Coverage is the share of the query's words that a chunk has, each word counted by its
rarity (inverse document frequency), so that a name which is nowhere in the store counts most. Nearness says how far the
chunk's cosine stands above the query's mean cosine with the store, as a share of how far it could; the mean takes away what a
model gives to any two texts. Standard deviations above the mean told less on judged collections: they grow where a store has
many subjects.
"""

from collections.abc import Iterable, Iterator

from .context import Context
from .hit import Hit


def with_confidence(hits: Iterable[Hit], context: Context) -> Iterator[Hit]:
    """Confidence, for as many hits at a time as will be wanted, because the words of each have to be read.

    Begins with `limit` hits; where later stages want more, the next batch is twice as large.
    """
    ranked, start, size = list(hits), 0, context.request.limit
    while batch := ranked[start : start + size]:
        start, size = start + size, 2 * size
        if context.request.fts_syntax:
            found = {hit.id: (1.0, [context.query.text]) for hit in batch}
        else:
            coverage = context.keyword_index.coverage(context.query, [hit.id for hit in batch])
            found = {id: (each.share, each.terms) for id, each in coverage.items()}
        for hit in batch:
            hit.coverage, hit.terms = found[hit.id]
            hit.nearness = context.legs.near.get(hit.id)
            hit.confidence = confidence(hit.coverage, hit.nearness)
            yield hit


def confidence(share: float, near: float | None) -> float:
    """The mean of coverage and nearness, to three decimals; coverage alone for a chunk that has no cosine."""
    return round(min(max(share if near is None else (share + near) / 2, 0.0), 1.0), 3)
