"""Find secrets in sentences: `I set the password of the router to …`, `user ann, password …`. Pure.

A word is a secret if it looks like one and is connected with a name for secrets in the same
sentence. Both are counted in points: `Inky!Paws9` has enough by itself, `Fjord-Sauna-44` needs an
"is" or a colon before it, and `harbour7` a colon, or an "is" and quotation marks.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from .named_secrets import (
    DIGIT,
    LEAST_CHANGES,
    MASK,
    NUMBER,
    changes,
    is_harmless,
    is_unmistakable,
    places_of_names,
    present_words,
    same_length_lower,
)

ENOUGH = 3  # points
FEWEST = 6  # characters of a password
FEWEST_OF_CODE = 4
FEWEST_OF_TOKEN = 12
LONGEST = 60  # characters of a secret
LONGEST_WHOLE = 6  # characters of a name in ASCII that cannot be a part of another word
FAR = 80  # characters between a name and the beginning of a secret

# Before a user's name: `user ann, password …`
_LOGINS = (
    "login|account|admin|root|user|benutzer|utilisateur|usuario|utente|gebruiker|логин|пользователь"
)
# What a code of digits opens
_LOCKS = (
    "alarm|door|gate|garage|entry|access|safe|lock|wi-?fi|wlan|screen|keypad|tür|tor|alarme|porte"
    "|puerta|portail"
)
# PASSWORDS and TOKENS are other languages' words, which may have endings
_NAMES = r"""
  (?: (?P<password> pass[ -]?(?:word|phrase|code)s? | (?:pass|kenn)w[oö]r[dt]\w{0,2} | pwd | passwd | \bpw\b
        | (?<=[,;/&][ ]) pass (?=[ :="'`«„“]) | w(?:i-?fi|lan)[ -]?(?:key|schlüssel|code) PASSWORDS )
    | (?P<code> (?<![\w-]) (?:pin|puk|п[іи]н) (?:[ -]?(?:code|number|nummer|код))? | \b(?:LOCKS)[ -]?codes?
        | c[oó]d(?:e|ice|igo) [ ] (?:wi-?fi|d\w{1,4}[ '](?:l['a][ ]?)?\w{3,12}) )
    | (?P<token> \b(?:api|auth|access|secret|refresh|signing|bearer)[ _-]?(?:token|key|secret) TOKENS )
    | (?P<login> \b(?:log|sign)(?:ged|ed)?[ ]in )
  ) (?![A-Za-z0-9_(à-ÿ]|[._-]\w)
"""
# Verbs and adverbs directly before a secret, in several languages
_COPULAS = (
    "is|was|be|becomes|to|now|still|uses|ist|war|lautet|heißt|sind|nun|jetzt|früher|auf|es|est|maintenant"
    "|fue|era|ahora|agora|ora|adesso|este|é|è|är|er|nu|var|był|było|brzmi|teraz|byl|bylo|nyní|был|было"
    "|on|jest|to|je|là|είναι|है|هي|هو|היא|הוא|adalah|คือ|такой|теперь|olarak|van|lett|a"
)
_BEFORE = re.compile(
    rf"""
      (?: (?P<sign> [:=：→⇒—–] | [-=]> | (?<=\s)-(?=\s) )
        | (?<![^\W\d_]) (?:{_COPULAS}) (?=\s)
        | [是为為了成は가が이은는를을を]
        | (?<![^\W\d_]) (?P<with>with|mit|avec|con|com|met|med|с) (?=\s) )
      \s{{0,3}} [*_]{{0,2}} (?P<quote>["'`“„«‘「]?) [*_]{{0,2}} \Z
    """,
    re.VERBOSE,
)
# `… as its password`
_AS = re.compile(
    r"""["'`”“»’」*_]{0,3}\s(?:as|is|como|als|comme|come|som|jako|как|olarak)\s(?:\w{1,7}\s){0,2}\Z"""
)
_AFTER_USER = re.compile(
    rf"""(?:{_LOGINS})[ :=：]{{1,3}}["'`]?[\w.@+-]{{1,60}}["'`]?[,;/]?[ ](?:\w{{1,3}}[ ])?\Z"""
)
_SIDE_BY_SIDE = re.compile(r"""[*_]{0,2}(?:\s{1,3}[*_]{0,2}["'`“„«‘「]?|[“„«‘「]?)""")
_SYMBOLS = "!@#$%^&*+~?=.,/_-"
_CJK = r"\u3001-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60"
_CHARACTER = rf"""[^\s"'`“”„«»‘’「」()\[\]<>{{}}|,;{_CJK}]"""
_WORD = re.compile(rf"{_CHARACTER}+(?:,(?=\w){_CHARACTER}+)?")
_END = re.compile(r"[.!?;](?=\s|\Z)|[。！？]")
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_IDENTIFIER = re.compile(
    rf"""
      v?[0-9]+(?:\.[0-9]+)+\S* | [0-9][0-9.,]*-?[A-Za-z]{{1,12}}  # v2.3.1, 256-bit
    | [A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*                           # SHA-256
    | [0-9a-f]{{7,64}} | {_UUID.pattern}                         # commits
    | \S*[\\/]\S* | \S+@\S+\.\w+                               # paths, addresses
    | [a-z]\w*(?:\.[a-z][a-z0-9_]*)+                            # web3.eth.sign
    | \w+[=:]\S* | [#@$&^]\w+ | [a-z-]+[@#][0-9]+
    """,
    re.VERBOSE,
)
_WORD_AND_NUMBER = re.compile("[a-z]+(?:[-_.][a-z]+)*[-_.]?[0-9]{1,4}")
_CODE = re.compile("[0-9]{4,8}[#*]?")
_YEAR = re.compile("(?:19|20)[0-9]{2}(?:[01][0-9][0-3][0-9])?")
_LAST = re.compile(rf"""["'`”“»’」*_]{{0,3}}(?:[.,;!)]|\s*\Z|\s*\n|[{_CJK}])""")


def secrets_in_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret in a sentence, in order."""
    lowered = same_length_lower(text)
    foreign = present_words(lowered)
    names = _names(foreign)
    for start, end in _lines(lowered, (word for _, word in foreign)):
        spans = {
            span
            for name in names.finditer(lowered, start, end)
            for span in _connected(text, lowered, name, start, end)
        }
        reached = 0
        for span in sorted(spans):
            if span[0] >= reached:
                yield span
                reached = span[1]


def _lines(lowered: str, foreign: Iterable[str]) -> list[tuple[int, int]]:
    """The start and end of each line that has a part of a name and a digit, in order."""
    found = [*places_of_names(lowered).values()]
    found += [
        [match.start() for match in re.finditer(re.escape(word), lowered)] for word in foreign
    ]
    lines = []
    end = -1
    for place in sorted(chain.from_iterable(found)):
        if place > end:
            start = lowered.rfind("\n", 0, place) + 1
            end = lowered.find("\n", place)
            if end < 0:
                end = len(lowered)
            if DIGIT.search(lowered, start, end):
                lines.append((start, end))
    return lines


@lru_cache(maxsize=100)
def _names(foreign: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    forms = {"password": "", "token": ""}
    for group, word in foreign:
        whole = r"\b" if len(word) <= LONGEST_WHOLE and word.isascii() else ""
        forms[group] += rf"| {whole}{re.escape(word)}[^\W\d_]{{0,4}}"
    parts = {"LOCKS": _LOCKS, "PASSWORDS": forms["password"], "TOKENS": forms["token"]}
    return re.compile(re.sub("[A-Z]{5,}", lambda part: parts[part[0]], _NAMES), re.VERBOSE)


def _connected(
    text: str, lowered: str, name: re.Match[str], line_start: int, line_end: int
) -> Iterator[tuple[int, int]]:
    """Yield the secrets of this name: those before it in its sentence, and the first after it."""
    first = line_start
    if name.start() - FAR > line_start:
        first = lowered.find(" ", name.start() - FAR, name.start()) + 1 or name.start()
    last = min(name.end() + FAR, line_end)
    for end_before in _END.finditer(text, first, name.start()):
        first = end_before.end()
    end_after = _END.search(text, name.end(), last)
    if end_after:
        last = end_after.end()
    masked = text.find(MASK, name.end(), last)
    if masked >= 0:  # its secret
        last = masked
    is_product = text.endswith("1", 0, name.start())  # 1Password
    if is_product or not DIGIT.search(lowered, first, last):
        return
    end_of_last = min(last + LONGEST, line_end)
    words = chain(
        _WORD.finditer(text, first, name.start()), _WORD.finditer(text, name.end(), end_of_last)
    )
    for word in words:
        if word.start() >= last:
            return
        if word.end() - word.start() < FEWEST_OF_CODE or not DIGIT.search(word[0]):
            continue
        shown = word[0].rstrip(".,:?…")
        start, end = word.start(), word.start() + len(shown)
        is_rest = text.startswith(MASK, end) or text.endswith(MASK, 0, start)
        if is_rest or not _is_secret(text, lowered, name, start, end):
            continue
        if is_harmless(shown, False, text[end : end + len("...")]):
            continue
        yield start, end
        if start >= name.end():
            return


def _is_secret(text: str, lowered: str, name: re.Match[str], start: int, end: int) -> bool:
    """Whether this word of the sentence is a secret of that name."""
    word = text[start:end]
    if len(word) > LONGEST or text.startswith("(", end):
        return False
    is_after = start >= name.end()
    between = lowered[name.end() : start]
    if name["login"]:
        return is_after and _likeness(word) == ENOUGH and _is_with(between)
    if is_after and _CODE.fullmatch(word) and not name["token"]:
        is_year = name["password"] and _YEAR.fullmatch(word)
        is_last = _LAST.match(text, end) is not None
        return is_last and not is_year and _connection(text, lowered, name, start, end) > 0
    points = 0
    if name["token"]:
        points = 2 * _is_random(word)
    elif name["password"] and name["password"] not in word.lower():
        points = _likeness(word)
    if points == 0:
        return False
    if is_after:
        points += _connection(text, lowered, name, start, end)
    elif _AS.fullmatch(lowered, end, name.start()):
        points += 1
    else:
        points -= 1
    return points >= ENOUGH


def _is_with(between: str) -> bool:
    before = _BEFORE.search(between)
    return before is not None and before["with"] is not None


def _connection(text: str, lowered: str, name: re.Match[str], start: int, end: int) -> int:
    """How closely what stands between a name and a word after it connects them, in points."""
    between = lowered[name.end() : start]
    if _SIDE_BY_SIDE.fullmatch(between):
        before = lowered[max(name.start() - FAR, 0) : name.start()]
        is_last = _LAST.match(text, end) is not None
        if _AFTER_USER.search(before) or (is_last and before.endswith((", ", "; ", "/ ", "("))):
            return 2
        return int(is_last or name["token"] is not None or not name[0].isascii())
    connective = _BEFORE.search(between)
    if connective is None:
        return 0
    is_sign_of_name = connective["sign"] and not re.search(r"[.;!?,]\s", between)
    is_quoted = connective["quote"] not in ("", "`")
    return 1 + bool(is_sign_of_name) + is_quoted


def _likeness(word: str) -> int:
    """How much a word looks like a password, from 0 to ENOUGH points."""
    if len(word) < FEWEST or NUMBER.fullmatch(word) or _IDENTIFIER.fullmatch(word):
        return 0
    if is_unmistakable(word):
        return ENOUGH
    has_symbol = any(character in _SYMBOLS for character in word[:-1])
    is_mixed = word != word.lower() or has_symbol
    if is_mixed and word != word.upper() and not _WORD_AND_NUMBER.fullmatch(word):
        return 2
    return 1


def _is_random(word: str) -> bool:
    """Whether the letters and digits of a word are random: those of a token."""
    bare = re.sub("[-_.]", "", word)
    if _UUID.fullmatch(word):
        return False
    if len(bare) < FEWEST_OF_TOKEN or not (bare.isascii() and bare.isalnum()):
        return False
    digits = len(DIGIT.findall(bare))
    return 3 <= digits <= len(bare) - 3 and changes(bare) >= LEAST_CHANGES
