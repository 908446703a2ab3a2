"""One search, from a query to an answer: the query's embedding, two legs, a list of stages, the
results.

A stage is a function from hits and the state of the search to hits, best first. It may be lazy:
later stages take only as many hits as they need. To add a stage, write the function and put it into
ORDERING, which runs for each round of candidates, or into CHOOSING, which runs once, on the hits of
all rounds. One that goes by the final score or order also goes into FINAL.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..embedding.protocol import (
    BUILTIN,
    MISFIT,
    NAMESAKE,
    conflict,
    differing,
    identity_of,
    is_minilm,
    meanwhile,
    name_of,
    replacement,
)
from ..errors import Message, WayOut
from ..seams import MINILM_VECTOR, RERANKED, load
from ..storage.keyword import CONTEXT_WEIGHT, K1
from ..text.characters import citation
from . import stages
from .answer import Answer, as_written
from .hit import Hit
from .legs import LEADS, Legs, put_on_one_scale
from .request import Request
from .result import OfQuery, result_of
from .revisions import later_first, with_revisions
from .state import SearchState

# Of the BM25 of a word in a text: what it has in the front matter, the name or the tags
OF_CONTEXT = CONTEXT_WEIGHT * (1 + K1) / (CONTEXT_WEIGHT + K1)

if TYPE_CHECKING:
    from ..config import Settings
    from ..embedding.protocol import Embedder
    from ..storage.protocol import Storage
    from ..storage.rows import Identity, KeywordLeg, Ranking
    from ..text.query import Query
    from .answer import Reranker

Stage = Callable[[Iterable[Hit], SearchState], Iterable[Hit]]

BACKLOG = 0.1  # of all chunks: with more pending, the user is told
# Of each leg, whatever the limit, so that the first results do not change with it; 100 find no
# better
CANDIDATES = 60
# Of keywords and vectors, for a query that is an identifier or a document's name
LOOKUP_WEIGHTS = (0.7, 0.3)
MULTILINGUAL_WEIGHTS = (0.65, 0.35)  # its vectors know less of a text than keywords do
WEIGHTS = (0.45, 0.55)  # for every other query, unless the user chose weights


ORDERING: list[Stage] = [
    stages.merged,
    stages.with_phrases,
    stages.with_evidence,
    stages.with_asked_dates,
    stages.scoring_enough,
    stages.aged,
    stages.same_text_once,
    stages.spread,
]
CHOOSING: list[Stage] = [
    stages.phrases_first,
    later_first,
    stages.about_something,
    stages.with_confidence,
    stages.confident_enough,
    stages.limited,
]
STAGES = [*ORDERING, with_revisions, *CHOOSING]
# What goes by the final score or order, so that with a reranker it comes after it, when the snapshot
# is closed; none of these reads the store.
#   without a reranker: merged, with_phrases, with_evidence, with_asked_dates, scoring_enough, aged,
#     same_text_once, spread, with_revisions, phrases_first, later_first, about_something,
#     with_confidence, confident_enough, limited
#   with one: merged, with_phrases, with_evidence, with_asked_dates, aged, same_text_once, with_revisions,
#     about_something, with_confidence, confident_enough; the reranker, which gives the first
#     `rerank_limit` another order; scoring_enough, spread, phrases_first, later_first, limited
FINAL: frozenset[Stage] = frozenset(
    {stages.scoring_enough, stages.phrases_first, later_first, stages.spread, stages.limited}
)


class Search:
    """Answers queries from a store. `embedder` and `reranker` give these, or None; they are asked
    as late as possible.
    """

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

    def answer(self, query: "Query", request: Request) -> Answer:
        """Return the best results. A query that could not be embedded is a warning: in the mode
        "hybrid" keywords answer, in the mode "vector" there are no results. Raises QueryError for
        an expression that is not valid.
        """
        if request.fts_syntax:  # an expression is no text to embed or to read
            request = request._replace(mode="keyword", rerank=False)
        timings: dict[str, float] = {}
        with _timed("total", timings):
            vector, state, hits = self._retrieved(query, request, timings)
            if state.after_snapshot:
                with _timed("rerank", timings):
                    hits = _through(state.after_snapshot, hits, state)
            answer = self._packed(hits, state)
        if vector.problem:
            answer.warnings.insert(0, vector.problem)
            if request.mode == "vector" and not vector.values:
                answer.unanswered = vector.problem
        answer.require(request.floor)
        answer.timings = timings
        return answer

    def _retrieved(
        self, query: "Query", request: Request, timings: dict[str, float]
    ) -> "tuple[QueryVector, SearchState, list[Hit]]":
        """Return the query's vector, and the hits with all that the results will say of them, from
        one state of the store.
        """
        while True:
            # Before the snapshot, which must not wait for a slow server
            with _timed("embedding", timings):
                vector = query_vector(
                    self._storage, self._settings, self._embedder, query, request.mode
                )
            with self._storage.snapshot(), self._selection(request, timings) as selection:
                if vector.values and self._storage.embeddings.identity() != vector.identity:
                    continue  # meanwhile, the store has changed over to another model
                state = self._begin(query, request, selection)
                legs = self._legs(state, vector, selection, CANDIDATES, timings)
                with _timed("merge", timings):
                    hits = self._ranked(legs, state, vector, selection)
                    self._load(hits, state)
                return vector, state, hits

    def _begin(self, query: "Query", request: Request, selection: Any) -> SearchState:
        half_life = request.half_life
        if half_life is None:
            half_life = self._settings["half_life_days"]
        state = SearchState(
            query,
            request,
            half_life,
            self._storage,
            self._storage.keyword(selection),
        )
        reranker = self._reranker() if request.rerank else None
        if reranker:
            rerank: Stage = partial(load(RERANKED), reranker=reranker, settings=self._settings)
            state.after_snapshot = [rerank, *(stage for stage in STAGES if stage in FINAL)]
        return state

    def _ranked(
        self, legs: Legs, state: SearchState, vector: "QueryVector", selection: Any
    ) -> list[Hit]:
        """Return the hits in their order.

        Where they are fewer than the limit, both legs look twice as deep, again and again. What
        that adds comes after all before it, whatever its score, so that a result has the same place
        with every limit.
        """
        passed_over = FINAL if state.after_snapshot else frozenset()
        ordering = [stage for stage in ORDERING if stage not in passed_over]
        choosing = [stage for stage in CHOOSING if stage not in passed_over]
        candidates = self._candidates(legs)
        # Only among the first round, so that marks are the same with every limit
        hits = _through([*ordering, with_revisions], candidates, state)
        known = {hit.id for hit in candidates}
        depth = CANDIDATES
        while len(hits) < state.request.limit and len(known) >= depth:
            depth *= 2
            deeper = self._legs(state, vector, selection, depth, {})  # untimed: a part of "merge"
            further = [hit for hit in self._candidates(deeper) if hit.id not in known]
            known.update(hit.id for hit in further)
            hits = _one_after_the_other(hits, _through(ordering, further, state))
        return _through(choosing, hits, state)

    def _load(self, hits: list[Hit], state: SearchState) -> None:
        """Read what the results will say, also of the surest hit that `min_confidence` kept back if
        it kept back all.
        """
        request = state.request
        load_rows(self._storage, hits, request.context if request.is_packed else None)
        if not hits and state.refused:
            state.nearest_miss = max(state.refused, key=lambda hit: hit.confidence)
            load_rows(self._storage, [state.nearest_miss])

    def _packed(self, hits: list[Hit], state: SearchState) -> Answer:
        """Return the results, as many as the budget holds, and what they leave out."""
        request = state.request
        of_query = _of_query(state)
        left_out: Hit | None = None
        if request.is_packed:
            from .packing import packed

            if request.budget:
                request = request._replace(budget=request.budget.besides(of_query))
            results, left_out = packed(hits, request, state.query)
        else:
            results = [result_of(hit, explain=request.explain) for hit in hits]
        if of_query:
            results = [{**result, **of_query} for result in results]
        answer = Answer(results, state.warnings)
        answer.operators = state.query.operators
        if state.substitutes:
            answer.instead = as_written(state.substitutes, state.query.text, results)
        if left_out is not None:
            missing = result_of(left_out, explain=False)
            if not results:
                answer.nearest_miss = missing
            answer.warnings.append(
                f"the budget is too small for the best result, {missing['citation']}"
            )
        elif state.nearest_miss:
            surest = result_of(state.nearest_miss, explain=False)
            answer.keep_back(surest, request.min_confidence)
        return answer

    def _full_score(self, leg: "KeywordLeg", query: "Query") -> float:
        """Return the BM25 of a hit that says all: less where the best hit has words of the query in its
        context alone, as in its front matter, because they weigh less there.
        """
        id, best = leg.ranking[0] if leg.ranking else (None, 0.0)
        if id is None or best > leg.full_score / 2:
            return leg.full_score
        row = self._storage.chunks.rows([id])[id]
        is_of_text = stages.has_word(f"{row.heading_path}\n{row.text}", query)
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

    def _legs(
        self,
        state: SearchState,
        vector: "QueryVector",
        selection: Any,
        depth: int,
        timings: dict[str, float],
    ) -> Legs:
        """Return what both legs find, `depth` chunks each, on one scale. Note in the state what the
        keyword leg says of the query, which is the same at every depth.
        """
        keyword_leg: KeywordLeg | None = None
        vector_ranking: Ranking | None = None
        cosines: dict[int, float] = {}
        sample: dict[int, float] = {}
        leads: dict[int, list[int]] = {}
        with _timed("keyword", timings):
            if state.request.mode != "vector":
                keyword_leg = state.keyword_index.ranked(state.query, depth)
                state.substitutes = dict(keyword_leg.substitutes)
                state.is_lookup = keyword_leg.is_name or state.query.is_identifier
        with _timed("vector", timings):
            if vector.values:
                if keyword_leg is not None:
                    full_score = self._full_score(keyword_leg, state.query)
                    keyword_leg = keyword_leg._replace(full_score=full_score)
                vectors = self._storage.vectors(selection)
                vector_ranking = vectors.nearest(vector.values, depth, exact=state.request.exact)
                cosines = dict(vector_ranking)
                if keyword_leg is not None:
                    ids = dict.fromkeys([*cosines, *dict(keyword_leg.ranking)])
                    leads = self._storage.chunks.leads(ids, LEADS)
                    ids |= dict.fromkeys(chain.from_iterable(leads.values()))
                    without = [id for id in ids if id not in cosines]
                    cosines |= vectors.cosines(vector.values, without)
                sample = vectors.sample(vector.values)
        if keyword_leg is not None and not cosines:
            vector_ranking = None  # nothing that was found has an embedding
        weights = self._weights(keyword_leg, vector_ranking, state)
        return put_on_one_scale(keyword_leg, vector_ranking, cosines, sample, leads, weights)

    def _weights(
        self, keyword_leg: "KeywordLeg | None", vector_ranking: "Ranking | None", state: SearchState
    ) -> tuple[float, float]:
        """Return the weights of both legs; all for the only leg that ran. A name is looked up by
        its letters: keywords weigh more.
        """
        if vector_ranking is None:
            return 1.0, 0.0
        if keyword_leg is None:
            return 0.0, 1.0
        if self._settings.chosen & {"keyword_weight", "vector_weight"}:
            weights = self._settings["keyword_weight"], self._settings["vector_weight"]
        elif keyword_leg.ranking and state.is_lookup:
            weights = LOOKUP_WEIGHTS
        elif (self._storage.embeddings.identity() or {}).get("provider") == "builtin-multilingual":
            weights = MULTILINGUAL_WEIGHTS
        else:
            weights = WEIGHTS
        return weights[0] / sum(weights), weights[1] / sum(weights)

    def _candidates(self, legs: Legs) -> list[Hit]:
        """Return a hit for every chunk that either leg found and that still exists."""
        ids = [*legs.keyword_scores, *legs.vector_scores]
        return [Hit(*row, legs) for row in self._storage.chunks.candidates(dict.fromkeys(ids))]


class QueryVector:
    """The embedding of a query, [] if there is none; `problem` is what the user should be told of
    it, and `identity` that of the store's embeddings when the query was embedded.
    """

    __slots__ = ("identity", "problem", "values")

    def __init__(
        self, values: list[float], problem: str | None = None, identity: "Identity | None" = None
    ) -> None:
        self.values = values
        self.problem = problem
        self.identity = identity


def query_vector(
    storage: "Storage",
    settings: "Settings",
    embedder: "Callable[[], Embedder | None]",
    query: "Query",
    mode: str,
) -> QueryVector:
    """Return the query's embedding: kept by the model's object, kept in the store, or newly made."""
    if mode == "keyword" or query.is_blank:
        return QueryVector([])
    identity = storage.embeddings.identity()
    problem = _why_no_vector(storage, settings, embedder, identity, mode)
    if problem:
        return QueryVector([], problem, identity)
    model = embedder() if identity else None
    if model is None or identity is None:
        return QueryVector([], None, identity)
    vector = _embedded(storage, settings, model, identity, query.text)
    if len(vector) == identity["dims"]:
        advice = _backlog(storage) or _settings_name_another(settings, identity)
        return QueryVector(vector, advice, identity)
    if model.problem and is_minilm(identity):
        vector = load(MINILM_VECTOR)(query.text)
        if vector:
            return QueryVector(vector, meanwhile(model.problem, identity), identity)
    if vector:
        return QueryVector([], MISFIT, identity)
    problem = model.problem
    # Without a problem, a model that is final works and knows no word of this: nothing is near.
    if not problem and not model.is_final:
        problem = "the embedder gave no vector for the query"
    if problem and mode == "hybrid":
        problem = meanwhile(problem, None)
    return QueryVector([], problem, identity)


def _embedded(
    storage: "Storage", settings: "Settings", embedder: "Embedder", identity: "Identity", query: str
) -> list[float]:
    if embedder.provider in BUILTIN:
        return embedder.embed(query)  # faster than looking it up
    return storage.query_cache(settings["query_cache_size"]).vector(identity, query, embedder.embed)


def _backlog(storage: "Storage") -> str | None:
    """Return what to tell the user where so many chunks have no embedding that the answer would be
    another one with them.
    """
    pending = storage.embeddings.count_pending()
    total = storage.chunks.count() if pending else 0
    if pending <= BACKLOG * total:
        return None
    return Message(
        f"{pending:,} of {total:,} chunks have no embedding yet: found by keyword alone",
        WayOut("update", "update", "makes them"),
    )


def _settings_name_another(settings: "Settings", identity: "Identity") -> str | None:
    """Return what to tell the user where the settings choose another model than the one that
    answers.
    """
    wanted = replacement(settings, identity)
    if wanted is None:
        return None
    old_name, new_name = name_of(identity), name_of(identity_of(wanted))
    if old_name == new_name:
        problem = f"answering with embeddings made with {differing(identity, wanted)}"
        way_out = WayOut("update", "update", "embeds anew")
    else:
        problem = f"answering with the embeddings of {old_name}"
        way_out = WayOut("update", "update", f"has made those of {new_name}")
    return Message(problem, way_out, " until ")


def _why_no_vector(
    storage: "Storage",
    settings: "Settings",
    embedder: "Callable[[], Embedder | None]",
    identity: "Identity | None",
    mode: str,
) -> str | None:
    if settings["provider"] == "none" and not embedder():
        if mode == "hybrid":
            return None
        return 'the provider is "none": there is no search by meaning'
    if identity is None:
        if not storage.embeddings.count_pending():
            return None  # nothing waits for an embedding
        once = ""
        if settings["provider"] == "ollama":
            once = " once Ollama is up (`ollama serve`)"
        way_out = WayOut("update", "update", f"makes them{once}")
        return Message(f"no chunk has an embedding yet{_fallback_note(mode)}", way_out)
    model = embedder()
    if model is None:
        name = identity["provider"]
        return (
            f"the store's embeddings are {name}'s{_fallback_note(mode)}; "
            f"name that provider with --provider {name}"
        )
    following = storage.embeddings.spare.next_identity()
    if (
        following
        and name_of(following) == name_of(identity)
        and following.get("fingerprint") != identity.get("fingerprint")
    ):
        effect = f"embeds all chunks by it{_fallback_note(mode)}"
        return Message(NAMESAKE, WayOut("update", "update", effect))
    return conflict(identity, model, _fallback_note(mode))


def _fallback_note(mode: str) -> str:
    return ": answering by keyword" if mode == "hybrid" else ""


def _of_query(state: SearchState) -> OfQuery:
    """Return what every result says of the query."""
    of_query: OfQuery = {}
    if state.substitutes:
        of_query["instead"] = {word: list(others) for word, others in state.substitutes.items()}
    if any(state.query.operators.values()):
        of_query["operators"] = state.query.operators
    return of_query


def _through(sequence: list[Stage], hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    for stage in sequence:
        hits = stage(hits, state)
    return list(hits)


def _one_after_the_other(first: list[Hit], further: list[Hit]) -> list[Hit]:
    """Return both lists as one, in which no score is above that of the hit before it, and no text
    of the first list stands again.
    """
    texts = {hit.text for hit in first}
    new = [hit for hit in further if hit.text not in texts]
    least = min((hit.score for hit in first), default=0.0)
    for hit in new:
        if hit.score > least:
            hit.scale_by(least / hit.score)
    return first + new


def load_rows(storage: "Storage", hits: Sequence[Hit], around: int | None = None) -> None:
    """Read what the results will say of each hit, and unless it is None the chunks of its text,
    `around` on either side.
    """
    rows = storage.chunks.rows([hit.id for hit in hits])
    newer = [hit.newer for hit in hits if hit.newer is not None]
    locations = storage.chunks.locations([*newer, *(id for hit in hits for id in hit.others)])
    for hit in hits:
        hit.row = rows[hit.id]
        hit.also = [citation(*locations[id]) for id in hit.others]
        if hit.newer is not None:
            hit.newer_citation = citation(*locations[hit.newer])
        if around is not None:
            hit.chunks = storage.chunks.around(hit.doc_id, hit.id, around)


@contextmanager
def _timed(part: str, timings: dict[str, float]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    timings[part] = time.perf_counter() - started
