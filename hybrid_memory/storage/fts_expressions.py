"""FTS5 expressions: made from the terms of a query, or written by the user (`--fts-syntax`), checked
and folded.
"""

import re
import sqlite3
from collections.abc import Iterable

from ..errors import QueryError
from ..text.analyzer import stemmed, tokens
from ..text.characters import fold
from ..text.query import Query, Term, phrase

MAX_EXPRESSION = 10_000  # characters

ANY_ROW = "select rowid from chunks_fts where chunks_fts match ? limit 1"

# Compiled only when needed: few searches use this syntax.
_WORD_OR_STRING = r'("(?:[^"]|"")*"|[\w\x1a\x80-\U0010ffff]+)(\s*\*)?'


def match_expression(wanted: Iterable[Term]) -> str:
    """An FTS5 expression for any of these terms. Each becomes a quoted string, so that no character
    of a query acts as syntax.
    """
    return " OR ".join(map(_string, wanted))


def distinct_words(query: Query) -> list[Term]:
    """The words of a query; of several forms that are the same word in the index, the last one."""
    return list({match_expression([term]): term for term in query.limited_words}.values())


def checked_expression(conn: sqlite3.Connection, text: str) -> str:
    """Check an expression for MATCH and fold it; "" for a blank one. Raises QueryError with FTS5's
    message for a syntax error.
    """
    if not text.strip():
        return ""
    if len(text) > MAX_EXPRESSION:
        raise QueryError(
            f"the expression has {len(text):,} characters; at most {MAX_EXPRESSION:,} are allowed"
        )
    if complaint := _syntax_error(conn, text):
        raise QueryError(complaint)
    return " " + folded_expression(text)


def folded_expression(text: str) -> str:
    """Fold the strings and words of an expression, and split them into tokens like the indexed
    text.

    ASCII stays as it is, which keeps operators, column names and the numbers of NEAR.

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
    string = f'"{" ".join(map(stemmed, term.tokens))}"{" *" if term.prefix else ""}'
    if not term.excluded_tokens:
        return string
    others = " AND ".join(f'"{stemmed(token)}"' for token in dict.fromkeys(term.excluded_tokens))
    return f"({string} NOT ({others}))"


def _syntax_error(conn: sqlite3.Connection, expression: str) -> str | None:
    """FTS5's error message, or None. The space in front keeps FTS5 from reading '*reads' as a
    special command.
    """
    try:
        conn.execute(ANY_ROW, (" " + expression,)).fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return str(error)
    return None
