"""One search, from a plan to an answer: the query's embedding, two legs, a list of stages, results.

A stage is a function from hits and the state of the search to hits, best first. It may be lazy:
later stages take only as many hits as they need. To add a stage, write the function and put it into
SCORING, which runs for each phrasing of the question, into ORDERING, which runs for each round of
candidates, or into CHOOSING, which runs once, on the hits of all rounds. If it depends on the final
score or order, also add it to FINAL.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..registry import RERANKED, load
from ..storage.bm25 import CONTEXT_WEIGHT, K1
from ..storage.rows import NONE, KeywordLeg, Ranking
from ..text.characters import citation
from . import chronology, stages
from .answer import Answer, as_written, too_small
from .fusion import OPENING_CHUNKS, FusedScores, normalize_scores
from .hit import Hit
from .phrasing import Phrasing
from .plan import Plan
from .query_vector import QueryVectors, query_vectors
from .request import Request
from .result import OfQuery, result_of
from .revisions import in_force, later_first, with_revisions
from .state import SearchState

# BM25 of a word in the context (front matter, name, tags), as a share of that in a text
OF_CONTEXT = CONTEXT_WEIGHT * (1 + K1) / (CONTEXT_WEIGHT + K1)

if TYPE_CHECKING:
    from ..config import Settings
    from ..embedding.interface import Embedder
    from ..storage.interface import Storage, VectorIndex
    from ..text.query import Query
    from .answer import Reranker

Stage = Callable[[Iterable[Hit], SearchState], Iterable[Hit]]

# Candidates of each leg. It does not depend on the limit, so that the first results do not change
# with it; 100 rank no better.
CANDIDATES = 60
# Of keywords and vectors, for a query that is an identifier or a document's name
LOOKUP_WEIGHTS = (0.7, 0.3)
MULTILINGUAL_WEIGHTS = (0.65, 0.35)  # the vectors of this model are weaker than keywords
WEIGHTS = (0.5, 0.5)  # for every other query, unless the user chose weights


SCORING: list[Stage] = [stages.merged, stages.boost_context]
ORDERING: list[Stage] = [
    stages.of_all_phrasings,
    stages.with_asked_dates,
    stages.demote_assistants,
    stages.note_first,
    stages.scoring_enough,
    stages.aged,
    chronology.same_text_once,
    chronology.in_asked_order,
    stages.diversify,
]
CHOOSING: list[Stage] = [
    stages.phrases_first,
    later_first,
    stages.drop_unrelated,
    stages.with_confidence,
    stages.confident_enough,
    in_force,
    stages.limited,
    stages.near_the_best,
    chronology.sorted_by_date,
]
STAGES = [*SCORING, *ORDERING, with_revisions, *CHOOSING]
# Stages that depend on the final score or order. With a reranker they run after it, in the order of
# STAGES, when the snapshot is closed: none of them reads the store.
FINAL: frozenset[Stage] = frozenset(
    {
        stages.scoring_enough,
        chronology.in_asked_order,
        stages.phrases_first,
        later_first,
        in_force,
        stages.diversify,
        stages.limited,
        stages.near_the_best,
        chronology.sorted_by_date,
    }
)


class VectorEvidence:
    """Values for the scores besides both rankings: cosines by chunks.id, the cosines of a sample of
    the store, and the first chunks of each chunk's document.
    """

    def __init__(
        self,
        cosines: Mapping[int, float] = NONE,
        sample: Mapping[int, float] = NONE,
        opening: "Mapping[int, Sequence[int]]" = MappingProxyType({}),
    ) -> None:
        self.cosines = cosines
        self.sample = sample
        self.opening = opening


class Search:
    """Searches a store. `embedder` and `reranker` are called as late as possible, and may return None."""

    def __init__(
        self,
        storage: "Storage",
        settings: "Settings",
        embedder: "Callable[[], Embedder | None]",
        reranker: "Callable[[], Reranker | None]" = lambda: None,
    ) -> None:
        self._storage = storage
        self._settings = settings
        self._embedder = embedder
        self._reranker = reranker

    def answer(self, plan: Plan) -> Answer:
        """Run a search. Raises QueryError for an expression that is not valid.

        If the query could not be embedded, a warning says so: in the mode "hybrid" keywords answer,
        in the mode "vector" there are no results.
        """
        timings: dict[str, float] = {}
        with _timed("total", timings):
            vectors, state, hits = self._retrieved(plan, timings)
            if state.after_snapshot:
                with _timed("rerank", timings):
                    hits = _through(state.after_snapshot, hits, state)
            answer = self._packed(hits, state)
        if vectors.problem:
            answer.warnings.insert(0, vectors.problem)
            if plan.request.mode == "vector" and not any(vectors.values):
                answer.unanswered = vectors.problem
        answer.require(plan.request.floor)
        answer.filters = plan.request.filters
        answer.timings = timings
        return answer

    def _retrieved(
        self, plan: Plan, timings: dict[str, float]
    ) -> tuple[QueryVectors, SearchState, list[Hit]]:
        """Return the vectors of the phrasings and the hits, fully loaded, from one snapshot of the
        store.
        """
        request = plan.request
        while True:
            # Before the snapshot, which must not wait for a slow server
            with _timed("embedding", timings):
                vectors = query_vectors(
                    self._storage, self._settings, self._embedder, plan.phrasings, request.mode
                )
            with self._storage.snapshot(), self._selection(request, timings) as selection:
                is_embedded = any(vectors.values)
                if is_embedded and self._storage.embeddings.identity() != vectors.identity:
                    continue  # meanwhile, the store has changed over to another model
                state = self._begin(plan, vectors, selection)
                hits = self._ranked(state, selection, timings)
                with _timed("merge", timings):
                    self._load(hits, state)
                return vectors, state, hits

    def _begin(self, plan: Plan, vectors: QueryVectors, selection: Any) -> SearchState:
        keyword_index = self._storage.keyword(selection)
        phrasings = [
            Phrasing(query, vector, keyword_index, is_question=query is plan.query)
            for query, vector in zip(plan.phrasings, vectors.values, strict=True)
        ]
        state = SearchState(phrasings, plan.request, self._storage, keyword_index)
        reranker = self._reranker() if plan.request.rerank else None
        if reranker:
            rerank: Stage = partial(load(RERANKED), reranker=reranker, settings=self._settings)
            state.after_snapshot = [rerank, *(stage for stage in STAGES if stage in FINAL)]
        return state

    def _ranked(self, state: SearchState, selection: Any, timings: dict[str, float]) -> list[Hit]:
        """Return the hits in their final order.

        Where they are fewer than the limit, both legs search twice as deep, repeatedly. Hits that a
        deeper round adds come after all earlier ones, whatever their score, so that a result has the
        same place with every limit.
        """
        passed_over = FINAL if state.after_snapshot else frozenset()
        ordering = [stage for stage in ORDERING if stage not in passed_over]
        choosing = [stage for stage in CHOOSING if stage not in passed_over]
        depth = CANDIDATES
        scored = self._scored(state, selection, depth, frozenset(), timings)
        known = {hit.id for hit in scored}
        with _timed("merge", timings):
            # Only among the first round, so that marks are the same with every limit
            hits = _through([*ordering, with_revisions], scored, state)
        while len(hits) < state.request.limit and len(known) >= depth:
            depth *= 2
            further = self._scored(state, selection, depth, known, timings)
            known.update(hit.id for hit in further)
            hits = stages.appended(hits, _through(ordering, further, state))
        with _timed("merge", timings):
            return _through(choosing, hits, state)

    def _scored(
        self,
        state: SearchState,
        selection: Any,
        depth: int,
        known: Collection[int],
        timings: dict[str, float],
    ) -> list[Hit]:
        """Return what each phrasing finds, scored by itself: up to `depth` chunks of both legs,
        without those that are known.
        """
        scored: list[Hit] = []
        for phrasing in state.phrasings:
            fused = self._fused(phrasing, state, selection, depth, timings)
            with _timed("merge", timings):
                hits = [hit for hit in self._candidates(fused, phrasing) if hit.id not in known]
                scored += _through(SCORING, hits, state)
        return scored

    def _load(self, hits: list[Hit], state: SearchState) -> None:
        """Load the hits; if `min_confidence` refused all of them, also the surest one."""
        request = state.request
        load_rows(self._storage, hits, request.context if request.is_packed else None)
        load_rows(self._storage, state.superseded)
        if not hits and state.refused:
            state.nearest_miss = max(state.refused, key=lambda hit: hit.confidence)
            load_rows(self._storage, [state.nearest_miss])

    def _packed(self, hits: list[Hit], state: SearchState) -> Answer:
        """Build the answer from the hits that fit the budget."""
        request = state.request
        of_query = _of_query(state)
        left_out: Hit | None = None
        if request.is_packed:
            from .packing import packed

            if request.budget:
                request = request._replace(budget=request.budget.besides(of_query))
            results, left_out = packed(hits, request)
        else:
            results = [result_of(hit, explain=request.explain) for hit in hits]
        if of_query:
            results = [{**result, **of_query} for result in results]
        answer = Answer(results, state.warnings)
        answer.operators = state.query.operators
        answer.cut = state.cut
        least = min((hit.score for hit in hits), default=0.0)
        answer.superseded_by = [
            str(hit.newer_citation) for hit in state.superseded if hit.score >= least
        ]
        substitutes = state.question.searched.substitutes
        if substitutes:
            answer.instead = as_written(substitutes, state.query.text, results)
        if left_out is not None:
            missing = result_of(left_out, explain=False)
            if not results:
                answer.nearest_miss = missing
            answer.warnings.append(too_small(missing))
        elif state.nearest_miss:
            surest = result_of(state.nearest_miss, explain=False)
            answer.reject_all(surest, request.min_confidence)
        return answer

    def _full_score(self, leg: KeywordLeg, query: "Query") -> float:
        """Return the BM25 score that counts as a full match. It is lower if the best hit has the words
        of the query only in its context, such as front matter, where they weigh less.
        """
        id, best = leg.ranking[0] if leg.ranking else (None, 0.0)
        if id is None or best > leg.full_score / 2:
            return leg.full_score
        row = self._storage.chunks.rows([id])[id]
        is_of_text = stages.matching_texts([f"{row.heading_path}\n{row.text}"], query)
        return leg.full_score if is_of_text else leg.full_score * OF_CONTEXT

    @contextmanager
    def _selection(self, request: Request, timings: dict[str, float]) -> Iterator[Any]:
        """Open the selection that the filters leave; None without filters."""
        if request.filters is None:
            yield None
            return
        started = time.perf_counter()
        with self._storage.selection(request.filters, request.today) as selection:
            timings["filter"] = time.perf_counter() - started
            yield selection

    def _fused(
        self,
        phrasing: Phrasing,
        state: SearchState,
        selection: Any,
        depth: int,
        timings: dict[str, float],
    ) -> FusedScores:
        """Return the best `depth` chunks of both legs, on one scale."""
        ranking: Ranking | None = None
        found = VectorEvidence()
        vectors = self._storage.vectors(selection) if phrasing.vector else None
        with _timed("vector", timings):
            if vectors is not None:
                ranking = vectors.nearest(phrasing.vector, depth, exact=state.request.exact)
        with _timed("keyword", timings):
            keyword = self._by_keyword(phrasing, state, depth, dict(ranking or ()).keys())
        with _timed("vector", timings):
            if vectors is not None and ranking is not None:
                found = self._neighbours(phrasing.vector, ranking, keyword, vectors)
                if keyword is not None:
                    keyword.full_score = self._full_score(keyword, phrasing.query)
        if keyword is not None and not found.cosines:
            ranking = None  # nothing that was found has an embedding
        return normalize_scores(
            keyword,
            ranking,
            found.cosines,
            found.sample,
            found.opening,
            self._weights(keyword, ranking, phrasing),
            is_lookup=phrasing.is_lookup,
        )

    def _by_keyword(
        self, phrasing: Phrasing, state: SearchState, depth: int, also: Collection[int]
    ) -> KeywordLeg | None:
        """Search by keyword. The analysis of the phrasing does not depend on the depth."""
        if state.request.mode == "vector":
            return None
        leg = state.keyword_index.ranked(phrasing.query, depth, also)
        phrasing.searched = leg.searched
        if leg.searched.days_are_words:
            phrasing.query = phrasing.query.with_days_as_words()
        phrasing.is_lookup = leg.is_name or phrasing.query.is_identifier
        return leg

    def _neighbours(
        self,
        vector: list[float],
        ranking: Ranking,
        keyword: KeywordLeg | None,
        vectors: "VectorIndex",
    ) -> VectorEvidence:
        """Compute the cosines that the scores of both legs need."""
        cosines = dict(ranking)
        opening: dict[int, list[int]] = {}
        if keyword is not None:
            ids = dict.fromkeys([*cosines, *dict(keyword.ranking)])
            opening = self._storage.chunks.opening_chunks(ids, OPENING_CHUNKS)
            ids |= dict.fromkeys(chain.from_iterable(opening.values()))
            without = [id for id in ids if id not in cosines]
            cosines |= vectors.cosines(vector, without)
        return VectorEvidence(cosines, vectors.sample(vector), opening)

    def _weights(
        self, keyword_leg: KeywordLeg | None, vector_ranking: Ranking | None, phrasing: Phrasing
    ) -> tuple[float, float]:
        """Return the weights of the keyword and the vector leg; their sum is 1. If one leg ran alone, it
        has all the weight. For a name or an identifier, keywords weigh more.
        """
        if vector_ranking is None:
            return 1.0, 0.0
        if keyword_leg is None:
            return 0.0, 1.0
        keyword, vector = self._settings["keyword_weight"], self._settings["vector_weight"]
        if keyword is not None or vector is not None:
            weights = (
                max(0.0, 1.0 - vector) if keyword is None else keyword,
                max(0.0, 1.0 - keyword) if vector is None else vector,
            )
        elif keyword_leg.ranking and phrasing.is_lookup:
            weights = LOOKUP_WEIGHTS
        elif (self._storage.embeddings.identity() or {}).get("provider") == "builtin-multilingual":
            weights = MULTILINGUAL_WEIGHTS
        else:
            weights = WEIGHTS
        return weights[0] / sum(weights), weights[1] / sum(weights)

    def _candidates(self, fused: FusedScores, phrasing: Phrasing) -> list[Hit]:
        """Return a hit for every chunk that a leg found and that still exists."""
        ids = [*fused.keyword_scores, *fused.vector_scores]
        candidates = self._storage.chunks.candidates(dict.fromkeys(ids))
        return [Hit(candidate, fused, phrasing) for candidate in candidates]


def _of_query(state: SearchState) -> OfQuery:
    """The fields of a result that describe the query."""
    of_query: OfQuery = {}
    substitutes = state.question.searched.substitutes
    if substitutes:
        of_query["instead"] = {word: list(others) for word, others in substitutes.items()}
    if any(state.query.operators.values()):
        of_query["operators"] = state.query.operators
    return of_query


def _through(sequence: list[Stage], hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    for stage in sequence:
        hits = stage(hits, state)
    return list(hits)


def load_rows(storage: "Storage", hits: Sequence[Hit], around: int | None = None) -> None:
    """Load rows and citations of hits; unless `around` is None, also that many chunks on either side."""
    rows = storage.chunks.rows([hit.id for hit in hits])
    newer = [hit.newer for hit in hits if hit.newer is not None]
    others = [other.id for hit in hits for other in hit.others]
    locations = storage.chunks.locations([*newer, *others])
    for hit in hits:
        hit.row = rows[hit.id]
        hit.also = {citation(*locations[other.id]): other.candidate.date for other in hit.others}
        if hit.newer is not None:
            hit.newer_citation = citation(*locations[hit.newer])
        if around is not None:
            hit.chunks = storage.chunks.around(hit.doc_id, hit.id, around)


@contextmanager
def _timed(part: str, timings: dict[str, float]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    timings[part] = timings.get(part, 0.0) + time.perf_counter() - started
