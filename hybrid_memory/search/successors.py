"""Which passage revises which: a later one that says the same of the same thing, with another value.

A memory keeps what was true, and a new fact seldom repeats the words of the old one: after "ssh to
heron by port 22" comes "we are on 2222 now". So both are compared in the light of the question. Of
each of the first results the statement is taken that answers it best, two sentences at most. Then
every statement of the candidates that is later is scored: does it keep the words that question and
result share, does it repeat other rare words, has it a new value of the kind that is asked for,
does it name the old value, does it say that something changes? The sum of these signs, each 0 to 1
and weighted, decides. What is said of another name, or of another month, never revises.

Later means: a later date; else further down in the same document; else, where a document has no
date, the words of the passage itself. A document whose metadata say what supersedes it, or what it
supersedes, is believed.

All signs count words by their rarity among the candidates, and compare the first letters of a word,
which is a stemmer for all languages with endings. Nothing here asks a model. docs/successors.md has
the figures.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from math import log
from typing import TYPE_CHECKING, Any

from ..text import analyzer
from ..text.changes import (
    ADDITION,
    ASKED,
    CHANGE,
    CURRENCIES,
    FORMER,
    HOURS,
    MONTHS,
    NUMBERS,
    PAST_TENSE,
    PRESENT,
    SMALL_WORDS,
    WEEKDAYS,
)
from .hit import Hit

if TYPE_CHECKING:
    from ..storage.protocol import Storage
    from ..text.query import Query
    from .stages import Context

FIRST = 10  # results that people look at, as in stages
POOL = 60  # hits that are compared with the first results
ANCHORS = 4  # first results whose successors are looked for
SHORTLIST = 12  # hits whose statements are read, those that share most with question and results
SEPARATOR = " > "  # between the headings of a path
INSIDE = r"(?<=[\w,;)] )[^\W\da-z_]\w+"  # a word with a capital, not at the beginning of a sentence
MARKS = ".,;!?()[]|*_\"'“”"  # around a word
NAMED_VALUES = WEEKDAYS | HOURS | NUMBERS
# Keys of metadata
SUPERSEDED_BY = ("superseded_by", "replaced_by")
SUPERSEDES = ("supersedes", "replaces")
LETTERS = 5  # of a word that are compared
ENOUGH = -0.9  # the least sum for a mark: at most one mark in ten on a fact that is in force
LEAST_SHARED = 0.5  # of rarity, below which no pair of statements reaches ENOUGH
KEPT = 0.5  # least share of the words of question and result that a later line of one document has
ANSWERED = 0.3  # least share of the question's words that the result has in that case
BELIEVED = 0.5  # least share of the score of what it revises, where a reranker has scored both
HAS_VALUE = 0.15  # how much a value of the kind that is asked for makes of an answer
MANY_CAPITALS = 0.25  # of the words: a language that writes every noun so, in which none is a name

# The weight of each sign, found by logistic regression on pairs of statements (docs/successors.md).
BASE = -4.9
WEIGHTS = {
    "asked words": 2.7,
    "same document": 0.4,
    "kept words, same document": 1.6,
    "rare words": 2.1,
    "rare words besides": 0.7,
    "new value": 0.6,
    "no value": -1.1,
    "change": 0.5,
    "addition": -0.3,
    "old value": 1.4,
    "rarest word lost": -0.4,
    "answered before": -0.6,
    "nearness": 1.7,
}


class Question:
    """What is asked: its words, the kinds of value that would answer it, and its time."""

    def __init__(self, query: "Query") -> None:
        words = words_of(query.text)
        self.words = roots(words)
        self.kinds = {kind for word in words for kind in ASKED.get(word, ())}
        is_former = not FORMER.isdisjoint(words) or "used to" in query.text.lower()
        is_dated_past = not PAST_TENSE.isdisjoint(words) and bool(query.periods)
        self.is_past = (is_former or is_dated_past) and PRESENT.isdisjoint(words)


class Statement:
    """One or two sentences, an item or a row of a passage."""

    def __init__(
        self,
        hit: Hit,
        place: tuple[int, int, int],
        text: str,
        heading: set[str],
        context: set[str],
    ) -> None:
        words = words_of(text)
        self.hit = hit
        self.place = place  # chunk, line and sentence: the order inside a document
        self.text = text
        self.words = roots(words) | heading
        self.all_words = (
            self.words | context
        )  # also those of the headings above and the file's name
        self.is_change = not CHANGE.isdisjoint(words)
        self.is_addition = not ADDITION.isdisjoint(words) or " as well" in text
        self.is_struck = "~~" in text

    @cached_property
    def values(self) -> dict[str, set[str]]:
        """Return the values that it names, by kind."""
        return values_of(self.text)

    @cached_property
    def value_words(self) -> set[str]:
        """Return the words of its values."""
        return {root for of_kind in self.values.values() for root in _value_roots(of_kind)}


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded and in small letters."""
    return analyzer.searchable(text).lower().split()


def roots(words: Iterable[str]) -> set[str]:
    """Return the first letters of the telling words."""
    return {word[:LETTERS] for word in words if word not in SMALL_WORDS}


def _value_roots(values: Iterable[str]) -> set[str]:
    words = {word[:LETTERS] for value in values for word in words_of(value)}
    return {word for word in words if word.strip("0")}  # minutes are seldom others than 00


def values_of(text: str) -> dict[str, set[str]]:
    """Return the values that a text names, by kind: "time", "date", "day", "money", "percent",
    "version", "number" and "address".

    'Sundays from 9 to 2, €5.60' -> {"day": {"sundays"}, "number": {"9", "2"}, "money": {"5.60"}}
    """
    values: dict[str, set[str]] = {}
    pieces = [piece.strip(MARKS) for piece in text.lower().split()]
    for number, piece in enumerate(pieces):
        if not piece or (piece.isalpha() and piece not in NAMED_VALUES):
            continue
        before = pieces[number - 1] if number else ""
        after = pieces[number + 1] if number + 1 < len(pieces) else ""
        kind = _kind(piece, before, after)
        if kind:
            values.setdefault(kind, set()).add(piece.strip("€£$%:~`"))
    return values


def _kind(piece: str, before: str, after: str) -> str | None:
    """Return the kind of value that a piece of text between two others is."""
    if "://" in piece or "@" in piece or "\\" in piece or piece.startswith("`"):
        return "address"
    if piece in WEEKDAYS:
        return "day"
    if piece in HOURS:
        return "time"
    has_digit = any(map(str.isdigit, piece))
    if not has_digit and piece not in NUMBERS:
        if "." in piece and "/" not in piece and piece.replace(".", "").replace("-", "").isalnum():
            return "address"
        return None
    return _kind_of_number(piece, before, after)


def _kind_of_number(piece: str, before: str, after: str) -> str:
    if piece[0] in "€£$" or piece[-1] in "€£$" or after in CURRENCIES:
        return "money"
    if piece.endswith("%") or after in ("percent", "prozent"):
        return "percent"
    if (
        after in MONTHS
        or before in MONTHS
        or (piece[:-2].isdigit() and piece[-2:] in ("st", "nd", "rd", "th"))
    ):
        return "date"
    if len(piece) == 10 and piece[4] == piece[7] == "-":
        return "date"
    if (":" in piece and piece.replace(":", "").isdigit()) or after in (
        "am",
        "pm",
        "uhr",
        "o'clock",
    ):
        return "time"
    if before in ("past", "half"):
        return "time"
    if "." in piece and piece.replace(".", "").isdigit():
        return "version"
    return "number"


def statements(hit: Hit, heading: set[str], context: set[str]) -> Iterator[Statement]:
    """Yield the statements of a hit's text: every two sentences that follow each other in a
    paragraph, every item, every row.
    """
    for line_number, line in enumerate(_paragraphs(hit.text)):
        sentences = _sentences(line)
        pairs = list(pairwise(sentences))
        texts = [f"{first} {second}" for first, second in pairs] or sentences
        for number, text in enumerate(texts):
            yield Statement(hit, (hit.id, line_number, number), text, heading, context)


def _paragraphs(text: str) -> list[str]:
    """Return the lines of a text; those that go on in the next line are joined."""
    paragraphs: list[str] = []
    is_open = False
    for written in text.split("\n"):
        line = written.strip()
        if not line or line.startswith("#") or not any(map(str.isalnum, line)):
            is_open = False
            continue
        if is_open and not line.startswith(("-", "*", "+", "|")):
            paragraphs[-1] += f" {line}"
        else:
            paragraphs.append(line)
        is_open = line[-1] not in ".!?:|)"
    return paragraphs


def _sentences(paragraph: str) -> list[str]:
    sentences = []
    start = 0
    for place, character in enumerate(paragraph[:-2]):
        if (
            character in ".!?"
            and paragraph[place + 1] == " "
            and not paragraph[place + 2].islower()
        ):
            sentences.append(paragraph[start : place + 1])
            start = place + 2
    return [*sentences, paragraph[start:]]


class Comparison:
    """The statements of a search's candidates, and what their words are worth."""

    def __init__(self, question: Question, hits: Sequence[Hit], storage: "Storage") -> None:
        self.question = question
        self.dates = storage.chunks.dates([hit.id for hit in hits])
        words = {hit.id: roots(words_of(hit.text)) for hit in hits}
        counts = Counter(chain.from_iterable(words.values()))
        most = log(1 + (len(hits) + 0.5) / 1.5)
        by_count = {
            count: log(1 + (len(hits) + 0.5) / (count + 0.5)) / most for count in {*counts.values()}
        }
        self._rarities = {word: by_count[count] for word, count in counts.items()}
        self._anchor_hits = hits[:ANCHORS]
        shortlist = self._shortlist(hits, words)
        rows = storage.chunks.rows([hit.id for hit in shortlist])
        self._metadata = {id: row.metadata for id, row in rows.items()}
        self._shortlisted = [hit for hit in shortlist if hit.id in rows]
        self.statements = [
            statement
            for hit in self._shortlisted
            for statement in statements(hit, *_context(hit.doc_id, rows[hit.id].heading_path))
        ]
        self.names = names_in([hit.text for hit in shortlist])

    def _shortlist(self, hits: Sequence[Hit], words: dict[int, set[str]]) -> list[Hit]:
        """Return the hits that share most with the question and the first results."""
        sought = set(self.question.words)
        for hit in self._anchor_hits[:2]:
            sought |= words[hit.id]
        documents = {hit.doc_id for hit in self._anchor_hits[:2]}

        def shared(hit: Hit) -> float:
            of_question = self.weight(self.question.words & words[hit.id])
            bonus = 1.0 if hit.doc_id in documents else 0.0
            return 2 * of_question + self.weight(sought & words[hit.id]) + bonus

        others = sorted(hits[ANCHORS:], key=shared, reverse=True)
        return [*self._anchor_hits, *others[:SHORTLIST]]

    def rarity(self, word: str) -> float:
        """Return how rare a word is among the candidates, 1 for one that a single hit has."""
        return self._rarities.get(word, 1.0)

    def weight(self, words: Iterable[str]) -> float:
        """Return the sum of the words' rarities."""
        return sum(map(self.rarity, words))

    def share(self, words: set[str], among: set[str]) -> float:
        """Return which share of the words, by rarity, is among others."""
        total = self.weight(words)
        return self.weight(words & among) / total if total else 0.0

    def anchors(self) -> list[Statement]:
        """Return the statement of each of the first results that answers the question best."""
        best = []
        for hit in self._anchor_hits:
            of_hit = [each for each in self.statements if each.hit is hit]
            if of_hit:
                best.append(max(of_hit, key=self._answer))
        return best

    def _answer(self, statement: Statement) -> float:
        has_value = not self.question.kinds.isdisjoint(statement.values)
        return self.share(self.question.words, statement.words) + HAS_VALUE * has_value

    def order(self, earlier: Statement, later: Statement) -> int:
        """Return 1 if the second statement is later than the first, -1 if it is earlier, 0 if
        nothing but their words can tell.
        """
        first = self.dates.get(earlier.hit.id)
        second = self.dates.get(later.hit.id)
        if first and second and first != second:
            return 1 if second > first else -1
        if earlier.hit.doc_id == later.hit.doc_id:
            return 1 if later.place > earlier.place else -1
        return 0

    def signs(self, former: Statement, later: Statement) -> dict[str, float] | None:
        """Return the signs that a statement revises another, by the names of WEIGHTS; None if it
        cannot: it is no later, or of something else.
        """
        if former.hit is later.hit or later.is_struck or _is_repeated(former, later):
            return None
        asked = self.question.words
        shared = former.words & later.words
        if self.weight(shared) < LEAST_SHARED:
            return None
        order = self.order(former, later)
        if order == 0 and not {former.hit.id, later.hit.id} & self.dates.keys():
            return None  # where nothing has a date, a word for change tells nothing of the order
        if order < 0 or (order == 0 and (former.is_change or not later.is_change)):
            return None
        if self._is_of_another(former, later):
            return None
        common = shared - (former.value_words & later.value_words)
        is_same = former.hit.doc_id == later.hit.doc_id
        kept = self.share(asked & former.words, later.all_words)
        has_new, has_kind = self._new_value(former, later)
        old_values = self._values(former) & later.words
        if order == 0 and not has_new:
            return None
        answered = self.share(asked, former.all_words)
        if is_same and not (has_new and kept >= KEPT and answered >= ANSWERED):
            return None  # a document says much of one thing that is true side by side
        rarest = max(asked & former.all_words, key=self.rarity, default="")
        is_rarest_lost = not is_same and rarest not in {"", *later.all_words}
        return {
            "asked words": self.share(asked, later.all_words),
            "same document": float(is_same),
            "kept words, same document": kept * is_same,
            "rare words": self._rarest(common, 3),
            "rare words besides": self._rarest(common - asked, 2),
            "new value": float(has_new),
            "no value": float(has_kind and not has_new),
            "change": float(later.is_change),
            "addition": float(later.is_addition),
            "old value": min(self.weight(old_values), 1.0),
            "rarest word lost": float(is_rarest_lost),
            "answered before": answered,
            "nearness": later.hit.legs.near.get(later.hit.id, 0.0),
        }

    def _rarest(self, words: set[str], count: int) -> float:
        """Return half of the sum of the greatest rarities."""
        return sum(sorted(map(self.rarity, words))[-count:]) / 2

    def _values(self, former: Statement) -> set[str]:
        """Return the words of a statement's values and names that the question does not have."""
        return (former.value_words | (former.words & self.names)) - self.question.words

    def _new_value(self, former: Statement, later: Statement) -> tuple[bool, bool]:
        """Return whether the later statement has a value that is asked for and that the former one
        does not have; and whether the question says of which kind it is.
        """
        kinds = self.question.kinds
        for kind in kinds:
            if later.values.get(kind, set()) - former.values.get(kind, set()):
                return True, True
        if not kinds:
            common = former.values.keys() & later.values.keys()
            return any(later.values[kind] - former.values[kind] for kind in common), False
        names = (later.words & self.names) - former.words - self.question.words
        return "name" in kinds and bool(names), True

    def _is_of_another(self, former: Statement, later: Statement) -> bool:
        """Return whether the statements differ in a name or a month that the question has."""
        asked = self.question.words
        lost = (asked & former.words) - later.all_words
        if any(word in MONTH_ROOTS or word.isdigit() for word in lost):
            return True
        if (asked & later.words & self.names) - former.all_words:
            return True
        if former.hit.doc_id == later.hit.doc_id or former.words & later.words & self.names - asked:
            return False  # of the same conversation, or of a person or thing that was the old value
        return bool(lost & self.names)

    def declared(self, former: Hit) -> Hit | None:
        """Return the best passage of a document that supersedes the hit's by the metadata of either."""
        own = self._metadata.get(former.id, {})
        successors = named_documents(own, SUPERSEDED_BY)
        status = str(own.get("status", ""))
        if status.lower().startswith("superseded by "):
            successors.append(_document(status[len("superseded by ") :]))
        for hit in self._shortlisted:
            if hit.doc_id == former.doc_id:
                continue
            predecessors = named_documents(self._metadata[hit.id], SUPERSEDES)
            if is_named(hit.doc_id, successors) or is_named(former.doc_id, predecessors):
                return hit
        return None

    def successor(self, former: Statement) -> Hit | None:
        """Return the passage with the statement that most likely revises this one, if one does."""
        best = None
        most = ENOUGH
        for later in self.statements:
            signs = self.signs(former, later)
            if signs is None:
                continue
            total = BASE + sum(WEIGHTS[name] * sign for name, sign in signs.items())
            if total > most:
                best = later.hit
                most = total
        return best


MONTH_ROOTS = roots([*MONTHS, *WEEKDAYS])


def _context(doc_id: str, heading_path: str) -> tuple[set[str], set[str]]:
    """Return the words of the section's own heading; and those of the document's path and title,
    without the first folder. Dates are left out.
    """
    path = analyzer.stem(doc_id).partition("/")[2] or analyzer.stem(doc_id)
    title, _, sections = heading_path.partition(SEPARATOR)
    section = sections.rpartition(SEPARATOR)[2]
    return _undated(section), _undated(path) | _undated(title) | _undated(sections)


def _undated(text: str) -> set[str]:
    return {word for word in roots(words_of(text)) - MONTH_ROOTS if not word.isdigit()}


def names_in(texts: Iterable[str]) -> set[str]:
    """Return the words that are written with a capital inside a sentence, and nowhere without."""
    text = "\n".join(texts)
    pieces = {piece.strip("*_\"'“”‘’()[],;:!?.|") for piece in text.split()}
    others = {piece for piece in pieces if piece.islower()}
    capitals = set(re.findall(INSIDE, text))
    if len(capitals) > MANY_CAPITALS * max(len(others), 1):
        return set()
    return roots(words_of(" ".join(capitals))) - roots(words_of(" ".join(others))) - MONTH_ROOTS


def named_documents(metadata: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """Return the documents that metadata name under one of these keys."""
    names = []
    for key, value in metadata.items():
        if key.lower().replace("-", "_").replace(" ", "_") in keys:
            values = value if isinstance(value, list) else [value]
            names += [_document(str(name)) for name in values if name]
    return names


def _document(name: str) -> str:
    return name.strip().removeprefix("[[").removesuffix("]]").removesuffix(".md").lower()


def is_named(doc_id: str, names: Iterable[str]) -> bool:
    """Return whether one of these names is the end of the document's path."""
    path = f"/{_document(doc_id)}"
    return any(path.endswith(f"/{name}") for name in names)


def _is_repeated(former: Statement, later: Statement) -> bool:
    """Return whether the former passage has the later statement, too: chunks overlap, and notes are
    copied.
    """
    return later.text in former.hit.text or former.text in later.text


def with_successors(hits: Iterable[Hit], context: "Context") -> list[Hit]:
    """Note which of the first results a later passage revises, and which passage that is."""
    ranked = list(hits)
    if context.request.fts_syntax or context.is_lookup or len(ranked) < 2:
        return ranked
    question = Question(context.query)
    if not question.words:
        return ranked
    pool = ranked[:POOL]
    comparison = Comparison(question, pool, context.storage)
    for former in comparison.anchors():
        former.hit.newer = comparison.declared(former.hit) or comparison.successor(former)
    context.is_past = question.is_past
    return ranked


def newest_first(hits: Iterable[Hit], context: "Context") -> list[Hit]:
    """Put a passage that revises another before it, unless the question is for the past."""
    ranked = list(hits)
    if context.is_past:
        return ranked
    revised = [hit for hit in ranked if hit.newer]
    for former in revised:
        newer = former.newer
        if newer not in ranked or ranked.index(newer) < ranked.index(former):
            continue
        if context.reranking and newer.score < BELIEVED * former.score:
            continue  # a model that read both found that the newer one does not answer
        ranked.remove(newer)
        ranked.insert(ranked.index(former), newer)
        newer.succeed(former)
    if not revised:
        return ranked
    # What was pushed out of the first ones scores less than some that `spread` had put behind them;
    # the last digits of what was scaled down to an equal score tell nothing.
    return ranked[:FIRST] + sorted(ranked[FIRST:], key=lambda hit: -round(hit.score, 9))
