"""The stages of a search. `pipeline.STAGES` has their order; two more are in revisions.py.

A stage is a function from hits and the state of the search to hits, best first. The shares and
numbers below were measured on judged collections (docs/measurements.md).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from math import exp, log
from typing import TYPE_CHECKING

from ..merger import order
from ..storage.bm25 import stems
from ..storage.filters import Filters
from ..text import analyzer, equality
from ..text.characters import fold, spellings
from ..text.dates import age
from ..text.languages import function_words
from ..text.periods import mentions
from ..text.query import MAIN
from ..text.roles import ASSISTANT
from ..text.written_days import date_of_token
from .coverage import START, of_chunks
from .hit import Hit
from .state import SearchState

if TYPE_CHECKING:
    from ..text.periods import Period
    from ..text.query import Query

DOCUMENT_SHARE = 0.07  # of the sum of the document's best scores
BEST = 3  # chunks of a document that count
NAME_FACTOR = 1.15  # of the score of a chunk whose document's whole name is in the query
ASSISTANT_SHARE = 0.7  # of the score of a chunk in which only an assistant speaks
TRANSCRIPT = ".jsonl"  # end of the ids of sessions
NOTE_SHARE = 0.45  # of the share of the question that the best session has
DATE_SHARE = 0.2  # of the score, for a document of the days that the query means
VAGUE_SHARE = DATE_SHARE / 2  # the same, if the query is not exact: "four years ago"
AGREEMENT_SHARE = 0.2  # of the scores of all phrasings that found a chunk besides the best one
NOT_STRONG = 0.54  # the most confidence of a passage that lacks a name of the query or has a rival
RIVAL = 0.9  # of the score of a passage; a passage of another document that has it is a rival
FIRST = 10  # results, the ones that people read
MOST_OF_ONE = 3  # of these, how many hits may be of one document
LEAST_DECAY = 1e-200  # so that no age makes a score 0
# The least nearness of a chunk without a word of the query; meaningless words reach 0.26
NEAR = 0.3


def merged(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """Give each candidate the weighted sum of the scores of both legs."""
    candidates = list(hits)
    if candidates and candidates[0].fused.needs_coverage:
        cover(candidates, state)
    for hit in candidates:
        for part in hit.fused.parts(hit.id, hit.covered.share if hit.covered else 0.0):
            hit.add(*part)
        hit.source = hit.fused.source(hit.id)
    return sorted(candidates, key=lambda hit: order(hit.score, hit.doc_id, hit.chunk_id))


def matching_texts(texts: Iterable[str], query: "Query") -> set[str]:
    """Those of the texts that have a word of the query, in any form."""
    words = {text: analyzer.searchable(text).split() for text in texts}
    asked = [word.tokens[0] for word in query.limited_words]
    stem_of = stems({*asked, *chain.from_iterable(words.values())})
    stems_of_query = {stem_of.get(word, word) for word in asked}
    return {
        text
        for text, of_text in words.items()
        if any(stem_of.get(word, word) in stems_of_query for word in of_text)
    }


def boost_context(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """In the hybrid mode, raise scores by the document of a hit.

    A chunk of a few lines has little evidence; among other chunks that answer, it is more likely
    the right place. Larger shares find more right documents and fewer right passages. And of
    documents that have the name in the query, the one with this whole name is meant: "Heron", not
    "Heron Mirror North", which repeats the word.
    """
    if state.request.mode != "hybrid":
        return hits
    candidates = list(hits)
    return add_context(candidates, named(candidates))


def add_context(hits: list[Hit], named: Collection[str] = ()) -> list[Hit]:
    """Add a share of the document's best scores to each score, and raise those of documents whose
    ids are in `named`.

    All scores are then scaled so that the best one is unchanged. Where every document has one hit
    and no name is in the query, nothing changes.
    """
    highest = max((hit.score for hit in hits), default=0.0)
    scores_of_documents: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        scores_of_documents[hit.doc_id].append(hit.score)
    sums = {}
    for doc_id, document_scores in scores_of_documents.items():
        best = sorted(document_scores, reverse=True)[:BEST]
        sums[doc_id] = DOCUMENT_SHARE * sum(best)
    for hit in hits:
        hit.add("document", sums[hit.doc_id])
        if hit.doc_id in named:
            hit.multiply("name", NAME_FACTOR)
    return rescaled(hits, highest)


def named(hits: Iterable[Hit]) -> set[str]:
    """The ids of the documents whose file name or first heading stands in the query with all its words,
    in any form, and in no longer name that does. Function words and numbers do not count.
    """
    names: dict[str, set[frozenset[str]]] = defaultdict(set)
    asked: set[str] = set()
    starts: set[str] = set()
    for hit in hits:
        if not asked:
            asked = {word.tokens[0].lower() for word in hit.phrasing.searched.limited_words}
            starts = {word[:START] for word in asked}
        file_name = analyzer.stem(hit.doc_id.rpartition("/")[2])
        for text in (file_name, hit.candidate.heading_path.partition(" > ")[0]):
            words = _words_of_name(text)
            if words and all(word[:START] in starts for word in words):
                names[hit.doc_id].add(words)
    if not names:
        return set()
    stem_of = stems(asked.union(*chain.from_iterable(chain.from_iterable(names.values()))))
    stemmed = {
        doc_id: {frozenset(stem_of.get(word, word) for word in words) for words in of_document}
        for doc_id, of_document in names.items()
    }
    asked = {stem_of.get(word, word) for word in asked}
    whole = {words for words in chain.from_iterable(stemmed.values()) if words <= asked}
    longest = {words for words in whole if not any(words < other for other in whole)}
    return {doc_id for doc_id, of_document in stemmed.items() if of_document & longest}


@lru_cache(1024)
def _words_of_name(text: str) -> frozenset[str]:
    words = analyzer.searchable(text).lower().split()
    return frozenset(word for word in words if not word.isdigit()) - function_words()[MAIN]


def rescaled(hits: Iterable[Hit], best: float) -> list[Hit]:
    """Multiply all scores so that the best one is `best`. Returns the hits, best first."""
    ranked = best_first(hits)
    highest = ranked[0].score if ranked else 0.0
    if highest > 0:
        for hit in ranked:
            hit.multiply("rescale", best / highest)
    return ranked


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Sort by score; equal scores keep their order."""
    return sorted(hits, key=lambda hit: -hit.score)


def of_all_phrasings(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """Keep one hit of each chunk that several phrasings found.

    If the question is the name of a document or an identifier, its own hits stay before those of
    other phrasings.
    """
    every_hit = list(hits)
    if len(state.phrasings) == 1:
        return every_hit
    if not state.question.is_lookup:
        return best_of_phrasings(every_hit)
    own = [hit for hit in every_hit if hit.phrasing.is_question]
    found = {hit.id for hit in own}
    return appended(own, best_of_phrasings(hit for hit in every_hit if hit.id not in found))


def best_of_phrasings(hits: Iterable[Hit]) -> list[Hit]:
    """Keep the best hit of each chunk, and add a share of the scores of its others: agreement.

    All scores are then scaled so that the best one is unchanged.
    """
    by_chunk: dict[int, list[Hit]] = defaultdict(list)
    for hit in hits:
        hit.multiply("match", hit.fused.share_of_full)
        by_chunk[hit.id].append(hit)
    kept = []
    highest = 0.0
    for of_chunk in by_chunk.values():
        best, *others = best_first(of_chunk)
        highest = max(highest, best.score)
        best.add("agreement", AGREEMENT_SHARE * sum(hit.score for hit in others))
        kept.append(best)
    return rescaled(kept, highest)


def appended(first: list[Hit], further: Iterable[Hit]) -> list[Hit]:
    """Append hits whose text is new to the first ones, with scores scaled so that they descend."""
    texts = {hit.text for hit in first}
    new = [hit for hit in further if hit.text not in texts]
    least = min((hit.score for hit in first), default=1.0)
    for hit in new:
        hit.keep_below(least)
    return first + new


def with_asked_dates(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """If the query names days, multiply all scores by 1 - DATE_SHARE, and add DATE_SHARE to those of
    passages that are dated by these days or mention them, or VAGUE_SHARE.
    """
    periods = [] if state.request.fts_syntax else state.query.periods
    if not periods:
        return hits
    hits = list(hits)
    for hit in hits:
        share = _share_of_date(periods, hit.text, hit.candidate.date)
        hit.is_of_date = share > 0
        hit.multiply("date", 1 - DATE_SHARE)
        hit.add("date", share)
    if not any(hit.is_of_date for hit in hits):
        state.warnings += [line for line in _unknown_days(state) if line not in state.warnings]
    return best_first(hits)


def _share_of_date(periods: "Sequence[Period]", text: str, day: str | None) -> float:
    """The share of a passage that is dated by a day, for a query that names these periods."""
    meant = [period for period in periods if day is not None and period.has(day)]
    if any(not period.is_vague for period in meant) or _speaks_of(periods, text, day):
        return DATE_SHARE
    return VAGUE_SHARE if meant else 0.0


def _unknown_days(state: SearchState) -> Iterator[str]:
    """A line for each day that the query writes, that no document has as its date, and no text writes."""
    counts = state.keyword_index.counts(state.query)
    filters = state.request.filters or Filters()
    for period in state.query.periods:
        if not period.is_day or period.is_named or period.is_yearly:
            continue
        dated = filters._replace(since=period.first, until=period.last)
        if not any(map(counts.get, period.tokens())) and not state.storage.catalog.has_any(dated):
            yield f"nothing is dated {period.first} or mentions this date"


def _speaks_of(periods: "Sequence[Period]", text: str, day: str | None) -> bool:
    """Whether a passage mentions one of these days, counted from its own date. Open periods, such as
    "since March", and vague ones, such as "four years ago", do not count.
    """
    closed = [period for period in periods if not (period.is_open or period.is_vague)]
    if not closed or day is None or len(day) != len("YYYY-MM-DD"):
        return False
    named = mentions(fold(text).lower(), date.fromisoformat(day))
    return any(period.meets(mention) for period in closed for mention in named)


def demote_assistants(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """In the hybrid mode, lower the scores of what only the assistant says in a conversation: its pages
    answer less often than what the user said.
    """
    if state.request.mode != "hybrid":
        return hits
    lowered = list(hits)
    for hit in lowered:
        if hit.candidate.role == ASSISTANT:
            hit.multiply("assistant", ASSISTANT_SHARE)
    return best_first(lowered)


def note_first(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """If a session with an agent is the best hit, move a note before it that has nearly as much of
    the question.

    Who asks again repeats the words of earlier questions. So each session in which the answer was
    read from a note matches better than the note, and an old answer better than a note that was
    corrected since.
    """
    ranked = list(hits)
    if state.request.fts_syntax or not ranked or not _is_of_session(ranked[0]):
        return ranked
    best = ranked[0]
    notes = [hit for hit in ranked if not _is_of_session(hit)][:FIRST]
    cover([best, *notes], state)
    for note in notes:
        if share_of_query(note) >= NOTE_SHARE * share_of_query(best):
            note.add("order", best.score - note.score)
            return [note, *(hit for hit in ranked if hit is not note)]
    return ranked


def _is_of_session(hit: Hit) -> bool:
    """Whether a hit is of a transcript, not of a conversation that somebody saved among the notes."""
    return hit.candidate.role is not None and hit.doc_id.endswith(TRANSCRIPT)


def share_of_query(hit: Hit) -> float:
    return hit.covered.share if hit.covered else 0.0


def scoring_enough(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """Drop hits that score 0 or less than `min_score`. Their age does not count.

    Without a reranker no hit has aged yet; with one, this stage comes after `aged` (`pipeline.FINAL`).
    """
    least = state.request.min_score
    return [hit for hit in hits if hit.score_before_decay > 0 and hit.score_before_decay >= least]


def aged(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Halve each score once per half-life of the passage's age."""
    half_life = state.request.half_life
    if not half_life:
        return hits
    hits = list(hits)
    today = state.request.today or date.today()
    for hit in hits:
        hit.decay = max(exp(-log(2) * age(hit.day, today) / half_life), LEAST_DECAY)
    return best_first(hits)


def diversify(hits: Iterable[Hit], state: SearchState) -> list[Hit]:
    """Allow at most MOST_OF_ONE hits of one document among the FIRST; move its others behind them,
    unless nothing else was found.

    With `per_doc` the user has chosen a bound, and under a budget neighbours are joined: then scores
    alone decide, which fits more evidence into the same number of characters.
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
    """Move the hits with all quoted phrases, and all words with a sign at an end, before the others.

    The scores of the others are scaled down where necessary, so that scores still descend.
    """
    query = state.query
    if state.request.fts_syntax or not (query.quoted_phrases or query.symbol_words):
        return hits
    ranked = list(hits)
    ids = _having_phrases(ranked, query)
    having = [hit for hit in ranked if hit.id in ids]
    others = [hit for hit in ranked if hit.id not in ids]
    if others and not having and query.quoted_phrases:
        state.warnings.append("no passage has the words in quotes side by side, in this order")
    if having and others and others[0].score > having[-1].score:
        scale = having[-1].score / others[0].score
        for hit in others:
            hit.multiply("order", scale)
    return having + others


def _having_phrases(hits: Iterable[Hit], query: "Query") -> set[int]:
    """The hits with all quoted phrases, and all words with a sign at an end, in their text or headings.
    One of several alternatives is enough: `"page cache" OR swap`.
    """
    signed = list(map(equality.as_written, query.symbol_words))
    phrases = query.quoted_phrases
    tokens = {token for group in phrases for term in group for token in term.tokens}
    stem_of = stems(tokens)
    words = {}
    for hit in hits:
        text = fold(f"{hit.candidate.heading_path}\n{hit.text}")
        lower = text.lower()
        may_have = all(
            any(
                all(_may_have(lower, stem_of.get(token, token)) for token in term.tokens)
                for term in group
            )
            for group in phrases
        )
        if may_have and all(word.search(lower) for word in signed):
            words[hit.id] = analyzer.searchable(text).split() if phrases else []
    stem_of = stems(tokens.union(*words.values()))

    def stemmed(words: Iterable[str]) -> list[str]:
        return [stem_of.get(word, word) for word in words]

    stemmed_phrases = [[(stemmed(term.tokens), term.prefix) for term in group] for group in phrases]
    return {id for id, of_hit in words.items() if _has_all(stemmed_phrases, stemmed(of_hit))}


def _has_all(phrases: Sequence[Sequence[tuple[list[str], bool]]], words: list[str]) -> bool:
    """Whether words have one phrase of each group; a phrase is given with its `is_prefix`."""
    return all(
        any(_stands_in(phrase, words, is_prefix) for phrase, is_prefix in group)
        for group in phrases
    )


def _may_have(text: str, stem: str) -> bool:
    """Whether a text may have a word with this stem; False for most texts without one. All but the
    last letter of an English stem begin each of its words: carri, of carry and carries.
    """
    return stem[:-1] in text or not (stem.isascii() and stem.isalnum())


def _stands_in(phrase: list[str], words: list[str], is_prefix: bool) -> bool:
    """Whether a phrase is in a text. With `is_prefix`, its last word may be the beginning of one."""
    *beginning, last = phrase
    for at in range(len(words) - len(phrase) + 1):
        if words[at : at + len(beginning)] != beginning:
            continue
        word = words[at + len(beginning)]
        if word == last or (is_prefix and word.startswith(last)):
            return True
    return False


def drop_unrelated(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Under filters, return nothing unless a hit has a word of the query, is dated by its days, or is
    near to it.

    There is always a nearest passage. Among the few that a filter leaves, it would pass for an
    answer.
    """
    if not any(state.request.filters or ()) or state.request.mode != "hybrid":
        return hits
    candidates = list(hits)
    for hit in candidates:
        is_near = hit.fused.nearness.get(hit.id, 0.0) >= NEAR
        if is_near or hit.is_of_date or hit.id in hit.fused.keyword_scores:
            return candidates
    return []


def cover(hits: Sequence[Hit], state: SearchState) -> None:
    """Measure how much of their phrasing the hits have, unless that is known."""
    for phrasing in state.phrasings:
        new = [hit for hit in hits if hit.covered is None and hit.phrasing is phrasing]
        if not new:
            continue
        candidates = [hit.candidate for hit in new]
        found = of_chunks(state.storage, phrasing.searched, phrasing.rarities, candidates)
        for hit in new:
            hit.covered = found[hit.id]


def with_confidence(hits: Iterable[Hit], state: SearchState) -> Iterator[Hit]:
    """Set the confidence of each hit. Unlike a score, which is relative to the best result, it can be
    compared between searches.

    Confidence is the mean of two values from 0 to 1: the coverage (coverage.py), and the nearness,
    which is (cosine - mean) / (1 - mean), where mean is the query's mean cosine with a sample of the
    store: it removes the similarity that a model gives to any two texts. Standard deviations above
    the mean were a worse measure on judged collections, because they grow with the number of
    subjects in a store. A passage that lacks a name of the query, one about another person or thing,
    has at most NOT_STRONG, and so has one with a rival in another document.

    Where the coverage is not known yet, it is computed in batches: `limit` hits first, then twice as
    many each time, as later stages ask for them.
    """
    ranked = list(hits)
    best = _best_of_documents(ranked)
    start = 0
    size = state.request.limit
    while start < len(ranked):
        batch = ranked[start : start + size]
        start += size
        size *= 2
        _set_coverage(batch, state)
        for hit in batch:
            hit.nearness = hit.fused.nearness.get(hit.id)
            hit.confidence = confidence(hit.coverage, hit.nearness)
            others = (score for doc_id, score in best if doc_id != hit.doc_id)
            if hit.lacks_name or next(others, 0.0) > RIVAL * hit.score_before_decay:
                hit.confidence = min(hit.confidence, NOT_STRONG)
            yield hit


def _best_of_documents(hits: Iterable[Hit]) -> list[tuple[str, float]]:
    """The two documents with the best scores, before they age."""
    best: dict[str, float] = {}
    for hit in hits:
        best[hit.doc_id] = max(hit.score_before_decay, best.get(hit.doc_id, 0.0))
    return nlargest(2, best.items(), key=lambda item: item[1])


def _set_coverage(batch: Sequence[Hit], state: SearchState) -> None:
    """Set which words of the query each hit has, and their share."""
    if state.request.fts_syntax:
        for hit in batch:
            hit.coverage = 1.0
            hit.terms = [state.query.text]
        return
    cover(batch, state)
    besides = state.query.words_besides_days
    written = spellings(state.query.text)
    for hit in batch:
        assert hit.covered is not None
        terms = hit.covered.terms
        hit.coverage = hit.covered.share
        hit.terms = [written.get(term.lower(), date_of_token(term)) for term in terms]
        found = {term.lower() for term in terms}
        hit.lacks_name = any(found.isdisjoint(name) for name in state.query.names)
        if besides is not None and hit.is_of_date:
            # A passage dated by a day need not name it: count the day as two words that it has
            count = 2 + sum(word in terms for word in besides)
            hit.coverage = max(hit.coverage, count / (2 + len(besides)))


def confidence(coverage: float, nearness: float | None) -> float:
    """The mean of coverage and nearness, to three decimals; coverage alone for a chunk without an
    embedding.
    """
    mean = coverage if nearness is None else (coverage + nearness) / 2
    return round(min(max(mean, 0.0), 1.0), 3)


def confident_enough(hits: Iterable[Hit], state: SearchState) -> Iterator[Hit]:
    """Move hits below `min_confidence` to `refused`."""
    for hit in hits:
        if hit.confidence < state.request.min_confidence:
            state.refused.append(hit)
        else:
            yield hit


def near_the_best(hits: Iterable[Hit], state: SearchState) -> Iterable[Hit]:
    """Drop the hits that score less than the share `stop` of the best, and count them: there an
    answer ends. Their age does not count.
    """
    if not state.request.stop:
        return hits
    chosen = list(hits)
    best = max((hit.score_before_decay for hit in chosen), default=0.0)
    kept = [hit for hit in chosen if hit.score_before_decay >= state.request.stop * best]
    state.cut = len(chosen) - len(kept)
    return kept


def limited(hits: Iterable[Hit], state: SearchState) -> Iterator[Hit]:
    """Keep the first `limit` hits, at most `per_doc` of a document, and none that is in the `context`
    of a better one.
    """
    request = state.request
    shown: dict[str, list[int]] = defaultdict(list)
    count = 0
    for hit in hits:
        numbers = shown[hit.doc_id]
        if request.per_doc and len(numbers) >= request.per_doc:
            continue
        if any(abs(hit.number - number) <= request.context for number in numbers):
            continue
        numbers.append(hit.number)
        yield hit
        count += 1
        if count == request.limit:
            return
