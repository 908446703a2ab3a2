"""Keyword search: the chunks that match a query, ranked by BM25 through FTS5. The only writer of
chunks_fts.

An identifier such as src/a.ts, and a document's name, are in the index as one word each besides their
parts, made of letters that no text has (U+F800 to U+F8FF; text/analyzer.py). So a query that is a name
or an identifier is one word that few chunks have.

The coverage, which words of a query a chunk has, is what confidence is made of beside the cosine.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import accumulate
from math import ceil, log
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ...text.query import Query, Term
from ..keyword import (
    ANY_ROW,
    CONTENT_WEIGHT,
    CONTEXT_WEIGHT,
    HEADING_WEIGHT,
    K1,
    LONGEST_TERM,
    Choice,
    any_of,
    checked_expression,
    full_score,
    idf,
    match_expression,
    mended,
    stems,
    word_of_stem,
)
from ..rows import Coverage, KeywordLeg, as_results, best_first, best_of, with_ties
from . import schema
from .chunks import in_order, of_chunks, of_document

if TYPE_CHECKING:
    from ...documents.terms import Terms
    from .selection import Selection

FIRST_ROWS = 4000  # scored at first: at 100,000 chunks the fastest of 1,000 to 8,000
# So many times as many as needed are looked at, because the share of a selection is an estimate
SURPLUS = 1.25
COMMON = 0.25  # of all chunks have a word that is left out while one types
# Ranks that are exact; with 10, 99.9 % of the best 100 are right at 100,000 chunks, and 100 take a
# quarter longer
PROVEN = 10

BM25 = f"-bm25(chunks_fts, 0, 0, {HEADING_WEIGHT}, {CONTENT_WEIGHT}, {CONTEXT_WEIGHT})"

# The plus hides the ids from FTS5, which would otherwise run the whole query again for each of
# them.
SEARCH = f"""
select rowid, {BM25} as score
from   chunks_fts
where  chunks_fts match :expression {{rows}}
order  by score desc
limit  :limit
"""
AMONG = "and +rowid in (select rowid from chunks_fts where chunks_fts match :among)"
CHOSEN = "and +rowid {}"

ROW_COUNTS = """
select (select count(*) from chunks_fts where chunks_fts match value)
from   json_each(:expressions)
order  by key
"""

# The writer of the index keeps the number of its rows, as counting them takes time in proportion to the
# store; but not of an index with texts, which others may write to.
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
REMOVE_WITH_TEXTS = "delete from chunks_fts where rowid = ?"  # where the index has a copy of them
BATCH = 512  # chunks whose texts are in memory at a time

HAVING = """
select * from (select id, {count} as matches, length(content) as size from {texts} where true {rows})
where  matches > 0 order by matches desc, size limit ?
"""
LIKE = r"(content like ? escape '\')"

# The words of the index, with how many chunks have each. A term with one of these letters is an
# identifier or a name; its parts are terms, too.
OF_SYMBOLS = "*[\uf800-\uf8ff]*"
MAKE_VOCABULARY = """
create virtual table if not exists temp.vocabulary using fts5vocab (main, chunks_fts, row);
create virtual table if not exists temp.occurrences using fts5vocab (main, chunks_fts, instance);
"""
VOCABULARY = """
select group_concat(term || ' ' || doc, char(10)) from temp.vocabulary
where  term >= ? and term < ? and length(term) <= ? and term not glob ?
"""
STATE = "select block from chunks_fts_data where id = 10"  # FTS5 counts in it what it writes
OCCURRENCE = "select doc from temp.occurrences where term = ? limit 1"

DOC_IDS = "select id, doc_id from chunks where id in (select value from json_each(?))"
SHOWN_CHUNKS = """
select value, coalesce(c.doc_id, f.doc_id), coalesce(c.chunk_id, f.chunk_id), coalesce(c.heading, f.heading),
       coalesce(c.content, f.content)
from   json_each(?) left join chunks c on c.id = value left join chunks_fts f on f.rowid = value
"""  # a row that somebody put into chunks_fts alone is shown as it is written there

# Of tables that somebody else made, the index is shown as it is.
SHOWN_FOREIGN = """
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
    """Return what `chunks.indexed` has of these terms."""
    return crc32("\0".join(terms).encode())


class FTSIndex:
    """The FTS5 index behind a database connection, or the chunks of it in a selection; never
    commits.

    It remembers how many chunks have a term, so it is good for one state of the database.
    """

    _shown = SHOWN_CHUNKS  # the statement that reads the rows of results
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
        # By the text of a query, from `ranked`; from `coverage` where only vectors were searched
        self._substitutes: dict[str, Mapping[str, Sequence[str]]] = {}

    @property
    def _condition(self) -> str:
        return CHOSEN.format(self._selection.listed) if self._selection else ""

    def search(
        self, query: str, limit: int = 10, *, fts_syntax: bool = False
    ) -> list[dict[str, Any]]:
        """Return the chunks that match, best first: doc_id, chunk_id, heading, text, score (BM25, above 0),
        source.
        """
        words = Query(query, fts_syntax=fts_syntax, is_literal=True)
        scores = self.ranked(words, limit).ranking
        ids = json.dumps([id for id, _ in scores])
        return as_results(scores, self._conn.execute(self._shown, (ids,)), "keyword")

    def snippet(
        self, query: str, limit: int = 10, *, fts_syntax: bool = False
    ) -> list[dict[str, Any]]:
        """`search` with one more key: `snippet`, the best passage of the original text, the matched
        words in **asterisks**.
        """
        from ...text.highlight import Highlighter

        hits = self.search(query, limit, fts_syntax=fts_syntax)
        words = Query(query, is_literal=True)
        highlighter = Highlighter(words, [hit["text"] for hit in hits], stems)
        return [hit | {"snippet": highlighter.snippet(hit["text"], "**", "**")} for hit in hits]

    def ranked(self, query: Query, limit: int) -> KeywordLeg:
        """Return the best `limit` chunks by BM25.

        An expression in FTS5's syntax is matched as it is; raises QueryError if it is not valid.

        Else, a document whose path, file name, stem, alias or title the query is comes first, with
        scores raised above the others. Words that no chunk has are replaced by those that are spelt
        nearly so, and in a query of at most two words that finds nothing also by words that begin
        with them or contain them: before the search while somebody types, else after it, and then
        it is searched again. Where still nothing is found, the score is the share of the query's
        symbols that a chunk contains.
        """
        if query.fts_syntax:
            expression = checked_expression(self._conn, query.text)
            if not expression:
                return KeywordLeg([])
            return KeywordLeg(self._run(expression, limit, self._condition)[:limit])
        if query.is_typed:
            query = self._mended(query, is_found=False)
        hits, is_name = self._found(query, limit)
        if not query.is_typed and not is_name:
            query = self._mended(query, is_found=bool(hits))
            if query.substitutes:
                hits = self._best(query.affordable_terms, limit)
        if not hits:
            # Shares of the query's symbols: all of them are enough
            return KeywordLeg(self._with_fragments(query, limit), full_score=1.0)
        if is_name:
            return KeywordLeg(hits, is_name=True, substitutes=query.substitutes)
        frequencies = self._frequencies_of(query)
        return KeywordLeg(
            hits, False, full_score(frequencies.values(), self.size()), query.substitutes
        )

    def _found(self, query: Query, limit: int) -> tuple[list[tuple[int, float]], bool]:
        """Return the chunks that have words of the query, and whether it is a document's name."""
        wanted = query.affordable_terms
        if query.is_typed:
            wanted = self._without_common(wanted)
        hits = self._best(wanted, limit) if wanted else []
        named = self._named(query, wanted, limit)
        if not named:
            return hits, False
        top = hits[0][1] if hits else 0.0
        raised = [(id, score + top) for id, score in named.items()]
        return [*raised, *(hit for hit in hits if hit[0] not in named)][:limit], True

    def _without_common(self, terms: Sequence[Term]) -> list[Term]:
        """Return the terms that few chunks have: others take longer than the time between two keys."""
        most = max(self.size() * COMMON, FIRST_ROWS)
        return [term for term, count in self._counted(terms) if count <= most]

    def _mended(self, query: Query, *, is_found: bool) -> Query:
        """Return the query with other words of the index in place of some that no chunk has."""
        new = [word for word, count in self._counted(query.affordable_words) if not count]
        changed = mended(query, new, self._vocabulary.meant, is_found=is_found)
        self._substitutes[query.text] = changed.substitutes
        return changed

    def coverage(self, query: Query, ids: Collection[int]) -> dict[int, Coverage]:
        """Return which words of the query each of these chunks has, by FTS5's own matching of each word.

        Of words that stand for one of the query, any will do. If no chunk has any, the coverage is
        the share of the query's fragments that the chunk contains.
        """
        if query.text not in self._substitutes and not query.fts_syntax:
            self._mended(query, is_found=any(self._frequencies_of(query).values()))
        query = query.with_substitutes(self._substitutes.get(query.text, query.substitutes))
        counts = self._frequencies_of(query)
        chunks = list(of_chunks(self._conn, ids))
        if not any(counts.values()):
            return _by_fragments(self._conn, query, chunks)
        words = {match_expression([term]): term.tokens[0] for term in query.affordable_words}
        size = max(self.size(), *counts.values(), 1)
        rarities: dict[str, float] = {}
        for expression, count in counts.items():
            own = query.stands_for(words[expression])
            # Not the one of BM25: above 0 also for a word that most chunks have
            rarity = log(1 + (size - count + 0.5) / (count + 0.5))
            rarities[own] = min(rarity, rarities.get(own, rarity))
        found: dict[int, list[str]] = {id: [] for id in ids}
        # For a few rows of a large index, FTS5 answers only by walking the whole index
        with closing(sqlite3.connect(":memory:")) as copy:
            schema.create_keyword_index(copy, with_texts=True)
            copy.executemany(ADD, ((id, *texts) for id, texts in chunks))
            for expression in words:
                for (id,) in copy.execute(MATCHED, (expression,)):
                    found[id].append(words[expression])
        total = sum(rarities.values())
        coverages = {}
        for id, has in found.items():
            own_words = dict.fromkeys(map(query.stands_for, has))
            coverages[id] = Coverage(sum(rarities[own] for own in own_words) / total, has)
        return coverages

    def counts(self, query: Query) -> dict[str, int]:
        """Return how many chunks of the store have each word of the query, in the query's order."""
        return {word.tokens[0]: count for word, count in self._counted(query.affordable_words)}

    def _frequencies_of(self, query: Query) -> dict[str, int]:
        """Return how many chunks have each word of the query, by its expression."""
        words = self._counted(query.affordable_words)
        return {match_expression([word]): count for word, count in words}

    def _counted(self, terms: Sequence[Term]) -> list[tuple[Term, int]]:
        """Return each term with the number of chunks of the store that have it."""
        counts = self.frequencies([match_expression([term]) for term in terms])
        return list(zip(terms, counts, strict=True))

    def _run(
        self, expression: str, limit: int, condition: str, among: str | None = None
    ) -> list[tuple[int, float]]:
        """Return the best chunks that match an expression, and those as good as the last of them,
        under a condition on rows that may use another expression, `among`.
        """
        statement = SEARCH.format(rows=condition)

        def read(most: int) -> list[tuple[int, float]]:
            parameters = {"expression": expression, "among": among, "limit": most}
            return self._conn.execute(statement, parameters).fetchall()

        return best_of(read, limit, self._in_order)

    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        """Return chunks in the order of their documents."""
        return in_order(self._conn, ids)

    def _best(self, wanted: Sequence[Term], limit: int) -> list[tuple[int, float]]:
        """Return the best chunks of the selection that match any term. The first PROVEN ranks are
        exact, the others nearly always.

        Where much is selected, the best of all chunks are searched for, and those of them that are
        selected are taken.
        """
        if self._selection and self._selection.is_broad:
            more = SURPLUS / self._selection.share
            depth, proven = ceil(more * limit), ceil(more * PROVEN)
            hits = self._best_of(wanted, depth, proven)
            among = self._selection.among(id for id, _ in hits)
            ranks = [rank for rank, (id, _) in enumerate(hits) if id in among][:limit]
            # All that match were found; or the tenth that is selected is among the proven ranks
            if len(hits) < depth or (len(ranks) == limit and ranks[:PROVEN][-1] < proven):
                return [hits[rank] for rank in ranks]
        elif self._selection:  # so few rows that all terms are scored at once
            return self._run(match_expression(wanted), limit, self._condition)[:limit]
        # All chunks, or too few of the best are in the selection
        return self._best_of(wanted, limit, PROVEN, self._condition)[:limit]

    def _best_of(
        self, wanted: Sequence[Term], limit: int, proven: int, condition: str = ""
    ) -> list[tuple[int, float]]:
        """Return the best chunks that match any term, and those as good as the last of them, under
        a condition on rows. The first `proven` ranks are exact.

        Most of the time of a plain search goes into scoring the rows of common words, few of which
        are among the best. So the rarest terms choose the rows, and all terms score them. A row
        with none of the rarest terms scores less than the sum of what the other terms can add; if
        that sum might be enough for the best ranks, the next rarest terms choose rows, too. This is
        MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995.
        """
        expression = match_expression(wanted)
        if self.size() <= FIRST_ROWS:
            return self._run(expression, limit, condition)
        expressions = [match_expression([term]) for term in wanted]
        counts = self.frequencies(expressions)
        size = max(self.size(), *counts)  # if a kept size were too small, no logarithm may fail
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
        """Return the number of chunks in the index."""
        row = self._conn.execute(SIZE).fetchone()
        if row is None:
            row = self._conn.execute(f"select {COUNTED}").fetchone()
        return int(row[0])

    def frequencies(self, expressions: Sequence[str]) -> list[int]:
        """Return how many chunks of the whole store match each expression."""
        new = [expression for expression in expressions if expression not in self._counts]
        if new:
            rows = self._conn.execute(ROW_COUNTS, {"expressions": json.dumps(new)})
            self._counts.update(zip(new, (count for (count,) in rows), strict=True))
        return [self._counts[expression] for expression in expressions]

    def _named(self, query: Query, wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """Return the BM25 of the first chunks of the documents that have this name; file names,
        best in these capitals, above others.
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

    def _with_fragments(self, query: Query, limit: int) -> list[tuple[int, float]]:
        """Return the chunks that contain what is no word, such as '→' and '🎉', by the share of all
        of it that they have; of equal chunks, the shortest first.
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
        having = HAVING.format(count=" + ".join(counts), texts=self._texts, rows=self._condition)

        def read(most: int) -> list[tuple[int, tuple[int, int]]]:
            rows = self._conn.execute(having, [*patterns, most])
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
        """Index chunks that have been in the table for some time."""
        count = 0
        for id, terms in chunks:
            self._conn.execute(ADD, (id, *terms))
            self._conn.execute(SET_CHECKSUM, {"id": id, "checksum": checksum(terms)})
            count += 1
        self._add_to_size(count)

    def remove(self, ids: Iterable[int]) -> None:
        """Take chunks out of the index, by chunks.id, while their rows and that of their document
        are still there.
        """
        leaving = list(ids)
        if schema.has_texts(self._conn):
            self._conn.executemany(REMOVE_WITH_TEXTS, ((id,) for id in leaving))
            return
        for start in range(0, len(leaving), BATCH):
            known = dict(
                self._conn.execute(CHECKSUMS, (json.dumps(leaving[start : start + BATCH]),))
            )
            chunks = list(of_chunks(self._conn, known))
            if any(checksum(terms) != known[id] for id, terms in chunks):
                self.reindex(without=set(leaving))
                return
            self._conn.executemany(REMOVE, ((id, *terms) for id, terms in chunks))
            self._add_to_size(-len(chunks))

    def purge(self) -> None:
        """Rewrite the index without the words of removed chunks, unless FTS5 erases them at once
        (from SQLite 3.42 on).
        """
        if not schema.ERASES_WORDS:
            self.optimize()

    def optimize(self) -> None:
        """Merge the parts of the index into one. Takes time in proportion to the store."""
        self._conn.execute(OPTIMIZE)

    def reindex(self, without: Collection[int] = ()) -> None:
        """Build the index anew from `chunks`, even if it is damaged; some of them may be left out."""
        schema.create_keyword_index(self._conn, with_texts=schema.has_texts(self._conn))
        self._conn.execute(FORGET_SIZE)
        for (doc_id,) in self._conn.execute("select doc_id from documents").fetchall():
            self.add_again(
                (id, terms) for id, terms in of_document(self._conn, doc_id) if id not in without
            )
        self.optimize()


class Vocabulary:
    """The words of the index, read when they are first needed, and anew after a change."""

    def __init__(self, conn: sqlite3.Connection, of_chunks: Callable[..., Any] = of_chunks) -> None:
        self._conn = conn
        self._of_chunks = of_chunks
        self._state: bytes | None = None
        self._texts: dict[tuple[str, ...], str] = {}  # by the first term, and what follows the last

    def meant(self, word: str, choice: Choice) -> list[str]:
        """Return the words that are looked for in place of one, as a chunk has them, by a choice of
        terms.
        """
        stem = stems([word]).get(word, word)
        terms = choice(word, stem, self._text)
        return list(dict.fromkeys(map(self._written, terms)))

    def _text(self, *span: str) -> str:
        """Return the terms from one to another, each on a line with the number of its chunks."""
        schema.run(self._conn, MAKE_VOCABULARY)  # a rollback takes them away
        (state,) = self._conn.execute(STATE).fetchone()
        if state != self._state:
            self._state = state
            self._texts = {}
        if span not in self._texts:
            parameters = (*span, LONGEST_TERM, OF_SYMBOLS)
            (text,) = self._conn.execute(VOCABULARY, parameters).fetchone()
            self._texts[span] = f"\n{text or ''}\n"
        return self._texts[span]

    def _written(self, term: str) -> str:
        """Return a word of a chunk for a term, which is its stem: 'kubernet' -> 'kubernetes'."""
        occurrence = self._conn.execute(OCCURRENCE, (term,)).fetchone()
        terms = self._of_chunks(self._conn, occurrence or ())
        return word_of_stem(term, " ".join(text for _, texts in terms for text in texts))


class BareIndex(FTSIndex):
    """The FTS5 index behind any connection; makes what is missing, never commits.

    Raises StoreError if SQLite has no FTS5.
    """

    def __init__(self, conn: sqlite3.Connection) -> None:
        schema.complete(conn)
        super().__init__(conn)
        self._is_own = schema.is_own(conn)
        if not self._is_own:
            self._shown = SHOWN_FOREIGN
            self._vocabulary = Vocabulary(conn, lambda conn, ids: iter(()))  # other tables: stems
            self._texts = "(select rowid as id, content from chunks_fts)"

    def size(self) -> int:
        """Return the number of chunks in the index."""
        if self._is_own:
            return super().size()
        return int(self._conn.execute(COUNT_FOREIGN).fetchone()[0])

    def reindex(self, without: Collection[int] = ()) -> None:
        """Build the index anew from `chunks`; some of them may be left out of a store's own."""
        if self._is_own:
            super().reindex(without)
            return
        self._conn.execute(CLEAR_FOREIGN)
        self._conn.execute(FILL_FOREIGN)

    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        """Return chunks in the order of their documents; of other tables, by their rows."""
        return super()._in_order(ids) if self._is_own else sorted(ids)

    def _named(self, query: Query, wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """Return the chunks of documents of this name, which other tables do not tell."""
        return super()._named(query, wanted, limit) if self._is_own else {}


def _needed(bounds: Sequence[float], floor: float) -> int:
    """Return how many of the terms must choose rows, so that the terms after them cannot add up to
    the floor.
    """
    needed, rest = len(bounds), 0.0
    while needed and rest + bounds[needed - 1] < floor:
        needed -= 1
        rest += bounds[needed]
    return needed


def _pattern(text: str) -> str:
    return "%" + re.sub(_LIKE_SYNTAX, r"\\\g<0>", text) + "%"


ORIGINAL = "select id, content from chunks where id in (select value from json_each(?))"
MATCHED = "select rowid from chunks_fts where chunks_fts match ?"


def _by_fragments(
    conn: sqlite3.Connection, query: Query, chunks: "Sequence[tuple[int, Terms]]"
) -> dict[int, Coverage]:
    originals = dict(conn.execute(ORIGINAL, (json.dumps([id for id, _ in chunks]),)))
    fragments = [fragment.lower() for fragment in query.fragments]
    coverages = {}
    for id, written in chunks:
        text = "\n".join([originals[id], *written]).lower()
        has = [fragment for fragment in fragments if fragment in text]
        coverages[id] = Coverage(len(has) / max(len(fragments), 1), has)
    return coverages
