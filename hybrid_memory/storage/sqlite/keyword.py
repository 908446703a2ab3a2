"""Keyword search: the chunks that match a query, ranked by BM25 through FTS5. The only writer of
chunks_fts.

The coverage, which words of a query a chunk has, is what confidence is made of beside the cosine.
"""

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from math import ceil, log
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from zlib import crc32

from ...text import analyzer
from ...text.characters import fold
from ...text.query import Query, Term
from ..keyword import (
    ANY_ROW,
    CONTENT_WEIGHT,
    CONTEXT_WEIGHT,
    HEADING_WEIGHT,
    K1,
    any_of,
    checked_expression,
    enough,
    idf,
    match_expression,
)
from ..rows import Coverage, Ranked, as_results
from . import schema

if TYPE_CHECKING:
    from ...documents.terms import Terms
    from .selection import Selection

PUT = "insert into chunks_fts (rowid, heading, content, context) values (?, ?, ?, ?)"
ORIGINAL = "select id, content from chunks where id in (select value from json_each(?))"
MATCHED = "select rowid from chunks_fts where chunks_fts match ?"


def coverage(
    conn: sqlite3.Connection,
    query: Query,
    ids: Collection[int],
    counts: Mapping[str, int],
    size: int,
) -> dict[int, Coverage]:
    """The coverage of each chunk, by FTS5's own matching of each word.

    `counts` says how many of all `size` chunks have each word, by its expression for MATCH. If no
    chunk has any, the coverage is the share of the query's fragments that the chunk contains, as
    the substring search finds them.
    """
    chunks = list(of_chunks(conn, ids))
    if not any(counts.values()):
        return _by_fragments(conn, query, chunks)
    words = {match_expression([term]): term.tokens[0] for term in query.affordable_words}
    size = max(size, *counts.values(), 1)
    rarity = {e: log(1 + (size - n + 0.5) / (n + 0.5)) for e, n in counts.items()}
    found: dict[int, list[str]] = {id: [] for id in ids}
    copy = sqlite3.connect(
        ":memory:"
    )  # FTS5 answers for a few rows of a large index only by walking the whole index
    try:
        schema.create_keyword_index(copy, with_texts=True)
        copy.executemany(PUT, ((id, *texts) for id, texts in chunks))
        for expression in words:
            for (id,) in copy.execute(MATCHED, (expression,)):
                found[id].append(expression)
    finally:
        copy.close()
    total = sum(rarity.values())
    return {
        id: Coverage(sum(rarity[e] for e in has) / total, [words[e] for e in has])
        for id, has in found.items()
    }


def _by_fragments(
    conn: sqlite3.Connection, query: Query, chunks: "Sequence[tuple[int, Terms]]"
) -> dict[int, Coverage]:
    originals = dict(conn.execute(ORIGINAL, (json.dumps([id for id, _ in chunks]),)))
    wanted = [piece.lower() for side in query.fragments for piece in side]
    answer = {}
    for id, written in chunks:
        text = "\n".join([originals[id], *written]).lower()
        has = [piece for piece in wanted if piece in text]
        answer[id] = Coverage(len(has) / max(len(wanted), 1), has)
    return answer


FIRST_ROWS = 4000  # scored at first: at 100,000 chunks the fastest of 1,000 to 8,000
# So many times as many as needed are looked at, because the share of a selection is an estimate
SURPLUS = 1.25
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
order  by score desc, rowid
limit  :limit
"""
AMONG = "and +rowid in (select rowid from chunks_fts where chunks_fts match :among)"
CHOSEN = "and +rowid {}"

ROW_COUNTS = """
select (select count(*) from chunks_fts where chunks_fts match value)
from   json_each(:expressions)
order  by key
"""

# The writer of the index keeps their number, as counting takes time in proportion to the store. It is not
# kept for an index with texts, which others may write to, nor was it before there was this key.
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

# Chunks that may have a word of the folded text: LIKE ignores case in ASCII, and only other letters
# are folded.
MAY_HAVE = """
select id, content from {texts}
where  ({words} or length(content) <> length(cast(content as blob))) {rows}
"""
HAVING = """
select * from (select id, {count} as matches, length(content) from {texts} where true {rows})
where  matches > 0
"""
LIKE = r"(content like ? escape '\')"

DOC_IDS = "select id, doc_id from chunks where id in (select value from json_each(?))"
CHUNKS = """
select value, coalesce(c.doc_id, f.doc_id), coalesce(c.chunk_id, f.chunk_id), coalesce(c.heading, f.heading),
       coalesce(c.content, f.content)
from   json_each(?) left join chunks c on c.id = value left join chunks_fts f on f.rowid = value
"""  # a row that somebody put into chunks_fts alone is shown as it is written there

# Of tables that somebody else made, the index is shown as it is.
SHOWN = """
select rowid, doc_id, chunk_id, heading, content from chunks_fts
where  rowid in (select value from json_each(?))
"""

COUNT_FOREIGN = "select count(*) from chunks_fts"
CLEAR_FOREIGN = "delete from chunks_fts"
FILL_FOREIGN = """
insert into chunks_fts (doc_id, chunk_id, heading, content)
select doc_id, chunk_id, heading, content from chunks
"""

# Compiled only when needed: few searches get that far. The second finds what `fold` may turn into
# letters of ASCII.
_LIKE_SYNTAX = r"[\\%_]"
_FOLDED = (
    "[^\0-\x7f\u2010-\u2027\u2190-\u23ff\u2500-\u2bff\u3000-\u30ff\u3400-\u9fff"
    "\uac00-\ud7a3\ufe0f\U0001f300-\U0001faff]"
)


# What the index was given of chunks, made once more from the chunks and their documents.
#
# To take a chunk out of an index that has no copy of its texts, FTS5 must be given them exactly as
# they were put in. So `chunks.indexed` has a checksum of them; if it differs, as after a change of
# the analyzer, the index has to be built anew.

ROWS = """
select   c.id, c.doc_id, c.heading_path, c.content, d.collection, d.metadata,
         not exists (select 1 from chunks where doc_id = c.doc_id and id < c.id)
from     chunks c join documents d using (doc_id)
where    {}
order by c.doc_id, c.id
"""
OF_DOCUMENT = ROWS.format("c.doc_id = ?")
OF_CHUNKS = ROWS.format("c.id in (select value from json_each(?))")
CALLED = "select name from names where doc_id = ? and kind <> 'file'"


def checksum(terms: "Terms") -> int:
    """Return what `chunks.indexed` has of these terms."""
    return crc32("\0".join(terms).encode())


def of_document(conn: sqlite3.Connection, doc_id: str) -> "Iterator[tuple[int, Terms]]":
    """Yield chunks.id and terms of the document's chunks."""
    return _of_rows(conn, conn.execute(OF_DOCUMENT, (doc_id,)))


def of_chunks(conn: sqlite3.Connection, ids: Iterable[int]) -> "Iterator[tuple[int, Terms]]":
    """Yield chunks.id and terms of these chunks."""
    return _of_rows(conn, conn.execute(OF_CHUNKS, (json.dumps(list(ids)),)))


def called(conn: sqlite3.Connection, doc_id: str) -> list[str]:
    """Return the titles and aliases of a document."""
    return [name for (name,) in conn.execute(CALLED, (doc_id,))]


def _of_rows(
    conn: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]
) -> "Iterator[tuple[int, Terms]]":
    from ...documents.terms import terms

    for doc_id, group in groupby(rows, itemgetter(1)):
        chunks = list(group)
        _, _, _, _, collection, metadata, is_first = chunks[0]
        names = called(conn, doc_id) if is_first else None
        texts = ((heading_path, content) for _, _, heading_path, content, *_ in chunks)
        for (id, *_), of_chunk in zip(
            chunks, terms(doc_id, collection, metadata, texts, names), strict=True
        ):
            yield id, of_chunk


class FTSIndex:
    """The FTS5 index behind a database connection, or the chunks of it that are chosen; never
    commits.

    An index remembers how many chunks have a term, so it is good for one state of the database
    only.
    """

    _shown = CHUNKS  # the statement that reads the rows of results
    _texts = "chunks"  # where the last tier reads `id` and `content`

    def __init__(self, conn: sqlite3.Connection, chosen: "Selection | None" = None) -> None:
        self._conn = conn
        self._chosen = chosen
        self._counts: dict[str, int] = {}

    @property
    def _rows(self) -> str:
        return CHOSEN.format(self._chosen.listed) if self._chosen else ""

    def search(
        self, query: str, limit: int = 10, *, fts_syntax: bool = False
    ) -> list[dict[str, Any]]:
        """Chunks that match, best first: doc_id, chunk_id, heading, text, score (BM25, above 0),
        source.
        """
        scores = self.ranked(Query(query, fts_syntax=fts_syntax), limit).scores
        ids = json.dumps([id for id, _ in scores])
        return as_results(scores, self._conn.execute(self._shown, (ids,)), "keyword")

    def snippet(
        self, query: str, limit: int = 10, *, fts_syntax: bool = False
    ) -> list[dict[str, Any]]:
        """`search` with one more key: `snippet`, the best passage of the original text, the matched
        words in **asterisks**.
        """
        from ...text.highlight import Highlighter
        from ..keyword import stems

        hits = self.search(query, limit, fts_syntax=fts_syntax)
        highlighter = Highlighter(Query(query), [hit["text"] for hit in hits], stems)
        return [hit | {"snippet": highlighter.snippet(hit["text"], "**", "**")} for hit in hits]

    def ranked(self, query: Query, limit: int) -> Ranked:
        """The best `limit` chunks by BM25.

        If the query is a document's path, file name, stem, alias or title, that document comes
        first, with scores raised above the others. Where FTS5 finds nothing, the score is the share
        of the query's fragments that a chunk contains as substrings. An expression in FTS5's syntax
        is matched as it is, and nothing else is tried; raises QueryError if it is not valid.
        """
        if query.fts_syntax:
            expression = checked_expression(self._conn, query.text)
            return Ranked(
                self._rows_of({"expression": expression, "limit": limit}) if expression else []
            )
        wanted = query.affordable_terms
        hits = self._best(wanted, limit) if wanted else []
        if named := self._named(query, wanted, limit):
            top = hits[0][1] if hits else 0.0
            hits = [
                *((id, score + top) for id, score in named.items()),
                *(hit for hit in hits if hit[0] not in named),
            ][:limit]
        if not hits:
            return Ranked(self._substring_search(query, limit), enough=1.0)
        return Ranked(
            hits,
            bool(named),
            0.0 if named else enough(self._frequencies_of(query).values(), self.size()),
        )

    def coverage(self, query: Query, ids: Collection[int]) -> dict[int, Coverage]:
        """For each of these chunks, which words of the query it has."""
        return coverage(self._conn, query, ids, self._frequencies_of(query), self.size())

    def counts(self, query: Query) -> dict[str, int]:
        """How many chunks of the whole store have each word of the query, in the query's order."""
        frequencies = self._frequencies_of(query)
        return {
            term.tokens[0]: frequencies[match_expression([term])] for term in query.affordable_words
        }

    def _frequencies_of(self, query: Query) -> dict[str, int]:
        """For each word of the query, as an expression, how many chunks have it."""
        expressions = [match_expression([term]) for term in query.affordable_words]
        return dict(zip(expressions, self.frequencies(expressions), strict=True))

    def _rows_of(self, parameters: Mapping[str, Any]) -> list[tuple[int, float]]:
        return self._conn.execute(SEARCH.format(rows=self._rows), parameters).fetchall()

    def _best(self, wanted: Sequence[Term], limit: int) -> list[tuple[int, float]]:
        """The best chunks that match any term and are chosen. The first PROVEN ranks are exact, the
        others nearly always.

        Where much is chosen, the best of all chunks are searched for, and those of them that are
        chosen are taken.
        """
        if self._chosen and self._chosen.is_broad:
            more = SURPLUS / self._chosen.share
            depth, proven = ceil(more * limit), ceil(more * PROVEN)
            hits = self._best_of(wanted, depth, proven)
            among = self._chosen.among(id for id, _ in hits)
            ranks = [rank for rank, (id, _) in enumerate(hits) if id in among][:limit]
            if len(hits) < depth or (len(ranks) == limit and ranks[:PROVEN][-1] < proven):
                return [hits[rank] for rank in ranks]
        elif self._chosen:  # of few rows, those of all terms are scored at once
            return self._rows_of({"expression": match_expression(wanted), "limit": limit})
        return self._best_of(wanted, limit, PROVEN, self._rows)

    def _best_of(
        self, wanted: Sequence[Term], limit: int, proven: int, rows: str = ""
    ) -> list[tuple[int, float]]:
        """The best chunks that match any term, under a condition on rows. So many of the first
        ranks are exact.

        Most of the time of a plain search goes into scoring the rows of common words, few of which
        are among the best. So the rarest terms choose the rows, and all terms score them. A row
        with none of the rarest terms scores less than the sum of what the other terms can add; if
        that sum might be enough for the best ranks, the next rarest terms choose rows, too. This is
        MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995.
        """
        expression = match_expression(wanted)
        if self.size() <= FIRST_ROWS:
            return self._conn.execute(
                SEARCH.format(rows=rows), {"expression": expression, "limit": limit}
            ).fetchall()
        expressions = [match_expression([term]) for term in wanted]
        counts = self.frequencies(expressions)
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
        search = SEARCH.format(rows=f"{AMONG} {rows}")
        chosen = 0
        hits: list[tuple[int, float]] = []
        while chosen < needed:
            each = [expression for _, expression in rarest]
            among = any_of(each[chosen:needed]) + (
                f" NOT {any_of(each[:chosen])}" if chosen else ""
            )
            hits += self._conn.execute(
                search, {"expression": expression, "among": among, "limit": limit}
            )
            hits = sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit]
            chosen, needed = (
                needed,
                _needed(bounds, hits[proven - 1][1] if len(hits) >= limit else 0.0),
            )
        return hits

    def size(self) -> int:
        """Return the number of chunks in the index."""
        row = self._conn.execute(SIZE).fetchone()
        if row is None:
            row = self._conn.execute(f"select {COUNTED}").fetchone()
        return int(row[0])

    def frequencies(self, expressions: Sequence[str]) -> list[int]:
        """For each expression, how many chunks of the whole store match it."""
        if new := [expression for expression in expressions if expression not in self._counts]:
            counts = (
                count
                for (count,) in self._conn.execute(ROW_COUNTS, {"expressions": json.dumps(new)})
            )
            self._counts.update(zip(new, counts, strict=True))
        return [self._counts[expression] for expression in expressions]

    def _named(self, query: Query, wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """The BM25 of the first chunks of the documents that have this name; file names, best in
        these capitals, above others.
        """
        if not query.name:
            return {}
        term = Term((query.name,))
        if not self._conn.execute(ANY_ROW, (match_expression([term]),)).fetchone():
            return {}
        parameters = {
            "expression": match_expression([term, *wanted]),
            "among": match_expression([term]),
            "limit": limit,
        }
        named = dict(self._conn.execute(SEARCH.format(rows=f"{AMONG} {self._rows}"), parameters))
        ids = self._conn.execute(DOC_IDS, (json.dumps(list(named)),))
        ranks = {id: query.names(doc_id) for id, doc_id in ids}
        top = max(named.values(), default=0.0) if len(set(ranks.values())) > 1 else 0.0
        raised = {id: score + top * ranks[id] for id, score in named.items()}
        return dict(sorted(raised.items(), key=lambda item: (-item[1], item[0])))

    def _substring_search(self, query: Query, limit: int) -> list[tuple[int, float]]:
        """The last tier: every chunk is looked through for what is not a word, such as 'ollam', '→'
        and '🎉'.

        Words are looked for in the folded text, all else in the original text. Of equal chunks, the
        shortest come first.
        """
        written, original = query.fragments
        found: dict[int, tuple[int, int]] = {}  # chunks.id -> matches, size
        if original:
            having = HAVING.format(
                count=" + ".join(f"({' or '.join([LIKE] * 4)})" for _ in original),
                texts=self._texts,
                rows=self._rows,
            )
            patterns = [
                _pattern(f(word))
                for word in original
                for f in (str, str.lower, str.upper, str.title)
            ]
            found = {
                id: (matches, size) for id, matches, size in self._conn.execute(having, patterns)
            }
        if written:
            wanted = [word.lower() for word in written]
            starts = [word.split()[0] for word in wanted]
            may_have = MAY_HAVE.format(
                words=" or ".join([LIKE] * len(starts)), texts=self._texts, rows=self._rows
            )
            for id, content in self._conn.execute(may_have, [*map(_pattern, starts)]):
                folded = (fold(content) if re.search(_FOLDED, content) else content).lower()
                text = (
                    analyzer.searchable(content).lower()
                    if any(start in folded for start in starts)
                    else ""
                )
                matches, size = found.get(id, (0, 0))
                if n := sum(word in text for word in wanted):
                    found[id] = matches + n, max(size, len(text))
        best = sorted(found, key=lambda id: (-found[id][0], found[id][1], id))[:limit]
        return [(id, found[id][0] / (len(written) + len(original))) for id in best]

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


class BareIndex(FTSIndex):
    """The FTS5 index behind any connection: what it needs of the tables is made if it is missing.
    Never commits.

    Raises StoreError if SQLite has no FTS5.
    """

    def __init__(self, conn: sqlite3.Connection) -> None:
        schema.complete(conn)
        super().__init__(conn)
        self._is_own = schema.is_own(conn)
        if not self._is_own:
            self._shown = SHOWN
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

    def _named(self, query: Query, wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """Return the chunks of documents of this name, which other tables do not tell."""
        return super()._named(query, wanted, limit) if self._is_own else {}


def _needed(bounds: Sequence[float], floor: float) -> int:
    """How many of the terms must choose rows, so that the terms after them cannot add up to the
    floor.
    """
    needed, rest = len(bounds), 0.0
    while needed and rest + bounds[needed - 1] < floor:
        needed -= 1
        rest += bounds[needed]
    return needed


def _pattern(text: str) -> str:
    return "%" + re.sub(_LIKE_SYNTAX, r"\\\g<0>", text) + "%"
