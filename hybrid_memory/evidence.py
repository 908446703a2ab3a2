"""What speaks for a chunk beyond its own words: the chunks beside it, and the best ones of its document. Pure.

A chunk of a few lines says little; one among others that answer is likelier the right place. Shares and their number were
found on judged collections (README, Measurements); larger shares find more right documents and fewer right passages.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

NEIGHBOUR = 0.05  # of the score of the chunk before, and of the one after
DOCUMENT = 0.07  # of the sum of the document's best scores
BEST = 3  # chunks of a document that count

Hit = dict[str, Any]


def weighed(hits: Sequence[Hit]) -> list[Hit]:
    """Hits with `neighbours` and `document`, which are parts of their new score, and `scale`, which the old is multiplied by.

    The old scores plus the shares of others', scaled so that the best score of all stays what it was; best first. `id` tells
    neighbours: chunks of a document are numbered one after the other. Where every document has one hit, nothing changes.
    """
    scores = {hit["id"]: hit["score"] for hit in hits}
    documents = {hit["id"]: hit["doc_id"] for hit in hits}
    best: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        best[hit["doc_id"]].append(hit["score"])
    sums = {doc_id: DOCUMENT * sum(sorted(own, reverse=True)[:BEST]) for doc_id, own in best.items()}
    raised = []
    for hit in hits:
        beside = sum(scores[id] for id in (hit["id"] - 1, hit["id"] + 1) if documents.get(id) == hit["doc_id"])
        raised.append((hit, NEIGHBOUR * beside, sums[hit["doc_id"]]))
    highest = max((hit["score"] + neighbours + document for hit, neighbours, document in raised), default=0.0)
    scale = max(scores.values(), default=0.0) / highest if highest > 0 else 1.0
    answer = [
        hit
        | {
            "score": scale * (hit["score"] + neighbours + document),
            "neighbours": scale * neighbours,
            "document": scale * document,
            "scale": scale,
        }
        for hit, neighbours, document in raised
    ]
    return sorted(answer, key=lambda hit: -hit["score"])  # stable: equal ones stay in the order they came
