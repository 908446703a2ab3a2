"""Keyword search: query text -> chunks ranked by BM25, through FTS5. Writes and reads chunks_fts, and nothing else does."""

import json
import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from math import log
from typing import Any

from . import analyzer, schema
from .analyzer import Term
from .errors import QueryError

MAX_TOKENS = 96  # of a query's terms together, at most 2 x 50: a pasted page answers as fast as a long question
MAX_EXPRESSION = 10_000  # characters in FTS5's syntax
MAX_FRAGMENTS = 16  # of a query, in the substring search
HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT = 2.0, 1.0, 0.25
QUOTE = '"'
K1 = 1.2  # of FTS5's bm25, where a term adds less than its idf x (K1 + 1), however often it occurs and whatever the weights
FIRST_ROWS = 4000  # scored at first; of 1,000 to 8,000 the fastest at 100,000 chunks
PROVEN = 10  # ranks; with these, 99.9 % of the best 100 are right at 100,000 chunks, and to prove all takes a quarter longer

BM25 = f"-bm25(chunks_fts, 0, 0, {HEADING_WEIGHT}, {CONTENT_WEIGHT}, {CONTEXT_WEIGHT})"

# The plus keeps the ids from FTS5, which would run the whole query again for each; so bm25 sees those rows only.
SEARCH = f"""
select rowid, {BM25} as score
from   chunks_fts
where  chunks_fts match :expression {{rows}}
order  by score desc, rowid
limit  :limit
"""
AMONG = "and +rowid in (select rowid from chunks_fts where chunks_fts match :among)"
CHOSEN = "and +rowid in (select id from {})"

ROW_COUNTS = """
select (select count(*) from chunks_fts where chunks_fts match value)
from   json_each(:expressions)
order  by key
"""

AVERAGES = "select block from chunks_fts_data where id = 1"  # fts5_index.c: its first varint is the number of rows

ANY_ROW = "select rowid from chunks_fts where chunks_fts match ? limit 1"

ADD = """
insert into chunks_fts (rowid, doc_id, chunk_id, heading, content, context)
values (:id, :doc_id, :chunk_id, :heading, :content, :context)
"""

DOCUMENT = """
select c.id, c.chunk_id, c.heading_path, c.content, d.collection, d.metadata
from   chunks c join documents d using (doc_id)
where  c.doc_id = :doc_id and c.id > :after
order  by c.id
"""

SUBSTRING = """
select   id, sum(matches) as matches
from     ({sides})
where    matches > 0
group by id
order by 2 desc, max(size), id
limit    ?
"""
WRITTEN_SIDE = "select rowid as id, {count} as matches, length(content) as size from chunks_fts where true {rows}"
ORIGINAL_SIDE = "select id, {count} as matches, length(content) as size from chunks where true {rows}"
LIKE = r"(content like ? escape '\')"

RESULT = "select id, doc_id, chunk_id, heading, content from chunks where id in (select value from json_each(?))"

# Patterns of what few searches do are compiled when they are needed: a search's start is search time.
_LIKE_SYNTAX = r"[\\%_]"
_BLAMED = r'(?s)(?:near "|got "|no such column: )(.*?)"?$'


class FTSIndex:
    """The FTS5 side of a database connection. Never commits. `chosen` is a table whose ids are the chunks to search, None all."""

    def __init__(self, conn: sqlite3.Connection, chosen: str | None = None) -> None:
        self._conn = conn
        self._rows = CHOSEN.format(chosen) if chosen else ""
        self._search = SEARCH.format(rows=self._rows)
        self._search_among = SEARCH.format(rows=f"{AMONG} {self._rows}")
        self._counts: dict[str, int] = {}
        self.named = False  # was the last query of `ranked` the name of a document?

    def search(self, query: str, limit: int = 10, *, fts_syntax: bool = False) -> list[dict[str, Any]]:
        """Chunks that match, best first: doc_id, chunk_id, heading, text, score (BM25, above 0), source."""
        scores = dict(self.ranked(query, limit, fts_syntax=fts_syntax))
        rows = {row[0]: row for row in self._conn.execute(RESULT, (json.dumps(list(scores)),))}
        return [
            {"doc_id": row[1], "chunk_id": row[2], "heading": row[3], "text": row[4], "score": score, "source": "keyword"}
            for score, row in ((score, rows[id]) for id, score in scores.items())
        ]

    def snippet(self, query: str, limit: int = 10, *, fts_syntax: bool = False) -> list[dict[str, Any]]:
        """`search` with a key more: `snippet`, the best passage of the original text, the matched words in **asterisks**."""
        from .highlight import Highlighter

        hits = self.search(query, limit, fts_syntax=fts_syntax)
        highlighter = Highlighter(query, [hit["text"] for hit in hits])
        return [hit | {"snippet": highlighter.snippet(hit["text"], "**", "**")} for hit in hits]

    def ranked(self, query: str, limit: int, *, fts_syntax: bool = False) -> list[tuple[int, float]]:
        """(chunks.id, score) of the best `limit` chunks.

        The score is BM25; what a query names by its path, file name or stem comes first, its scores raised above the others.
        Where FTS5 finds nothing, the score is the share of the query's fragments that a chunk has as substrings. With
        `fts_syntax` the query is an expression of FTS5, and nothing else is tried; raises QueryError if it is none.
        """
        query = query.encode("utf-8", "ignore").decode().replace("\0", " ")
        if fts_syntax:
            return self._matching(query, limit)
        wanted = affordable(analyzer.terms(query))
        hits = self._best(wanted, limit) if wanted else []
        named = self._named(query, wanted, limit)
        self.named = bool(named)
        if named:
            top = hits[0][1] if hits else 0.0
            hits = [*((id, score + top) for id, score in named.items()), *(hit for hit in hits if hit[0] not in named)][:limit]
        return hits or self._substring_search(query, limit)

    def _best(self, wanted: Sequence[Term], limit: int) -> list[tuple[int, float]]:
        """The chunks that match any term, the first PROVEN ranked as if all were scored, and nearly always the others.

        Most of the time goes into scoring the rows of common words, of which few are among the best. So rows are chosen by the
        rarest terms, and scored by all; a row with none of these has less than the sum of what the others can add. If that
        may be enough to be among the best, the next rarest choose, too (MaxScore: Turtle and Flood, "Query evaluation:
        strategies and optimizations", 1995).
        """
        expression = match_expression(wanted)
        if self.size() <= FIRST_ROWS:
            return self._conn.execute(self._search, {"expression": expression, "limit": limit}).fetchall()
        expressions = [match_expression([term]) for term in wanted]
        counts = self.frequencies(expressions)
        rows = max(self.size(), *counts)
        rarest = sorted((count, expression) for count, expression in zip(counts, expressions, strict=True) if count)
        bounds = [(K1 + 1) * max(log((rows - count + 0.5) / (count + 0.5)), 1e-6) for count, _ in rarest]
        totals = accumulate(count for count, _ in rarest)
        needed = 1 + next((i for i, total in enumerate(totals) if total >= FIRST_ROWS), len(rarest) - 1)
        proven = min(PROVEN, limit)
        chosen = 0
        hits: list[tuple[int, float]] = []
        while chosen < needed:
            among = _any(rarest[chosen:needed]) + (f" NOT {_any(rarest[:chosen])}" if chosen else "")
            hits += self._conn.execute(self._search_among, {"expression": expression, "among": among, "limit": limit})
            hits = sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit]
            chosen, needed = needed, _needed(bounds, hits[proven - 1][1] if len(hits) >= limit else 0.0)
        return hits

    def size(self) -> int:
        """How many chunks there are, without counting: ids grow with every replaced document, and tell too much."""
        number = 0
        for byte in self._conn.execute(AVERAGES).fetchone()[0]:
            number = number << 7 | byte & 0x7F
            if byte < 0x80:
                break
        return number

    def frequencies(self, expressions: Sequence[str]) -> list[int]:
        """How many chunks of all match each."""
        if new := [expression for expression in expressions if expression not in self._counts]:
            counts = (count for (count,) in self._conn.execute(ROW_COUNTS, {"expressions": json.dumps(new)}))
            self._counts.update(zip(new, counts, strict=True))
        return [self._counts[expression] for expression in expressions]

    def _named(self, query: str, wanted: Sequence[Term], limit: int) -> dict[int, float]:
        """The first chunks of the documents that the whole query is the name of, by their BM25."""
        if not (name := analyzer.name(query.strip().removeprefix("./").lstrip("/"))):
            return {}
        term = Term((name,))
        if not self._conn.execute(ANY_ROW, (match_expression([term]),)).fetchone():
            return {}
        parameters = {"expression": match_expression([term, *wanted]), "among": match_expression([term]), "limit": limit}
        return dict(self._conn.execute(self._search_among, parameters))

    def _matching(self, expression: str, limit: int) -> list[tuple[int, float]]:
        if not expression.strip():
            return []
        if len(expression) > MAX_EXPRESSION:
            raise QueryError(f"the expression has {len(expression):,} characters; at most {MAX_EXPRESSION:,} are understood")
        if complaint := self._complaint(expression):
            raise QueryError(f"{complaint}{self._place(complaint, expression)}")
        parameters = {"expression": " " + analyzer.fts5_expression(expression), "limit": limit}
        return self._conn.execute(self._search, parameters).fetchall()

    def _complaint(self, expression: str) -> str | None:
        """What FTS5 has against an expression. The space before it turns off the queries about FTS5 itself, like '*reads'."""
        try:
            self._conn.execute(ANY_ROW, (" " + expression,)).fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            return str(error)
        return None

    def _place(self, complaint: str, expression: str) -> str:
        """Where that is, as far as FTS5 tells: it names the token that ends the shortest beginning with this complaint."""
        if complaint == "unterminated string":
            return f", at character {expression.rfind(QUOTE) + 1}"
        if not (blamed := re.search(_BLAMED, complaint)):
            return ""
        if not (token := blamed[1]):
            return ", at its end"
        places = [match.start() for match in re.finditer(re.escape(token), expression)]
        first = bisect_left(places, True, key=lambda at: self._complaint(expression[: at + len(token)]) == complaint)
        return f", at character {places[first if first < len(places) else 0] + 1}"

    def _substring_search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """The last tier: LIKE over every chunk, for what is no word: 'ollam', '→', '🎉'.

        Words are looked for in the folded text, in three spellings since LIKE knows the case of ASCII only; others as they stand.
        """
        written, original = fragments(query)
        parameters: list[Any] = []
        sides = []
        for side, wanted in ((WRITTEN_SIDE, written), (ORIGINAL_SIDE, original)):
            spellings = [dict.fromkeys((word, word.lower(), word.upper(), word.title())) for word in wanted]
            if wanted:
                count = " + ".join(f"({' or '.join([LIKE] * len(each))})" for each in spellings)
                sides.append(side.format(count=count, rows=self._rows))
            parameters += ("%" + re.sub(_LIKE_SYNTAX, r"\\\g<0>", spelling) + "%" for each in spellings for spelling in each)
        if not sides:
            return []
        rows = self._conn.execute(SUBSTRING.format(sides=" union all ".join(sides)), (*parameters, limit))
        return [(id, matches / (len(written) + len(original))) for id, matches in rows]

    def add_document(self, doc_id: str, after: int = 0) -> None:
        """Index the document's rows of `chunks`, those whose id is greater than `after`."""
        rows = self._conn.execute(DOCUMENT, {"doc_id": doc_id, "after": after})
        first = rows.fetchone()
        if not first:
            return
        path = doc_id.removeprefix(f"{first[4]}/")
        path_words = analyzer.searchable(analyzer.stem(path))
        told_once = " ".join([*analyzer.names(doc_id, path), *map(analyzer.searchable, _values(json.loads(first[5])))])
        self._conn.executemany(
            ADD,
            (
                {
                    "id": id,
                    "doc_id": doc_id,
                    "chunk_id": chunk_id,
                    "heading": f"{analyzer.searchable(heading_path)} {path_words}",
                    "content": analyzer.searchable(content),
                    "context": analyzer.identifiers(content) + (f" {told_once}" if number == 0 else ""),  # one chunk is enough
                }
                for number, (id, chunk_id, heading_path, content, *_) in enumerate(chain([first], rows), bool(after))
            ),
        )

    def remove(self, ids: Iterable[int]) -> None:
        self._conn.executemany("delete from chunks_fts where rowid = ?", ((id,) for id in ids))

    def reindex(self) -> None:
        """Make the index anew from `chunks`, whatever became of it."""
        schema.create_keyword_index(self._conn)
        for (doc_id,) in self._conn.execute("select doc_id from documents").fetchall():
            self.add_document(doc_id)
        self._conn.execute("insert into chunks_fts (chunks_fts) values ('optimize')")


def _values(metadata: Any) -> list[str]:
    """The words and numbers in metadata, lists of them included: what a description, a tag or an alias says."""
    if isinstance(metadata, dict | list):
        return [found for value in (metadata.values() if isinstance(metadata, dict) else metadata) for found in _values(value)]
    return [] if metadata is None or isinstance(metadata, bool) else [str(metadata)]


def affordable(wanted: Iterable[Term]) -> list[Term]:
    """The terms, shortest first, until they have MAX_TOKENS tokens."""
    chosen, left = [], MAX_TOKENS
    for term in sorted(wanted, key=lambda term: len(term.tokens)):
        left -= len(term.tokens)
        if left < 0:
            break
        chosen.append(term)
    return chosen


def _any(counted: Iterable[tuple[int, str]]) -> str:
    return f"({' OR '.join(expression for _, expression in counted)})"


def _needed(bounds: Sequence[float], floor: float) -> int:
    """How many terms must choose the rows, so that those after them cannot add up to the floor."""
    needed, rest = len(bounds), 0.0
    while needed and rest + bounds[needed - 1] < floor:
        needed -= 1
        rest += bounds[needed]
    return needed


def fragments(query: str) -> tuple[list[str], list[str]]:
    """What to look for inside words: (words of three letters up, folded; scripts without spaces and symbols, as they stand).

    'naïve 100% 東京 →' -> (['naive', '100'], ['東京', '→'])
    """
    written: dict[str, None] = {}
    original: dict[str, None] = {}
    pieces = analyzer.pieces(query[: analyzer.MAX_QUERY])
    telling = [piece for piece in pieces if piece[0].lower() not in analyzer.STOP_WORDS]
    for piece, has_words in telling or pieces:
        word = analyzer.searchable(piece) if has_words else ""
        if len(word) >= 3:
            written[word] = None
        elif not piece.isalnum() or not has_words:
            original[piece] = None
    kept = [*written, *original][:MAX_FRAGMENTS]
    return [piece for piece in kept if piece in written], [piece for piece in kept if piece not in written]


def match_expression(wanted: Iterable[Term]) -> str:
    """Terms as an FTS5 expression: each a string, joined by OR, so that no character of a query is syntax."""
    return " OR ".join(f'"{" ".join(term.tokens)}"{" *" if term.prefix else ""}' for term in wanted)
