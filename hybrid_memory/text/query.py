"""Queries in their parsed form: what to look for, and what kind of query it is. Pure.

Keyword search, weights, confidence and highlighting all take a `Query`, so that they agree on what
was asked.

Text in scripts without spaces is looked for by overlapping pairs or triples of characters, grams. At
the end of a run stand shorter ones, tokens of the kind TAIL, and a run that is shorter than a gram is
one token of the kind SHORT (text/analyzer.py).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import analyzer
from .analyzer import HUMP, SHORT, STOP_WORDS, TAIL, TOKEN, gram_run, symbolic, tokens
from .characters import QUOTES, fold, storable
from .dates import periods

if TYPE_CHECKING:
    from .dates import Period
    from .operators import Memory, Operators

# Characters of a query that are used, before and after folding: U+FDFA alone becomes 18 letters
MAX_QUERY = 2000
# Of all terms together, so that a search for a pasted page is as fast as for a long question
MAX_TOKENS = 96
MISSPELT = 2  # words of a query at most, some of which may be misspelt
MAX_FRAGMENTS = 16  # parts of a query that the substring search looks for
# Letters of a word that is being typed, for words that begin with it to be found
LEAST_BEGINNING = 3
LEAST_WORD = 3  # characters; what is shorter, and has a symbol, is also looked for letter by letter
NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})
NO_OPERATORS: "Operators" = {"filters": [], "without": [], "words": {}}

# The ending of "Gendolf's", at the end of a word and before punctuation
_POSSESSIVE = re.compile(r"(?<=[\w+#])['’ʼ]s(?=\W*\Z)", re.IGNORECASE)
_ALTERNATIVE = r'"[^"]*"|\S+'
OR = "OR"


class Term(NamedTuple):
    """A thing to look for: `tokens` side by side in this order. If `prefix`, words that start with
    the last token match too.
    """

    tokens: tuple[str, ...]
    prefix: bool = False


class Query:
    """A user's question, asked on the day `today`. If `fts_syntax`, the text is an expression in
    FTS5's own language, which the properties below read as any text. If `is_typed`, its last word is
    a beginning. If `is_literal`, operators are words. Else the `memory` that is searched decides what
    is an operator; without `may_leave_out_words`, no -word is one (text/operators.py).

    'what is "exact phrase" in src/a.ts?' has the terms exact+phrase, src+a+ts, src/a.ts, exact,
    phrase, src and ts, of which the last four are its words. A possessive ending is no part of a
    word: "Ann's port" has the words Ann and port, and no compound.
    """

    def __init__(
        self,
        text: str,
        *,
        fts_syntax: bool = False,
        today: "date | None" = None,
        is_typed: bool = False,
        is_literal: bool = False,
        substitutes: Mapping[str, Sequence[str]] = NOTHING,
        memory: "Memory | None" = None,
        may_leave_out_words: bool = True,
    ) -> None:
        self.text = storable(text).replace("\0", " ")
        self.asked: Mapping[str, Any] = {}  # fields of `Filters` that the text gives
        self.operators: Operators = NO_OPERATORS
        self.leaves_out_words = False  # a -word is among its operators
        self.fts_syntax = fts_syntax
        self.is_typed = is_typed
        self.substitutes = substitutes  # by a word, others that are looked for in its place
        self._today = today
        self._alternatives: list[list[str]] = []  # words and phrases, of which one is enough
        if not (fts_syntax or is_literal):
            if may_have_operators(self.text):
                self._take_operators(memory, may_leave_out_words=may_leave_out_words)
            self.text, self._alternatives = _without_or(self.text, has_filters=bool(self.asked))
        self._start = self.text[:MAX_QUERY]

    def _take_operators(self, memory: "Memory | None", *, may_leave_out_words: bool) -> None:
        from .operators import UnknownMemory, read  # which few queries need

        reading = read(
            self.text,
            self._today,
            memory or UnknownMemory(),
            may_leave_out_words=may_leave_out_words,
        )
        self.text = reading.text
        self.operators = reading.operators
        self.leaves_out_words = reading.leaves_out_words
        self.asked = reading.asked
        if "without" in reading.asked:
            without = [phrase(fold(text)) for text in reading.asked["without"]]
            self.asked = {**reading.asked, "without": without}

    def with_substitutes(self, substitutes: Mapping[str, Sequence[str]]) -> "Query":
        """Return the same query with other words in place of some."""
        query = object.__new__(Query)
        query.__dict__.update(self.__dict__)
        query.__dict__.pop("_terms", None)  # cached, and of the words before
        query.substitutes = substitutes
        return query

    @property
    def is_blank(self) -> bool:
        """Return whether there is nothing to look for."""
        return not self.text.strip()

    @property
    def terms(self) -> list[Term]:
        """Return everything to look for, without duplicates: first quoted phrases and compounds,
        then single words.

        A compound such as src/a.ts is there twice, as a phrase of its words and as one token. Stop
        words are left out unless the query has no other words; in that case the whole query is a
        phrase too.
        """
        return self.compounds + self.words

    @property
    def affordable_terms(self) -> list[Term]:
        """Return the shortest of the `terms`, which together have at most MAX_TOKENS tokens."""
        return _affordable(self.terms)

    @property
    def affordable_words(self) -> list[Term]:
        """Return the first MAX_TOKENS of the `words`."""
        return _affordable(self.words)

    @property
    def may_be_misspelt(self) -> bool:
        """Tell whether others are looked for in place of all its words, if no passage has any.

        A question of several words, none of which is in the memory, is about something else.
        """
        return self.is_typed or len(self.text.split()) <= MISSPELT

    @cached_property
    def exact_words(self) -> frozenset[str]:
        """Return the words in double quotes, in whose place no others are looked for."""
        quoted = [text for text, is_quoted in _quoted_pieces(self._folded) if is_quoted]
        return frozenset(token.text for text in quoted for token in tokens(text))

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """Return the words that are letters alone: not in quotes, no part of an identifier."""
        pieces = [text for text, is_quoted in _quoted_pieces(self._folded) if not is_quoted]
        tokens_by_piece = [tokens(_without_possessive(piece)) for piece in pieces]
        words = {own[0].text for own in tokens_by_piece if len(own) == 1}
        return frozenset(word for word in words if word.isalpha()) - self.exact_words

    @property
    def compounds(self) -> list[Term]:
        """Return the terms with several tokens, and those with symbols in them."""
        return self._terms[0]

    @cached_property
    def quoted_phrases(self) -> list[list[Term]]:
        """Return what stands in double quotes, as far as it has several words; each with those that
        OR says are as good.
        """
        groups = []
        alternatives: set[Term] = set()
        for texts in self._alternatives:
            group = [phrase(fold(text)) for text in texts if tokens(fold(text))]
            has_phrase = any(text.startswith('"') and len(text.split()) > 1 for text in texts)
            if has_phrase:
                groups.append(group)
            alternatives.update(group)
        for text, is_quoted in _quoted_pieces(self._folded):
            if is_quoted and tokens(text):
                term = phrase(text)
                if len(term.tokens) > 1 and term not in alternatives:
                    groups.append([term])
        return groups

    @property
    def words(self) -> list[Term]:
        """Return the terms that are a single word or gram."""
        return self._terms[1]

    @cached_property
    def _terms(self) -> tuple[list[Term], list[Term]]:
        """Return compounds and words. Phrases of days stand in place of words such as "yesterday" and
        "after 5 May", and beside a date that is written.
        """
        named = [period for period in self.periods if period.is_named or period.is_open]
        compounds, words = _parsed(_without_periods(self._folded, named))
        if self.periods and not any(_is_content_word(term.tokens[0]) for term in words):
            compounds, words = [], []  # nothing but days is asked for
        for period in self.periods:
            phrases = map(Term, period.phrases())
            compounds += [phrase for phrase in phrases if phrase not in words]
        if self.is_typed:
            compounds, words = self._with_a_beginning(compounds, words)
        if self.substitutes:
            words = [other for word in words for other in self._others(word)]
        return list(dict.fromkeys(compounds)), list(dict.fromkeys(words))

    def _with_a_beginning(
        self, compounds: list[Term], words: list[Term]
    ) -> tuple[list[Term], list[Term]]:
        """Let the last word also match longer words that begin with it. It stays a term of its own, so
        that what has exactly this word comes first.

        One of two letters begins too many words to be looked for before there is a third. In scripts
        without spaces, and after a space, nothing is a beginning.
        """
        text_tokens = tokens(self._folded)
        if not text_tokens:
            return compounds, words
        end = text_tokens[-1]
        if end.kind != analyzer.WORD or end.end < len(self._folded):
            return compounds, words
        last = Term((end.text,))
        if last not in words or not _is_content_word(last.tokens[0]):
            return compounds, words
        others = [word for word in words if word != last]
        if len(last.tokens[0]) < LEAST_BEGINNING:
            return compounds, others
        return [*compounds, last], [*others, last._replace(prefix=True)]

    def _others(self, word: Term) -> list[Term]:
        if word.tokens[0] in self.substitutes:
            return [Term((other,)) for other in self.substitutes[word.tokens[0]]]
        return [word]

    def stands_for(self, word: str) -> str:
        """Return the word of the query in whose place this one is looked for, or itself; of words with
        OR between them the first.
        """
        for own, others in self.substitutes.items():
            if word in others:
                word = own
                break
        return self._first_alternative.get(word, word)

    @cached_property
    def _first_alternative(self) -> dict[str, str]:
        """Return the first word of each group of alternatives, by each of its words."""
        first = {}
        for texts in self._alternatives:
            terms = [phrase(fold(text)) for text in texts if tokens(fold(text))]
            words = [term.tokens[0] for term in terms if len(term.tokens) == 1]
            first.update(dict.fromkeys(words, words[0] if words else ""))
        return first

    @cached_property
    def periods(self) -> "list[Period]":
        """Return the days that the query means; "yesterday" is the day before `today`, which is
        that of the clock if it is None.
        """
        return periods(self._folded.lower(), self._today or date.today())

    @cached_property
    def words_besides_days(self) -> list[str] | None:
        """Return the words of a query that means certain days, at most a month, but for those that name
        them; None if it means none.
        """
        if not self.periods or any(period.is_open or period.days > 31 for period in self.periods):
            return None
        _, terms = _parsed(_without_periods(self._folded, self.periods))
        words = [term.tokens[0] for term in terms]
        stop_words = _stop_words({word.lower() for word in words})
        return [word for word in words if word.lower() not in stop_words]

    @cached_property
    def _folded(self) -> str:
        return fold(self._start)[:MAX_QUERY]

    @cached_property
    def name(self) -> str:
        """Return the whole query as the token of a document's name, without a leading / or ./, or
        [[ ]]; "" if it cannot be a name.
        """
        return analyzer.name(self._written_name)

    def rank_as_name(self, doc_id: str) -> int:
        """Return 2 if the query is the end of a document's id, with or without its extension; 1 if
        it is in other capitals; else 0.
        """
        paths = (doc_id, analyzer.stem(doc_id))
        if any(f"/{path}".endswith(f"/{self._written_name}") for path in paths):
            return 2
        name = self.name.lower()
        for path in paths:
            parts = path.split("/")
            for number in range(len(parts)):
                if analyzer.name("/".join(parts[number:])).lower() == name:
                    return 1
        return 0

    @property
    def _written_name(self) -> str:
        written = self._start.strip().removeprefix("[[").removesuffix("]]")
        return written.removeprefix("./").lstrip("/")

    @cached_property
    def is_identifier(self) -> bool:
        """Return whether the whole query is one word that contains a digit, a symbol or an inner
        capital.

        'payment_processor', 'v2.0', 'getUserName' and '2222' are identifiers; 'gpu', 'follow-up'
        and 'RFC 9110' are not.
        """
        word = self._start.strip(" \t\n\"'`?!.,")
        if len(word.split()) != 1 or gram_run().search(word):
            return False
        if any(map(str.isdigit, word)) or HUMP.search(word):
            return True
        return bool(symbolic(fold(word).replace("'", "")))

    @cached_property
    def fragments(self) -> list[str]:
        """Return what is looked for letter by letter where no word is found: symbols, and runs of
        scripts without spaces. At most MAX_FRAGMENTS.

        'naïve 100% 東京x →' -> ['東京', '→']
        """
        fragments: dict[str, None] = {}
        for piece, is_word in _pieces(self._start):
            is_short = len(analyzer.searchable(piece)) < LEAST_WORD and not piece.isalnum()
            if is_short or not is_word:
                fragments[piece] = None
        return list(fragments)[:MAX_FRAGMENTS]


def may_have_operators(text: str) -> bool:
    """Return whether a query must be read for operators."""
    return ":" in text or " -" in text or text.startswith("-")


def without_operators(text: str, operators: "Operators") -> str:
    """Return a query without the operators that were found in it."""
    for operator in (*operators["filters"], *operators["without"]):
        text = text.translate(QUOTES).replace(operator, " ", 1)
    return text


def _without_or(text: str, *, has_filters: bool) -> tuple[str, list[list[str]]]:
    """Return the text without the OR between two words or phrases, and these, in groups.

    '"page cache" OR swap size' -> '"page cache" swap size', [["page cache", swap]]

    Beside filters, which all hold, an OR at an edge stood between two of them, and is no word.
    """
    if OR not in text:
        return text, []
    pieces = re.findall(_ALTERNATIVE, text.translate(QUOTES))
    if OR not in pieces:
        return text, []
    words: list[str] = []
    groups: list[list[str]] = []
    follows_or = False
    for number, piece in enumerate(pieces):
        following = pieces[number + 1 : number + 2]  # [] at the end
        if piece == OR and words and following and following != [OR]:
            if not (groups and groups[-1][-1] is words[-1]):  # "a OR b OR c" is one group
                groups.append([words[-1]])
            follows_or = True
        elif piece != OR or not (has_filters or follows_or):
            if follows_or:
                groups[-1].append(piece)
            words.append(piece)
            follows_or = False
    return " ".join(words), groups


def _without_periods(folded: str, periods: "Sequence[Period]") -> str:
    for period in reversed(periods):
        folded = f"{folded[: period.start]} {folded[period.end :]}"
    return folded


def phrase(folded: str) -> Term:
    """Return folded text as a term. The short grams at the end of a run are left out, because the
    run in the index may be longer.
    """
    of_phrase = tokens(folded)
    while of_phrase[-1].kind == TAIL:
        of_phrase.pop()
    return Term(tuple(token.text for token in of_phrase), of_phrase[-1].kind == SHORT)


def _affordable(terms: Iterable[Term]) -> list[Term]:
    chosen = []
    count = 0
    for term in sorted(terms, key=lambda term: len(term.tokens)):
        count += len(term.tokens)
        if count > MAX_TOKENS:
            break
        chosen.append(term)
    return chosen


def _parsed(folded: str) -> tuple[list[Term], list[Term]]:
    """Return the compounds and the words of a folded query."""
    compounds: dict[Term, None] = {}
    singles: dict[Term, None] = {}
    for piece, is_quoted in _quoted_pieces(folded):
        if not is_quoted:
            piece = _without_possessive(piece)
        of_piece = tokens(piece)
        for token in of_piece:
            if token.kind != TAIL:
                singles[Term((token.text,), token.kind == SHORT)] = None
        if is_quoted or any(_is_content_word(token.text) for token in of_piece):
            parts = of_piece if is_quoted else TOKEN.findall(piece)
            if len(parts) > 1:
                compounds[phrase(piece)] = None
            for identifier in symbolic(piece):
                compounds[Term((identifier,))] = None
    stop_words = _stop_words({term.tokens[0].lower() for term in singles})
    content_words = [term for term in singles if term.tokens[0].lower() not in stop_words]
    if not content_words and len(singles) > 1:
        compounds[phrase(folded)] = None
    words = [term for term in content_words or singles if term not in compounds]
    return list(compounds), words


def _stop_words(words: set[str]) -> frozenset[str]:
    """Return the words that do not count: those of English, and of other languages where a query has
    several of them and more than of English alone.
    """
    others = analyzer.OTHER_STOP_WORDS
    if len(words & others) > max(1, len(words & STOP_WORDS - others)):
        return STOP_WORDS | others
    return STOP_WORDS


def _is_content_word(token: str) -> bool:
    return token.lower() not in STOP_WORDS


def _without_possessive(word: str) -> str:
    """Return "Gendolf" for "Gendolf's"; what is made of stop words stays, as "what's" does."""
    owner = _POSSESSIVE.sub("", word)
    return owner if any(map(_is_content_word, TOKEN.findall(owner))) else word


def _quoted_pieces(query: str) -> list[tuple[str, bool]]:
    """Return (text in double quotes, True) and (word outside quotes, False). A quotation mark
    without a partner is ignored.
    """
    parts = query.translate(QUOTES).split('"')
    pieces = []
    for number, part in enumerate(parts):
        if number % 2 and number < len(parts) - 1:
            pieces.append((part, True))
        else:
            pieces += [(word, False) for word in part.split()]
    return pieces


def _pieces(text: str) -> list[tuple[str, bool]]:
    """Return the text cut at white space and where the script changes, each piece with True if it
    is a word.

    Runs of scripts without spaces are not words, and bare symbols are not words either.

    '用Docker部署 →' -> ('用', False), ('Docker', True), ('部署', False), ('→', False)
    """
    pieces = []
    for word in map(_without_possessive, text.split()):
        parts = [word]
        if not word.isascii():
            parts = list(filter(None, gram_run().split(word)))
        for part in parts:
            is_word = bool(TOKEN.search(part)) and not gram_run().match(part)
            pieces.append((part, is_word))
    return pieces
