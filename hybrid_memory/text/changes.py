"""Words that say what changes: of values, of questions for them, of past and present. Pure tables.

Small letters without accents, as the analyzer folds them; English, German, French, Spanish, Italian
and Dutch.
"""

from .analyzer import STOP_WORDS

SMALL_WORDS = STOP_WORDS | frozenset(
    """der die das den dem des ein eine einen einem einer und oder im am an auf aus bei mit nach von
    vor zu zum zur fur ist sind war wird werden hat haben er sie es wir ihr ich nicht auch noch wer
    was wann wo wie welche welcher welches unser unsere le la les un une et ou est sont du dans el
    los las una es son en il lo gli di da het een van""".split()
)

# Something is no longer as it was.
CHANGE = frozenset(
    """now longer anymore since instead move moved moves change changed changes switched switch
    replaced replaces replace took takes new newly today tonight here starting starts started again
    shifted slips slipped postponed rescheduled cancelled canceled retired reversed raised lowered
    until make made final finally rather former formerly old gone deleted dropped bumped upgraded
    updated corrected decided so then jetzt nun sofort kunftig neu neue neuer neuen statt stattdessen
    mehr verschieben verschoben verlegt lost abgelost umgezogen geandert seit niedergelegt weiteres
    ersetzt desormais maintenant remplace ahora cambio adesso invece voortaan""".split()
)
# It is said of one more thing.
ADDITION = frozenset(
    """also another both besides second auch ebenfalls zusatzlich zweite aussi tambien anche
    ook""".split()
)

NUMBERS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    twenty thirty forty fifty ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf""".split()
)
HOURS = frozenset("noon midnight midday mittags mitternacht".split())
CURRENCIES = frozenset(
    "€ £ $ euro euros pound pounds dollar dollars cent cents quid usd eur gbp chf franken".split()
)
WEEKDAYS = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays montag dienstag mittwoch donnerstag freitag samstag sonntag montags
    dienstags mittwochs donnerstags freitags samstags sonntags lundi mardi mercredi jeudi vendredi
    samedi dimanche lunes martes miercoles jueves viernes sabado domingo""".split()
)
MONTHS = frozenset(
    """january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep oct nov dec januar februar marz märz mai juni juli oktober dezember
    janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre enero febrero
    marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre""".split()
)

# The kinds of value that a word of a question asks for.
ASKED: dict[str, tuple[str, ...]] = {}
for _kinds, _words in (
    (("date", "time", "day"), "when wann quand cuando quando"),
    (("time",), "time hour o'clock uhr abfahrt departure"),
    (("day", "date"), "day days weekday tag wochentag"),
    (("date",), "date deadline datum frist week"),
    (("money", "number", "percent"), "much hoch viel combien cuanto"),
    (("money",), "price prices cost costs charge sold pay rent fee kostet preis miete"),
    (("number",), "many port number code long often temperature pin viele nummer wieviel"),
    (("version", "number"), "version release"),
    (("percent",), "percentage percent prozent"),
    (("name",), "who whom whose name wer wem wen qui quien chi"),
    (("name", "address"), "where wo ou donde dove"),
    (("address", "number", "name"), "address url host adresse"),
):
    for _word in _words.split():
        ASKED[_word] = (*ASKED.get(_word, ()), *_kinds)

# A question for what was, and one for what is.
FORMER = frozenset(
    """before former formerly old older original originally previous previously initially earlier
    first back past early vorher fruher fruhere alte alter alten altes ursprunglich zuerst damals
    ehemals avant ancien ancienne antes anterior prima vroeger""".split()
)
PAST_TENSE = frozenset(
    "was were did had used looked war waren hatte hatten wurde etait fue era".split()
)
PRESENT = frozenset(
    """now current currently latest newest still today nowadays jetzt aktuell aktuelle aktuellen
    derzeit heute noch neueste actuel actuellement maintenant actual ahora attuale""".split()
)
