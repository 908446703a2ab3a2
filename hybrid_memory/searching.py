"""One search: the order of its steps, from a query to results."""

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from math import exp, log
from typing import TYPE_CHECKING, Any, NamedTuple

from . import analyzer, confidence, config, vector
from .evidence import weighed
from .fts import FTSIndex
from .merger import merge_results
from .results import hits, results

if TYPE_CHECKING:
    from datetime import date

    from .embedder import Embedder
    from .filters import Filters

Scores = list[tuple[int, float]]  # (chunks.id, score), best first
Hit = dict[str, Any]

CANDIDATES = 100  # of each leg, whatever the limit, so that the first results do not change with it

LOOKUP_WEIGHTS = (0.7, 0.3)  # of keywords and vectors, for a query that is an identifier or a document's name

CHOOSE = """
create temp table chosen as
select c.id, c.slot from main.chunks c join main.documents d using (doc_id) where {condition}
"""
CHOSEN_SLOTS = "select slot from temp.chosen where slot is not null"
DATES = "select doc_id, date from documents where date is not null and doc_id in (select value from json_each(?))"


class Options(NamedTuple):
    """What a search is asked for beside the query; `HybridStore.search` says what each means."""

    limit: int = 10
    mode: str = "hybrid"
    filters: "Filters | None" = None
    exact: bool = False
    fts_syntax: bool = False
    min_score: float = 0.0
    min_confidence: float = 0.0
    half_life_days: float = 0.0
    per_doc: int | None = None
    context: int = 0
    explain: bool = False
    today: "date | None" = None


class Legs(NamedTuple):
    """What both halves found, None for one that could not run; `filled` are cosines of what the keyword leg alone found.

    Of a chunk without an embedding it is what `_assumed` takes for one, which is not in `cosine`.
    """

    by_keyword: Scores | None
    by_vector: Scores | None
    filled: Scores
    bm25: dict[int, float]
    cosine: dict[int, float]
    sample: Mapping[int, float]  # cosines of chunks at large
    weights: tuple[float, float]

    def explanation(self, hit: Hit) -> dict[str, Any]:
        """The parts of a hit's score: they add up to `score_before_decay`."""
        scale = hit.get("scale", 1.0)
        return {
            "keyword": _part(hit["id"], self.by_keyword, self.bm25, self.weights[0], scale),
            "vector": _part(hit["id"], self.by_vector, self.cosine | dict(self.filled), self.weights[1], scale),
            "neighbours": hit.get("neighbours", 0.0),
            "document": hit.get("document", 0.0),
            "score_before_decay": hit.get("before_decay", hit["score"]),
            "decay": hit.get("decay", 1.0),
            "terms": hit["terms"],
            "coverage": hit["coverage"],
            "nearness": hit["nearness"],
        }


def _part(id: int, leg: Scores | None, scores: Mapping[int, float], weight: float, scale: float) -> dict[str, Any]:
    """One leg's: its rank there, from 1, null if retrieval missed it; its score as a share of the leg's best, weighted."""
    rank = next((rank for rank, (other, _) in enumerate(leg or [], 1) if other == id), None)
    top = leg[0][1] if leg else 0.0
    normalised = max(scores.get(id, 0.0), 0.0) / (top if top > 0 else 1.0)
    return {"rank": rank, "normalised": normalised, "weight": weight * scale, "part": weight * scale * normalised}


class Search:
    """Answers from one state of the database; whoever opens it sees to that. `seconds` has the time of each stage."""

    def __init__(self, conn: sqlite3.Connection, settings: config.Settings, embedder: "Callable[[], Embedder | None]") -> None:
        self._conn, self._settings, self._embedder = conn, settings, embedder
        self.seconds: dict[str, float] = {}
        self.nearest_miss: Hit | None = None  # the surest result, where `min_confidence` kept all back
        self._refused: Hit | None = None

    def run(self, query: str, query_vector: list[float] | None, options: Options) -> list[Hit]:
        """`query_vector` is None where keywords alone are to answer, [] where nothing can be near."""
        with self._chosen(options) as table:
            index = FTSIndex(self._conn, table)
            depth = max(CANDIDATES, options.limit)
            with self._timed("keyword"):
                wanted = options.mode != "vector"
                by_keyword = index.ranked(query, depth, fts_syntax=options.fts_syntax) if wanted else None
            with self._timed("vector"):
                nearest, filled, sample = self._vector_leg(query_vector, depth, by_keyword or [], options.exact, table)
            with self._timed("merge"):
                weights = self._weights(by_keyword, nearest, index.named or analyzer.is_identifier(query))
                bm25, cosine = dict(by_keyword or []), dict([*(nearest or []), *filled])
                filled += _assumed(by_keyword, nearest, cosine)
                legs = Legs(by_keyword, nearest, filled, bm25, cosine, sample, weights)
                ranked = self._aged(self._merged(legs, options), options)
                sure = self._with_confidence(_distinct(ranked), query, index, legs, options)
                found = list(islice(self._accepted(sure, options), options.limit))
                if options.explain:
                    found = [hit | {"explain": legs.explanation(hit)} for hit in found]
                if self._refused and not found:
                    [self.nearest_miss] = results(self._conn, [self._refused], bm25, cosine)
                return results(self._conn, found, bm25, cosine, options.context)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[stage] = time.perf_counter() - started

    @contextmanager
    def _chosen(self, options: Options) -> Iterator[str | None]:
        """The table of the chunks that the filters leave, None if there are no filters."""
        if options.filters is None:
            yield None
            return
        with self._timed("filter"):
            condition, parameters = options.filters.condition(self._conn, options.today)
            self._conn.execute(CHOOSE.format(condition=condition), parameters)
        try:
            yield "temp.chosen"
        finally:
            self._conn.execute("drop table temp.chosen")

    def _vector_leg(
        self, query_vector: list[float] | None, depth: int, by_keyword: Scores, exact: bool, table: str | None
    ) -> tuple[Scores | None, Scores, dict[int, float]]:
        """The nearest chunks, or None if they cannot be known; the cosines of the keyword leg's others; and of a sample."""
        embedder = self._embedder() if query_vector is not None else None
        if query_vector is None or embedder is None:
            return None, [], {}
        slots = None if table is None else [slot for (slot,) in self._conn.execute(CHOSEN_SLOTS)]
        search = vector.VectorSearch(self._conn, embedder)
        nearest = search.nearest(query_vector, depth, exact=exact, slots=slots)
        found = dict(nearest)
        others = search.scores(query_vector, [id for id, _ in by_keyword if id not in found])
        return nearest, list(others.items()), search.sample(query_vector)

    def _weights(self, by_keyword: Scores | None, by_vector: Scores | None, is_lookup: bool) -> tuple[float, float]:
        """Sum 1; all of it for the only leg that ran. A name is looked up by its letters: keywords get the larger weight."""
        if by_keyword is None or by_vector is None:
            return (1.0, 0.0) if by_vector is None else (0.0, 1.0)
        keyword, of_vector = self._settings["keyword_weight"], self._settings["vector_weight"]
        if not self._settings.chosen & {"keyword_weight", "vector_weight"}:
            if is_lookup and by_keyword:
                keyword, of_vector = LOOKUP_WEIGHTS
            elif getattr(self._embedder(), "provider", None) == "builtin":
                keyword = of_vector = 0.5  # its cosines tell less than those of a model that reads whole sentences
        return keyword / (keyword + of_vector), of_vector / (keyword + of_vector)

    def _merged(self, legs: Legs, options: Options) -> list[Hit]:
        """Ranked, before decay. A single mode is its leg as it is; in the hybrid one evidence from around a chunk counts, too."""
        by_keyword, by_vector, filled = hits(self._conn, legs.by_keyword or [], legs.by_vector or [], legs.filled)
        merged = merge_results(by_keyword, by_vector, *legs.weights, filled=filled)
        ranked = weighed(merged) if options.mode == "hybrid" else merged
        return [hit for hit in ranked if hit["score"] >= options.min_score]

    def _aged(self, ranked: list[Hit], options: Options) -> list[Hit]:
        """Scores halved by each half-life of a document's age; an undated one does not age."""
        if not options.half_life_days:
            return ranked
        from datetime import date

        from .dates import age

        ids = json.dumps(list({hit["doc_id"] for hit in ranked}))
        today = options.today or date.today()
        ages = {doc_id: age(day, today) for doc_id, day in self._conn.execute(DATES, (ids,))}
        decays = {doc_id: exp(-log(2) * days / options.half_life_days) for doc_id, days in ages.items()}
        aged = [hit | {"before_decay": hit["score"], "decay": decays.get(hit["doc_id"], 1.0)} for hit in ranked]
        return sorted((hit | {"score": hit["score"] * hit["decay"]} for hit in aged), key=lambda hit: -hit["score"])

    def _with_confidence(self, ranked: Sequence[Hit], query: str, index: FTSIndex, legs: Legs, options: Options) -> Iterator[Hit]:
        """As many at a time as will be wanted, for the words of each have to be read; twice as many when these did not do."""
        start, size = 0, options.limit
        while batch := ranked[start : start + size]:
            start, size = start + size, 2 * size
            cover = confidence.coverage(self._conn, index, query, [hit["id"] for hit in batch])
            for hit in batch:
                share, terms = (1.0, [query]) if options.fts_syntax else cover[hit["id"]]
                cosine = legs.cosine.get(hit["id"])
                near = None if cosine is None else confidence.nearness(hit["id"], cosine, legs.sample)
                yield hit | {
                    "confidence": confidence.confidence(share, near),
                    "coverage": share,
                    "nearness": near,
                    "terms": terms,
                }

    def _accepted(self, sure: Iterable[Hit], options: Options) -> Iterator[Hit]:
        """Those that the user wants to see; one that stands in the context of another is seen there."""
        shown: dict[str, list[int]] = defaultdict(list)
        for hit in sure:
            of_document = shown[hit["doc_id"]]
            if hit["confidence"] < options.min_confidence:
                self._refused = max(self._refused or hit, hit, key=lambda miss: miss["confidence"])
            elif (options.per_doc is None or len(of_document) < options.per_doc) and not any(
                abs(hit["id"] - id) <= options.context for id in of_document
            ):
                of_document.append(hit["id"])
                yield hit


def _assumed(by_keyword: Scores | None, by_vector: Scores | None, cosine: Mapping[int, float]) -> Scores:
    """Of what has no embedding yet: as near as its words say, or any text that has one would stand before it."""
    if not by_keyword or by_vector is None:
        return []
    most, nearest = by_keyword[0][1], by_vector[0][1] if by_vector else 0.0
    scale = (nearest if nearest > 0 else 1.0) / (most if most > 0 else 1.0)
    return [(id, score * scale) for id, score in by_keyword if id not in cosine]


def _distinct(ranked: Iterable[Hit]) -> list[Hit]:
    """Of hits with the same text the best, with the ids of the `others`."""
    first: dict[str, Hit] = {}
    for hit in ranked:
        if hit["text"] in first:
            first[hit["text"]]["others"].append(hit["id"])
        else:
            first[hit["text"]] = hit | {"others": []}
    return list(first.values())
