"""What keyword search has in common in both engines: BM25, stems, expressions and words that are meant.

BM25 is as FTS5 computes it, with the weights of our columns. Stems are made by FTS5's own porter
tokenizer, in a database in memory. Expressions in FTS5's syntax are made from a query's terms, or written
by the user (`--fts-syntax`), checked and folded. For a word that no chunk has, `terms_meant` gives those
terms of the index that begin with it, contain it or are spelt nearly like it.
"""

import re
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from math import log

from ..errors import QueryError
from ..text.analyzer import stemmed, tokens
from ..text.characters import fold
from ..text.query import Query, Term, phrase

HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT = 2.0, 1.0, 0.25
# A term adds less than its idf x (K1 + 1), however often it occurs and whatever the weights
K1 = 1.2
B = 0.75  # how much the length of a chunk counts
# Times the logarithm of the number of chunks: with more BM25, it is no chance that a chunk has
# these words
CHANCE = 2


def idf(count: int, size: int) -> float:
    """Return the inverse document frequency of FTS5's bm25, for a word that so many of all chunks
    have.
    """
    return max(log((size - count + 0.5) / (count + 0.5)), 1e-6)


def full_score(counts: Collection[int], size: int) -> float:
    """Return the BM25 of a hit that says all that the words of a query can say: that of all words,
    or what none has by chance, if that is less.

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
    """Return an expression for what matches any of these."""
    return f"({' OR '.join(expressions)})"


def checked_expression(conn: sqlite3.Connection, text: str) -> str:
    """Return the expression for MATCH, "" for a blank one. Raises QueryError with the place of what
    FTS5 does not understand.
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
    """Return the expression with its strings and words folded and cut into tokens as the indexed
    text is.

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


LEAST = 3  # letters of a word for which others are looked for
LEAST_MISSPELT = 4
LEAST_BESIDE = 5  # letters of a word that is misspelt beside known ones
LONG = 8  # letters from which on two errors are allowed; below, one
LEAST_INSIDE = 6  # letters of a word of a dictionary that is looked for inside others
LONG_BESIDE = 9  # the same beside known words, where a word is more often only new
MANY_WORDS = 1024
LONGEST_TERM = 40
ALTERNATIVES = 5  # terms that a word may stand for
CORRECTIONS = 3
# A vocabulary has stems, a query words: what may follow a stem
ENDINGS = ("", "s", "es", "e", "y", "ed", "ing", "er", "ers", "ion", "ions", "ation", "ly", "ment")
LONGEST_ENDING = 5


Vocabulary = Callable[[str, str], str]
Choice = Callable[[str, str, Vocabulary], list[str]]  # of terms, for a word and its stem


def range_of_terms(word: str) -> tuple[str, str]:
    """Return the first term, and the first one behind the last, of those in the alphabet of a word."""
    if word.isascii():
        return "0", "{"
    block = ord(word[0]) & ~0xFF
    return chr(block), chr(block + 0x100)


def terms_meant(word: str, stem: str, vocabulary: Vocabulary, *, is_new: bool) -> list[str]:
    """Return the terms that a word stands for which finds nothing, the likeliest first.

    They are those that begin with it; else, if it `is_new` to the index, those with the same first
    letter from which it differs by one letter, or by two if it is long; else those that contain it;
    else those that differ in the first letter, too. A word that a dictionary has is not misspelt, and
    only a long one is looked for inside others. `vocabulary` gives the terms from one to another:
    each on a line with the number of its chunks, with a line break before and after.
    """
    if len(word) < LEAST:
        return []
    of_letter = vocabulary(word[0], chr(ord(word[0]) + 1))
    beginning = dict(_having(f"\n{word}", of_letter))
    if not beginning and len(stem) >= LEAST:
        beginning = dict(_having(f"\n{stem}", of_letter))
    if beginning:
        return _commonest(beginning)
    is_known = _is_in_a_dictionary(word)
    may_be_misspelt = is_new and len(word) >= LEAST_MISSPELT and word.isalpha() and not is_known
    alike = _nearly_alike(word, stem, of_letter, _most(word)) if may_be_misspelt else []
    if alike:
        return alike
    if is_known and len(word) < LEAST_INSIDE:
        return []  # "river" is in "driver" by chance
    whole = vocabulary(*range_of_terms(word))
    containing = dict(_having(word, whole))
    for root in _roots(word):
        containing |= dict(_having(f"{root} ", whole))
    if containing:
        return _commonest(containing)
    return _nearly_alike(word, stem, whole, _most(word)) if may_be_misspelt else []


def terms_spelt_nearly(word: str, stem: str, vocabulary: Vocabulary) -> list[str]:
    """Return the terms of which a word is a misspelling that no chunk has, though chunks have others of
    its query: those with the same first letter from which it differs by one letter, or by two if it is
    long. `vocabulary` is as for `terms_meant`.

    Most words that the notes do not have are not misspelt. So none is that a dictionary has.
    """
    if len(word) < LEAST_BESIDE or _is_in_a_dictionary(word):
        return []
    of_letter = vocabulary(word[0], chr(ord(word[0]) + 1))
    return _nearly_alike(word, stem, of_letter, 2 if len(word) >= LONG_BESIDE else 1)


@lru_cache(MANY_WORDS)
def _is_in_a_dictionary(word: str) -> bool:
    """Return whether a built-in model has a word: one for English, one for thirty other languages."""
    from ..embedding.builtin import BuiltinEmbedder
    from ..embedding.multilingual import MultilingualEmbedder

    return BuiltinEmbedder().has_word(word) or MultilingualEmbedder().has_word(word)


def _commonest(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda term: (-counts[term], term))[:ALTERNATIVES]


def mended(
    query: Query, new: Sequence[Term], meant: Callable[[str, Choice], list[str]], *, is_found: bool
) -> Query:
    """Return the query with other words of the index in place of some, where there are any.

    `new` are its words that no chunk has; `is_found` if chunks match others. `meant` gives the words
    for one by a choice of terms. Words in double quotes stay as they are.
    """
    substitutes = dict(query.substitutes)
    words = query.affordable_words
    is_part = not query.is_typed and (is_found or not query.may_be_misspelt)
    if is_part and len(new) == len(words):
        return query  # it is about something else
    for word in new if is_part or query.is_typed else words:
        written = word.tokens[0]
        choice: Choice = partial(terms_meant, is_new=word in new)
        if is_part:
            choice = terms_spelt_nearly
        is_fixed = written in query.exact_words or (is_part and written not in query.plain_words)
        others = [] if is_fixed else meant(written.lower(), choice)
        if others:
            substitutes[written] = others
    return query.with_substitutes(substitutes)


def word_of_stem(stem: str, text: str) -> str:
    """Return the first word of a chunk's terms that has a stem, 'kubernetes' for 'kubernet'; the stem
    itself if there is none.
    """
    words = [word for word in dict.fromkeys(text.lower().split()) if word[:2] == stem[:2]]
    stem_of = stems(words)
    return next((word for word in words if stem_of.get(word) == stem), stem)


def parts_of_others(word: str, stem: str) -> list[str]:
    """Return texts of which each term has one that `terms_meant` may give for a word."""
    swapped = [_swapped(word, at) for at in range(len(word) - 1)]
    pieces = [word[start:end] for start, end in _pieces(word, _most(word))]
    return [word, stem, *_roots(word), *pieces, *swapped]


def _roots(word: str) -> list[str]:
    """Return what is left of a word without each ending that it has: 'hunter' -> 'hunt'."""
    endings = [ending for ending in ENDINGS if ending and word.endswith(ending)]
    roots = [word.removesuffix(ending) for ending in endings]
    return [root for root in roots if len(root) >= LEAST_MISSPELT]


def _pieces(word: str, most: int) -> Iterable[tuple[int, int]]:
    """Return the starts and ends of the pieces of a word, one more than the errors that are allowed."""
    count = most + 1
    return pairwise(len(word) * number // count for number in range(count + 1))


def _most(word: str) -> int:
    return 2 if len(word) >= LONG else 1


def _swapped(word: str, at: int) -> str:
    return f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"


def _nearly_alike(word: str, stem: str, vocabulary: str, most: int) -> list[str]:
    """Return the terms with the fewest differences, of equal ones the commonest.

    Of a word in three pieces, two errors leave one as it is; so only terms that share a piece, at
    nearly the same place, are compared.
    """
    candidates: dict[str, int] = {}
    for start, end in _pieces(word, most):
        piece = word[start:end]
        for term, count in _having(piece, vocabulary):
            is_near = -most <= term.find(piece) - start <= most
            if is_near and -most <= len(word) - len(term) <= most + LONGEST_ENDING:
                candidates[term] = count
    for at in range(len(word) - 1):
        candidates.update(_having(f"\n{_swapped(word, at)} ", vocabulary))
    ranks = {}
    own_letters = dict.fromkeys(map(ord, word + stem))
    for term, count in candidates.items():
        if len(term.translate(own_letters)) > most:  # so many letters are in neither
            continue
        errors = min(differences(word, term, ENDINGS, most), differences(stem, term, ("",), most))
        if errors <= most and len(term) >= LEAST:
            ranks[term] = (errors, -count, term)
    best = sorted(ranks, key=ranks.__getitem__)[:CORRECTIONS]
    return [term for term in best if ranks[term][0] == ranks[best[0]][0]]


def _having(piece: str, vocabulary: str) -> list[tuple[str, int]]:
    """Return the terms of a vocabulary that contain a text, with the number of their chunks."""
    lines = []
    at = vocabulary.find(piece)
    while at >= 0:
        start = vocabulary.rfind("\n", 0, at + 1) + 1
        end = vocabulary.find("\n", start)
        term, _, count = vocabulary[start:end].partition(" ")
        lines.append((term, int(count)))
        at = vocabulary.find(piece, end)
    return lines


def differences(word: str, term: str, endings: Iterable[str], most: int) -> int:
    """Return by how many letters a word differs from a term with one of these endings: inserted, left
    out, replaced, or exchanged with the next one; more than `most` if with each there are more.

    'sailign', 'sail' -> 1, from 'sailing'
    """
    first = list(range(len(word) + 1))
    before, last = _rows("", term, word, first, first)
    fewest = most + 1
    for ending in endings:
        if abs(len(term) + len(ending) - len(word)) <= most:
            _, whole = _rows(term, ending, word, before, last)
            fewest = min(fewest, whole[-1])
    return fewest


def _rows(
    written: str, rest: str, word: str, before: list[int], last: list[int]
) -> tuple[list[int], list[int]]:
    """Return the last two rows of the table of differences, gone on with by the rest of a term."""
    previous = written[-1:]
    for letter in rest:
        row = [last[0] + 1]
        for at, other in enumerate(word, 1):
            cost = min(last[at] + 1, row[at - 1] + 1, last[at - 1] + (letter != other))
            if at > 1 and previous == other and letter == word[at - 2]:
                cost = min(cost, before[at - 2] + 1)
            row.append(cost)
        before, last, previous = last, row, letter
    return before, last
