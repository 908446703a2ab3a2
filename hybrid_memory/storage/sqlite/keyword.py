"""Keyword search: the chunks that match a query, ranked by BM25 through FTS5. Only this module
writes to chunks_fts.

Identifiers such as src/a.ts, and names of documents, are indexed as one word each, in addition to
their parts. These words are made of letters that no text has (U+F800 to U+F8FF; text/analyzer.py),
so a query that is a name or an identifier is one word that few chunks have.
"""

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ...text.query import Query, Term
from ..bm25 import CONTENT_WEIGHT, CONTEXT_WEIGHT, HEADING_WEIGHT, stems, word_of_stem
from ..fts_expressions import ANY_ROW, checked_expression, match_expression
from ..keyword import BM25Index
from ..rows import Ranking, as_results, best_of
from . import schema, word_list
from .chunks import chunk_terms, document_terms, in_order

if TYPE_CHECKING:
    from ...text.terms import Terms
    from ..spelling import Choice
    from .selection import Selection

BM25 = f"-bm25(chunks_fts, 0, 0, {HEADING_WEIGHT}, {CONTENT_WEIGHT}, {CONTEXT_WEIGHT})"

# The plus hides the ids from FTS5, which would otherwise run the whole query again for each id.
SEARCH = f"""
select rowid, {BM25} as score
from   chunks_fts
where  chunks_fts match :expression {{rows}}
order  by +rowid in (select value from json_each(:also)) desc, score desc
limit  :limit
"""
AMONG = """
and +rowid in (
    select rowid from chunks_fts where chunks_fts match :among
    union all select value from json_each(:also)
)
"""
CHOSEN = "and +rowid {}"

ROW_COUNTS = """
select (select count(*) from chunks_fts where chunks_fts match value)
from   json_each(:expressions)
order  by key
"""

# FTS5 has a row in this small table for each row of the index
SIZE = "select count(*) from chunks_fts_docsize"

# FTS5 merges the index by this number of pages, 4 KB each: 50 ms of CPU
MERGED_PAGES = 1000
MERGE = "insert into chunks_fts (chunks_fts, rank) values ('merge', ?)"
REMEMBER_REMOVED = "insert or replace into meta (key, value) values ('removed_words', '1')"
HAS_REMOVED = "select exists (select 1 from meta where key = 'removed_words')"
FORGET_REMOVED = "delete from meta where key = 'removed_words'"

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

# The words of the index with the numbers of their chunks
MAKE_VOCABULARY = """
create virtual table if not exists temp.vocabulary using fts5vocab (main, chunks_fts, row);
create virtual table if not exists temp.occurrences using fts5vocab (main, chunks_fts, instance);
"""
VOCABULARY = f"""
select group_concat(term, char(10)) from temp.vocabulary
where  term >= ? and term < ? and {word_list.LISTED}
"""
COUNTS = """
select value, doc from json_each(?) cross join temp.vocabulary on term = value
"""
LISTED_VOCABULARY = "select group_concat(term, char(10)) from terms where term >= ? and term < ?"
LISTED_COUNTS = "select value, chunks from json_each(?) cross join terms on term = value"
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
_WORD = r"(?:[^\W_]|[\ue000-\uf8ff])+"


def checksum(terms: "Terms") -> int:
    """The value of `chunks.indexed` for these terms."""
    return crc32("\0".join(terms).encode())


class FTSIndex(BM25Index):
    """The FTS5 index of a database, or of the chunks in a selection. Never commits.

    It remembers how many chunks have a term, so use it for one state of the database.
    """

    _is_own = True  # whether this program made the tables
    _result_rows = RESULT_ROWS  # the statement that reads the rows of results
    _texts = "chunks"  # where the last tier reads `id` and `content`

    def __init__(
        self,
        conn: sqlite3.Connection,
        selection: "Selection | None" = None,
    ) -> None:
        super().__init__(selection)
        self._conn = conn
        self._selection = selection
        self._counts: dict[str, int] = {}  # by expression

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
        from ...text.highlight import Highlighter  # no search of this program has snippets

        hits = self.search(query, limit, fts_syntax=fts_syntax)
        words = Query(query, is_literal=True)
        highlighter = Highlighter(words, [hit["text"] for hit in hits], stems)
        return [hit | {"snippet": highlighter.snippet(hit["text"], "**", "**")} for hit in hits]

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
        condition = self._condition if is_within else ""
        if choosing is None:
            return self._read(match_expression(wanted), limit, condition, also=also)
        among = f"({match_expression(choosing)})"
        if done:
            among += f" NOT ({match_expression(done)})"
        return self._read(match_expression(wanted), limit, f"{AMONG} {condition}", among, also)

    def _read(
        self,
        expression: str,
        limit: int,
        condition: str,
        among: str | None = None,
        also: Collection[int] = (),
    ) -> Ranking:
        """The best chunks that match an expression, all that score the same as the last of them,
        and those in `also`, under a condition on rows that may use another expression, `among`.
        """
        statement = SEARCH.format(rows=condition)
        parameters = {"expression": expression, "among": among, "also": json.dumps(list(also))}

        def read(most: int) -> Ranking:
            return self._conn.execute(statement, {**parameters, "limit": most}).fetchall()

        return self._best_and(read, limit, also)

    def _matching(self, query: Query, limit: int) -> Ranking:
        expression = checked_expression(self._conn, query.text)
        if not expression:
            return []
        return self._read(expression, limit, self._condition)[:limit]

    def _substitutes_for(self, word: str, choice: "Choice") -> list[str]:
        stem = stems([word]).get(word, word)
        terms = choice(word, stem, self._terms_between, self._chunks_with)
        return list(dict.fromkeys(map(self._word_for, terms)))

    def _terms_between(self, first: str, end: str) -> str:
        """The terms in a range, each between line breaks."""
        _make_vocabulary(self._conn)  # again, because a rollback drops these tables
        statement = LISTED_VOCABULARY if self._is_listed else VOCABULARY
        (text,) = self._conn.execute(statement, (first, end)).fetchone()
        return f"\n{text or ''}\n"

    def _chunks_with(self, terms: Sequence[str]) -> dict[str, int]:
        """The numbers of chunks of terms from `_terms_between`."""
        statement = LISTED_COUNTS if self._is_listed else COUNTS
        return dict(self._conn.execute(statement, (json.dumps(terms),)))

    @property
    def _is_listed(self) -> bool:
        return self._is_own and word_list.is_complete(self._conn)

    def _word_for(self, term: str) -> str:
        """A word of a chunk for a term, which is a stem: 'kubernet' -> 'kubernetes'."""
        occurrence = self._conn.execute(OCCURRENCE, (term,)).fetchone() or ()
        terms = chunk_terms(self._conn, occurrence) if self._is_own else ()
        return word_of_stem(term, " ".join(text for _, texts in terms for text in texts))

    def _doc_ids(self, ids: Collection[int]) -> Iterable[tuple[int, str]]:
        return self._conn.execute(DOC_IDS, (json.dumps(list(ids)),))

    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        return in_order(self._conn, ids)

    def size(self) -> int:
        return int(self._conn.execute(SIZE).fetchone()[0])

    def frequencies(self, terms: Sequence[Term]) -> list[int]:
        expressions = [match_expression([term]) for term in terms]
        new = [expression for expression in expressions if expression not in self._counts]
        if new:
            rows = self._conn.execute(ROW_COUNTS, {"expressions": json.dumps(new)})
            self._counts.update(zip(new, (count for (count,) in rows), strict=True))
        return [self._counts[expression] for expression in expressions]

    def _search_fragments(self, query: Query, limit: int) -> Ranking:
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
        for batch in _batches(chunks):
            self._conn.executemany(ADD, ((id, *terms) for id, terms in batch))
            if not schema.has_texts(self._conn):
                word_list.add(self._conn, [terms for _, terms in batch], self.size())

    def add_again(self, chunks: "Iterable[tuple[int, Terms]]") -> None:
        """Index chunks that are in the table already, and store their checksums."""
        for batch in _batches(chunks):
            self.add(batch)
            checksums = [{"id": id, "checksum": checksum(terms)} for id, terms in batch]
            self._conn.executemany(SET_CHECKSUM, checksums)

    def remove(self, ids: Iterable[int]) -> set[str]:
        """Remove chunks from the index, by chunks.id, while their rows and their documents' rows
        still exist. Returns their words, for `purge`.
        """
        leaving = list(ids)
        words: set[str] = set()
        if schema.has_texts(self._conn):
            self._conn.executemany(REMOVE_WITH_TEXTS, ((id,) for id in leaving))
            return words
        for start in range(0, len(leaving), BATCH):
            known = dict(
                self._conn.execute(CHECKSUMS, (json.dumps(leaving[start : start + BATCH]),))
            )
            chunks = list(chunk_terms(self._conn, known))
            if any(checksum(terms) != known[id] for id, terms in chunks):
                self.reindex(without=set(leaving))
                return set()
            words.update(*(_words(terms) for _, terms in chunks))
            self._conn.executemany(REMOVE, ((id, *terms) for id, terms in chunks))
            word_list.remove(self._conn, [terms for _, terms in chunks])
        return words

    def purge(self, removed: Collection[str], added: "Iterable[Terms]" = ()) -> None:
        """Let `erase` remove from the file the words that no chunk has any more, after chunks with
        these words were removed and others `added`. Since SQLite 3.42, FTS5 does so at once.

        A change of a note seldom takes the last occurrence of a word, so it seldom costs a merge.
        """
        if schema.ERASES_WORDS:
            return
        candidates = set(removed).difference(*map(_words, added))
        if any(
            self._conn.execute(ANY_ROW, (f'"{word}"',)).fetchone() is None for word in candidates
        ):
            self._conn.execute(REMEMBER_REMOVED)

    def erase(self) -> bool:
        """Rewrite a part of the index without the words of removed chunks. Returns False if no such
        words are left.
        """
        if not self._conn.execute(HAS_REMOVED).fetchone()[0]:
            return False
        before = self._conn.total_changes
        self._conn.execute(MERGE, (-MERGED_PAGES,))
        # A merge that changes nothing writes one row
        is_changed = self._conn.total_changes - before > 1
        if not is_changed:
            self._conn.execute(FORGET_REMOVED)
        return is_changed

    def optimize(self) -> None:
        """Merge all parts of the index. Takes time in proportion to the store."""
        self._conn.execute(OPTIMIZE)

    def list_words(self) -> None:
        """Fill the list of words if it is empty. Takes time in proportion to the store."""
        is_empty = not word_list.is_complete(self._conn)
        if is_empty and self.size() and not schema.has_texts(self._conn):
            word_list.fill(self._conn, self.size())

    def reindex(self, without: Collection[int] = ()) -> None:
        """Rebuild the index from `chunks`, even if it is damaged, leaving out `without`."""
        schema.create_keyword_index(self._conn, with_texts=schema.has_texts(self._conn))
        word_list.clear(self._conn)
        for (doc_id,) in self._conn.execute("select doc_id from documents").fetchall():
            self.add_again(
                (id, terms) for id, terms in document_terms(self._conn, doc_id) if id not in without
            )
        self.optimize()


def _batches(chunks: "Iterable[tuple[int, Terms]]") -> "Iterator[list[tuple[int, Terms]]]":
    rest = iter(chunks)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _make_vocabulary(conn: sqlite3.Connection) -> None:
    """Create the temporary tables. They are allowed where the file itself may not be written."""
    (query_only,) = conn.execute("pragma query_only").fetchone()
    conn.execute("pragma query_only = off")
    try:
        schema.run(conn, MAKE_VOCABULARY)
    finally:
        conn.execute(f"pragma query_only = {query_only}")


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


def _words(terms: "Terms") -> set[str]:
    """The words of a chunk in the index, as FTS5 separates them."""
    return set(re.findall(_WORD, " ".join(terms)))


def _pattern(text: str) -> str:
    return "%" + re.sub(_LIKE_SYNTAX, r"\\\g<0>", text) + "%"
