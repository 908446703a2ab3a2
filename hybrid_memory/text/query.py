"""The parsed form of a query: what to look for, and what kind of query it is. Pure.

Keyword search, weights, confidence and highlighting all take a `Query`, so that they agree on what
was asked.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from . import analyzer
from .analyzer import HUMP, SHORT, STOP_WORDS, TAIL, TOKEN, gram_run, symbolic, tokens
from .characters import fold, storable

if TYPE_CHECKING:
    from datetime import date

    from .dates import Period

# Characters of a query that are used, before and after folding: U+FDFA alone becomes 18 letters
MAX_QUERY = 2000
# In all terms of a query together, so that a search for a pasted page is as fast as for a long
# question
MAX_TOKENS = 96
MAX_FRAGMENTS = 16  # parts of a query that the substring search looks for

_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))


class Term(NamedTuple):
    """Something to look for: `tokens` side by side in this order. If `prefix`, words that start
    with the last token match too.
    """

    tokens: tuple[str, ...]
    prefix: bool = False


class Query:
    """What a user asked, `today`. If `fts_syntax`, the text is an expression in FTS5's own
    language; all properties ignore that.

    'what is "exact phrase" in src/a.ts?' has the terms exact+phrase, src+a+ts, src/a.ts, exact,
    phrase, src and ts, of which the last four are its words.
    """

    def __init__(self, text: str, *, fts_syntax: bool = False, today: "date | None" = None) -> None:
        self.text = storable(text).replace("\0", " ")
        self.fts_syntax, self._today = fts_syntax, today
        self._start = self.text[:MAX_QUERY]

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.text.strip()

    @property
    def terms(self) -> list[Term]:
        """Everything to look for, without duplicates: first quoted phrases and compounds, then
        single words.

        A compound such as src/a.ts is there twice, as a phrase of its words and as one token. Stop
        words are left out unless the query has no other words; in that case the whole query is a
        phrase too.
        """
        return self.compounds + self.words

    @property
    def affordable_terms(self) -> list[Term]:
        """The shortest of the `terms`, which together have at most MAX_TOKENS tokens."""
        return _affordable(self.terms)

    @property
    def affordable_words(self) -> list[Term]:
        """The first MAX_TOKENS of the `words`."""
        return _affordable(self.words)

    @property
    def compounds(self) -> list[Term]:
        """The terms with several tokens, and those with symbols in them."""
        return self._terms[0]

    @cached_property
    def quoted_phrases(self) -> list[Term]:
        """What stands in double quotes, as far as it has several words."""
        terms = [
            phrase(text)
            for text, is_quoted in _quoted_pieces(self._folded)
            if is_quoted and tokens(text)
        ]
        return [term for term in terms if len(term.tokens) > 1]

    @property
    def words(self) -> list[Term]:
        """The terms that are a single word or gram."""
        return self._terms[1]

    @cached_property
    def _terms(self) -> tuple[list[Term], list[Term]]:
        """In place of words such as "yesterday", and beside a date that is written, stand the
        phrases of its days.
        """
        text = self._folded
        for period in reversed(self.periods):
            if period.is_named:
                text = f"{text[: period.start]} {text[period.end :]}"
        compounds, words = _parsed(text)
        if self.periods and not any(_is_telling(term.tokens[0]) for term in words):
            compounds, words = [], []  # nothing but days is asked for
        phrases = (Term(tokens) for period in self.periods for tokens in period.phrases())
        return list(
            dict.fromkeys([*compounds, *(term for term in phrases if term not in words)])
        ), words

    @cached_property
    def periods(self) -> "list[Period]":
        """The days that the query means; "yesterday" is the day before `today`, which is that of
        the clock if it is None.
        """
        from datetime import date

        from .dates import periods

        return periods(self._folded.lower(), self._today or date.today())

    @cached_property
    def _folded(self) -> str:
        return fold(self._start)[:MAX_QUERY]

    @cached_property
    def name(self) -> str:
        """The whole query as the token of a document's name, without a leading / or ./, or [[ ]];
        "" if it cannot be a name.
        """
        return analyzer.name(self._written_name)

    def names(self, doc_id: str) -> int:
        """2 if the query is the end of a document's id, with or without its extension; 1 if it is
        in other capitals; else 0.
        """
        paths = doc_id, analyzer.stem(doc_id)
        if any(f"/{path}".endswith(f"/{self._written_name}") for path in paths):
            return 2
        ends = (
            "/".join(parts[at:])
            for parts in (path.split("/") for path in paths)
            for at in range(len(parts))
        )
        return int(self.name.lower() in (analyzer.name(end).lower() for end in ends))

    @property
    def _written_name(self) -> str:
        return (
            self._start.strip().removeprefix("[[").removesuffix("]]").removeprefix("./").lstrip("/")
        )

    @cached_property
    def is_identifier(self) -> bool:
        """Whether the whole query is one word that contains a digit, a symbol or an inner capital.

        'payment_processor', 'v2.0', 'getUserName' and '2222' are identifiers; 'gpu', 'follow-up'
        and 'RFC 9110' are not.
        """
        word = self._start.strip(" \t\n\"'`?!.,")
        if len(word.split()) != 1 or gram_run().search(word):
            return False
        return (
            any(map(str.isdigit, word))
            or HUMP.search(word) is not None
            or bool(symbolic(fold(word).replace("'", "")))
        )

    @cached_property
    def fragments(self) -> tuple[list[str], list[str]]:
        """What a substring search looks for: words, in the folded text, and everything else, in the
        original text.

        There are at most MAX_FRAGMENTS. Words of fewer than three letters are left out.

        'naïve 100% 東京 →' -> ['naive', '100'], ['東京', '→']
        """
        folded: dict[str, None] = {}
        original: dict[str, None] = {}
        pieces = _pieces(self._start)
        telling = [piece for piece in pieces if _is_telling(piece[0])]
        for piece, has_words in telling or pieces:
            word = analyzer.searchable(piece)[:MAX_QUERY] if has_words else ""
            if len(word) >= 3:
                folded[word] = None
            elif not piece.isalnum() or not has_words:
                original[piece] = None
        kept = [*folded, *original][:MAX_FRAGMENTS]
        return [piece for piece in kept if piece in folded], [
            piece for piece in kept if piece not in folded
        ]


def phrase(folded: str) -> Term:
    """Folded text as a term. The short grams at the end of a run are left out, because the run in
    the index may be longer.
    """
    found = tokens(folded)
    while found[-1].kind == TAIL:
        found.pop()
    return Term(tuple(token.text for token in found), found[-1].kind == SHORT)


def _affordable(wanted: Iterable[Term]) -> list[Term]:
    chosen, left = [], MAX_TOKENS
    for term in sorted(wanted, key=lambda term: len(term.tokens)):
        left -= len(term.tokens)
        if left < 0:
            break
        chosen.append(term)
    return chosen


def _parsed(folded: str) -> tuple[list[Term], list[Term]]:
    """The compounds and the words of a folded query."""
    compounds: dict[Term, None] = {}
    singles: dict[Term, None] = {}
    for piece, quoted in _quoted_pieces(folded):
        found = tokens(piece)
        singles.update(
            (Term((token.text,), token.kind == SHORT), None)
            for token in found
            if token.kind != TAIL
        )
        if quoted or any(_is_telling(token.text) for token in found):
            if len(found if quoted else TOKEN.findall(piece)) > 1:
                compounds[phrase(piece)] = None
            compounds.update((Term((token,)), None) for token in symbolic(piece))
    telling = [term for term in singles if _is_telling(term.tokens[0])]
    if not telling and len(singles) > 1:
        compounds[phrase(folded)] = None
    return list(compounds), [term for term in telling or singles if term not in compounds]


def _is_telling(token: str) -> bool:
    return token.lower() not in STOP_WORDS


def _quoted_pieces(query: str) -> list[tuple[str, bool]]:
    """(text in double quotes, True) and (word outside quotes, False). A quotation mark without a
    partner is ignored.
    """
    parts = query.translate(_QUOTES).split('"')
    quoted = range(1, len(parts) - 1, 2)
    return [
        (p, i in quoted)
        for i, part in enumerate(parts)
        for p in ([part] if i in quoted else part.split())
    ]


def _pieces(text: str) -> list[tuple[str, bool]]:
    """The text cut at white space and where the script changes, each piece with True if it is a
    word.

    Runs of scripts without spaces are not words, and bare symbols are not words either.

    '用Docker部署 →' -> ('用', False), ('Docker', True), ('部署', False), ('→', False)
    """
    found = []
    for word in text.split():
        parts = [word] if word.isascii() else filter(None, gram_run().split(word))
        found += [(part, bool(TOKEN.search(part)) and not gram_run().match(part)) for part in parts]
    return found
