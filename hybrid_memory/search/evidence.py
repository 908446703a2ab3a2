"""What speaks for a chunk beyond its own words: the chunks beside it, and the best chunks of its document.

A chunk of a few lines says little; one among others that answer is likelier the right place. The shares and their number were
found on judged collections (docs/measurements.md); larger shares find more right documents and fewer right passages.
"""

from collections import defaultdict
from collections.abc import Iterable

from .context import Context
from .hit import Hit

NEIGHBOUR = 0.05  # of the score of the chunk before, and of the one after
DOCUMENT = 0.07  # of the sum of the document's best scores
BEST = 3  # chunks of a document that count


def with_evidence(hits: Iterable[Hit], context: Context) -> Iterable[Hit]:
    """In the hybrid mode, scores raised by their surroundings; a single leg is left as it is."""
    return weighed(list(hits)) if context.request.mode == "hybrid" else hits


def weighed(hits: list[Hit]) -> list[Hit]:
    """Hits with shares of their neighbours' and documents' scores added, best first.

    All scores are scaled so that the best one stays what it was; where every document has one hit, nothing changes. Chunks of
    a document have consecutive ids.
    """
    scores = {hit.id: hit.score for hit in hits}
    documents = {hit.id: hit.doc_id for hit in hits}
    best: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        best[hit.doc_id].append(hit.score)
    sums = {doc_id: DOCUMENT * sum(sorted(own, reverse=True)[:BEST]) for doc_id, own in best.items()}
    for hit in hits:
        beside = sum(scores[id] for id in (hit.id - 1, hit.id + 1) if documents.get(id) == hit.doc_id)
        hit.neighbours, hit.document = NEIGHBOUR * beside, sums[hit.doc_id]
    highest = max((hit.score + hit.neighbours + hit.document for hit in hits), default=0.0)
    scale = max(scores.values(), default=0.0) / highest if highest > 0 else 1.0
    for hit in hits:
        hit.score = scale * (hit.score + hit.neighbours + hit.document)
        hit.neighbours, hit.document, hit.scale = scale * hit.neighbours, scale * hit.document, scale
    return sorted(hits, key=lambda hit: -hit.score)  # stable: equal ones stay in the order they came
