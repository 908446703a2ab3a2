"""The stages of a search; `pipeline.STAGES` has their order, and revisions.py two more of them.

A stage is a function from hits and the state of the search to hits, best first. The shares and
numbers were found on judged collections (docs/measurements.md).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from math import exp, log
from typing import TYPE_CHECKING

from ..merger import order
from ..storage.keyword import stems
from ..text import analyzer
from ..text.characters import fold, spellings
from ..text.dates import age, mentions
from .hit import Hit
from .state import SearchState

if TYPE_CHECKING:
    from ..text.dates import Period
    from ..text.query import Query

NEIGHBOUR_SHARE = 0.05  # of the score of the chunk before, and of the one after
DOCUMENT_SHARE = 0.07  # of the sum of the document's best scores
BEST = 3  # chunks of a document that count
DATE_SHARE = 0.2  # of the score, for a document of the days that the query means
FIRST = 10  # results that people look at
MOST_OF_ONE = 3  # of these, how many hits may be of one document
LEAST_DECAY = 1e-200  # so that no age makes a score 0
NEAR = 0.3  # of a passage to a query that it has no word of; words that mean nothing reach 0.26


def merged(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """Return the candidates with the weighted sum of both legs' scores, best first."""
    candidates = list(hits)
    for hit in candidates:
        hit.score = hit.legs.scores.get(hit.id, 0.0)
        hit.source = hit.legs.source(hit.id)
    return sorted(candidates, key=lambda hit: order(hit.score, hit.doc_id, hit.chunk_id))


def with_phrases(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Note which hits have all phrases in quotes in their text or headings; of alternatives, as
    `"page cache" OR swap`, one is enough.
    """
    phrases = state.query.quoted_phrases
    if state.request.fts_syntax or not phrases:
        return hits
    hits = list(hits)
    rows = state.storage.chunks.rows([hit.id for hit in hits])
    texts = {hit.id: f"{rows[hit.id].heading_path}\n{hit.text}" for hit in hits}
    words = {id: analyzer.searchable(text).split() for id, text in texts.items()}
    every_word = {word for of_hit in words.values() for word in of_hit}
    stem_of = stems(every_word.union(*(phrase.tokens for group in phrases for phrase in group)))
    for hit in hits:
        stemmed = [stem_of.get(word, word) for word in words[hit.id]]
        hit.has_phrases = all(
            any(
                _stands_in([stem_of.get(word, word) for word in term.tokens], stemmed, term.prefix)
                for term in group
            )
            for group in phrases
        )
    return hits


def has_word(text: str, query: "Query") -> bool:
    """Return whether a text has a word of the query, in any form."""
    words = analyzer.searchable(text).split()
    asked = [word.tokens[0] for word in query.affordable_words]
    stem_of = stems({*words, *asked})
    stems_of_text = {stem_of.get(word, word) for word in words}
    return any(stem_of.get(word, word) in stems_of_text for word in asked)


def _stands_in(phrase: list[str], words: list[str], is_prefix: bool) -> bool:
    """Return whether the words of a phrase stand side by side; the last may be a beginning."""
    *beginning, last = phrase
    for at in range(len(words) - len(phrase) + 1):
        if words[at : at + len(beginning)] != beginning:
            continue
        word = words[at + len(beginning)]
        if word == last or (is_prefix and word.startswith(last)):
            return True
    return False


def with_evidence(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Raise scores by their surroundings in the hybrid mode; leave a single leg as it is.

    A chunk of a few lines says little; one among others that answer is likelier the right place.
    Larger shares find more right documents and fewer right passages.
    """
    return add_evidence(list(hits)) if state.request.mode == "hybrid" else hits


def add_evidence(hits: list[Hit]) -> list[Hit]:
    """Add shares of their neighbours' and documents' scores to hits, and return them best first.

    All scores are scaled so that the best one stays what it was; where every document has one hit,
    nothing changes.
    """
    scores = {(hit.doc_id, hit.number): hit.score for hit in hits}
    scores_of_documents: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        scores_of_documents[hit.doc_id].append(hit.score)
    sums = {}
    for doc_id, document_scores in scores_of_documents.items():
        best = sorted(document_scores, reverse=True)[:BEST]
        sums[doc_id] = DOCUMENT_SHARE * sum(best)
    for hit in hits:
        beside = ((hit.doc_id, hit.number + step) for step in (-1, 1))
        hit.neighbours = NEIGHBOUR_SHARE * sum(scores.get(neighbour, 0.0) for neighbour in beside)
        hit.document = sums[hit.doc_id]
    highest = max((hit.score + hit.neighbours + hit.document for hit in hits), default=0.0)
    scale = 1.0
    if highest > 0:
        scale = max(scores.values(), default=0.0) / highest
    for hit in hits:
        hit.score = scale * (hit.score + hit.neighbours + hit.document)
        hit.neighbours *= scale
        hit.document *= scale
        hit.scale = scale
    return best_first(hits)


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Sort by score; equal ones stay in the order they came."""
    return sorted(hits, key=lambda hit: -hit.score)


def with_asked_dates(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Where the query means certain days, multiply all scores by 1 - DATE_SHARE, and add DATE_SHARE to
    those of passages that are of these days or speak of them.
    """
    periods = [] if state.request.fts_syntax else state.query.periods
    if not periods:
        return hits
    hits = list(hits)
    dates = state.storage.chunks.dates([hit.id for hit in hits])
    for hit in hits:
        day = dates.get(hit.id)
        is_meant = day is not None and any(period.has(day) for period in periods)
        if not is_meant:
            is_meant = _speaks_of(periods, hit.text, day)
        hit.of_date = DATE_SHARE if is_meant else 0.0
        hit.scale_by(1 - DATE_SHARE)
        hit.add(hit.of_date)
    return best_first(hits)


def _speaks_of(periods: "Sequence[Period]", text: str, day: str | None) -> bool:
    """Return whether a passage names one of these days, counted from its own. A mention proves
    nothing of a period without an end, as "since March".
    """
    closed = [period for period in periods if not period.is_open]
    if not closed or day is None or len(day) != len("YYYY-MM-DD"):
        return False
    named = mentions(fold(text).lower(), date.fromisoformat(day))
    return any(period.meets(mention) for period in closed for mention in named)


def scoring_enough(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """Leave out those that score nothing, or less than `min_score`, whatever their age.

    Without a reranker no hit has aged yet; with one this stage is in `pipeline.FINAL`, after `aged`.
    """
    least = state.request.min_score
    return [hit for hit in hits if hit.score_before_decay > 0 and hit.score_before_decay >= least]


def aged(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Halve scores by each half-life of the passage's age; an undated passage does not age."""
    half_life = state.request.half_life
    if not half_life:
        return hits
    hits = list(hits)
    today = state.request.today or date.today()
    dates = state.storage.chunks.dates([hit.id for hit in hits])
    for hit in hits:
        decay = 1.0
        if hit.id in dates:
            days = age(dates[hit.id], today)
            decay = max(exp(-log(2) * days / half_life), LEAST_DECAY)
        hit.age_by(decay)
    return best_first(hits)


def same_text_once(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """Keep the best of hits with the same text, which knows the `others`."""
    first: dict[str, Hit] = {}
    for hit in hits:
        if hit.text in first:
            first[hit.text].others.append(hit.id)
        else:
            first[hit.text] = hit
    return list(first.values())


def spread(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """Let at most MOST_OF_ONE hits of one document be among the FIRST; its others come after these,
    unless there is nothing else.

    With `per_doc` the user has said how many, and under a budget neighbours become one result: then
    scores alone decide, which brings more evidence into as many characters.
    """
    ranked = list(hits)
    if state.request.per_doc is not None or state.request.budget:
        return ranked
    first: list[Hit] = []
    surplus: list[Hit] = []
    counts: Counter[str] = Counter()
    for number, hit in enumerate(ranked):
        if len(first) == FIRST:
            return first + surplus + ranked[number:]
        counts[hit.doc_id] += 1
        if counts[hit.doc_id] <= MOST_OF_ONE:
            first.append(hit)
        else:
            surplus.append(hit)
    return first + surplus


def phrases_first(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Put the hits that have all phrases in quotes before the others.

    The scores of the others are scaled down as far as that takes, so that scores still fall.
    """
    if state.request.fts_syntax or not state.query.quoted_phrases:
        return hits
    ranked = list(hits)
    having = [hit for hit in ranked if hit.has_phrases]
    others = [hit for hit in ranked if not hit.has_phrases]
    if others and not having:
        state.warnings.append("no passage has the words in quotes side by side, in this order")
    if having and others and others[0].score > having[-1].score:
        scale = having[-1].score / others[0].score
        for hit in others:
            hit.scale_by(scale)
    return having + others


def about_something(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Under filters, leave out everything where no passage has a word of the query or is of its days,
    and none is near.

    There is always a nearest passage. Among few, chosen by a filter, it would be taken for an answer.
    """
    if not any(state.request.filters or ()) or state.request.mode != "hybrid":
        return hits
    candidates = list(hits)
    for hit in candidates:
        is_near = hit.legs.nearness.get(hit.id, 0.0) >= NEAR
        if is_near or hit.of_date or hit.id in hit.legs.keyword_scores:
            return candidates
    return []


def with_confidence(hits: Iterable[Hit], state: SearchState) -> Iterator[Hit]:
    """Say how sure each hit is. Unlike a score, which is relative to the best result, confidence
    can be compared between searches.

    It is the mean of two signs, each 0 to 1. Coverage is the share of the query's words that a
    chunk has, each word counted by its rarity (inverse document frequency), so that a name which is
    nowhere in the store counts most. Nearness says how far the chunk's cosine stands above the
    query's mean cosine with the store, as a share of how far it could; the mean takes away what a
    model gives to any two texts. Standard deviations above the mean told less on judged
    collections: they grow where a store has many subjects.

    The words of as many hits are read at a time as will be wanted: `limit` of them, and where later
    stages want more, each time twice as many.
    """
    ranked = list(hits)
    start = 0
    size = state.request.limit
    while start < len(ranked):
        batch = ranked[start : start + size]
        start += size
        size *= 2
        _cover(batch, state)
        for hit in batch:
            hit.nearness = hit.legs.nearness.get(hit.id)
            hit.confidence = confidence(hit.coverage, hit.nearness)
            yield hit


def _cover(batch: list[Hit], state: SearchState) -> None:
    """Note which words of the query each hit has."""
    if state.request.fts_syntax:
        for hit in batch:
            hit.coverage = 1.0
            hit.terms = [state.query.text]
        return
    coverage = state.keyword_index.coverage(state.query, [hit.id for hit in batch])
    besides = state.query.words_besides_days
    written = spellings(state.query.text)
    for hit in batch:
        hit.coverage = coverage[hit.id].share
        terms = coverage[hit.id].terms
        hit.terms = [written.get(term.lower(), term) for term in terms]
        if besides is not None and hit.of_date:
            # A passage of a day need not name it. It counts as having the two words of a date.
            count = 2 + sum(word in terms for word in besides)
            hit.coverage = max(hit.coverage, count / (2 + len(besides)))


def confidence(coverage: float, nearness: float | None) -> float:
    """Return the mean of coverage and nearness, to three decimals; coverage alone for a chunk that
    has no cosine.
    """
    mean = coverage if nearness is None else (coverage + nearness) / 2
    return round(min(max(mean, 0.0), 1.0), 3)


def confident_enough(hits: Iterable[Hit], state: SearchState) -> Iterator[Hit]:
    """Leave out those that are less sure than `min_confidence`; note them as `refused`."""
    for hit in hits:
        if hit.confidence < state.request.min_confidence:
            state.refused.append(hit)
        else:
            yield hit


def limited(hits: Iterable[Hit], state: SearchState) -> Iterator[Hit]:
    """Keep the first `limit`, at most `per_doc` of a document, without those that stand in the
    `context` that the request adds to a better one.
    """
    request = state.request
    shown: dict[str, list[int]] = defaultdict(list)
    count = 0
    for hit in hits:
        numbers = shown[hit.doc_id]
        if request.per_doc is not None and len(numbers) >= request.per_doc:
            continue
        if any(abs(hit.number - number) <= request.context for number in numbers):
            continue
        numbers.append(hit.number)
        yield hit
        count += 1
        if count == request.limit:
            return
