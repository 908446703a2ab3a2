"""The keyword leg of a search, the same for every engine: which terms are searched, and which
chunks are scored. An engine counts the chunks with a term, and scores chunks by BM25.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING

from ..text.query import Term
from .bm25 import K1, full_score, idf, rarities
from .fts_expressions import distinct_words, match_expression
from .rows import KeywordLeg, Ranking, best_first, best_of

if TYPE_CHECKING:
    from ..text.equality import Form
    from ..text.query import Query
    from .matching import Selected
    from .spelling import Choice

RARE_FORM = 20  # a form is ignored if a word has more than this many times as many chunks
FIRST_ROWS = 4000  # scored first; at 100,000 chunks, the fastest of 1,000 to 8,000
# In a store of fewer chunks, this share of them is scored first, but at least LEAST_ROWS: of the best
# 60 of 29,684 chunks, 99.9 % are right. A long question would score more rows later
FIRST_SHARE = 1 / 30
LEAST_ROWS = 1000
# Check this many times the hits needed, because the share of a selection is an estimate
SURPLUS = 1.25
COMMON = 0.25  # share of all chunks; while the user types, words that more of them have are skipped
# Ranks that are exact. With 10, 99.9 % of the best 100 are right at 100,000 chunks; with 100, a
# search takes a quarter longer
PROVEN = 10
# In a question of more than LONG terms, the common terms are assumed to add at most this share of their
# maximum. A word that occurs once in a chunk of average length adds 0.45 of its own
LONG = 12
LIKELY = 0.6


class BM25Index(ABC):
    """The keyword index of a store, or of the chunks in a selection, for one state of the store."""

    def __init__(self, selected: "Selected | None" = None) -> None:
        self._selected = selected

    @abstractmethod
    def size(self) -> int:
        """The number of chunks in the index."""

    @abstractmethod
    def frequencies(self, terms: Sequence[Term]) -> list[int]:
        """The number of chunks in the whole store with each term."""

    @abstractmethod
    def _run(
        self,
        wanted: Sequence[Term],
        limit: int,
        choosing: Sequence[Term] | None = None,
        done: Sequence[Term] = (),
        *,
        also: Collection[int] = (),
        is_within: bool = True,
    ) -> Ranking:
        """The best chunks that have any of the wanted terms, all that score the same as the last of
        them, and those in `also`.

        Given `choosing`, only chunks with one of these terms, and those in `also`, are scored;
        those with one of `done` may be missing. Unless `is_within`, the selection does not matter.
        """

    @abstractmethod
    def _matching(self, query: "Query", limit: int) -> Ranking:
        """The best chunks that match an expression in FTS5's syntax."""

    @abstractmethod
    def _search_fragments(self, query: "Query", limit: int) -> Ranking:
        """The chunks that contain parts of the query that are not words, such as '→' and '🎉',
        scored by the share of them that they contain; of equal chunks, the shortest first.
        """

    @abstractmethod
    def _substitutes_for(self, word: str, choice: "Choice") -> list[str]:
        """The words to search in place of a word, spelled as in a chunk. `choice` chooses their
        terms.
        """

    @abstractmethod
    def _doc_ids(self, ids: Collection[int]) -> Iterable[tuple[int, str]]:
        """Each chunk with the id of its document."""

    @abstractmethod
    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        """Chunks ordered by document."""

    def ranked(self, query: "Query", limit: int, also: Collection[int] = ()) -> KeywordLeg:
        """The best `limit` chunks by BM25, and the scores of those in `also`, which must be in the
        selection.

        An expression in FTS5's syntax is matched as it is; raises QueryError if it is invalid.

        Otherwise, if the query is the path, file name, stem, alias or title of a document, that
        document comes first, with scores raised above the others. Words that no chunk has are
        replaced by words with a similar spelling; in a query of at most two words that finds
        nothing, also by words that begin with them or contain them. While the user types, this is
        done before the search; otherwise after it, followed by another search. If no chunk writes a
        day that the query names, as in "tomorrow", the name is searched as a word. If still nothing
        is found, the score is the share of the query's symbols that a chunk contains.
        """
        if query.fts_syntax:
            return KeywordLeg(self._matching(query, limit), query)
        query = self._with_forms(query)
        if query.is_typed:
            query = self._correct_words(query, is_found=False)
        hits, is_name = self._search_words(query, limit, also)
        if not hits and query.names_days:
            query = query.with_days_as_words()
            hits, is_name = self._search_words(query, limit, also)
        if not query.is_typed and not is_name:
            query = self._correct_words(query, is_found=bool(hits))
            if query.substitutes:
                hits = self._best(query.limited_terms, limit, also)
        if not hits:
            # Substitutes found nothing, perhaps because only other documents than the selected ones
            # have them. A score is the share of the query's symbols that a chunk has
            query = query.with_substitutes({})
            return KeywordLeg(self._search_fragments(query, limit), query, full_score=1.0)
        full = 0.0
        if not is_name:
            counts = self._with_counts(distinct_words(query))
            frequencies = [max(count, self._of_forms(query, word)) for word, count in counts]
            full = full_score(frequencies, self.size())
        return KeywordLeg(
            hits[:limit],
            query,
            is_name=is_name,
            full_score=full,
            further_scores=dict(hits[limit:]),
        )

    def _of_forms(self, query: "Query", word: Term) -> int:
        """The number of chunks with another form of a word; 0 without one."""
        forms = [Term(form.tokens) for form in query.forms if word.tokens[0] in form.words]
        return max(self.frequencies(forms), default=0)

    def _with_forms(self, query: "Query") -> "Query":
        """The query with the forms of its words that chunks of the store have."""
        return query.with_forms(self._usual(query.possible_forms))

    def _usual(self, forms: "Sequence[Form]") -> "list[Form]":
        """The forms of words (text/equality.py) that the store uses about as often as those of the
        query.

        In BM25 a rare form would weigh more than its words, and it is often a misprint: "integr ate".
        """
        others = self._counts_of([form.tokens for form in forms])
        known = [(form, other) for form, other in zip(forms, others, strict=True) if other]
        asked = self._counts_of([form.words for form, _ in known])
        return [
            form for (form, other), n in zip(known, asked, strict=True) if other * RARE_FORM >= n
        ]

    def _counts_of(self, sequences: Sequence[Sequence[str]]) -> list[int]:
        """The number of chunks in the store with each sequence of tokens."""
        return self.frequencies([Term(tuple(tokens)) for tokens in sequences])

    def _search_words(
        self, query: "Query", limit: int, also: Collection[int]
    ) -> tuple[Ranking, bool]:
        """The chunks with words of the query, as in `_best`, and whether the query is a document's
        name.
        """
        wanted = query.limited_terms
        if query.is_typed:
            wanted = self._without_common(wanted)
        hits = self._best(wanted, limit, also) if wanted else []
        named = self._search_name(query, wanted, limit)
        if not named:
            return hits, False
        top = hits[0][1] if hits else 0.0
        raised = [(id, score + top) for id, score in named.items()]
        hits = [*raised, *(hit for hit in hits if hit[0] not in named)]
        return _first(hits, limit, also), True

    def _without_common(self, terms: Sequence[Term]) -> list[Term]:
        """The terms that few chunks have: others take longer than the time between two
        keystrokes.
        """
        most = max(self.size() * COMMON, FIRST_ROWS)
        return [term for term, count in self._with_counts(terms) if count <= most]

    def _correct_words(self, query: "Query", *, is_found: bool) -> "Query":
        """The query with substitutes from the index for words that no chunk has."""
        written = {word for form in query.forms for word in form.words}
        new = [
            word
            for word, count in self._with_counts(query.limited_words)
            if not count and word.tokens[0] not in written
        ]
        if is_found and not new:
            return query
        from .spelling import correct_words  # most searches find all words

        return correct_words(query, new, self._substitutes_for, is_found=is_found)

    def rarities(self, query: "Query") -> dict[str, float]:
        """The inverse document frequency of each word of the query in the whole store; {} if no
        chunk has any of them.
        """
        forms = self._counts_of([form.tokens for form in query.forms])
        return rarities(self.counts(query), zip(query.forms, forms, strict=True), self.size())

    def counts(self, query: "Query") -> dict[str, int]:
        """The number of chunks in the store with each word of the query, in query order."""
        return {word.tokens[0]: count for word, count in self._with_counts(query.limited_words)}

    def _with_counts(self, terms: Sequence[Term]) -> list[tuple[Term, int]]:
        """Each term with the number of chunks in the store that have it."""
        return list(zip(terms, self.frequencies(terms), strict=True))

    def _best(self, wanted: Sequence[Term], limit: int, also: Collection[int]) -> Ranking:
        """The best `limit` chunks of the selection that match any term, and behind them those in
        `also`. The first PROVEN ranks are exact, the others nearly always.

        If the selection is broad, this searches all chunks and keeps the selected ones.
        """
        if self._selected and self._selected.is_broad:
            more = SURPLUS / max(self._selected.share, 0.01)
            depth, proven = ceil(more * limit), ceil(more * PROVEN)
            hits = self._best_of(wanted, depth, proven, also, is_within=False)
            among = self._selected.among([id for id, _ in hits])
            ranks = [rank for rank, (id, _) in enumerate(hits[:depth]) if id in among][:limit]
            # All matches were found; or the tenth selected one is among the proven ranks
            if len(hits) < depth or (len(ranks) == limit and ranks[:PROVEN][-1] < proven):
                return _first([hit for hit in hits if hit[0] in among], limit, also)
        elif self._selected:  # few enough rows to score all terms at once
            return _first(self._run(wanted, limit, also=also), limit, also)
        # There is no selection, or too few of the best chunks are in it
        return _first(self._best_of(wanted, limit, PROVEN, also), limit, also)

    def _best_of(
        self,
        wanted: Sequence[Term],
        limit: int,
        proven: int,
        also: Collection[int],
        *,
        is_within: bool = True,
    ) -> Ranking:
        """The best chunks that match any term, all that score the same as the last of them, and
        those in `also`. The first `proven` ranks are exact, for questions of more than LONG terms
        nearly always.

        Most of the time of a plain search goes into scoring the rows of common words, few of which
        are among the best. So the rarest terms choose the rows, and all terms score them. A row
        with none of the rarest terms scores less than the sum of what the other terms can add; if
        that sum might reach the best ranks, the next rarest terms choose rows, too. This is
        MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995.
        """
        if self.size() <= FIRST_ROWS:
            return self._run(wanted, limit, also=also, is_within=is_within)
        rarest = sorted(
            (count, match_expression([term]), term)
            for term, count in self._with_counts(wanted)
            if count
        )
        size = self.size()
        most = (K1 + 1) * (LIKELY if len(rarest) > LONG else 1)
        bounds = [most * idf(count, size) for count, *_ in rarest]
        totals = accumulate(count for count, *_ in rarest)
        first: float = FIRST_ROWS
        if len(rarest) <= LONG:
            first = min(first, max(LEAST_ROWS, size * FIRST_SHARE))
        needed = 1 + next((i for i, total in enumerate(totals) if total >= first), len(rarest) - 1)
        proven = min(proven, limit)
        by_rarity = [term for *_, term in rarest]
        done = 0  # terms whose rows have been scored
        found: dict[int, float] = {}
        hits: Ranking = []
        while done < needed:
            choosing = by_rarity[done:needed]
            scored = self._run(
                wanted, limit, choosing, by_rarity[:done], also=also, is_within=is_within
            )
            found.update(scored)
            hits = best_first(found.items(), self._in_order)
            # The hits in `also` may have none of these terms
            others = rarest[needed - 1][0]
            if self._selected and is_within:
                others = len(found.keys() - also)
            floor = hits[proven - 1][1] if min(others, len(hits)) >= limit else 0.0
            done = needed
            needed = _needed(bounds, floor)
        return hits

    def _best_and(
        self, read: Callable[[int], Ranking], limit: int, also: Collection[int]
    ) -> Ranking:
        """The best hits, all that score the same as the last of them, and behind them those in
        `also`. `read` returns at most as many hits as it is asked for: those in `also`, and the
        best others.
        """
        scores: dict[int, float] = {}

        def best(most: int) -> Ranking:
            hits = read(most + len(also))
            scores.update(hit for hit in hits if hit[0] in also)
            return sorted(hits, key=lambda hit: -hit[1])[:most]

        ranking = best_of(best, limit, self._in_order)
        further = scores.keys() - dict(ranking).keys()
        return [*ranking, *((id, scores[id]) for id in further)]

    def _search_name(self, query: "Query", wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """The BM25 of the first chunks of the documents with this name. File names rank above other
        names, first those in the same capitals.
        """
        if not query.name:
            return {}
        name = Term((query.name,))
        if not any(self.frequencies([name])):
            return {}
        named = dict(self._run([name, *wanted], limit, [name])[:limit])
        ranks = {id: query.rank_as_name(doc_id) for id, doc_id in self._doc_ids(list(named))}
        top = max(named.values(), default=0.0) if len(set(ranks.values())) > 1 else 0.0
        raised = {id: score + top * ranks[id] for id, score in named.items()}
        return dict(best_first(raised.items(), self._in_order))


def _first(hits: Ranking, limit: int, also: Collection[int]) -> Ranking:
    """The first `limit` hits, and behind them those in `also`."""
    return [hit for rank, hit in enumerate(hits) if rank < limit or hit[0] in also]


def _needed(bounds: Sequence[float], floor: float) -> int:
    """The number of leading terms whose rows must be read: a chunk that has only the terms after
    them scores below the floor. `bounds` has the highest score of each term.
    """
    needed, rest = len(bounds), 0.0
    while needed and rest + bounds[needed - 1] < floor:
        needed -= 1
        rest += bounds[needed]
    return needed
