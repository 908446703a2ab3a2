"""Which passage revises which: a later one that says the same of the same thing, with another value.

A memory keeps what was true, and a new fact seldom repeats the words of the old one: after "ssh to
heron by port 22" comes "we are on 2222 now". So both are compared in the light of the question. Of
each of the first results those sentences are taken that answer it best. Then every later sentence
of the candidates is scored: has it a new value in their place, of the kind that is asked for, does
it keep the words that question and result share, does it repeat other rare words, does it name the
old value, does it say that something changes? The weighted sum of these signs decides. What is said
of another name, or of another month, never revises, nor does a sentence that says of this very
thing that it stays.

Where the sum is a little less than a mark takes, the later passage is not named, but it is put
among the first three results, so that who reads these reads both.

Later means: a later date; else further down in a document with a date, since a page of reference
says many things side by side; else, where one has no date, the words of the passage itself.
Metadata that say what supersedes a document, or what it supersedes, are believed.

All signs count words by their rarity among the candidates, and compare the first letters of a word,
which is a stemmer for all languages with endings. A sentence is about what its neighbours, the
headings and, in a conversation, the lines before it are about. Nothing here asks a model.
docs/successors.md has the figures.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, product
from math import fsum, log
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..text import analyzer
from ..text.changes import (
    CALENDAR,
    Names,
    Question,
    Values,
    capitals_in,
    is_change,
    is_number,
    joined,
    letters_in,
    paragraphs,
    roots,
    sentences_of,
    stays,
    value_roots,
    values_of,
    words_of,
)
from .hit import Hit

if TYPE_CHECKING:
    from ..storage.protocol import Storage
    from .hit import SearchState

FIRST = 10  # results that people look at, as in stages
POOL = 40  # hits that are compared with the first results
ANCHORS = 3  # first results whose successors are looked for
SHORTLIST = 20  # hits whose sentences are read, those that share most with question and results
ANSWERS = 2  # sentences of a result that may be revised
ANSWERS_IN_TALK = 3  # where what is asked and what is answered are lines of their own
ALMOST = 0.6  # of the best answer's share, for the second one
NEARBY = 0.6  # what a word counts that stands beside the sentence or above it
# Keys of metadata
SUPERSEDED_BY = ("superseded_by", "replaced_by")
SUPERSEDES = ("supersedes", "replaces")
AMOUNTS = frozenset(("money", "percent", "version", "number"))  # kinds that a bare number may be of
# How surely a later sentence has a value in the place of the former one
ONLY_LATER = 0.5  # where only the later one has a name
LIKELY = 0.8  # for a name or a number of another kind; 1 for a value of the same kind
LEAST_SHARED = 0.3  # of rarity, below which no pair of sentences is compared
SURELY_NAMED = 0.7  # of rarity: the old value
LEAST_ANSWERED = 0.15  # of the question's words, by rarity, that the former sentence has
BELIEVED = 0.5  # least share of the score of what it revises, where a reranker has scored both

# The weight of each sign, found on judged notes (docs/successors.md). All signs are shares or yes and
# no, and none is a cosine, so that they fit every embedder, and a search without one.
BASE = -10.4
POSSIBLE = -2.0  # least sum of a passage that is put among the READ results; above 0 it is named
READ = 3  # first results, which are read even if one of them seems to answer
WEIGHTS = {
    "standing of the former": 3.2,
    "standing of the later": 1.5,
    "new value": 2.9,
    "old value": 2.1,
    "change": 1.1,
    "old value changes": 1.0,
    "kept words": 2.9,
    "rarest kept word": 3.8,
    "lost words": -0.9,
    "rare words": 2.8,
    "rare words nearby": 1.4,
    "same conversation": 2.8,
    "one undated": -1.2,
    "no kind asked for": -0.9,
}


class Statement:
    """A sentence, an item, a row, or a line of a conversation.

    `beside` are the words of the sentences before and after it and of what leads in to it; `heading`
    those of its section's heading; `context` those of the headings above and the file's name.
    """

    def __init__(
        self,
        hit: Hit,
        text: str,
        words: list[str],
        beside: list[str],
        heading: set[str],
        context: set[str],
        *,
        is_turn: bool,
    ) -> None:
        self.hit = hit
        self.text = text
        self.is_turn = is_turn
        self.own_words = roots(words)
        self.words = self.own_words | heading
        self.beside = beside
        self._context = context
        self.is_change = is_change(words, is_turn=is_turn)

    @cached_property
    def near_words(self) -> set[str]:
        """Return its words and those beside it."""
        return self.words | roots(self.beside)

    @cached_property
    def all_words(self) -> set[str]:
        """Return its words, those beside it and those above it."""
        return self.near_words | self._context

    @cached_property
    def values(self) -> Values:
        """Return the values that it names, by kind."""
        return values_of(self.text)

    @cached_property
    def value_words(self) -> set[str]:
        """Return the words of all its values."""
        return value_roots(chain.from_iterable(self.values.values()))

    def amounts(self, kinds: Iterable[str]) -> set[str]:
        """Return its values of these kinds that are numbers."""
        return {value for kind in kinds for value in self.values.get(kind, ()) if is_number(value)}


def statements(hit: Hit, heading: set[str], context: set[str]) -> Iterator[Statement]:
    """Yield the statements of a hit's text."""
    for paragraph in paragraphs(hit.text):
        sentences = joined(sentences_of(paragraph.text))
        words = [words_of(sentence) for sentence in sentences]
        for place, text in enumerate(sentences):
            neighbours = words[max(place - 1, 0) : place] + words[place + 1 : place + 2]
            yield Statement(
                hit,
                text,
                words[place],
                list(chain(paragraph.lead_in, *neighbours)),
                heading,
                context,
                is_turn=paragraph.is_turn,
            )


class Slot:
    """What stands in the place of the value that is asked for, in two statements."""

    def __init__(self, likeness: float = 0.0) -> None:
        self.likeness = likeness  # how surely the later one has another value in that place
        self.old: set[str] = set()  # the words of the former value


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
        self.anchor_hits = hits[:ANCHORS]
        shortlist = self._shortlist(hits, words)
        rows = storage.chunks.rows([hit.id for hit in shortlist])
        self._metadata = {id: row.metadata for id, row in rows.items()}
        self._shortlisted = [hit for hit in shortlist if hit.id in rows]
        self.names = Names([hit.text for hit in shortlist])
        self._headings = {
            hit.id: _context(hit.doc_id, rows[hit.id].heading_path) for hit in self._shortlisted
        }
        self._statements: dict[int, list[Statement]] = {}
        self._revising: dict[int, list[Statement]] = {}
        self._best_score = max(hit.score_before_decay for hit in hits) or 1.0
        self._total_asked = max(self.weight(question.words), 0.1)

    def statements_of(self, hit: Hit) -> list[Statement]:
        """Return the statements of a hit, read when they are first asked for."""
        if hit.id not in self._statements and hit.id in self._headings:
            self._statements[hit.id] = list(statements(hit, *self._headings[hit.id]))
        return self._statements.get(hit.id, [])

    def _revising_of(self, hit: Hit) -> list[Statement]:
        """Return the statements of a hit that may revise another one."""
        if hit.id not in self._revising:
            self._revising[hit.id] = list(filter(self._may_revise, self.statements_of(hit)))
        return self._revising[hit.id]

    def _may_revise(self, statement: Statement) -> bool:
        """Return whether a statement has a value or a name of a kind that is asked for, or a word
        for change.
        """
        if "~~" in statement.text:
            return False
        kinds = self.question.kinds
        if statement.is_change or not kinds or not kinds.isdisjoint(statement.values):
            return True
        if not statement.values.keys().isdisjoint(("bare", "state")):
            return True
        is_named = self.names.all_nouns_have_capitals or self.names.things & statement.own_words
        return "name" in kinds and bool(is_named)

    def _shortlist(self, hits: Sequence[Hit], words: dict[int, set[str]]) -> list[Hit]:
        """Return the hits that share most with the question and the first results, and are not older."""
        sought = set(self.question.words)
        for hit in self.anchor_hits:
            sought |= words[hit.id]

        def shared(hit: Hit) -> float:
            of_question = self.weight(self.question.words & words[hit.id])
            return 2 * of_question + self.weight(sought & words[hit.id])

        oldest = min(self.dates.get(hit.id, "") for hit in self.anchor_hits)
        others = [hit for hit in hits[ANCHORS:] if self.dates.get(hit.id, oldest) >= oldest]
        others.sort(key=shared, reverse=True)
        return [*self.anchor_hits, *others[:SHORTLIST]]

    def rarity(self, word: str) -> float:
        """Return how rare a word is among the candidates, 1 for one that a single hit has."""
        return self._rarities.get(word, 1.0)

    def weight(self, words: Iterable[str]) -> float:
        """Return the sum of the words' rarities, to the last bit the same in every order: sets have
        another one in each process.
        """
        return fsum(map(self.rarity, words))

    def share(self, words: set[str], statement: Statement, *, context: bool = True) -> float:
        """Return which share of the words, by rarity, a statement has; those beside it and, with
        `context`, above it count less.
        """
        total = self.weight(words)
        if not total:
            return 0.0
        wider = statement.all_words if context else statement.near_words
        beside = self.weight((words & wider) - statement.words)
        return (self.weight(words & statement.words) + NEARBY * beside) / total

    def answers(self, hit: Hit) -> list[Statement]:
        """Return the statements of a hit that answer the question best."""
        of_hit = self.statements_of(hit)
        asked = self.question.words
        shares = [self.share(asked, statement, context=False) for statement in of_hit]
        best = sorted(range(len(of_hit)), key=lambda number: (-shares[number], number))
        if of_hit and of_hit[0].is_turn:
            return [of_hit[number] for number in best[:ANSWERS_IN_TALK]]
        least = ALMOST * max(shares, default=0.0)
        return [of_hit[number] for number in best[:ANSWERS] if shares[number] >= least]

    def order(self, earlier: Hit, later: Hit) -> int:
        """Return 1 if the second hit is later, 0 if its words may tell that, -1 if it is not."""
        first = self.dates.get(earlier.id)
        second = self.dates.get(later.id)
        if not (first or second):
            return -1  # where nothing has a date, a word for change tells nothing of the order
        if first and second and first != second:
            return 1 if second > first else -1
        if earlier.doc_id == later.doc_id and first:
            return 1 if later.id > earlier.id else -1
        return 0

    def _may_be_later(self, former: Statement, later: Statement, old_value: float) -> bool:
        """Return whether a statement may be the later one of two, of which one has no date. An
        undated one has to say so: to name the old value, or that something changes.
        """
        if former.is_change and not later.is_change:
            return False
        if former.hit.id not in self.dates:
            return True
        return (
            old_value >= SURELY_NAMED
            or later.is_change
            or is_change(later.beside, is_turn=later.is_turn)
        )

    def _may_mark(self, former: Statement, later: Statement, signs: Mapping[str, float]) -> bool:
        """Return whether anything but likeness says that the later one of two statements revises the
        other: an undated one has to name the value of a dated one, and where the question asks for
        no kind of value, it has to be named, or something has to change.
        """
        is_undated = later.hit.id not in self.dates and former.hit.id in self.dates
        if signs["old value"] >= SURELY_NAMED:
            return True
        return not is_undated and bool(self.question.kinds or signs["change"])

    def signs(self, former: Statement, later: Statement) -> dict[str, float] | None:
        """Return the signs that a statement revises another, by WEIGHTS; None if it cannot."""
        order = self.order(former.hit, later.hit)
        if order < 0:
            return None
        near = former.near_words & later.near_words
        is_talk = _are_of_one_talk(former, later)
        if not is_talk and self.weight(near) < LEAST_SHARED:
            return None
        asked = self.question.words
        answered = asked & former.near_words
        answered_share = self.weight(answered) / self._total_asked
        if answered_share < LEAST_ANSWERED:
            return None
        if _is_repeated(former, later) or self._is_of_another(former, later):
            return None
        slot = self._slot(former, later)
        old_value = min(self.weight(slot.old & later.words), 1.0)
        if order == 0 and not self._may_be_later(former, later, old_value):
            return None
        same = former.value_words & later.value_words
        common = (former.words & later.words) - same
        told = asked & former.words
        lost = self.weight(told - later.all_words) / max(self.weight(told), 0.1)
        return {
            "standing of the former": self._standing(former.hit),
            "standing of the later": self._standing(later.hit),
            "new value": slot.likeness,
            "old value": old_value,
            "change": float(later.is_change),
            "old value changes": old_value * (later.is_change and slot.likeness > 0),
            "kept words": self.share(answered, later) * answered_share,
            "rarest kept word": max(map(self.rarity, told & later.all_words), default=0.0),
            "lost words": lost,
            "rare words": self._rarest(common - asked),
            "rare words nearby": self._rarest(near - same - common - asked),
            "same conversation": float(is_talk),
            "one undated": float(order == 0),
            "no kind asked for": float(not self.question.kinds),
        }

    def _standing(self, hit: Hit) -> float:
        """Return a hit's share of the best score, whatever their age."""
        return hit.score_before_decay / self._best_score

    def _rarest(self, words: set[str]) -> float:
        """Return half of the sum of the two greatest rarities."""
        return sum(sorted(map(self.rarity, words))[-2:]) / 2

    def _slot(self, former: Statement, later: Statement) -> Slot:
        """Compare what both statements have in the place of the value that is asked for."""
        kinds = self.question.kinds or {*former.values, "name"} - {"bare"}
        if "open" in former.values.get("state", ()):
            kinds = {*kinds, "state"}
        slot = Slot()
        for kind in kinds:
            values = former.values.get(kind)
            if values and not (kind == "state" and "open" not in values):
                slot.old |= value_roots(values)
                if _has_new_value(kind, values, later.values.get(kind, set())):
                    slot.likeness = 1.0
        if self.question.kinds and not slot.likeness:
            self._compare_amounts(slot, former, later)
        if "name" in kinds and (self.question.kinds or not slot.likeness):
            self._compare_names(slot, former, later)
        slot.old -= self.question.words | CALENDAR
        slot.old = {word for word in slot.old if len(word) > 1}  # a digit is named by chance
        return slot

    def _compare_amounts(self, slot: Slot, former: Statement, later: Statement) -> None:
        """Take a number for any kind of amount that is asked for: "make it 700"."""
        kinds = set(self.question.kinds)
        if kinds & AMOUNTS:
            kinds.add("bare")
        before = former.amounts(kinds)
        if before and later.amounts(kinds) - before:
            slot.likeness = LIKELY
            slot.old |= value_roots(before)

    def _compare_names(self, slot: Slot, former: Statement, later: Statement) -> None:
        asked = self.question.words
        before = (former.own_words & self.names.words) - asked
        after = (later.own_words & self.names.things) - former.all_words - asked
        slot.old |= before
        if self.names.all_nouns_have_capitals:
            before |= capitals_in(former.text) - asked
            after |= capitals_in(later.text) - former.all_words - asked
        if after and before:
            slot.likeness = max(slot.likeness, LIKELY)
        elif after and "name" in self.question.kinds:
            slot.likeness = max(slot.likeness, ONLY_LATER)

    def _is_of_another(self, former: Statement, later: Statement) -> bool:
        """Return whether the statements differ in a name, a letter, a month or a number that the
        question has. Where it asks for a name, the new one is the answer.
        """
        asked = self.question.words
        answered = asked & former.near_words
        lost = answered - later.all_words
        if self.question.letters & letters_in(former.text):
            letters = letters_in(later.text)
            if letters and letters.isdisjoint(self.question.letters):
                return True
        has_rival = bool((asked & later.words & self.names.words) - former.all_words)
        if has_rival or any(word in CALENDAR or word.isdigit() for word in lost):
            return True
        if "name" in self.question.kinds or _are_of_one_talk(former, later):
            return False
        lost_names = ((asked & former.all_words) - later.all_words) & self.names.things
        return bool(lost_names and (later.near_words & self.names.things) - former.all_words)

    def declared(self, former: Hit) -> Hit | None:
        """Return the best passage of a document that metadata say supersedes the hit's."""
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

    def successor(
        self, formers: Sequence[Statement], least: float = 0.0
    ) -> tuple[Statement | None, float]:
        """Return the statement that most likely revises one of these, which are of one hit, and the
        sum of its signs; None where no sum is more than `least`.
        """
        best = None
        most = least
        former_hit = formers[0].hit
        for hit in self._shortlisted:
            if hit is former_hit or self.order(former_hit, hit) < 0:
                continue
            for former, later in product(formers, self._revising_of(hit)):
                signs = self.signs(former, later)
                if signs is None:
                    continue
                total = BASE + sum(WEIGHTS[name] * sign for name, sign in signs.items())
                if not self._may_mark(former, later, signs):
                    total = min(total, 0.0)
                if total > most and not stays(later.text, self.question.words & former.words):
                    best = later
                    most = total
        return best, most


def _are_of_one_talk(former: Statement, later: Statement) -> bool:
    return former.is_turn and later.is_turn and former.hit.doc_id == later.hit.doc_id


def _has_new_value(kind: str, former: set[str], later: set[str]) -> bool:
    """Return whether a statement has a value that another one does not have; of "one" and "two",
    which are everywhere, that is not certain.
    """
    new = later - former
    return any(map(is_number, new)) if kind == "number" else bool(new)


def _context(doc_id: str, heading_path: str) -> tuple[set[str], set[str]]:
    """Return the words of the section's own heading; and those of the document's path and title,
    without the first folder. Dates are left out.
    """
    path = analyzer.stem(doc_id).partition("/")[2] or analyzer.stem(doc_id)
    title, _, sections = heading_path.partition(" > ")
    section = sections.rpartition(" > ")[2]
    return _undated(section), _undated(path) | _undated(title) | _undated(sections)


def _undated(text: str) -> set[str]:
    return {word for word in roots(words_of(text)) - CALENDAR if not word.isdigit()}


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


def with_successors(hits: Iterable[Hit], state: "SearchState") -> list[Hit]:
    """Note which of the first results a later passage revises, and which passage that is, unless
    the user wants no marks.
    """
    ranked = list(hits)
    if not state.marks_successors or state.request.fts_syntax or state.is_lookup or len(ranked) < 2:
        return ranked
    question = Question(state.query)
    state.is_past = question.is_past
    if not question.words or state.query.quoted_phrases:
        return ranked
    comparison = Comparison(question, ranked[:POOL], state.storage)
    for former in comparison.anchor_hits:
        former.newer = comparison.declared(former)
    possible = []
    is_name = not question.kinds and question.words <= comparison.names.words
    # A name alone asks for no value.
    if is_name or not question.is_for_fact or not comparison.dates:
        return ranked
    for former in comparison.anchor_hits:
        if former.newer:
            continue
        answers = comparison.answers(former)
        if not answers:
            continue
        later, total = comparison.successor(answers, POSSIBLE)
        if later is None:
            continue
        if total <= 0:
            possible.append((total, later.hit))
            continue
        former.newer = later.hit
        if later.hit not in comparison.anchor_hits:  # which may be revised itself
            last, _ = comparison.successor([later])
            later.hit.newer = last.hit if last else None
    if possible:
        state.possibly_newer = max(possible, key=itemgetter(0))[1]
    return ranked


def newest_first(hits: Iterable[Hit], state: "SearchState") -> list[Hit]:
    """Put a passage that revises another before it, and one that may do so among the first READ,
    unless the question is for the past.
    """
    ranked = list(hits)
    if state.is_past:
        return ranked
    revised = [hit for hit in ranked if hit.newer]
    for former in revised:
        newer = former.newer
        if newer not in ranked or ranked.index(newer) < ranked.index(former):
            continue
        if former.of_date and not newer.of_date:
            continue  # the question names the day of the former one
        if state.after_snapshot and newer.score < BELIEVED * former.score:
            continue  # a model that read both found that the newer one does not answer
        ranked.remove(newer)
        ranked.insert(ranked.index(former), newer)
        newer.succeed(former)
    # A model that read both knows better what answers.
    possible = None if state.after_snapshot else state.possibly_newer
    if possible in ranked[READ:]:
        ranked.remove(possible)
        possible.succeed(ranked[READ - 1])
        ranked.insert(READ - 1, possible)
    elif not revised:
        return ranked
    # What was pushed out of the first ones scores less than some that `spread` had put behind them;
    # the last digits of what was scaled down to an equal score tell nothing.
    return ranked[:FIRST] + sorted(ranked[FIRST:], key=lambda hit: -round(hit.score, 9))
