"""Keyword search: the chunks that match a query, ranked by BM25 through FTS5. Only this module
writes to chunks_fts.

Identifiers such as src/a.ts, and names of documents, are indexed as one word each, in addition to
their parts. These words are made of letters that no text has (U+F800 to U+F8FF; text/analyzer.py),
so a query that is a name or an identifier is one word that few chunks have.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ...text.equality import Form
from ...text.query import Query, Term, term_of
from ..bm25 import (
    CONTENT_WEIGHT,
    CONTEXT_WEIGHT,
    HEADING_WEIGHT,
    K1,
    full_score,
    idf,
    rarities,
    stems,
)
from ..fts_expressions import (
    ANY_ROW,
    any_of,
    checked_expression,
    distinct_words,
    match_expression,
)
from ..rows import KeywordLeg, as_results, best_first, best_of, with_ties
from ..spelling import LONGEST_TERM, Choice, correct_words, usual_forms, word_of_stem
from . import schema
from .chunks import chunk_terms, document_terms, in_order

if TYPE_CHECKING:
    from ...documents.terms import Terms
    from .selection import Selection

FIRST_ROWS = 4000  # scored first; at 100,000 chunks, the fastest of 1,000 to 8,000
# Check this many times the hits needed, because the share of a selection is an estimate
SURPLUS = 1.25
COMMON = 0.25  # share of all chunks; while the user types, words that more of them have are skipped
# Ranks that are exact. With 10, 99.9 % of the best 100 are right at 100,000 chunks; with 100, a
# search takes a quarter longer
PROVEN = 10

BM25 = f"-bm25(chunks_fts, 0, 0, {HEADING_WEIGHT}, {CONTENT_WEIGHT}, {CONTEXT_WEIGHT})"

# The plus hides the ids from FTS5, which would otherwise run the whole query again for each id.
SEARCH = f"""
select rowid, {BM25} as score
from   chunks_fts
where  chunks_fts match :expression {{rows}}
order  by score desc
limit  :limit
"""
SCORES = f"""
select rowid, {BM25} from chunks_fts where chunks_fts match :expression and {{condition}}
"""
AMONG_ALL = "+rowid in (select value from json_each(:ids))"
AMONG_EACH = "rowid in (select value from json_each(:ids))"
FEW = 50_000  # chunks of a store
AMONG = "and +rowid in (select rowid from chunks_fts where chunks_fts match :among)"
CHOSEN = "and +rowid {}"

ROW_COUNTS = """
select (select count(*) from chunks_fts where chunks_fts match value)
from   json_each(:expressions)
order  by key
"""

# The number of rows is stored, because counting takes time in proportion to the store. It is not
# stored for an index with texts, which others may write to.
COUNTED = "(select count(*) from chunks_fts_docsize)"
SIZE = "select value from meta where key = 'indexed_chunks'"
ADD_TO_SIZE = f"""
insert into meta (key, value) values ('indexed_chunks', {COUNTED})
on conflict (key) do update set value = value + :change
"""
FORGET_SIZE = "delete from meta where key = 'indexed_chunks'"

OPTIMIZE = "insert into chunks_fts (chunks_fts) values ('optimize')"

ADD = "insert into chunks_fts (rowid, heading, content, context) values (?, ?, ?, ?)"
SET_CHECKSUM = "update chunks set indexed = :checksum where id = :id and indexed is not :checksum"
CHECKSUMS = """
select id, indexed from chunks
where  id in (select value from json_each(?)) and id in (select id from chunks_fts_docsize)
"""
REMOVE = "insert into chunks_fts (chunks_fts, rowid, heading, content, context) values ('delete', ?, ?, ?, ?)"
REMOVE_WITH_TEXTS = "delete from chunks_fts where rowid = ?"  # if the index has a copy of its texts
BATCH = 512  # chunks whose texts are in memory at a time

CONTAINING = """
select * from (select id, {count} as matches, length(content) as size from {texts} where true {rows})
where  matches > 0 order by matches desc, size limit ?
"""
LIKE = r"(content like ? escape '\')"

# The words of the index with the numbers of their chunks, without terms that have one of these
# letters: identifiers and names, whose parts are terms, too.
OF_SYMBOLS = "*[\uf800-\uf8ff]*"
MAKE_VOCABULARY = """
create virtual table if not exists temp.vocabulary using fts5vocab (main, chunks_fts, row);
create virtual table if not exists temp.occurrences using fts5vocab (main, chunks_fts, instance);
"""
HAS_VOCABULARY = "select 1 from temp.sqlite_schema where name = 'occurrences'"
VOCABULARY = """
select group_concat(term || ' ' || doc, char(10)) from temp.vocabulary
where  term >= ? and term < ? and length(term) <= ? and term not glob ?
"""
STATE = "select block from chunks_fts_data where id = 10"  # FTS5 changes it with each write
OCCURRENCE = "select doc from temp.occurrences where term = ? limit 1"

DOC_IDS = "select id, doc_id from chunks where id in (select value from json_each(?))"
RESULT_ROWS = """
select value, coalesce(c.doc_id, f.doc_id), coalesce(c.chunk_id, f.chunk_id), coalesce(c.heading, f.heading),
       coalesce(c.content, f.content)
from   json_each(?) left join chunks c on c.id = value left join chunks_fts f on f.rowid = value
"""  # a row that is only in chunks_fts is shown as it is there

# For tables of another program, results show the index as it is.
FOREIGN_RESULT_ROWS = """
select rowid, doc_id, chunk_id, heading, content from chunks_fts
where  rowid in (select value from json_each(?))
"""

COUNT_FOREIGN = "select count(*) from chunks_fts"
CLEAR_FOREIGN = "delete from chunks_fts"
FILL_FOREIGN = """
insert into chunks_fts (doc_id, chunk_id, heading, content)
select doc_id, chunk_id, heading, content from chunks
"""

_LIKE_SYNTAX = r"[\\%_]"


def checksum(terms: "Terms") -> int:
    """The value of `chunks.indexed` for these terms."""
    return crc32("\0".join(terms).encode())


class FTSIndex:
    """The FTS5 index of a database, or of the chunks in a selection. Never commits.

    It remembers how many chunks have a term, so use it for one state of the database.
    """

    _result_rows = RESULT_ROWS  # the statement that reads the rows of results
    _texts = "chunks"  # where the last tier reads `id` and `content`

    def __init__(
        self,
        conn: sqlite3.Connection,
        selection: "Selection | None" = None,
        vocabulary: "Vocabulary | None" = None,
    ) -> None:
        self._conn = conn
        self._selection = selection
        self._vocabulary = vocabulary or Vocabulary(conn)
        self._counts: dict[str, int] = {}
        self._forms: dict[str, Sequence[Form]] = {}  # by the text of a query

    @property
    def _condition(self) -> str:
        return CHOSEN.format(self._selection.listed) if self._selection else ""

    def search(
        self, query: str, limit: int = 10, *, fts_syntax: bool = False
    ) -> list[dict[str, Any]]:
        """The matching chunks, best first: doc_id, chunk_id, heading, text, score (BM25, above 0),
        source.
        """
        words = Query(query, fts_syntax=fts_syntax, is_literal=True)
        scores = self.ranked(words, limit).ranking
        ids = json.dumps([id for id, _ in scores])
        return as_results(scores, self._conn.execute(self._result_rows, (ids,)), "keyword")

    def snippet(
        self, query: str, limit: int = 10, *, fts_syntax: bool = False
    ) -> list[dict[str, Any]]:
        """`search` with another key, `snippet`: the best passage of the original text, with the
        matched words in **asterisks**.
        """
        from ...text.highlight import Highlighter

        hits = self.search(query, limit, fts_syntax=fts_syntax)
        words = Query(query, is_literal=True)
        highlighter = Highlighter(words, [hit["text"] for hit in hits], stems)
        return [hit | {"snippet": highlighter.snippet(hit["text"], "**", "**")} for hit in hits]

    def ranked(self, query: Query, limit: int) -> KeywordLeg:
        """The best `limit` chunks by BM25.

        An expression in FTS5's syntax is matched as it is; raises QueryError if it is invalid.

        Otherwise, if the query is the path, file name, stem, alias or title of a document, that
        document comes first, with scores raised above the others. Words that no chunk has are
        replaced by words with a similar spelling; in a query of at most two words that finds
        nothing, also by words that begin with them or contain them. While the user types, this is
        done before the search; otherwise after it, followed by another search. If still nothing is
        found, the score is the share of the query's symbols that a chunk contains.
        """
        if query.fts_syntax:
            expression = checked_expression(self._conn, query.text)
            if not expression:
                return KeywordLeg([])
            return KeywordLeg(self._run(expression, limit, self._condition)[:limit])
        query = self._with_forms(query)
        if query.is_typed:
            query = self._correct_words(query, is_found=False)
        hits, is_name = self._search_words(query, limit)
        if not query.is_typed and not is_name:
            query = self._correct_words(query, is_found=bool(hits))
            if query.substitutes:
                hits = self._best(query.affordable_terms, limit)
        if not hits:
            # Scores are shares of the query's symbols, of which 1 is all
            return KeywordLeg(self._search_fragments(query, limit), full_score=1.0)
        if is_name:
            return KeywordLeg(hits, True, 0.0, query.substitutes, query.forms)
        counts = self._with_counts(distinct_words(query))
        frequencies = [max(count, self._of_forms(query, word)) for word, count in counts]
        full = full_score(frequencies, self.size())
        return KeywordLeg(hits, False, full, query.substitutes, query.forms)

    def _of_forms(self, query: Query, word: Term) -> int:
        """The number of chunks with another form of a word; 0 without one."""
        forms = [Term(form.tokens) for form in query.forms if word.tokens[0] in form.words]
        return max((count for _, count in self._with_counts(forms)), default=0)

    def _with_forms(self, query: Query) -> Query:
        """The query with the forms of its words that chunks of the store have."""
        if query.text not in self._forms:
            possible = query.possible_forms
            known: Sequence[Form] = ()
            anywhere = match_expression(Term(form.tokens) for form in possible)
            if possible and self._conn.execute(ANY_ROW, (anywhere,)).fetchone():
                known = usual_forms(possible, self._counts_of)
            self._forms[query.text] = known
        return query.with_forms(self._forms[query.text])

    def _counts_of(self, sequences: Sequence[Sequence[str]]) -> list[int]:
        """The number of chunks in the store with each sequence of tokens."""
        return self.frequencies([match_expression([Term(tuple(tokens))]) for tokens in sequences])

    def _search_words(self, query: Query, limit: int) -> tuple[list[tuple[int, float]], bool]:
        """The chunks with words of the query, and whether the query is a document's name."""
        wanted = query.affordable_terms
        if query.is_typed:
            wanted = self._without_common(wanted)
        hits = self._best(wanted, limit) if wanted else []
        named = self._search_name(query, wanted, limit)
        if not named:
            return hits, False
        top = hits[0][1] if hits else 0.0
        raised = [(id, score + top) for id, score in named.items()]
        return [*raised, *(hit for hit in hits if hit[0] not in named)][:limit], True

    def _without_common(self, terms: Sequence[Term]) -> list[Term]:
        """The terms that few chunks have: others take longer than the time between two
        keystrokes.
        """
        most = max(self.size() * COMMON, FIRST_ROWS)
        return [term for term, count in self._with_counts(terms) if count <= most]

    def _correct_words(self, query: Query, *, is_found: bool) -> Query:
        """The query with substitutes from the index for words that no chunk has."""
        written = {word for form in query.forms for word in form.words}
        new = [
            word
            for word, count in self._with_counts(query.affordable_words)
            if not count and word.tokens[0] not in written
        ]
        return correct_words(query, new, self._vocabulary.substitutes_for, is_found=is_found)

    def scores(self, query: Query, ids: Collection[int]) -> dict[int, float]:
        """The BM25 of those of these chunks that have a term of the query."""
        wanted = query.affordable_terms
        if not wanted or not ids:
            return {}
        # Up to some size, scanning all matches is faster than looking up each chunk
        condition = AMONG_ALL if self.size() <= FEW else AMONG_EACH
        statement = SCORES.format(condition=condition)
        parameters = {"expression": match_expression(wanted), "ids": json.dumps(list(ids))}
        return dict(self._conn.execute(statement, parameters))

    def rarities(self, query: Query) -> dict[str, float]:
        """The inverse document frequency of each word of the query in the whole store; {} if no
        chunk has any of them.
        """
        forms = self._counts_of([form.tokens for form in query.forms])
        return rarities(self.counts(query), zip(query.forms, forms, strict=True), self.size())

    def counts(self, query: Query) -> dict[str, int]:
        """The number of chunks in the store with each word of the query, in query order."""
        return {word.tokens[0]: count for word, count in self._with_counts(query.affordable_words)}

    def _frequencies_of(self, query: Query) -> dict[str, int]:
        """The number of chunks with each word of the query, and with each other form, by its
        expression.
        """
        forms = [term_of(form) for form in query.forms]
        words = self._with_counts([*query.affordable_words, *forms])
        return {match_expression([word]): count for word, count in words}

    def _with_counts(self, terms: Sequence[Term]) -> list[tuple[Term, int]]:
        """Each term with the number of chunks in the store that have it."""
        counts = self.frequencies([match_expression([term]) for term in terms])
        return list(zip(terms, counts, strict=True))

    def _run(
        self, expression: str, limit: int, condition: str, among: str | None = None
    ) -> list[tuple[int, float]]:
        """The best chunks that match an expression, and all that score the same as the last of
        them, under a condition on rows that may use another expression, `among`.
        """
        statement = SEARCH.format(rows=condition)

        def read(most: int) -> list[tuple[int, float]]:
            parameters = {"expression": expression, "among": among, "limit": most}
            return self._conn.execute(statement, parameters).fetchall()

        return best_of(read, limit, self._in_order)

    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        """Chunks ordered by document."""
        return in_order(self._conn, ids)

    def _best(self, wanted: Sequence[Term], limit: int) -> list[tuple[int, float]]:
        """The best chunks of the selection that match any term. The first PROVEN ranks are exact,
        the others nearly always.

        If the selection is broad, this searches all chunks and keeps the selected ones.
        """
        if self._selection and self._selection.is_broad:
            more = SURPLUS / self._selection.share
            depth, proven = ceil(more * limit), ceil(more * PROVEN)
            hits = self._best_of(wanted, depth, proven)
            among = self._selection.among(id for id, _ in hits)
            ranks = [rank for rank, (id, _) in enumerate(hits) if id in among][:limit]
            # All matches were found; or the tenth selected one is among the proven ranks
            if len(hits) < depth or (len(ranks) == limit and ranks[:PROVEN][-1] < proven):
                return [hits[rank] for rank in ranks]
        elif self._selection:  # few enough rows to score all terms at once
            return self._run(match_expression(wanted), limit, self._condition)[:limit]
        # There is no selection, or too few of the best chunks are in it
        return self._best_of(wanted, limit, PROVEN, self._condition)[:limit]

    def _best_of(
        self, wanted: Sequence[Term], limit: int, proven: int, condition: str = ""
    ) -> list[tuple[int, float]]:
        """The best chunks that match any term, and all that score the same as the last of them,
        under a condition on rows. The first `proven` ranks are exact.

        Most of the time of a plain search goes into scoring the rows of common words, few of which
        are among the best. So the rarest terms choose the rows, and all terms score them. A row
        with none of the rarest terms scores less than the sum of what the other terms can add; if
        that sum might reach the best ranks, the next rarest terms choose rows, too. This is
        MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995.
        """
        expression = match_expression(wanted)
        if self.size() <= FIRST_ROWS:
            return self._run(expression, limit, condition)
        expressions = [match_expression([term]) for term in wanted]
        counts = self.frequencies(expressions)
        # A stored size may be too small, but no logarithm may fail
        size = max(self.size(), *counts)
        rarest = sorted(
            (count, expression)
            for count, expression in zip(counts, expressions, strict=True)
            if count
        )
        bounds = [(K1 + 1) * idf(count, size) for count, _ in rarest]
        totals = accumulate(count for count, _ in rarest)
        needed = 1 + next(
            (i for i, total in enumerate(totals) if total >= FIRST_ROWS), len(rarest) - 1
        )
        proven = min(proven, limit)
        by_rarity = [expression for _, expression in rarest]
        done = 0  # terms whose rows have been scored
        hits: list[tuple[int, float]] = []
        while done < needed:
            among = any_of(by_rarity[done:needed])
            if done:
                among += f" NOT {any_of(by_rarity[:done])}"
            hits += self._run(expression, limit, f"{AMONG} {condition}", among)
            hits = with_ties(best_first(hits, self._in_order), limit)
            floor = hits[proven - 1][1] if len(hits) >= limit else 0.0
            done = needed
            needed = _needed(bounds, floor)
        return hits

    def size(self) -> int:
        """The number of chunks in the index."""
        row = self._conn.execute(SIZE).fetchone()
        if row is None:
            row = self._conn.execute(f"select {COUNTED}").fetchone()
        return int(row[0])

    def frequencies(self, expressions: Sequence[str]) -> list[int]:
        """The number of chunks in the whole store that match each expression."""
        new = [expression for expression in expressions if expression not in self._counts]
        if new:
            rows = self._conn.execute(ROW_COUNTS, {"expressions": json.dumps(new)})
            self._counts.update(zip(new, (count for (count,) in rows), strict=True))
        return [self._counts[expression] for expression in expressions]

    def _search_name(self, query: Query, wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """The BM25 of the first chunks of the documents with this name. File names rank above other
        names, first those in the same capitals.
        """
        if not query.name:
            return {}
        term = Term((query.name,))
        if not self._conn.execute(ANY_ROW, (match_expression([term]),)).fetchone():
            return {}
        expression, among = match_expression([term, *wanted]), match_expression([term])
        named = dict(self._run(expression, limit, f"{AMONG} {self._condition}", among)[:limit])
        ids = self._conn.execute(DOC_IDS, (json.dumps(list(named)),))
        ranks = {id: query.rank_as_name(doc_id) for id, doc_id in ids}
        top = max(named.values(), default=0.0) if len(set(ranks.values())) > 1 else 0.0
        raised = {id: score + top * ranks[id] for id, score in named.items()}
        return dict(best_first(raised.items(), self._in_order))

    def _search_fragments(self, query: Query, limit: int) -> list[tuple[int, float]]:
        """The chunks that contain parts of the query that are not words, such as '→' and '🎉',
        scored by the share of them that they contain; of equal chunks, the shortest first.
        """
        fragments = query.fragments
        if not fragments:
            return []
        counts = []
        patterns: list[str] = []
        for fragment in fragments:
            cases = fragment, fragment.lower(), fragment.upper(), fragment.title()
            spellings = dict.fromkeys(cases)
            counts.append(f"({' or '.join([LIKE] * len(spellings))})")
            patterns += map(_pattern, spellings)
        containing = CONTAINING.format(
            count=" + ".join(counts), texts=self._texts, rows=self._condition
        )

        def read(most: int) -> list[tuple[int, tuple[int, int]]]:
            rows = self._conn.execute(containing, [*patterns, most])
            return [(id, (matches, -size)) for id, matches, size in rows]

        best = best_of(read, limit, self._in_order)[:limit]
        return [(id, matches / len(fragments)) for id, (matches, _) in best]

    def add(self, chunks: "Iterable[tuple[int, Terms]]") -> None:
        """Index chunks, by chunks.id."""
        rows = [(id, *terms) for id, terms in chunks]
        self._conn.executemany(ADD, rows)
        self._add_to_size(len(rows))

    def _add_to_size(self, change: int) -> None:
        if not schema.has_texts(self._conn):
            self._conn.execute(ADD_TO_SIZE, {"change": change})

    def add_again(self, chunks: "Iterable[tuple[int, Terms]]") -> None:
        """Index chunks that are in the table already, and store their checksums."""
        count = 0
        for id, terms in chunks:
            self._conn.execute(ADD, (id, *terms))
            self._conn.execute(SET_CHECKSUM, {"id": id, "checksum": checksum(terms)})
            count += 1
        self._add_to_size(count)

    def remove(self, ids: Iterable[int]) -> None:
        """Remove chunks from the index, by chunks.id, while their rows and their documents' rows
        still exist.
        """
        leaving = list(ids)
        if schema.has_texts(self._conn):
            self._conn.executemany(REMOVE_WITH_TEXTS, ((id,) for id in leaving))
            return
        for start in range(0, len(leaving), BATCH):
            known = dict(
                self._conn.execute(CHECKSUMS, (json.dumps(leaving[start : start + BATCH]),))
            )
            chunks = list(chunk_terms(self._conn, known))
            if any(checksum(terms) != known[id] for id, terms in chunks):
                self.reindex(without=set(leaving))
                return
            self._conn.executemany(REMOVE, ((id, *terms) for id, terms in chunks))
            self._add_to_size(-len(chunks))

    def purge(self) -> None:
        """Rewrite the index without the words of removed chunks, unless FTS5 erases them at once
        (since SQLite 3.42).
        """
        if not schema.ERASES_WORDS:
            self.optimize()

    def optimize(self) -> None:
        """Merge all parts of the index. Takes time in proportion to the store."""
        self._conn.execute(OPTIMIZE)

    def reindex(self, without: Collection[int] = ()) -> None:
        """Rebuild the index from `chunks`, even if it is damaged, leaving out `without`."""
        schema.create_keyword_index(self._conn, with_texts=schema.has_texts(self._conn))
        self._conn.execute(FORGET_SIZE)
        for (doc_id,) in self._conn.execute("select doc_id from documents").fetchall():
            self.add_again(
                (id, terms) for id, terms in document_terms(self._conn, doc_id) if id not in without
            )
        self.optimize()


def _make_vocabulary(conn: sqlite3.Connection) -> None:
    """Create the temporary tables. They are allowed where the file itself may not be written."""
    (query_only,) = conn.execute("pragma query_only").fetchone()
    conn.execute("pragma query_only = off")
    try:
        schema.run(conn, MAKE_VOCABULARY)
    finally:
        conn.execute(f"pragma query_only = {query_only}")


class Vocabulary:
    """The words of the index, read when they are first needed, and again after a change."""

    def __init__(
        self, conn: sqlite3.Connection, chunk_terms: Callable[..., Any] = chunk_terms
    ) -> None:
        self._conn = conn
        self._chunk_terms = chunk_terms
        self._state: bytes | None = None
        self._texts: dict[tuple[str, ...], str] = {}  # by the ends of the range

    def substitutes_for(self, word: str, choice: Choice) -> list[str]:
        """The words to search in place of a word, spelled as in a chunk. `choice` chooses their
        terms.
        """
        stem = stems([word]).get(word, word)
        terms = choice(word, stem, self._text)
        return list(dict.fromkeys(map(self._word_for, terms)))

    def _text(self, *span: str) -> str:
        """The terms in a range, each on a line with the number of its chunks."""
        if not self._conn.execute(HAS_VOCABULARY).fetchone():  # a rollback drops these tables
            _make_vocabulary(self._conn)
        (state,) = self._conn.execute(STATE).fetchone()
        if state != self._state:
            self._state = state
            self._texts = {}
        if span not in self._texts:
            parameters = (*span, LONGEST_TERM, OF_SYMBOLS)
            (text,) = self._conn.execute(VOCABULARY, parameters).fetchone()
            self._texts[span] = f"\n{text or ''}\n"
        return self._texts[span]

    def _word_for(self, term: str) -> str:
        """A word of a chunk for a term, which is a stem: 'kubernet' -> 'kubernetes'."""
        occurrence = self._conn.execute(OCCURRENCE, (term,)).fetchone()
        terms = self._chunk_terms(self._conn, occurrence or ())
        return word_of_stem(term, " ".join(text for _, texts in terms for text in texts))


class BareIndex(FTSIndex):
    """The FTS5 index behind any connection. Creates what is missing; never commits.

    Raises StoreError if SQLite has no FTS5.
    """

    def __init__(self, conn: sqlite3.Connection) -> None:
        schema.complete(conn)
        super().__init__(conn)
        self._is_own = schema.is_own(conn)
        if not self._is_own:
            self._result_rows = FOREIGN_RESULT_ROWS
            # Stems of other tables are not turned into words
            self._vocabulary = Vocabulary(conn, lambda conn, ids: iter(()))
            self._texts = "(select rowid as id, content from chunks_fts)"

    def size(self) -> int:
        if self._is_own:
            return super().size()
        return int(self._conn.execute(COUNT_FOREIGN).fetchone()[0])

    def reindex(self, without: Collection[int] = ()) -> None:
        """Rebuild the index from `chunks`; only in a store can some of them be left out."""
        if self._is_own:
            super().reindex(without)
            return
        self._conn.execute(CLEAR_FOREIGN)
        self._conn.execute(FILL_FOREIGN)

    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        """Chunks ordered by document; those of other tables, by row."""
        return super()._in_order(ids) if self._is_own else sorted(ids)

    def _search_name(self, query: Query, wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """As in FTSIndex. The tables of another program have no names of documents."""
        return super()._search_name(query, wanted, limit) if self._is_own else {}


def _needed(bounds: Sequence[float], floor: float) -> int:
    """The number of leading terms whose rows must be read: a chunk that has only the terms after
    them scores below the floor. `bounds` has the highest score of each term.
    """
    needed, rest = len(bounds), 0.0
    while needed and rest + bounds[needed - 1] < floor:
        needed -= 1
        rest += bounds[needed]
    return needed


def _pattern(text: str) -> str:
    return "%" + re.sub(_LIKE_SYNTAX, r"\\\g<0>", text) + "%"
