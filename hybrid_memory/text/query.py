"""Parsed queries: what to search for, and what kind of query it is. Pure.

Keyword search, weights, confidence and highlighting all use a `Query`, so that they agree on its
meaning.

Text in scripts without spaces is searched by overlapping pairs or triples of characters, called
grams. A run ends with shorter ones, tokens of the kind TAIL, and a run shorter than a gram is one
token of the kind SHORT (text/analyzer.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from . import analyzer
from .analyzer import (
    HUMP,
    SHORT,
    TAIL,
    has_token,
    symbolic,
    tokens,
    whole_tokens,
)
from .characters import QUOTES, fold, is_folded_mark, pattern, storable
from .equality import Form, other_forms
from .languages import function_words
from .operators import Operators, read
from .order import TextSpan, order_in
from .periods import Period, periods, unread_time
from .scripts import GRAM_RUN, has_gram_run

# Characters used of a query, before and after folding: U+FDFA alone becomes 18 letters
MAX_QUERY = 2000
# Of all terms together, so that a pasted page is searched as fast as a long question
MAX_TOKENS = 96
MAX_FORMS = 64  # of the words of a query, that are looked up
MOST_SPLIT = 5  # words of a query, each of which may be two in a text
MISSPELT = 2  # a query of at most this many words may be misspelt
MAX_FRAGMENTS = 16  # parts of a query for the substring search
# Letters of a word being typed before longer words match
LEAST_PREFIX = 3
LEAST_NAME = 3  # letters
LEAST_WORD = 3  # characters; shorter pieces with a symbol are also searched as substrings
NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})
NO_OPERATORS: Operators = {"filters": [], "without": [], "words": {}}

# The ending of "Gendolf's", at the end of a word or before punctuation
_APOSTROPHES = "'’ʼ"
_POSSESSIVE = rf"(?i)(?<=[\w+#])[{_APOSTROPHES}]s(?=\W*\Z)"
_AROUND_A_WORD = ".,;:!?\"'()[]“”„«»‘’"
_ALTERNATIVE = r'"[^"]*"|\S+'
OR = "OR"
MAIN = "en"  # the language of queries that do not seem to be in another one
# ASCII signs of a sentence around a word, and behind it
_AROUND, _BEHIND = "()[]{}<>\"'`,;!?|", ".:"


class Term(NamedTuple):
    """A thing to search for: `tokens` side by side in this order. With `prefix`, words that begin
    with the last token match too. With `excluded_tokens`, only in chunks that do not have all these tokens.
    """

    tokens: tuple[str, ...]
    prefix: bool = False
    excluded_tokens: tuple[str, ...] = ()


def term_of(form: Form) -> Term:
    """Another form of words as a term. Where the words themselves stand, it adds nothing."""
    return Term(form.tokens, excluded_tokens=form.words)


class Query:
    """A user's question, asked on the day `today`.

    With `fts_syntax`, the text is an expression in FTS5's own language, which the properties below
    read like any text. With `is_typed`, its last word is incomplete. With `is_literal`, operators
    (text/operators.py) are words.

    'what is "exact phrase" in src/a.ts?' has the terms exact+phrase, src+a+ts, src/a.ts, exact,
    phrase, src and ts; the last four are its words. A possessive ending is not part of a word:
    "Ann's port" has the words Ann and port, and no compound.
    """

    def __init__(
        self,
        text: str,
        *,
        fts_syntax: bool = False,
        today: date | None = None,
        is_typed: bool = False,
        is_literal: bool = False,
        substitutes: Mapping[str, Sequence[str]] = NOTHING,
    ) -> None:
        self.text = storable(text).replace("\0", " ")
        self.asked: Mapping[str, Any] = {}  # fields of `Filters` from operators
        self.operators: Operators = NO_OPERATORS
        self.fts_syntax = fts_syntax
        self.is_typed = is_typed
        self.substitutes = substitutes  # word -> words searched instead
        self.forms: Sequence[Form] = ()  # of words, which texts of the memory have
        self.days_are_words = False  # names of days, such as tomorrow, are words like others
        self._today = today
        self._alternatives: list[list[str]] = []  # groups of words and phrases joined by OR
        if not (fts_syntax or is_literal):
            self._take_operators()
            self.text, self._alternatives = _without_or(self.text, has_filters=bool(self.asked))
        self._start = self.text[:MAX_QUERY]

    def _take_operators(self) -> None:
        reading = read(self.text, self._today)
        self.text = reading.text
        self.operators = reading.operators
        self.asked = reading.asked
        if "without" in reading.asked:
            without = [phrase(fold(text)) for text in reading.asked["without"]]
            self.asked = {**reading.asked, "without": without}

    def with_substitutes(self, substitutes: Mapping[str, Sequence[str]]) -> "Query":
        """The same query with other words instead of some."""
        query = object.__new__(Query)
        query.__dict__.update(self.__dict__)
        query.__dict__.pop("_terms", None)  # the cache has the old words
        query.substitutes = substitutes
        return query

    def with_forms(self, forms: Sequence[Form]) -> "Query":
        """The same query, which also searches these forms of its words."""
        query = self.with_substitutes(self.substitutes)
        query.forms = forms
        return query

    def with_days_as_words(self) -> "Query":
        """The same query, in which names of days are words like others."""
        query = self.with_substitutes(self.substitutes)
        query.__dict__.pop("_without_days", None)
        query.days_are_words = True
        return query

    @cached_property
    def names_days(self) -> bool:
        """Whether it names days without a number: "tomorrow", "last week", "May"."""
        return any(map(self._is_name, self.periods))

    def _is_name(self, period: Period) -> bool:
        return not any(map(str.isdigit, self._folded[period.start : period.end]))

    @cached_property
    def possible_forms(self) -> list[Form]:
        """The forms that its words may have in a text, as wi fi for wifi (text/equality.py)."""
        if self.fts_syntax:
            return []
        pieces: list[tuple[str, list[str]]] = []
        besides = self._without([*self.periods, *self._words_of_order]).lower()
        for text, is_quoted in _quoted_pieces(besides):
            piece = "" if is_quoted else _without_possessive(text)
            pieces.append((piece, [token.text for token in tokens(piece)]))
        own = {term.tokens[0].lower(): term.tokens[0] for term in self.words}
        forms = {}
        may_split = len(own) <= MOST_SPLIT
        for form in islice(
            other_forms(pieces, function_words()[MAIN], may_split=may_split), MAX_FORMS
        ):
            if any(word in own for word in form.words):
                words = tuple(own.get(word, word) for word in form.words)
                forms[form.tokens] = Form(words, form.tokens)
        return list(forms.values())

    @property
    def is_blank(self) -> bool:
        """Whether the query is empty."""
        return not self.text.strip()

    @property
    def terms(self) -> list[Term]:
        """Everything to search for, without duplicates: first quoted phrases and compounds, then
        single words.

        A compound such as src/a.ts gives two terms, a phrase of its words and one token. Stop words
        are left out unless the query has no other words; in that case the whole query is a phrase
        too.
        """
        return self.compounds + self.words

    @property
    def limited_terms(self) -> list[Term]:
        """The shortest of the `terms`, with at most MAX_TOKENS tokens together."""
        return _limited(self.terms)

    @property
    def limited_words(self) -> list[Term]:
        """The first MAX_TOKENS of the `words`."""
        return _limited(self.words)

    @property
    def may_be_misspelt(self) -> bool:
        """Whether to search for similar words if no passage has any word of the query.

        A question of several words, all of which are missing, is about something else.
        """
        return self.is_typed or len(self.text.split()) <= MISSPELT

    @cached_property
    def exact_words(self) -> frozenset[str]:
        """The words in double quotes, which are never substituted."""
        quoted = [text for text, is_quoted in _quoted_pieces(self._folded) if is_quoted]
        return frozenset(token.text for text in quoted for token in tokens(text))

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """The words of letters alone, outside quotes and identifiers."""
        pieces = [text for text, is_quoted in _quoted_pieces(self._folded) if not is_quoted]
        tokens_by_piece = [tokens(_without_possessive(piece)) for piece in pieces]
        words = {own[0].text for own in tokens_by_piece if len(own) == 1}
        return frozenset(word for word in words if word.isalpha()) - self.exact_words

    @property
    def compounds(self) -> list[Term]:
        """The terms with several tokens, and those with symbols."""
        return self._terms[0]

    @cached_property
    def quoted_phrases(self) -> list[list[Term]]:
        """The quoted phrases of several words, each with its alternatives by OR."""
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

    @cached_property
    def symbol_words(self) -> list[str]:
        """The words that begin or end with a sign, folded and in lower case: .NET, $HOME, __init__,
        C++. These signs are ASCII; those of the sentence do not count.
        """
        pieces = [text for text, is_quoted in _quoted_pieces(self._folded) if not is_quoted]
        words = [_without_signs_of_sentence(piece).lower() for piece in pieces]
        return [word for word in words if has_token(word) and _is_signed(word)]

    @property
    def words(self) -> list[Term]:
        """The terms that are a single word or gram."""
        return self._terms[1]

    @cached_property
    def _without_days(self) -> tuple[list[Term], list[Term]]:
        """Compounds and words, without words of order and the words for days, except names such as
        October.
        """
        text = self._folded
        parts = [(span.start, span.end, "") for span in self._words_of_order]
        for period in self.periods:
            is_number = (
                text[period.start : period.end].isdecimal() and not period.is_open
            )  # 20260308
            if not (is_number or (self.days_are_words and self._is_name(period))):
                parts.append((period.start, period.end, text[slice(*period.name)]))
        for start, end, name in sorted(parts, reverse=True):
            text = f"{text[:start]} {name} {text[end:]}"
        return _parsed(text)

    @cached_property
    def _terms(self) -> tuple[list[Term], list[Term]]:
        """Compounds and words.

        Tokens of days (text/written_days.py) replace the words for days. A single day that is written
        is a word of the query.
        """
        compounds, words = map(list, self._without_days)
        has_more = any(_is_content_word(term.tokens[0]) for term in words)
        if self.periods and not (has_more or self.days_are_words):
            compounds, words = [], []  # the query has nothing but dates
        for period in self.periods:
            terms = [Term((token,), prefix=period.is_of_months) for token in period.tokens()]
            if period.is_day and not period.is_named:
                words += terms
            else:
                compounds += [term for term in terms if term not in words]
        compounds += map(term_of, self.forms)
        if self.is_typed:
            compounds, words = self._with_prefix(compounds, words)
        if self.substitutes:
            words = [other for word in words for other in self._substituted(word)]
        return list(dict.fromkeys(compounds)), list(dict.fromkeys(words))

    def _with_prefix(
        self, compounds: list[Term], words: list[Term]
    ) -> tuple[list[Term], list[Term]]:
        """Let the last word also match longer words that begin with it. It remains a term itself,
        so that exact matches come first.

        A word of two letters is not searched: it begins too many words. No prefix matching after a
        space or in scripts without spaces.
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
        if len(last.tokens[0]) < LEAST_PREFIX:
            return compounds, others
        return [*compounds, last], [*others, last._replace(prefix=True)]

    def _substituted(self, word: Term) -> list[Term]:
        if word.tokens[0] in self.substitutes:
            return [Term((other,)) for other in self.substitutes[word.tokens[0]]]
        return [word]

    def original_word(self, word: str) -> str:
        """The word of the query that this one substitutes, or the word itself; for words joined by
        OR, the first of them.
        """
        for own, others in self.substitutes.items():
            if word in others:
                word = own
                break
        return self._first_alternative.get(word, word)

    @cached_property
    def _first_alternative(self) -> dict[str, str]:
        """Map each word of a group of alternatives to the first word of the group."""
        first = {}
        for texts in self._alternatives:
            terms = [phrase(fold(text)) for text in texts if tokens(fold(text))]
            words = [term.tokens[0] for term in terms if len(term.tokens) == 1]
            first.update(dict.fromkeys(words, words[0] if words else ""))
        return first

    @cached_property
    def periods(self) -> list[Period]:
        """The days in the query. "yesterday" is the day before `today`, by default the current day."""
        return periods(self._folded.lower(), self._today or date.today())

    @property
    def order(self) -> str | None:
        """What a word such as "latest" asks for: "newest" or "oldest" first, else None."""
        return self._order[0]

    @property
    def _words_of_order(self) -> list[TextSpan]:
        return self._order[1]

    @cached_property
    def _order(self) -> tuple[str | None, list[TextSpan]]:
        if self.fts_syntax:
            return None, []
        order, spans = order_in(self._folded, self.periods)
        besides = tokens(self._without([*self.periods, *spans]))
        if not any(_is_content_word(token.text) for token in besides):
            return None, []  # nothing else to search for
        return order, spans

    def _without(self, spans: Iterable[Period | TextSpan]) -> str:
        """The folded query without these parts."""
        folded = self._folded
        for span in sorted(spans, key=lambda span: span.start, reverse=True):
            folded = f"{folded[: span.start]} {folded[span.end :]}"
        return folded

    @cached_property
    def unread_time(self) -> str | None:
        """What looks like a time in the query and is not read as one, such as "03/04/2026"."""
        if self.fts_syntax:
            return None
        return unread_time(self._folded.lower(), self.periods)

    @cached_property
    def words_besides_days(self) -> list[str] | None:
        """The words of a query about certain days, at most a month, without those that name the
        days; None if it is not about days.
        """
        if not self.periods or any(period.is_open or period.days > 31 for period in self.periods):
            return None
        _, terms = _parsed(self._without([*self.periods, *self._words_of_order]))
        words = [term.tokens[0] for term in terms]
        stop_words = _stop_words({word.lower() for word in words})
        return [word for word in words if word.lower() not in stop_words]

    @cached_property
    def _folded(self) -> str:
        return fold(self._start)[:MAX_QUERY]

    @cached_property
    def name(self) -> str:
        """The whole query as the token of a document's name, without a leading / or ./, or [[ ]];
        "" if it cannot be a name.
        """
        return analyzer.name(self._written_name)

    def rank_as_name(self, doc_id: str) -> int:
        """2 if the query is the end of a document's id, with or without its extension; 1 if only
        the case differs; else 0.
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
    def names(self) -> list[frozenset[str]]:
        """The words of each name in the query, folded, in lower case: of words in a row that begin
        with a capital, without the first word of a sentence and abbreviations such as GPU.

        A query in which most words have a capital has no names: they are written as in a title.

        "which bike did Rosa Duval order?" -> [{rosa, duval}]
        """
        words = self.words_besides_days
        if words is None:
            words = [term.tokens[0] for term in self.words]
        searched = {word.lower() for word in words}
        written = self._start.split()
        rows: list[set[str]] = [set()]
        is_first = True
        for text in written:
            word = _without_possessive(text.strip(_AROUND_A_WORD))
            has_capital = word[:1].isupper() and not word.isupper() and len(word) >= LEAST_NAME
            if has_capital and not is_first:
                rows[-1].add(fold(word).lower())
            else:
                rows.append(set())
            is_first = text[-1] in ".!?:"
        names = [frozenset(row & searched) for row in rows]
        if 2 * sum(map(len, rows)) > len(written):
            return []
        return [name for name in names if name]

    @cached_property
    def is_identifier(self) -> bool:
        """Whether the whole query is one word with a digit, a symbol or an inner capital.

        'payment_processor', 'v2.0', 'getUserName' and '2222' are identifiers; 'gpu', 'follow-up'
        and 'RFC 9110' are not.
        """
        word = self._start.strip(" \t\n\"'`?!.,")
        if len(word.split()) != 1 or has_gram_run(word):
            return False
        if any(map(str.isdigit, word)) or HUMP.search(word):
            return True
        return bool(symbolic(fold(word).replace("'", "")))

    @cached_property
    def fragments(self) -> list[str]:
        """The substrings to search for if no word is found: symbols, and runs of scripts without
        spaces. At most MAX_FRAGMENTS.

        'naïve 100% 東京x →' -> ['東京', '→']
        """
        fragments: dict[str, None] = {}
        for piece, is_word in _pieces(self._start):
            words = analyzer.searchable(piece)  # "" for letters that only join others
            is_short = len(words) < LEAST_WORD and not (words and piece.isalnum())
            if is_short or not is_word:
                fragments[piece] = None
        return list(fragments)[:MAX_FRAGMENTS]


def without_operators(text: str, operators: Operators) -> str:
    """Remove the operators that were found in a query."""
    for operator in (*operators["filters"], *operators["without"]):
        text = text.translate(QUOTES).replace(operator, " ", 1)
    return text


def _without_or(text: str, *, has_filters: bool) -> tuple[str, list[list[str]]]:
    """Remove the OR between words or phrases; return the text, and groups of these alternatives.

    '"page cache" OR swap size' -> '"page cache" swap size', [["page cache", swap]]

    If the query has filters, ignore an OR at an edge: it joined two filters.
    """
    pieces = pattern(_ALTERNATIVE).findall(text.translate(QUOTES))
    if OR not in pieces:
        return text, []
    words: list[str] = []
    groups: list[list[str]] = []
    follows_or = False
    for number, piece in enumerate(pieces):
        next_piece = pieces[number + 1 : number + 2]  # [] at the end
        if piece == OR and words and next_piece and next_piece != [OR]:
            if not (groups and groups[-1][-1] is words[-1]):  # "a OR b OR c" is one group
                groups.append([words[-1]])
            follows_or = True
        elif piece != OR or not (has_filters or follows_or):
            if follows_or:
                groups[-1].append(piece)
            words.append(piece)
            follows_or = False
    return " ".join(words), groups


def phrase(folded: str) -> Term:
    """Convert folded text to a term.

    The short grams at the end of a run are left out, because the run in the index may be longer.
    """
    phrase_tokens = tokens(folded)
    while phrase_tokens[-1].kind == TAIL:
        phrase_tokens.pop()
    return Term(tuple(token.text for token in phrase_tokens), phrase_tokens[-1].kind == SHORT)


def _limited(terms: Iterable[Term]) -> list[Term]:
    chosen = []
    count = 0
    for term in sorted(terms, key=lambda term: len(term.tokens)):
        count += len(term.tokens)
        if count > MAX_TOKENS:
            break
        chosen.append(term)
    return chosen


def _parsed(folded: str) -> tuple[list[Term], list[Term]]:
    """The compounds and the words of a folded query."""
    compounds: dict[Term, None] = {}
    singles: dict[Term, None] = {}
    for piece, is_quoted in _quoted_pieces(folded):
        if not is_quoted:
            piece = _without_possessive(piece)
        piece_tokens = tokens(piece)
        for token in piece_tokens:
            if token.kind != TAIL:
                singles[Term((token.text,), token.kind == SHORT)] = None
        if is_quoted or any(_is_content_word(token.text) for token in piece_tokens):
            parts = piece_tokens if is_quoted else whole_tokens(piece)
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
    """The function words of the MAIN language, and those of another one if the query seems to be in it:
    it has several of them, and more than of the MAIN language.
    """
    most = function_words()[MAIN]
    fewest = max(2, len(words & most) + 1)
    written = [own for own in function_words().values() if len(words & own) >= fewest]
    return most.union(*written)


def _is_content_word(token: str) -> bool:
    return token.lower() not in function_words()[MAIN]


def _without_signs_of_sentence(piece: str) -> str:
    """'(¿C++?).' -> 'C++'"""
    signs = "".join({c for c in piece if not (c.isascii() or c.isalnum() or is_folded_mark(c))})
    return piece.lstrip(signs + _AROUND).rstrip(signs + _AROUND + _BEHIND)


def _is_signed(word: str) -> bool:
    return any(end.isascii() and not end.isalnum() for end in (word[0], word[-1]))


def _without_possessive(word: str) -> str:
    """ "Gendolf's" -> "Gendolf"; a word made of stop words stays, such as "what's"."""
    if not any(sign in word for sign in _APOSTROPHES):
        return word
    owner = pattern(_POSSESSIVE).sub("", word)
    return owner if any(map(_is_content_word, whole_tokens(owner))) else word


def _quoted_pieces(query: str) -> list[tuple[str, bool]]:
    """Split into (text in double quotes, True) and (word outside quotes, False). A quotation mark
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
    """Cut the text at white space and where the script changes; each piece has True if it is a
    word.

    Runs of scripts without spaces are not words, nor are bare symbols.

    '用Docker部署 →' -> ('用', False), ('Docker', True), ('部署', False), ('→', False)
    """
    pieces = []
    for word in map(_without_possessive, text.split()):
        parts = [word]
        if not word.isascii():
            parts = list(filter(None, pattern(GRAM_RUN).split(word)))
        for part in parts:
            is_word = has_token(part) and not has_gram_run(part)
            pieces.append((part, is_word))
    return pieces
