"""The values that a search gets from a store, whatever the engine."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

Identity = dict[str, Any]  # of the embeddings of a store: provider, model, prompts, dims
# Content hash -> encoded embedding, whether the text was cut to fit the model
Vectors = dict[bytes, tuple[bytes, bool]]
Ranking = list[tuple[int, float]]  # (chunks.id, score), best first


Score = TypeVar("Score", float, tuple[int, int])
Order = Callable[[Collection[int]], Iterable[int]]  # gives ids in the order of their documents

# Rows that are read beyond those that are wanted, as some may be as good as the last of these; if
# all are, so many times as many
TIES = 60
MORE = 8


def best_first(hits: Iterable[tuple[int, Score]], order: Order) -> list[tuple[int, Score]]:
    """Sort hits, equal ones in the order of their documents. So equal notes give equal answers,
    whatever ids their history has given them.
    """
    found = list(hits)
    counts = Counter(score for _, score in found)
    tied = [id for id, score in found if counts[score] > 1]
    places = {id: -place for place, id in enumerate(order(tied))} if tied else {}
    return sorted(found, key=lambda hit: (hit[1], places.get(hit[0], 0)), reverse=True)


def with_ties(hits: list[tuple[int, Score]], limit: int) -> list[tuple[int, Score]]:
    """Return the first hits of a sorted list, and those that are as good as the last of them."""
    if len(hits) <= limit:
        return hits
    least = hits[limit - 1][1]
    return [hit for hit in hits if hit[1] >= least]


def best_of(
    read: Callable[[int], list[tuple[int, Score]]], limit: int, order: Order
) -> list[tuple[int, Score]]:
    """Return the best hits, and those that are as good as the last of them, best first.

    `read` gives as many as it is asked for at most, sorted. More are read where ties need it.
    """
    most = limit + TIES
    hits = read(most)
    while len(hits) == most and hits[limit - 1][1] == hits[-1][1]:
        most *= MORE
        hits = read(most)
    return best_first(with_ties(hits, limit), order)


class KeywordLeg(NamedTuple):
    """What the keyword leg of a search found; `is_name` says that the query is the name of a document.

    `full_score` is the BM25 of a hit that says all that the words of the query can say; 0 where
    every hit does. `substitutes` has words of the query that find nothing, and those that were
    looked for in their place.
    """

    ranking: Ranking
    is_name: bool = False
    full_score: float = 0.0
    substitutes: Mapping[str, Sequence[str]] = MappingProxyType({})


class Coverage(NamedTuple):
    """Which words of the query a chunk has."""

    share: float  # 0 to 1 of all words of the query, each counted by its inverse document frequency
    terms: list[str]  # the words, folded


class ChunkRow(NamedTuple):
    """A chunk with what is known of its document."""

    doc_id: str
    chunk_id: str
    heading: str
    heading_path: str
    text: str
    start_line: int
    end_line: int
    path: str | None  # of the source file
    collection: str | None
    date: str | None
    metadata: dict[str, Any]
    pages: Sequence[int]  # the line with which each page begins, if there are pages


class Neighbour(NamedTuple):
    """A chunk among those around another one; `chunking` tells how its document was cut."""

    id: int
    text: str
    start_line: int
    end_line: int
    chunking: str


def as_results(
    scores: Iterable[tuple[int, float]], rows: Iterable[Sequence[Any]], source: str
) -> list[dict[str, Any]]:
    """Return results in the order of their scores, which are above 0.

    A row is its id in `scores`, doc_id, chunk_id, heading and text; one that is missing is left out.
    """
    rows_by_id = {row[0]: row[1:] for row in rows}
    results = []
    for id, score in scores:
        if id in rows_by_id and score > 0:
            doc_id, chunk_id, heading, text = rows_by_id[id]
            results.append(
                {
                    "doc_id": doc_id,
                    "chunk_id": chunk_id,
                    "heading": heading,
                    "text": text,
                    "score": score,
                    "source": source,
                }
            )
    return results
