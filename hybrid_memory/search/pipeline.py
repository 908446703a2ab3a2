"""One search from a query to an answer: the two legs, then the stages.

A stage is a function from hits and the context of the search to hits, best first. It may be lazy: later stages take only as
many hits as they need. To add a stage, write the function and give it a place in STAGES; one that goes by the final
score or order also goes into FINAL.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from ..storage.rows import Ranked, Scores
from ..typed.names import TYPE_CHECKING, Any
from .age import aged, dated
from .confidence import with_confidence
from .context import Context
from .evidence import with_evidence
from .hit import Answer, Hit, Request
from .legs import LEADS, Legs, made
from .limits import confident_enough, limited, same_text_once, scoring_enough, spread
from .merge import order
from .query_vector import query_vector
from .results import load, result

if TYPE_CHECKING:
    from ..config import Settings
    from ..embedding.protocol import Embedder
    from ..storage.protocol import KeywordIndex, Storage
    from ..text.query import Query
    from .reranking.base import Reranker

Stage = Callable[[Iterable[Hit], Context], Iterable[Hit]]

CANDIDATES = 60  # of each leg, whatever the limit, so that the first results do not change with it; 100 find no better
LOOKUP_WEIGHTS = (0.7, 0.3)  # of keywords and vectors, for a query that is an identifier or a document's name
WEIGHTS = (0.45, 0.55)  # for every other query, unless the user chose weights


def merged(hits: Iterable[Hit], context: Context) -> list[Hit]:
    """The candidates with the weighted sum of both legs' scores."""
    legs = context.legs
    by_keyword, by_vector = ({id for id, _ in leg or []} for leg in (legs.by_keyword, legs.by_vector))
    found = list(hits)
    for hit in found:
        hit.score = legs.score(hit.id)
        hit.source = ("hybrid" if hit.id in by_vector else "keyword") if hit.id in by_keyword else "vector"
    return sorted(found, key=lambda hit: order(hit.score, hit.doc_id, hit.chunk_id))


STAGES: list[Stage] = [
    merged,
    with_evidence,
    dated,
    scoring_enough,
    aged,
    same_text_once,
    spread,
    with_confidence,
    confident_enough,
    limited,
]
FINAL: frozenset[Stage] = frozenset({scoring_enough, spread, limited})  # these follow a reranker, and read nothing of the store


class Search:
    """Answers queries from a store. `embedder` and `reranker` give these, or None; they are asked as late as possible."""

    def __init__(
        self,
        storage: "Storage",
        settings: "Settings",
        embedder: "Callable[[], Embedder | None]",
        reranker: "Callable[[], Reranker | None]" = lambda: None,
    ) -> None:
        self._storage, self._settings, self._embedder, self._reranker = storage, settings, embedder, reranker

    def answer(self, query: "Query", request: Request) -> Answer:
        """The best results. A query that could not be embedded is a warning: in the mode "hybrid" keywords answer, in the mode
        "vector" there are no results. Raises QueryError for an expression that is not valid.
        """
        while (answer := self._tried(query, request)) is None:
            pass
        return answer

    def _tried(self, query: "Query", request: Request) -> Answer | None:
        """The answer; None if the store has changed over to another model since the query was embedded."""
        started = time.perf_counter()
        identity = self._storage.embeddings.identity()
        # First, because a slow server must not hold a snapshot of the database.
        vector, problem = query_vector(self._storage, self._settings, self._embedder, query, request.mode)
        timings = {"embedding": time.perf_counter() - started}
        with self._storage.snapshot(), self._selection(request, timings) as chosen:
            if vector and self._storage.embeddings.identity() != identity:
                return None
            index = self._storage.keyword(chosen)
            legs = self._legs(query, vector, request, index, chosen, timings)
            with _timed("merge", timings):
                context = Context(query, request, self._half_life(request), legs, self._storage, index)
                quick, slow = self._stages(request)
                hits = _through(quick, self._candidates(legs), context)
                is_packed = bool(request.context or request.budget)
                load(self._storage, hits, request.context if is_packed else None)
                missed = [] if hits else sorted(context.refused, key=lambda hit: -hit.confidence)[:1]
                load(self._storage, missed)
        if slow:
            with _timed("rerank", timings):
                hits = _through(slow, hits, context)
        make = partial(result, legs=legs, explain=request.explain)
        warnings = [*([problem] if problem else []), *context.warnings]
        if is_packed:
            from .packing import packed

            results = packed(hits, request, query, make)
            if hits and not results:
                missed = hits[:1]
        else:
            results = list(map(make, hits))
        timings["total"] = time.perf_counter() - started
        if not missed:
            return Answer(results, warnings, timings, unanswered=problem if request.mode == "vector" and not vector else None)
        miss = result(missed[0], legs, explain=False)
        if hits:
            warnings.append(f"the budget is too small for the best result, {miss['citation']}")
        else:
            least = f"nothing reaches confidence {request.min_confidence:g}"
            warnings.append(f"{least}; the nearest is {miss['citation']} with {miss['confidence']:g}")
        return Answer(results, warnings, timings, miss)

    def _stages(self, request: Request) -> tuple[list[Stage], list[Stage]]:
        """The stages, and those that run when the store's snapshot is closed, because a slow server must not hold it."""
        reranker = self._reranker() if request.rerank else None
        if reranker is None:
            return STAGES, []
        from .reranking.stage import reranked

        stage: Stage = partial(reranked, reranker=reranker, settings=self._settings)
        return [each for each in STAGES if each not in FINAL], [stage, *(each for each in STAGES if each in FINAL)]

    def _half_life(self, request: Request) -> float:
        configured: float = self._settings["half_life_days"]
        return configured if request.half_life_days is None else request.half_life_days

    @contextmanager
    def _selection(self, request: Request, timings: dict[str, float]) -> Iterator[Any]:
        """The selection that the filters leave, None without filters."""
        if request.filters is None:
            yield None
            return
        started = time.perf_counter()
        with self._storage.selection(request.filters, request.today) as chosen:
            timings["filter"] = time.perf_counter() - started
            yield chosen

    def _legs(
        self,
        query: "Query",
        vector: list[float] | None,
        request: Request,
        index: "KeywordIndex",
        chosen: Any,
        timings: dict[str, float],
    ) -> Legs:
        """`vector` is None where keywords alone are to answer, [] where nothing can be near."""
        depth = max(CANDIDATES, request.limit)
        ranked: Ranked | None = None
        by_vector: Scores | None = None
        cosine: dict[int, float] = {}
        sample: dict[int, float] = {}
        leads: dict[int, list[int]] = {}
        with _timed("keyword", timings):
            if request.mode != "vector":
                ranked = index.ranked(query, depth)
        with _timed("vector", timings):
            if vector is not None and self._embedder():
                vectors = self._storage.vectors(chosen)
                by_vector = vectors.nearest(vector, depth, exact=request.exact)
                cosine = dict(by_vector)
                if ranked:
                    wanted = dict.fromkeys(id for leg in (by_vector, ranked.scores) for id, _ in leg)
                    leads = self._storage.chunks.leads(wanted, LEADS)
                    wanted |= dict.fromkeys(id for each in leads.values() for id in each)
                    cosine |= vectors.cosines(vector, [id for id in wanted if id not in cosine])
                sample = vectors.sample(vector)
        if ranked and not cosine:
            by_vector = None  # nothing that was found has an embedding
        return made(ranked, by_vector, cosine, sample, leads, self._weights(ranked, by_vector, query))

    def _weights(self, ranked: Ranked | None, by_vector: Scores | None, query: "Query") -> tuple[float, float]:
        """The weights of both legs; all for the only leg that ran. A name is looked up by its letters: keywords weigh more."""
        if ranked is None or by_vector is None:
            return (1.0, 0.0) if by_vector is None else (0.0, 1.0)
        weights = self._settings["keyword_weight"], self._settings["vector_weight"]
        if not self._settings.chosen & {"keyword_weight", "vector_weight"}:
            is_lookup = ranked.scores and (ranked.is_name or query.is_identifier)
            weights = LOOKUP_WEIGHTS if is_lookup else WEIGHTS
        return weights[0] / sum(weights), weights[1] / sum(weights)

    def _candidates(self, legs: Legs) -> list[Hit]:
        """A hit for every chunk that either leg found and that still exists."""
        ids = dict.fromkeys(id for leg in (legs.by_keyword, legs.by_vector) for id, _ in leg or [])
        return [Hit(*row) for row in self._storage.chunks.candidates(ids)]


def _through(stages: list[Stage], hits: Iterable[Hit], context: Context) -> list[Hit]:
    for stage in stages:
        hits = stage(hits, context)
    return list(hits)


@contextmanager
def _timed(part: str, timings: dict[str, float]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    timings[part] = time.perf_counter() - started
