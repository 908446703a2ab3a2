"""Keyword search: the chunks that match a query, ranked by BM25 as in FTS5, over postings in plain
tables.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from math import ceil
from typing import Any, NamedTuple

from ...storage.bm25 import (
    CONTENT_WEIGHT,
    CONTEXT_WEIGHT,
    HEADING_WEIGHT,
    K1,
    full_score,
    idf,
    rarities,
)
from ...storage.fts_expressions import distinct_words
from ...storage.rows import KeywordLeg, Ranking, best_first, best_of
from ...storage.spelling import correct_words, usual_forms
from ...text.equality import Form
from ...text.query import Query, Term, term_of
from .chunks import in_order
from .connection import Connection
from .expressions import Matches, Phrase, Phrases, parse_query, substring_search
from .postings import COLUMN_END, IS_LIVE, SHARE, SIZE, SIZE_OF_SPACE, decoded
from .selection import Selection

FIRST_ROWS = 4000  # postings that are read first
# Looking up the terms of a chunk costs as much as twenty postings, and is needed for more chunks if
# the unread blocks can add more to a score. More than FIRST_ROWS are read if they can add more than
# this share of the highest score.
MUCH = 0.3
LEVELS = 64  # number of levels of the shares of blocks
READ_ALL = -1.0  # a cut below all scores
# Check this many times the hits needed, because the share of a selection is an estimate
SURPLUS = 1.25
# Scores whose relative difference is smaller are equal: sums of the same numbers in another order
SAME = 1e-9

PART = f"idf * {K1 + 1} * {SHARE}"
RARE = decoded(
    "unnest(%(rare)s::int[], %(rare_idfs)s::float8[]) "
    "as r (term, idf) join postings using (term) where space = %(space)s",
    "idf",
)
# The level of a block: its postings add at most level / LEVELS of the most that the term can add.
LEVEL = f"ceil({LEVELS} * least(1, share * 1.0001 * greatest(1, %(average)s / average)))::int"
BLOCKS = f"""
select term, {LEVEL} as level, count(*) from postings
where  space = %(space)s and term = any(%(common)s) group by 1, 2
"""
HIGH = decoded(
    f"unnest(%(common)s::int[], %(common_idfs)s::float8[], %(levels)s::int[], %(left)s::float8[]) "
    "as c (term, idf, enough, unread) join postings using (term) "
    f"where space = %(space)s and {LEVEL} >= enough",
    "idf",
    "unread",
)

COMMON = f"""coalesce(
           (select sum({PART})
            from   (select idf, cardinality(sequence) - 2 as length,
                           (select sum(case when place < heading_end then {HEADING_WEIGHT}
                                            when place < content_end then {CONTENT_WEIGHT}
                                            else {CONTEXT_WEIGHT} end)::float8
                            from   unnest(array_positions(sequence, term)) place) as weight
                    from   unnest(%(common)s::int[], %(common_idfs)s::float8[]) as c (term, idf)
                   ) counted), 0)"""
WORDS = f"""
join words on words.chunk = likely.chunk and words.space = %(space)s
cross join lateral (select array_position(sequence, {COLUMN_END}) as heading_end) h
cross join lateral (select array_position(sequence, {COLUMN_END}, heading_end + 1) as content_end) c
"""
# `given` are the occurrences of phrases and prefixes, which are counted before.
PARTS = f"""
    select p.chunk, {PART} as score{{none}} from ({RARE}) p where true {{rows}}
    union all
    select p.chunk, {PART} as score{{none}}
    from   unnest(%(given)s::bigint[], %(weights)s::float8[], %(lengths)s::float8[], %(given_idfs)s::float8[])
           as p (chunk, weight, length, idf)
    where  true {{rows}}
"""
SEARCH = f"""
select chunk, total
from   (select chunk, sum(score) as total from ({PARTS.format(none="", rows="{rows}")}) part
        group by chunk {{having}} order by total desc) found {{live}}
limit  %(most)s
"""
# Reads only the high blocks of common terms. What these terms add to a chunk is then computed from
# the chunk's own terms, except for chunks whose score would not be among the best even with the
# most that unread blocks can add. `high` is the score from blocks that were read; `unread` is the
# most that the same terms could add from other blocks.
SEARCH_BEST = f"""
with part as (
    {PARTS.format(none=", 0::float8 as high, 0::float8 as unread", rows="{rows}")}
    union all
    select p.chunk, 0, {PART}, unread from ({HIGH}) p where true {{rows}}
), partial as materialized (
    select chunk, sum(score) as score, sum(high) as high, sum(unread) as unread from part group by chunk
), likely as materialized (
    select chunk, score from partial
    where  score + high - unread + %(unread)s >= {1 - SAME} * greatest(%(floor)s, (
               select least from (select chunk, score + high as least from partial order by least desc) best
               {{best_live}} offset %(limit)s - 1 limit 1)) {{and_live}}
)
select likely.chunk, score + {COMMON} as total
from   likely {WORDS}
order  by total desc
limit  %(most)s
"""
AMONG = "having bool_or(chunk = any(%(among)s))"

CHUNKS_OF = f"select chunk from ({decoded('postings where term = %(term)s')}) p"
DOC_IDS = """
select c.id, d.doc_id from chunks c join documents d on d.space = c.space and d.number = c.document
where  c.space = %(space)s and c.id = any(%(ids)s)
"""


class Single(NamedTuple):
    """A word of a query that is in the index."""

    frequency: int
    id: int
    idf: float


class Blocks:
    """The most that each block of the postings of common terms can add to a score.

    A `cut` is such a score: blocks that cannot add more are not read.
    """

    def __init__(self, terms: Sequence[Single], rows: Iterable[tuple[int, int, int]]) -> None:
        """`rows` are (term, level, number of blocks)."""
        self._steps = [(K1 + 1) * term.idf / LEVELS for term in terms]  # what a level adds
        self._counts: list[dict[int, int]] = [{} for _ in terms]
        places = {term.id: place for place, term in enumerate(terms)}
        for term, level, count in rows:
            self._counts[places[term]][level] = count

    def _by_score(self) -> list[tuple[float, int]]:
        """(the most that a block can add, the number of such blocks), the highest first."""
        found = [
            (level * step, count)
            for step, counts in zip(self._steps, self._counts, strict=True)
            for level, count in counts.items()
        ]
        return sorted(found, reverse=True)

    def cut_for(self, postings: int) -> float:
        """The lowest cut with which at most this many postings are read."""
        read = 0
        for score, count in self._by_score():
            read += SIZE * count
            if read > postings:
                return score
        return READ_ALL

    def cut_below(self, floor: float) -> float:
        """The highest cut with which the unread blocks add less than `floor`."""
        for score, _ in self._by_score():
            if sum(self.most_below(score)) < floor:
                return score
        return READ_ALL

    def most_below(self, cut: float) -> list[float]:
        """The most that the unread blocks of each term can add."""
        return [
            max((level * step for level in counts if level * step <= cut), default=0.0)
            for step, counts in zip(self._steps, self._counts, strict=True)
        ]

    def levels(self, cut: float) -> list[int]:
        """For each term, the lowest level that is read."""
        return [
            min((level for level in counts if level * step > cut), default=LEVELS + 1)
            for step, counts in zip(self._steps, self._counts, strict=True)
        ]


def _count_read_whole(terms: Sequence[Single]) -> int:
    """The number of terms, from the rarest on, whose postings are all read.

    The others can add little to a score. This is MaxScore: Turtle and Flood, "Query evaluation:
    strategies and optimizations", 1995. Of a single term, the high blocks are enough.
    """
    totals = accumulate(term.frequency for term in terms)
    whole = sum(total <= FIRST_ROWS for total in totals)
    if len(terms) == 1:
        return whole
    much = MUCH * sum(term.idf for term in terms)
    while sum(term.idf for term in terms[whole:]) > much:
        whole += 1
    return whole


class KeywordIndex:
    """The keyword index of a space, or of the chunks in a selection, for one state of the store."""

    def __init__(self, conn: Connection, space: int, chosen: Selection | None = None) -> None:
        self._conn, self._space, self._chosen = conn, space, chosen
        self._phrases = Phrases(conn, space)
        self._size: tuple[int, float] | None = None
        self._forms: dict[str, Sequence[Form]] = {}  # by the text of a query
        self._has_dead = False  # whether postings have entries of removed chunks; set by `_sizes`

    def ranked(self, query: Query, limit: int) -> KeywordLeg:
        """The best `limit` chunks by BM25, ranked as by `sqlite.keyword.FTSIndex.ranked`.

        Raises QueryError for an invalid expression in FTS5's syntax.
        """
        if query.fts_syntax:
            return KeywordLeg(best_first(self._matching(query), self._in_order)[:limit])
        query = self._with_forms(query)
        if query.is_typed:
            query = self._correct_words(query, is_found=False)
        hits, is_name = self._search_words(query, limit)
        if not query.is_typed and not is_name:
            query = self._correct_words(query, is_found=bool(hits))
            if query.substitutes:
                hits = self._best(query.affordable_terms, limit)
        if not hits:
            hits = substring_search(self._conn, self._space, self._chosen, query, limit)
            return KeywordLeg(hits, full_score=1.0)
        if is_name:
            return KeywordLeg(hits, True, 0.0, query.substitutes, query.forms)
        frequencies = []
        for word in distinct_words(query):
            forms = [term_of(form) for form in query.forms if word.tokens[0] in form.words]
            phrases = self._phrases.of([word, *forms])
            frequencies.append(max(phrase.frequency for phrase in phrases))
        full = full_score(frequencies, self._sizes()[0])
        return KeywordLeg(hits, False, full, query.substitutes, query.forms)

    def _with_forms(self, query: Query) -> Query:
        """The query with the forms of its words that chunks of the store have."""
        if query.text not in self._forms:
            self._forms[query.text] = usual_forms(query.possible_forms, self._counts_of)
        return query.with_forms(self._forms[query.text])

    def _counts_of(self, sequences: Sequence[Sequence[str]]) -> list[int]:
        """The number of chunks in the store with each sequence of tokens."""
        phrases = self._phrases.of([Term(tuple(tokens)) for tokens in sequences])
        return [phrase.frequency for phrase in phrases]

    def _search_words(self, query: Query, limit: int) -> tuple[list[tuple[int, float]], bool]:
        """The chunks with words of the query, and whether the query is a document's name."""
        wanted = query.affordable_terms
        names = []
        if query.name:
            names = [Term((query.name,))]
        self._phrases.of([*wanted, *query.affordable_words, *names])  # looks up all at once
        hits = self._best(wanted, limit)
        named = self._search_name(query, wanted, limit)
        if not named:
            return hits, False
        top = 0.0
        if hits:
            top = hits[0][1]
        raised = [(id, score + top) for id, score in named.items()]
        return [*raised, *(hit for hit in hits if hit[0] not in named)][:limit], True

    def _unknown_words(self, words: Sequence[Term]) -> list[Term]:
        """The words that no chunk has."""
        phrases = self._phrases.of(words)
        return [word for word, phrase in zip(words, phrases, strict=True) if not phrase.frequency]

    def _correct_words(self, query: Query, *, is_found: bool) -> Query:
        """The query with substitutes from the index for words that no chunk has."""
        written = {word for form in query.forms for word in form.words}
        new = [
            word
            for word in self._unknown_words(query.affordable_words)
            if word.tokens[0] not in written
        ]
        return correct_words(query, new, self._phrases.substitutes_for, is_found=is_found)

    def scores(self, query: Query, ids: Collection[int]) -> dict[int, float]:
        """The BM25 of those of these chunks that have a term of the query."""
        terms = query.affordable_terms
        phrases = [phrase for phrase in self._phrases.of(terms) if phrase.frequency]
        return dict(self._search(phrases, len(ids), among=list(ids))) if ids else {}

    def rarities(self, query: Query) -> dict[str, float]:
        """The inverse document frequency of each word of the query in the whole space; {} if no
        chunk has any of them.
        """
        forms = self._counts_of([form.tokens for form in query.forms])
        return rarities(self.counts(query), zip(query.forms, forms, strict=True), self._sizes()[0])

    def counts(self, query: Query) -> dict[str, int]:
        """The number of chunks in the whole store with each word of the query, in query order."""
        words = query.affordable_words
        phrases = self._phrases.of(words)
        return {
            word.tokens[0]: phrase.frequency for word, phrase in zip(words, phrases, strict=True)
        }

    def chunks_with(self, terms: Sequence[Term]) -> list[int]:
        """The chunks that have any of these words and phrases."""
        chunks: dict[int, None] = {}
        for phrase in self._phrases.of(terms):
            chunks.update(dict.fromkeys(row[0] for row in phrase.found))
            if phrase.id is not None:
                rows = self._conn.all(CHUNKS_OF, {"term": phrase.id})
                chunks.update(dict.fromkeys(chunk for (chunk,) in rows))
        return list(chunks)

    def _matching(self, query: Query) -> list[tuple[int, float]]:
        """The chunks that match an expression in FTS5's syntax, best first."""
        node = parse_query(query)
        if not node:
            return []
        found = Matches(self._conn, self._space, self._phrases, *self._sizes()).of(node) or {}
        if self._chosen:
            among = self._chosen.among(found)
            found = {id: score for id, score in found.items() if id in among}
        return _levelled(sorted(found.items(), key=lambda hit: -hit[1]))

    def _sizes(self) -> tuple[int, float]:
        """The number of chunks, and their mean length in tokens."""
        if self._size is None:
            chunks, tokens, dead = self._conn.once(SIZE_OF_SPACE, {"space": self._space}) or (
                0,
                0,
                0,
            )
            self._size = chunks, (tokens or 1) / (chunks or 1)
            self._has_dead = bool(dead)
        return self._size

    def _best(self, wanted: Sequence[Term], limit: int) -> list[tuple[int, float]]:
        """The best selected chunks that match any term.

        If the selection is broad, this searches all chunks and keeps the selected ones.
        """
        phrases = [phrase for phrase in self._phrases.of(wanted) if phrase.frequency]
        if phrases and self._chosen and self._chosen.ids is None:
            depth = ceil(SURPLUS / max(self._chosen.share, 0.01) * limit)
            hits = self._search(phrases, depth)
            among = self._chosen.among([id for id, _ in hits])
            found = [hit for hit in hits if hit[0] in among][:limit]
            if len(found) == limit or len(hits) < depth:
                return found
        return self._search(phrases, limit, self._chosen)[:limit]

    def _search(
        self,
        phrases: Sequence[Phrase],
        limit: int,
        chosen: Selection | None = None,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """The best chunks by the sum of all phrases, and all that score the same as the last of
        them.

        Most of the time of a plain search goes into scoring the chunks of common words, few of
        which are among the best. So only some blocks of the postings of common words are read.
        """
        size, average = self._sizes()
        if not phrases:
            return []
        size = max(size, *(phrase.frequency_for_idf for phrase in phrases))
        idfs = [idf(phrase.frequency_for_idf, size) for phrase in phrases]
        given = [
            (chunk, weight, length, idfs[n])
            for n, phrase in enumerate(phrases)
            for chunk, weight, length in phrase.found
        ]
        single = sorted(
            Single(phrase.frequency, phrase.id, idfs[n])
            for n, phrase in enumerate(phrases)
            if phrase.id is not None
        )
        whole, having = _count_read_whole(single), ""
        if among is not None:
            whole, having = len(single), AMONG
        rare, common = single[:whole], single[whole:]
        rows = ""
        parameters: dict[str, Any] = {}
        if chosen:
            rows, parameters = chosen.condition("p.chunk")
        parameters = parameters | {
            "space": self._space,
            "average": average,
            "limit": limit,
            "among": among,
            "given": [row[0] for row in given],
            "weights": [row[1] for row in given],
            "lengths": [row[2] for row in given],
            "given_idfs": [row[3] for row in given],
            "rare": [term.id for term in rare],
            "rare_idfs": [term.idf for term in rare],
        }
        if common:
            budget = FIRST_ROWS - sum(term.frequency for term in rare)
            return self._from_blocks(common, rows, parameters, budget)
        statement = SEARCH.format(
            rows=rows,
            having=having,
            live=self._live("where", "found.chunk"),
        )
        return self._best_by(statement, parameters)

    def _best_by(self, statement: str, parameters: Mapping[str, Any]) -> Ranking:
        """The best chunks by a statement, and all that score the same as the last of them."""

        def read(most: int) -> Ranking:
            return _levelled(self._conn.all(statement, {**parameters, "most": most}))

        return best_of(read, parameters["limit"], self._in_order)

    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        return in_order(self._conn, self._space, ids)

    def _live(self, keyword: str, chunk: str) -> str:
        """A condition that leaves out chunks that are only in postings."""
        if not self._has_dead:
            return ""
        return f"{keyword} {IS_LIVE.format(chunk=chunk)}"

    def _from_blocks(
        self, common: Sequence[Single], rows: str, parameters: dict[str, Any], budget: int
    ) -> list[tuple[int, float]]:
        """The best chunks. Of common terms, only the blocks that matter are read.

        At first, these are the blocks that can add most, with about `budget` postings. A chunk that
        is in none of them and has no rare term scores at most what the other blocks can add. If
        that might be enough for the last rank, more blocks are read, until it is not. Every rank is
        exact: which results come first depends on those below them, too.
        """
        limit = parameters["limit"]
        statement = SEARCH_BEST.format(
            rows=rows,
            best_live=self._live("where", "best.chunk"),
            and_live=self._live("and", "partial.chunk"),
        )
        parameters |= {
            "common": [term.id for term in common],
            "common_idfs": [term.idf for term in common],
            "floor": 0.0,
        }
        blocks = Blocks(common, self._conn.all(BLOCKS, parameters))
        cut = blocks.cut_for(budget)
        while True:
            left = blocks.most_below(cut)
            parameters |= {"levels": blocks.levels(cut), "left": left, "unread": sum(left)}
            hits = self._best_by(statement, parameters)
            if not any(left):
                return hits
            if len(hits) >= limit:
                parameters["floor"] = hits[-1][1]
            if sum(left) < parameters["floor"]:
                return hits
            cut = blocks.cut_below(parameters["floor"])

    def _search_name(self, query: Query, wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """The BM25 of the first chunks of the documents with this name. File names rank above other
        names, first those in the same capitals.
        """
        if not query.name:
            return {}
        term = Term((query.name,))
        [name] = self._phrases.of([term])
        if not name.frequency:
            return {}
        among = [row[0] for row in name.found] or [
            id for (id,) in self._conn.all(CHUNKS_OF, {"term": name.id})
        ]
        if self._chosen:
            among = list(self._chosen.among(among))
        phrases = [phrase for phrase in self._phrases.of([term, *wanted]) if phrase.frequency]
        named = {}
        if among:
            named = dict(self._search(phrases, limit, among=among)[:limit])
        rows = self._conn.all(DOC_IDS, {"space": self._space, "ids": list(named)})
        ranks = {id: query.rank_as_name(doc_id) for id, doc_id in rows}
        top = 0.0
        if len(set(ranks.values())) > 1:
            top = max(named.values(), default=0.0)
        raised = {id: score + top * ranks[id] for id, score in named.items()}
        return dict(best_first(raised.items(), self._in_order))


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
