"""One search: the order of its steps, from a query to results."""

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import config, vector
from .fts import FTSIndex
from .merger import merge_results
from .results import hits, results

if TYPE_CHECKING:
    from .embedder import Embedder

Scores = list[tuple[int, float]]  # (chunks.id, score), best first

CANDIDATES = 100  # of each leg, whatever the limit, so that the first results do not change with it


class Search:
    """Answers from one state of the database; whoever opens it sees to that."""

    def __init__(self, conn: sqlite3.Connection, settings: config.Settings, embedder: "Callable[[], Embedder | None]") -> None:
        self._conn, self._settings, self._embedder = conn, settings, embedder

    def run(
        self, query: str, query_vector: list[float] | None, limit: int, *, keywords: bool, exact: bool, fts_syntax: bool
    ) -> list[dict[str, Any]]:
        """`query_vector` is None where keywords alone are to answer, [] where nothing can be near."""
        depth = max(CANDIDATES, limit)
        by_keyword = FTSIndex(self._conn).ranked(query, depth, fts_syntax=fts_syntax) if keywords else None
        by_vector, filled = self._vector_leg(query_vector, depth, by_keyword or [], exact)
        keyword_weight, vector_weight = self._weights(by_keyword, by_vector)
        merged = merge_results(
            hits(self._conn, by_keyword or []),
            hits(self._conn, by_vector or []),
            keyword_weight,
            vector_weight,
            filled=hits(self._conn, filled),
        )
        bm25, cosine = dict(by_keyword or []), dict([*(by_vector or []), *filled])
        return results(self._conn, merged[:limit], bm25, cosine)

    def _vector_leg(
        self, query_vector: list[float] | None, depth: int, by_keyword: Scores, exact: bool
    ) -> tuple[Scores | None, Scores]:
        """The nearest chunks, or None if they cannot be known; and the cosines of the keyword leg's others."""
        embedder = self._embedder() if query_vector is not None else None
        if query_vector is None or embedder is None:
            return None, []
        search = vector.VectorSearch(self._conn, embedder)
        nearest = search.nearest(query_vector, depth, exact=exact)
        found = dict(nearest)
        others = search.scores(query_vector, [id for id, _ in by_keyword if id not in found])
        return nearest, list(others.items())

    def _weights(self, by_keyword: Scores | None, by_vector: Scores | None) -> tuple[float, float]:
        """Sum 1; all of it for the only leg that ran."""
        if by_keyword is None or by_vector is None:
            return (1.0, 0.0) if by_vector is None else (0.0, 1.0)
        keyword, of_vector = self._settings["keyword_weight"], self._settings["vector_weight"]
        by_builtin = getattr(self._embedder(), "provider", None) == "builtin"
        if by_builtin and not self._settings.chosen & {"keyword_weight", "vector_weight"}:
            keyword = of_vector = 0.5  # its cosines tell less than those of a model that reads whole sentences
        return keyword / (keyword + of_vector), of_vector / (keyword + of_vector)
