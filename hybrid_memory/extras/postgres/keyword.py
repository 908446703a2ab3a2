"""Keyword search: the chunks that match a query, ranked by BM25 as in FTS5, over postings in plain
tables.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

from ...errors import QueryError
from ...storage.bm25 import K1, B, idf
from ...storage.keyword import BM25Index
from ...storage.rows import KeywordLeg, Ranking
from ...storage.spelling import Choice
from ...text.query import Query, Term
from .chunks import in_order
from .database import SpaceDatabase, numbers
from .expressions import Phrases, substring_search
from .fts5 import Tokenizer
from .postings import IS_LIVE, SIZE_OF_SPACE, decoded
from .selection import Selection

# Scores whose relative difference is smaller are equal: sums of the same numbers in another order
SAME = 1e-9

# The postings of some terms: of words from the table, of phrases and prefixes as given. `most` is
# the most that a term can add to a score.
OF_WORDS = decoded(
    "unnest(%({of}_terms)s::int[], %({of}_most)s::float8[]) as t (term, most) "
    "join postings using (term) where space = %(space)s",
    "most",
)
GIVEN = """
select chunk, weight, length, most
from   unnest(%({of}_chunks)s::bigint[], %({of}_weights)s::float8[], %({of}_lengths)s::int[],
              %({of}_phrases_most)s::float8[]) as given (chunk, weight, length, most)
"""
# What each of them adds to the score of its chunk: BM25, with the constants computed before
PARTS = f"""
select chunk, most * weight / (weight + %(fixed)s::float8 + %(per_token)s::float8 * length) as score
from   ({OF_WORDS} union all {GIVEN}) p
"""
CHOSEN = PARTS.format(of="choosing") + "where true {rows}"
# Postings of the other terms are added only to the chunks that were chosen: looking up a chunk
# takes a third of the time of adding to its sum.
CHOSEN_AND_OTHERS = f"""
with chosen as materialized ({CHOSEN})
select chunk, score from chosen
union all
{PARTS.format(of="others")}
where chunk in (select chunk from chosen union all select unnest(%(also)s::bigint[]))
"""
# A chunk that was removed may still have postings; the best ones are looked up
SEARCH = f"""
select chunk, total
from   (select chunk, sum(score) as total from ({{parts}}) part
        group by chunk order by chunk = any(%(also)s::bigint[]) desc, total desc) found
where  {IS_LIVE.format(chunk="found.chunk")}
limit  %(limit)s
"""

DOC_IDS = """
select c.id, d.doc_id from chunks c join documents d on d.space = c.space and d.number = c.document
where  c.space = %(space)s and c.id = any(%(ids)s)
"""


class KeywordIndex(BM25Index):
    """The keyword index of a space, or of the chunks in a selection, for one state of the store."""

    def __init__(
        self,
        database: SpaceDatabase,
        tokenizer: Tokenizer,
        chosen: Selection | None = None,
    ) -> None:
        super().__init__(chosen)
        self._db = database
        self._chosen = chosen
        self._phrases = Phrases(database, tokenizer)

    def size(self) -> int:
        return self._sizes[0]

    @cached_property
    def _sizes(self) -> tuple[int, float]:
        """The number of chunks, and their mean length in tokens."""
        chunks, tokens, _ = self._db.first(SIZE_OF_SPACE) or (0, 0, 0)
        return chunks, (tokens or 1) / (chunks or 1)

    def frequencies(self, terms: Sequence[Term]) -> list[int]:
        return [phrase.frequency for phrase in self._phrases.of(terms)]

    def ranked(self, query: Query, limit: int, also: Collection[int] = ()) -> KeywordLeg:
        """As in BM25Index."""
        if not query.fts_syntax:
            forms = [Term(form.tokens) for form in query.possible_forms]
            names = [Term((query.name,))] if query.name else []
            # Looks up all at once
            self._phrases.of([*query.limited_terms, *query.limited_words, *forms, *names])
        return super().ranked(query, limit, also)

    def _substitutes_for(self, word: str, choice: Choice) -> list[str]:
        return self._phrases.substitutes_for(word, choice)

    def chunks_with(self, terms: Sequence[Term]) -> list[int]:
        """The chunks that have any of these words and phrases."""
        phrases = self._phrases.of(terms)
        chunks = (chunk for each in phrases for chunk, *_ in self._phrases.found(each))
        return list(dict.fromkeys(chunks))

    def _matching(self, query: Query, limit: int) -> Ranking:
        raise QueryError(
            "expressions in the syntax of FTS5 need a memory in SQLite; this one is in PostgreSQL: "
            'search for words or a "phrase in quotes"'
        )

    def _search_fragments(self, query: Query, limit: int) -> Ranking:
        return substring_search(self._db, self._chosen, query, limit)

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
        rows = ""
        parameters: dict[str, Any] = {}
        if is_within and self._chosen:
            rows, parameters = self._chosen.condition("p.chunk")
        if choosing is None:
            return self._read(wanted, [], limit, rows, parameters, also)
        rarer = [*done, *choosing]
        others = [term for term in wanted if term not in rarer]
        return self._read(rarer, others, limit, rows, parameters, also)

    def _read(
        self,
        choosing: Sequence[Term],
        others: Sequence[Term],
        limit: int,
        rows: str,
        parameters: dict[str, Any],
        also: Collection[int],
    ) -> Ranking:
        """The best chunks that have one of the choosing terms, by the sum of all terms, all that
        score the same as the last of them, and those in `also`.
        """
        size, average = self._sizes
        counted = [each.frequency_for_idf for each in self._phrases.of([*choosing, *others])]
        size = max(size, *counted, 1)
        given: dict[str, Any] = {
            "fixed": K1 * (1 - B),
            "per_token": K1 * B / average,
            "also": numbers(also),
        }
        given |= parameters | self._postings("choosing", choosing, size)
        parts = CHOSEN
        if others:
            parts = CHOSEN_AND_OTHERS
            given |= self._postings("others", others, size)
        statement = SEARCH.format(parts=parts.format(rows=rows))

        def read(most: int) -> Ranking:
            hits = self._db.all(statement, {**given, "limit": most})
            return _levelled(sorted(hits, key=lambda hit: -hit[1]))

        return self._best_and(read, limit, also)

    def _postings(self, of: str, terms: Sequence[Term], size: int) -> dict[str, Any]:
        """The parameters for the postings of these terms."""
        words, most_of_words, found, most_of_found = [], [], [], []
        for phrase in self._phrases.of(terms):
            most = (K1 + 1) * idf(phrase.frequency_for_idf, size)
            if phrase.id is not None:
                words.append(phrase.id)
                most_of_words.append(most)
            found += phrase.found
            most_of_found += [most] * len(phrase.found)
        return {
            f"{of}_terms": numbers(words),
            f"{of}_most": numbers(most_of_words),
            f"{of}_chunks": numbers(chunk for chunk, *_ in found),
            f"{of}_weights": numbers(weight for _, weight, _ in found),
            f"{of}_lengths": numbers(length for *_, length in found),
            f"{of}_phrases_most": numbers(most_of_found),
        }

    def _doc_ids(self, ids: Collection[int]) -> Iterable[tuple[int, str]]:
        return self._db.all(DOC_IDS, {"ids": list(ids)})

    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        return in_order(self._db, ids)


def _levelled(hits: Ranking) -> Ranking:
    """Give equal chunks the same score: the order in which its parts were added up must not matter.
    The best ones come first.
    """
    ranked: Ranking = []
    last: Any = None
    for id, score in hits:
        if last is None or last - score > SAME * last:
            last = score
        ranked.append((id, last))
    return ranked
