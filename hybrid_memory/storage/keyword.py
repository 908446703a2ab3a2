"""What keyword search has in common in both engines: BM25, stems and expressions.

BM25 is as FTS5 computes it, with the weights of our columns. Stems are made by FTS5's own porter
tokenizer, in a database in memory. Expressions in FTS5's syntax are made from a query's terms, or written
by the user (`--fts-syntax`), checked and folded.
"""

import re
import sqlite3
from bisect import bisect_left
from collections.abc import Collection, Iterable
from math import log

from ..errors import QueryError
from ..text.analyzer import stemmed, tokens
from ..text.characters import fold
from ..text.query import Term, phrase

HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT = 2.0, 1.0, 0.25
# A term adds less than its idf x (K1 + 1), however often it occurs and whatever the weights
K1 = 1.2
B = 0.75  # how much the length of a chunk counts
# Times the logarithm of the number of chunks: with more BM25, it is no chance that a chunk has
# these words
CHANCE = 2


def idf(count: int, size: int) -> float:
    """The inverse document frequency of FTS5's bm25, for a word that so many of all chunks have."""
    return max(log((size - count + 0.5) / (count + 0.5)), 1e-6)


def enough(counts: Collection[int], size: int) -> float:
    """The BM25 of a hit that tells all that keywords can: that of all words, or what none has by
    chance, if that is less.

    `counts` says how many of all chunks have each word.
    """
    size = max(size, *counts, 1)
    return min(sum(idf(count, size) for count in counts), CHANCE * log(size + 1))


WORDS_AND_STEMS = """
create virtual table words using fts5(word, tokenize = 'porter unicode61 remove_diacritics 2');
create virtual table stems using fts5vocab(words, instance);
"""


def stems(words: Iterable[str]) -> dict[str, str]:
    """Folded token -> stem, as 'servers' -> 'server'. What FTS5 does not take for a token is
    missing.
    """
    numbered = list(words)
    conn = sqlite3.connect(":memory:")
    try:
        conn.executescript(WORDS_AND_STEMS)
        conn.executemany(
            "insert into words (rowid, word) values (?, ?)", enumerate(map(stemmed, numbered))
        )
        return {
            numbered[number]: stem for number, stem in conn.execute("select doc, term from stems")
        }
    finally:
        conn.close()


MAX_EXPRESSION = 10_000  # characters

ANY_ROW = "select rowid from chunks_fts where chunks_fts match ? limit 1"

# Compiled only when needed: few searches use this syntax.
_WORD_OR_STRING = r'("(?:[^"]|"")*"|[\w\x1a\x80-\U0010ffff]+)(\s*\*)?'
_BLAMED = r'(?s)(?:near "|got "|no such column: )(.*?)"?$'


def match_expression(wanted: Iterable[Term]) -> str:
    """Terms as an FTS5 expression: each a string, joined by OR, so that no character of a query is
    syntax.
    """
    return " OR ".join(map(_string, wanted))


def any_of(expressions: Iterable[str]) -> str:
    """An expression for what matches any of these."""
    return f"({' OR '.join(expressions)})"


def checked_expression(conn: sqlite3.Connection, text: str) -> str:
    """The expression for MATCH, "" for a blank one. Raises QueryError with the place of what FTS5
    does not understand.
    """
    if not text.strip():
        return ""
    if len(text) > MAX_EXPRESSION:
        raise QueryError(
            f"the expression has {len(text):,} characters; at most {MAX_EXPRESSION:,} are understood"
        )
    if complaint := _complaint(conn, text):
        raise QueryError(f"{complaint}{_place(conn, complaint, text)}")
    return " " + folded_expression(text)


def folded_expression(text: str) -> str:
    """The expression with its strings and words folded and cut into tokens as the indexed text is.

    ASCII stays as it is, and with it operators, column names and the numbers of NEAR.

    'heading: "Lỗi 東京" NOT café*' -> 'heading: "Loi 東京" NOT "cafe" *'
    """
    return re.sub(_WORD_OR_STRING, _folded, text)


def _folded(match: re.Match[str]) -> str:
    text, star = match[1], match[2]
    if text.isascii():
        return match[0]
    if text.startswith('"'):
        text = text[1:-1].replace('""', '"')
    if not tokens(folded := fold(text)):
        return '""'
    term = phrase(folded)
    return _string(term._replace(prefix=bool(star) or term.prefix))


def _string(term: Term) -> str:
    return f'"{" ".join(map(stemmed, term.tokens))}"{" *" if term.prefix else ""}'


def _complaint(conn: sqlite3.Connection, expression: str) -> str | None:
    """FTS5's error message. The space in front keeps FTS5 from taking '*reads' for a command to
    itself.
    """
    try:
        conn.execute(ANY_ROW, (" " + expression,)).fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return str(error)
    return None


def _place(conn: sqlite3.Connection, complaint: str, expression: str) -> str:
    """Where the error is, as far as FTS5 tells: it names the last token of the shortest beginning
    that it complains about.
    """
    if complaint == "unterminated string":
        return f", at character {expression.rfind(chr(34)) + 1}"
    if not (blamed := re.search(_BLAMED, complaint)):
        return ""
    if not (token := blamed[1]):
        return ", at its end"
    places = [match.start() for match in re.finditer(re.escape(token), expression)]
    first = bisect_left(
        places, True, key=lambda at: _complaint(conn, expression[: at + len(token)]) == complaint
    )
    return f", at character {places[first if first < len(places) else 0] + 1}"
