"""Text as FTS5 shall see it, and a query as the terms to look for. Pure; the same folding for both sides.

FTS5's `porter unicode61` lower-cases, strips most Latin diacritics and stems English. It leaves three gaps, closed here before
it sees the text:

- Marks. It cuts words at combining marks it does not know (Arabic, Hindi, Thai) and keeps some it should fold (Greek tonos,
  đ, ı). Marks that only modify a letter are dropped; vowel signs that *are* the word become private-use letters.
- Scripts without spaces. A run of Chinese, Japanese or Korean becomes overlapping pairs of characters, one of Thai, Lao,
  Khmer or Burmese triples, with shorter ones at its end so that any substring of a run is a prefix of some gram.
- Symbols. `C++`, `HEAD~3` and `bob@example.com` are a token of their own besides their parts, the symbols in it letters of the
  private use area; `getUserName` is also `get User Name`. So is a document's name one token, for the query that is that name.

Results show the original text: nothing that leaves this module is meant for eyes.
"""

import re
import unicodedata
from functools import cache
from typing import NamedTuple

_MARKS_BASE, _MARKS_END, _PRIVATE = 0x0900, 0x2200, 0xE000  # Devanagari .. Arrows, as wide as the private-use area
_JOINED = "\u0e00-\u0eff\ue500-\ue5ff\u1000-\u109f\ue700-\ue79f\u1780-\u17ff\uee80-\ueeff"  # with their private marks
_PAIRED = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
_TOKEN = re.compile(r"(?:[^\W_]|[\ue000-\uf8ff])+")
_ASCII_BREAKS = {code: " " for code in range(0x80) if not chr(code).isalnum()}
_SEPARATORS = dict.fromkeys(map(ord, '[](){}<>"“”„«»`|,;'), " ")  # of pieces, besides white space: what markdown puts around them
_LEADING, _TRAILING = "*_':!?", "*_':!?."  # a sentence's, not an identifier's
_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SYMBOLS = {code: chr(0xF800 + code) for code in range(0x21, 0x7F) if not chr(code).isalnum()}  # no mark comes there: see fold
LONGEST_IDENTIFIER = 80  # characters
LONGEST_NAME = 240  # characters of a path
MAX_QUERY = 2000  # characters of a query that are looked at: a pasted page costs no more than a paragraph
_SPACER, _NAME_END = "\uf8fe", "\uf8ff"  # neither is a symbol's; a token that ends in such a letter is not stemmed
_NAME = _SYMBOLS | dict.fromkeys(map(ord, " -_"), _SPACER)
_EXTENSION = r"(?<=[^/])\.[A-Za-z]\w{0,7}\Z"
_NO_TOKEN = re.compile(r"(?:[^\w\ue000-\uf8ff]|_)+")
_FTS5_TEXT = r'("(?:[^"]|"")*"|[\w\x1a\x80-\U0010ffff]+)(\s*\*)?'
_QUOTE = re.compile('["“”„«»]')
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HUMP = re.compile("[a-z0-9][A-Z]")
_CAMEL_WORD = re.compile(r"\b[A-Za-z]\w*?[a-z0-9][A-Z]\w*")

_LETTERS = str.maketrans({
    "đ": "d", "Đ": "d", "ð": "d", "Ð": "d", "ł": "l", "Ł": "l", "ø": "o", "Ø": "o", "ħ": "h", "Ħ": "h", "ı": "i",
    "’": "'", "‐": "-", "‑": "-", "ß": "ss", "ẞ": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "þ": "th", "Þ": "th",
    "ς": "σ",
    # Arabic as in Larkey, Ballesteros and Connell, "Improving stemming for Arabic information retrieval" (SIGIR 2002).
    "ى": "ي", "ة": "ه", "ـ": "", "ک": "ك", "ی": "ي",
    # Invisible: soft hyphen, joiners, byte order mark, marks of direction; a zero-width space ends a word.
    "\u00ad": "", "\u200b": " ", **dict.fromkeys("\u200c\u200d\u2060\ufeff\u200e\u200f\u061c", ""),
    **dict.fromkeys("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ""),
})  # fmt: skip
_KEPT_MARKS = frozenset("\u3099\u309a")  # kana voicing: か and が are two letters

STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being between both but by can could d did do
    does doing done during each either else ever every few for from further get gets give given go goes had has have
    having he her here hers him his how however i if in into is it its itself just let ll m may me might mine more most
    much must my myself no nor not of off on once one only onto or other our ours out over own per please re s same shall
    she should show so some such t tell than that the their theirs them then there these they this those through to too
    under until up upon us use used uses using ve very via want wants was we were what whatever when where whether which
    while who whom whose why will with within without would you your yours""".split()
)


@cache
def _gram_run() -> re.Pattern[str]:
    """A run of characters of which two, or three, make a gram. Most texts never need it, and it takes long to compile."""
    return re.compile(f"([{_PAIRED}]+)|([{_JOINED}]+)")


WORD = "word"
GRAM = "gram"  # of a run
TAIL = "tail"  # shorter, at a run's end
SHORT = "short"  # the whole of a run that is shorter than a gram


class Token(NamedTuple):
    """folded[start:end], which is `text`."""

    start: int
    end: int
    text: str
    kind: str


class Term(NamedTuple):
    """Something to look for: `tokens` in this order, side by side. `prefix`: the only token may go on."""

    tokens: tuple[str, ...]
    prefix: bool = False


def fold(text: str) -> str:
    """Without the differences that do not tell words apart: compatibility forms, diacritics, invisible characters."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text).translate(_LETTERS)
    if _has_marks(text):
        text = "".join(map(_folded_mark, text))
    return unicodedata.normalize("NFC", text)


def _is_mark(c: str) -> bool:
    # FTS5 took its categories from Unicode 6.1, where the New Tai Lue vowels and two Vedic signs were marks.
    return unicodedata.category(c)[0] == "M" or "\u19b0" <= c <= "\u19c9" or "\u1cf2" <= c <= "\u1cf3"


def _has_marks(text: str) -> bool:
    return any(_is_mark(c) for c in text if c >= "\u0300")


def _folded_mark(c: str) -> str:
    if c < "\u0300" or c in _KEPT_MARKS or not _is_mark(c):
        return c
    code = ord(c)
    if not _MARKS_BASE <= code < _MARKS_END or unicodedata.combining(c) == 7:  # 7: nukta
        return ""
    return chr(_PRIVATE + code - _MARKS_BASE)


def searchable(text: str) -> str:
    """Text as it is written to FTS5: folded tokens, one space between.

    'Réglage: 東京都' -> 'Reglage 東京 京都 都'
    """
    folded = fold(text)
    if folded.isascii():
        return " ".join(folded.translate(_ASCII_BREAKS).split())  # a third of the time that a regular expression takes
    return " ".join(token.text for token in tokens(folded))


def identifiers(text: str) -> str:
    """What else an identifier is found by: as it stands, in one token, and by the words inside its camelCase.

    'call getUserName() of a/b.c' -> 'get User Name a\\uf82fb\\uf82ec'
    """
    camel_words = _CAMEL_WORD.findall(text) if _HUMP.search(text) else []
    words = [part for word in camel_words for part in _CAMEL.findall(word)]
    return " ".join([*words, *symbolic(fold(text))])


def symbolic(folded: str) -> list[str]:
    """The pieces of folded text that symbols are part of, each as one token; not words joined by hyphens, as any may be."""
    found = []
    for piece in folded.translate(_SEPARATORS).split():
        if piece.isalnum():
            continue
        piece = piece.rstrip(_TRAILING).lstrip(_LEADING)
        if piece.isalnum() or len(piece) > LONGEST_IDENTIFIER or _HYPHENED.fullmatch(piece) or not _TOKEN.search(piece):
            continue
        token = piece.translate(_SYMBOLS)
        if token != piece and _TOKEN.fullmatch(token):
            found.append(token)
    return found


def is_identifier(query: str) -> bool:
    """Is the whole query one word with a digit, a symbol or a capital inside, as names of things have?

    'payment_processor', 'v2.0', 'getUserName' and '2222' are; 'gpu', 'follow-up', 'what's' and 'RFC 9110' are not.
    """
    word = query.strip(" \t\n\"'`?!.,")
    if len(word.split()) != 1 or _gram_run().search(word):
        return False
    return any(map(str.isdigit, word)) or _HUMP.search(word) is not None or bool(symbolic(fold(word).replace("'", "")))


def name(path: str) -> str:
    """A path, file name or stem as one token of its own kind; spaces, hyphens and underscores are the same in it.

    'notes/Getting-started.md' -> 'notes\uf82fGetting\uf8festarted\uf82emd\uf8ff'
    """
    folded = fold(path).strip(" \t\n\"'`")
    if len(folded) > LONGEST_NAME or not _TOKEN.search(folded):
        return ""
    return _NO_TOKEN.sub(_SPACER, folded.translate(_NAME)) + _NAME_END


def names(*paths: str) -> list[str]:
    """By what a document is called, tokens as `name` gives: its paths, its file name, and that without its extension."""
    file_name = paths[-1].rpartition("/")[2]
    return [token for token in dict.fromkeys(map(name, (*paths, file_name, stem(file_name)))) if token]


def stem(path: str) -> str:
    """'a/b.md' -> 'a/b', '.profile' -> '.profile', 'phase 7.2' -> 'phase 7.2'"""
    return re.sub(_EXTENSION, "", path)


def pieces(text: str) -> list[tuple[str, bool]]:
    """What white space or a change of script separates; False with a run of a script without spaces, and with mere symbols.

    '用Docker部署 →' -> ('用', False), ('Docker', True), ('部署', False), ('→', False)
    """
    found = []
    for word in text.split():
        parts = [word] if word.isascii() else filter(None, _gram_run().split(word))
        found += [(part, bool(_TOKEN.search(part)) and not _gram_run().match(part)) for part in parts]
    return found


def fts5_expression(text: str) -> str:
    """An expression in FTS5's own syntax, its strings and words folded and cut as the indexed text is.

    What is ASCII stays as it is, so operators and column names do, and numbers of NEAR.

    'heading: "Lỗi 東京" NOT café*' -> 'heading: "Loi 東京" NOT "cafe" *'
    """
    return re.sub(_FTS5_TEXT, _fts5_string, text)


def _fts5_string(match: re.Match[str]) -> str:
    text, star = match[1], match[2]
    if text.isascii():
        return match[0]
    if text.startswith('"'):
        text = text[1:-1].replace('""', '"')
    if not tokens(folded := fold(text)):
        return '""'
    phrase = _phrase(folded)
    return f'"{" ".join(phrase.tokens)}"{" *" if star or phrase.prefix else ""}'


def terms(query: str) -> list[Term]:
    """What to look for, most specific first, each once: quoted phrases, compounds as phrases and as they stand, all their parts.

    Stop words are left out unless nothing else is left; then the whole query is a phrase, too.

    'what is "exact phrase" in src/a.ts?' -> exact+phrase, src+a+ts, src/a.ts, exact, phrase, src, ts
    """
    compounds, words = _parsed(query)
    return [*compounds, *words]


def words(query: str) -> list[Term]:
    """Of its `terms` those that are one word, or one gram."""
    return _parsed(query)[1]


def _parsed(query: str) -> tuple[list[Term], list[Term]]:
    folded = fold(query[:MAX_QUERY])
    compounds: dict[Term, None] = {}
    singles: dict[Term, None] = {}
    for piece, quoted in _quoted_pieces(folded):
        found = tokens(piece)
        singles.update((Term((token.text,), token.kind == SHORT), None) for token in found if token.kind != TAIL)
        if quoted or any(_is_telling(token.text) for token in found):
            if len(found if quoted else _TOKEN.findall(piece)) > 1:
                compounds[_phrase(piece)] = None
            compounds.update((Term((token,)), None) for token in symbolic(piece))
    telling = [term for term in singles if _is_telling(term.tokens[0])]
    if not telling and len(singles) > 1:
        compounds[_phrase(folded)] = None
    return list(compounds), [term for term in telling or singles if term not in compounds]


def _is_telling(token: str) -> bool:
    return token.lower() not in STOP_WORDS


def _quoted_pieces(query: str) -> list[tuple[str, bool]]:
    """(text in double quotes, True), and what white space separates outside of them; a quote that is never closed is none."""
    parts = _QUOTE.split(query)
    quoted = range(1, len(parts) - 1, 2)
    return [(p, i in quoted) for i, part in enumerate(parts) for p in ([part] if i in quoted else part.split())]


def _phrase(piece: str) -> Term:
    """Folded text as the index holds it, less the short grams of a run at its end: there the indexed run may go on."""
    found = tokens(piece)
    while found[-1].kind == TAIL:
        found.pop()
    return Term(tuple(token.text for token in found), found[-1].kind == SHORT)


def tokens(folded: str) -> list[Token]:
    """The tokens of folded text, as FTS5 will count them."""
    if folded.isascii():
        return [Token(*match.span(), match[0], WORD) for match in _TOKEN.finditer(folded)]
    found = []
    for match in _TOKEN.finditer(folded):
        position = match.start()
        for run in _gram_run().finditer(folded, *match.span()):
            if run.start() > position:
                found.append(Token(position, run.start(), folded[position : run.start()], WORD))
            n = 2 if run[1] else 3
            for start in range(*run.span()):
                end = min(start + n, run.end())
                kind = GRAM if end - start == n else SHORT if start == run.start() else TAIL
                found.append(Token(start, end, folded[start:end], kind))
            position = run.end()
        if position < match.end():
            found.append(Token(position, match.end(), folded[position : match.end()], WORD))
    return found
