"""What a text says of change: its sentences, the values and names in them, and words for change and
for time.

Words are small letters without accents, as the analyzer folds them: English, German, French,
Spanish, Italian and Dutch. Nothing here knows of hits or of a store.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from . import analyzer
from .analyzer import OTHER_STOP_WORDS, STOP_WORDS
from .characters import fold

if TYPE_CHECKING:
    from .query import Query

SMALL_WORDS = STOP_WORDS | OTHER_STOP_WORDS
LETTERS = 5  # of a word that are compared

WEEKDAYS = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays montag dienstag mittwoch donnerstag freitag samstag sonntag montags
    dienstags mittwochs donnerstags freitags samstags sonntags lundi mardi mercredi jeudi vendredi
    samedi dimanche lunes martes miercoles jueves viernes sabado domingo""".split()
)
MONTHS = frozenset(
    """january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep oct nov dec januar februar marz mai juni juli oktober dezember
    janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre enero febrero
    marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre""".split()
)
FEASTS = frozenset(
    "easter christmas ostern weihnachten paques noel pascua navidad pasqua natale".split()
)

# Something is no longer as it was.
CHANGE = frozenset(
    """now longer anymore since instead move moved moves change changed changes switched
    switch replaced replaces replace new newly starting starts started shifted slips slipped
    postponed rescheduled cancelled canceled retired retires reversed raised lowered
    former formerly old gone deleted dropped bumped upgraded patched swapped pushed
    extended updated corrected jetzt nun sofort kunftig neu neue neuer neuen statt stattdessen
    mehr verschieben verschoben verlegt lost abgelost umgezogen geandert seit niedergelegt
    weiteres ersetzt desormais maintenant remplace ahora cambio adesso invece voortaan""".split()
)
# So do these before a day: "from Monday", "as of today", "since this week".
FROM = frozenset("from since ab seit des desde da vanaf".split())
DAYS = (
    WEEKDAYS
    | MONTHS
    | frozenset("today tonight tomorrow this here now heute dieser diesem hier hoy oggi".split())
)
# And this in a conversation, where it is decided.
DECISION = frozenset(
    """so then make made rather final finally decided take takes again also doch dann lieber
    nehmen machen""".split()
)
TAKEN = frozenset("takes took taken take".split())  # before "over"
NEGATION = frozenset("not never nicht nie t".split())
# It has come to its end.
DONE = frozenset(
    """done finished completed signed ordered delivered renewed paid closed merged shipped sent arrived
    bought booked erledigt fertig bestellt bezahlt unterschrieben abgeschlossen""".split()
)
# It is still as it was.
STAYS = frozenset(
    """stays stay remains remain keeps keep continues continue unchanged same bleibt bleiben weiter
    weiterhin unverandert bisher reste restent sigue siguen permanece rimane blijft""".split()
)
CLAUSE = r"[,;:.!?()]\s|\s[–—-]\s"  # what stands between two clauses
NUMBERS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    twenty thirty forty fifty ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf""".split()
)
ORDINALS = {
    word: str(number)
    for number, word in enumerate(
        """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
        thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth
        twentieth""".split(),
        1,
    )
}
MANY = NUMBERS - frozenset("one two ein zwei".split())  # which are everywhere
HOURS = frozenset("noon midnight midday mittags mitternacht".split())
CURRENCIES = frozenset(
    "€ £ $ euro euros pound pounds dollar dollars cent cents quid usd eur gbp chf franken".split()
)
EVERY = frozenset("every each jeden".split())
DAILY = frozenset("daily weekly taglich wochentlich".split())
NAMED_VALUES = WEEKDAYS | HOURS | NUMBERS | ORDINALS.keys() | DAILY | {"day"}

# The kinds of value that a word of a question asks for.
ASKED: dict[str, tuple[str, ...]] = {}
for _kinds, _words in (
    (("date", "time", "day"), "when wann quand cuando quando wanneer"),
    (
        ("time",),
        """time hour hours o'clock uhr abfahrt departure opening offnungszeiten uhrzeit hora horas heure
        heures ora orario tijd""",
    ),
    (
        ("day", "date"),
        "day days weekday night nights tag tage wochentag nacht dia dias jour jours giorno giorni dag",
    ),
    (
        ("date",),
        """date dates deadline datum frist week termin fecha fechas plazo semana delai semaine data
        scadenza settimana""",
    ),
    (("money", "number", "percent"), "much hoch viel combien cuanto quanto hoeveel"),
    (
        ("money",),
        """price prices cost costs charge sold pay rent fee fees money wage salary budget deposit
        kostet kosten preis miete beitrag gebuhr lohn cuesta cuestan precio alquiler cuota sueldo
        presupuesto coute prix loyer salaire costa prezzo affitto kost prijs huur""",
    ),
    (
        ("number",),
        """many port number long often temperature size large largest wide high
        interval viele nummer wieviel wieviele anzahl temperatur grosse numero
        cuantos cuantas temperatura tamano taille quanti quante aantal""",
    ),
    (("number", "money"), "limit minimum maximum hochstens mindestens limite minimo maximo"),
    (("number", "percent", "money"), "rate discount rabatt descuento remise sconto"),
    (
        ("number", "address"),
        "code pin password passwort kennwort codigo clave contrasena codice wachtwoord",
    ),
    (("version", "number"), "version release versie versione"),
    (("percent",), "percentage percent prozent porcentaje"),
    (
        ("name",),
        """who whom whose name call called title titel wer wem wen qui quien quienes chi heisst
        llama nombre titulo nome titolo naam""",
    ),
    (("name",), "provider supplier company contact anbieter firma lieferant proveedor empresa"),
    (("name", "address"), "where wo ou donde dove waar"),
    (("address", "number", "name"), "address url host adresse direccion indirizzo adres"),
):
    for _word in _words.split():
        ASKED[_word] = (*ASKED.get(_word, ()), *_kinds)
ENDS = [word for word in ASKED if len(word) >= LETTERS]  # of compounds: "Jahresbeitrag"

# A question for what was, and one for what is.
FORMER = frozenset(
    """former formerly old older original originally previous previously initially vorher fruher
    fruhere alte alter alten altes ursprunglich damals ehemals ancien ancienne anterior
    vroeger""".split()
)
# These say so in a question about what was, but not in "how long is it kept before it is deleted".
FORMER_OF_PAST = frozenset("before earlier avant antes prima".split())
FORMER_WITH_PAST = frozenset("first back past early zuerst".split())
IN = frozenset("in im en".split())  # before a month
PAST_TENSE = frozenset(
    "was were did had used looked war waren hatte hatten wurde etait fue era".split()
)
PRESENT_TENSE = frozenset("is are do does am must may can will should ist sind est sont".split())
PRESENT = frozenset(
    """now current currently latest newest still today nowadays jetzt aktuell aktuelle aktuellen
    derzeit heute noch neueste actuel actuellement maintenant actual ahora attuale""".split()
)


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded and in small letters."""
    return analyzer.searchable(text).lower().split()


def roots(words: Iterable[str]) -> set[str]:
    """Return the first letters of the telling words."""
    return {word[:LETTERS] for word in words if word not in SMALL_WORDS}


CALENDAR = roots([*MONTHS, *WEEKDAYS, *FEASTS])


def is_change(words: Sequence[str], *, is_turn: bool) -> bool:
    """Return whether words say that something is no longer as it was."""
    has_change = False
    for number, word in enumerate(words):
        before = words[max(number - 2, 0) : number]
        if word in DAYS and (before == ["as", "of"] or not FROM.isdisjoint(before[-1:])):
            has_change = True
        if word == "over" and not TAKEN.isdisjoint(before[-1:]):
            has_change = True
        if word in CHANGE or (is_turn and word in DECISION):
            if not NEGATION.isdisjoint(before):
                return False
            has_change = True
    return has_change


def stays(text: str, subject: set[str]) -> bool:
    """Return whether a clause of a text says that something stays as it was: what one of the words
    of `subject` names.
    """
    for clause in re.split(CLAUSE, text):
        words = words_of(clause)
        says_so = not STAYS.isdisjoint(words) or words[-2:] == ["as", "before"]
        if says_so and not subject.isdisjoint(roots(words)):
            return True
    return False


# --- questions

# Telling words of a question for a fact. What has more is a turn of a conversation.
MOST_WORDS = 15
# Where it names no kind of value; of a single word, nobody knows which fact is asked for.
LEAST_WITHOUT_KIND, MOST_WITHOUT_KIND = 2, 7


class Question:
    """What is asked: its words, the kinds of value that would answer it, its time, the letters that
    tell things apart ("Flat B"), and whether it asks for a fact.
    """

    def __init__(self, query: "Query") -> None:
        words = words_of(query.text)
        self.words = roots(words)
        self.kinds = {kind for word in words for kind in _asked(word)}
        self.is_past = _is_past(words, query)
        self.letters = letters_in(query.text)
        self.is_for_fact = len(self.words) <= MOST_WORDS
        if not self.kinds:
            self.is_for_fact = LEAST_WITHOUT_KIND <= len(self.words) <= MOST_WITHOUT_KIND


def _asked(word: str) -> Iterator[str]:
    """Yield the kinds of value that a word asks for, by itself or as the end of a compound."""
    if word in ASKED:
        yield from ASKED[word]
        return
    for end in ENDS:
        if word.endswith(end):
            yield from ASKED[end]


def _is_past(words: list[str], query: "Query") -> bool:
    text = query.text.lower()
    if not PRESENT.isdisjoint(words):
        return False
    if not FORMER.isdisjoint(words):
        return "how old" not in text
    if "used to" in text or ("use to" in text and "did" in words):
        return True
    has_past_tense = not PAST_TENSE.isdisjoint(words)
    if not FORMER_OF_PAST.isdisjoint(words):
        return has_past_tense or PRESENT_TENSE.isdisjoint(words)
    has_month = any(word in IN and month in MONTHS for word, month in pairwise(words))
    has_time = has_month or bool(query.periods) or not FORMER_WITH_PAST.isdisjoint(words)
    return has_past_tense and has_time


# --- values

MARKS = ".,;!?()[]|*_\"'“”"  # around a word
LONGEST_UNIT = 3  # letters of a unit: "1.2 GB"
END_OF_CLAUSE = ".,;:!?"
SHORT_DATE = re.compile(r"\W?\d{1,2}\.\d{1,2}\.(?:\d{2,4})?\W?$")  # "7.4.", as Germans write
AFTER_ORDINAL = frozenset("is was to at and of".split())  # after "the fifth", if it is a day

Values = dict[str, set[str]]  # by kind


def values_of(text: str) -> Values:
    """Return the values that a text names, by kind: "time", "date", "day", "money", "percent",
    "version", "number", "address" and "state".

    A number that stands without a unit is "bare", too: it may be of any kind.

    '€5.60 for 9 rolls' -> {"money": {"5.60"}, "number": {"9"}}
    """
    values: Values = {}
    written = fold(text).lower().split()
    pieces = [piece.strip(MARKS) for piece in written]
    state = _state(text, pieces)
    if state:
        values["state"] = {state}
    for number, piece in enumerate(pieces):
        if not piece or (piece.isalpha() and piece not in NAMED_VALUES):
            continue
        before = pieces[number - 1] if number else ""
        after = pieces[number + 1] if number + 1 < len(pieces) else ""
        is_last = written[number][-1] in END_OF_CLAUSE
        if piece in ORDINALS and not (is_last or after in AFTER_ORDINAL):
            continue  # "the first file"
        kind = "date" if SHORT_DATE.match(written[number]) else _kind(piece, before, after)
        if kind is None:
            continue
        value = _plain_value(piece, kind)
        values.setdefault(kind, set()).add(value)
        has_unit = after and after not in SMALL_WORDS and not is_last
        if kind in ("number", "version") and not has_unit:
            values.setdefault("bare", set()).add(value)
    return values


def _plain_value(piece: str, kind: str) -> str:
    if kind == "day":
        return piece[:LETTERS]  # "sundays" are "sunday"
    return ORDINALS.get(piece, piece.strip("€£$%:~`"))


def is_number(value: str) -> bool:
    """Return whether a value is a number, in digits or in words."""
    return value in MANY or any(map(str.isdigit, value))


def value_roots(values: Iterable[str]) -> set[str]:
    """Return the words of values as texts are compared, without minutes that are 00."""
    words = {word[:LETTERS] for word in words_of(" ".join(values))}
    return {word for word in words if word.strip("0")}


def _state(text: str, pieces: list[str]) -> str | None:
    """Return the state of a task: "open", "done", or None if it is none."""
    box = text[:6].lower()
    if "[ ]" in box:
        return "open"
    if "[x]" in box or not DONE.isdisjoint(pieces):
        return "done"
    return None


def _kind(piece: str, before: str, after: str) -> str | None:
    """Return the kind of value that a piece of text between two others is."""
    if "://" in piece or "@" in piece or "\\" in piece or piece.startswith("`"):
        return "address"
    if piece in WEEKDAYS or piece in DAILY or (piece == "day" and before in EVERY):
        return "day"
    if piece in HOURS:
        return "time"
    if piece in ORDINALS:
        return "date" if before == "the" else None
    has_digit = any(map(str.isdigit, piece))
    if not has_digit and piece not in NUMBERS:
        if "." in piece and "/" not in piece and piece.replace(".", "").replace("-", "").isalnum():
            return "address"
        return None
    return _kind_of_number(piece, before, after)


def _kind_of_number(piece: str, before: str, after: str) -> str:
    if piece[0] in "€£$" or piece[-1] in "€£$" or after in CURRENCIES:
        return "money"
    if piece.endswith("%") or after in ("percent", "prozent", "per"):
        return "percent"
    if after in MONTHS or before in MONTHS:
        return "date"
    if piece[:-2].isdigit() and piece[-2:] in ("st", "nd", "rd", "th"):
        return "date"
    if len(piece) == 10 and piece[4] == piece[7] == "-":
        return "date"
    if ":" in piece and piece.replace(":", "").isdigit():
        return "time"
    if after in ("am", "pm", "uhr", "o'clock") or before in ("past", "half"):
        return "time"
    if "." in piece and piece.replace(".", "").isdigit():
        is_measure = after.isalpha() and after not in SMALL_WORDS and len(after) <= LONGEST_UNIT
        return "number" if is_measure else "version"
    return "number"


# --- sentences

# The speaker of a line of a conversation, with or without the time; a list has keys like that.
TURN = re.compile(
    r"(?:[-*] )?\*\*[^*\n]{1,40}\*\*[^:\n]{0,3}\([^)\n]{1,20}\):\s"
    r"|\*\*[^*\n]{1,40}\*\*:\s|\*\*[^*\n]{1,40}:\*\*\s|([A-Za-z]{2,12}): "
)
SPEAKERS = frozenset("user assistant human agent system bot ai me model".split())
TURNS = 2  # lines that a line of a conversation goes on from
ENTRY = re.compile(r"\d{1,2}[.:)]|[\w-]{2,12}: ")  # a time, a number of a list, or a speaker
ITEMS = ("-", "*", "+", "|")


class Paragraph:
    """A paragraph, an item, a row, or what somebody says.

    `lead_in` has the words of what it is about: of the line above a list, of the head of a table,
    of what was said before.
    """

    def __init__(self, text: str, lead_in: Sequence[str] = (), *, is_turn: bool = False) -> None:
        self.text = text
        self.lead_in = lead_in
        self.is_turn = is_turn


def paragraphs(text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of a text, without its headings."""
    said: list[list[str]] = []
    lead_in: list[str] = []
    lines = _joined(text)
    speakers = Counter(turn[1] for turn in map(TURN.match, lines) if turn)
    for line in lines:
        speaker = TURN.match(line)
        if speaker and _speaks(speaker[1], speakers):
            turn = line[speaker.end() :]
            yield Paragraph(turn, [word for words in said[-TURNS:] for word in words], is_turn=True)
            said.append(words_of(turn))
            continue
        is_item = line.startswith(ITEMS)
        yield Paragraph(line, lead_in if is_item else ())
        if line.endswith(":") or (line.startswith("|") and not lead_in):
            lead_in = words_of(line)
        elif not is_item:
            lead_in = []


def _speaks(name: str | None, speakers: Mapping[str | None, int]) -> bool:
    """Return whether a line's first word is a speaker's, and no key as in "port: 22"."""
    return name is None or name.lower() in SPEAKERS or speakers[name] > 1


def _joined(text: str) -> list[str]:
    """Return the lines of a text; those that go on in the next line are joined."""
    lines: list[str] = []
    is_open = False
    for written in text.split("\n"):
        line = written.strip()
        if not line or line.startswith("#") or not any(map(str.isalnum, line)):
            is_open = False
            continue
        if is_open and not (line.startswith(ITEMS) or ENTRY.match(line)):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        is_open = line[-1] not in ".!?:|)"
    return lines


def sentences_of(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph."""
    sentences = []
    start = 0
    for place, character in enumerate(paragraph[:-2]):
        if (
            character in ".!?"
            and paragraph[place + 1] == " "
            and not paragraph[place + 2].islower()
            and not _is_inside(paragraph[start:place], paragraph[place + 2 :])
        ):
            sentences.append(paragraph[start : place + 1])
            start = place + 2
    return [*sentences, paragraph[start:]]


TOGETHER = 200  # characters of sentences that are compared as one


def joined(sentences: Iterable[str]) -> list[str]:
    """Return short sentences joined: "Pool groups are shuffled. We go at ten." says one thing."""
    pieces: list[str] = []
    for sentence in sentences:
        if pieces and len(pieces[-1]) + len(sentence) < TOGETHER:
            pieces[-1] += f" {sentence}"
        else:
            pieces.append(sentence)
    return pieces


TITLES = frozenset("dr mr mrs ms st nr prof sr sra ca vs".split())  # before a full stop


def _is_inside(before: str, after: str) -> bool:
    """Return whether a full stop between these ends no sentence: "Dr. Lam", "20. Mai"."""
    last = before.rpartition(" ")[2].lower().strip("(")
    is_day = last.isdigit() and len(last) < 3 and MONTHS.intersection(words_of(after[:20])[:1])
    return last in TITLES or bool(is_day)


# --- names

INSIDE = r"(?<=[\w,;)] )[^\W\da-z_]\w+"  # a word with a capital, not at the beginning of a sentence
TITLED = r"\b(?:Mrs?|Ms|Dr|Frau|Herrn?|Mme|Sra?|Don)\.? ([^\W\da-z_]\w+)"
LETTER = r"(?<=\w )[A-HJ-Z]\b(?!')"  # "Flat A"; I is a pronoun
HEAD = r"(?m)^\s*(?:[-*+|]|\d+\.)\s+\**([^\W\d_][\w-]{2,20})\**(?::| \|)"
MANY_CAPITALS = 0.25  # of the words: a language that writes every noun so


class Names:
    """The names in some texts: words that have a capital inside a sentence, and nowhere a small
    letter; and those after a title, the only ones in a language that writes all nouns so.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        text = "\n".join(texts)
        pieces = {piece.strip("*_\"'“”‘’()[],;:!?.|") for piece in text.split()}
        others = {piece for piece in pieces if piece.islower()}
        capitals = set(re.findall(INSIDE, text))
        titled = _roots_of(re.findall(TITLED, text)) - CALENDAR
        self.all_nouns_have_capitals = len(capitals) > MANY_CAPITALS * max(len(others), 1)
        if self.all_nouns_have_capitals:
            self.words = titled
        else:
            self.words = (_roots_of(capitals) | titled) - _roots_of(others) - CALENDAR
        # Also what lists and tables are about: hosts, dishes, members
        self.things = self.words | (_roots_of(re.findall(HEAD, text)) - CALENDAR)


def capitals_in(text: str) -> set[str]:
    """Return the words with a capital inside a sentence."""
    return _roots_of(re.findall(INSIDE, text)) - CALENDAR


def letters_in(text: str) -> set[str]:
    """Return the capital letters that stand alone behind a word."""
    return set(re.findall(LETTER, text))


def _roots_of(words: Iterable[str]) -> set[str]:
    return roots(words_of(" ".join(words)))
