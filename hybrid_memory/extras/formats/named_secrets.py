"""Find secrets by the names they are assigned to: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`,
`**Password:** …`. Pure.

The name ends in a word such as "password", "token" or "key", or in such a word of another language.
The value is a secret unless it looks like something else: a variable, a placeholder, a path, a
function call, a number or an ordinary word. How much it must look like a secret depends on the name
and on the sign between them: after `password:`, `correct-horse-battery` is enough, but after
`token:` a digit is needed. For names and secrets in a sentence, see sentences.py.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import chain, pairwise
from typing import NamedTuple
from unicodedata import combining, normalize

MASK = "[redacted]"

# Limits in characters, so that a long text takes linear time
LONGEST_OPTION = 80
LONGEST_WORD = 16  # before the last word of a name
LONGEST_JUDGED = 120  # of a value
LONGEST_QUOTED = 2000  # between quotation marks
LONGEST_HEADER = 500  # of a table

SHORTENED = (
    16  # a key with at most this many characters before an ellipsis is no secret: `gsk_12ab...`
)

LEAST_CHANGES = 0.55  # of a random token; words in camel case have less

# Characters of a secret
FEWEST_OF_PASSWORD = 2
FEWEST_OF_CONSTANT = 4
FEWEST = 6

# Other languages' words for a password, and for a token or an API key
PASSWORDS = tuple(
    """kennwort zugangscode zugangsdaten contraseña code_wifi clave mot_de_passe mdp senha palavra-passe
    parola parole parolă wachtwoord lösenord passord løsen adgangskode kodeord salasana lykilorð hasło heslo
    geslo lozinka šifra jelszó jelszav slaptažodis parool şifre пароль пароля парола лозинка κωδικός_πρόσβασης
    κωδικός סיסמה סיסמא كلمة_مرور كلمة_المرور كلمة_السر کلمه_عبور رمز_عبور گذرواژه پاس_ورڈ पासवर्ड পাসওয়ার্ড
    கடவுச்சொல் పాస్‌వర్డ్ ਪਾਸਵਰਡ รหัสผ่าน mật_khẩu kata_sandi sandi nenosiri 密码 密碼 口令 パスワード
    暗証番号 비밀번호 암호""".split()
)
TOKENS = tuple(
    """api-schlüssel clé_api clé_d'api clé_secrète clave_api clave_de_api clave_secreta chave_de_api
    chave_secreta chiave_api chiave_segreta klucz_api klíč_api api_anahtarı api-nyckel api-sleutel
    ключ_api api_ключ api-ключ секретный_ключ токен jeton 密钥 密鑰 令牌 apiキー api_キー 秘密鍵 トークン
    api키 api_키 토큰""".split()
)
# The last word of a name, in lower case, and the characters between it and its value.
_NAME = (
    "(?P<password>pass(?:word|wort|wd|phrase|code)?|pwd|pw|key[ ]content)"
    "|secret|credentials?|creds|token|key|pat|_auth"
)
_BEGINNINGS = ("pass", "pw", "key", "secret", "cred", "token", "pat", "_auth")  # of _NAME
# With those of names in sentences
NAMES = (
    *_BEGINNINGS,
    *("kennw", "wifi", "wi-fi", "wlan", "pin", "puk", "пін", "пин", "code", "codi", "códi"),
    *("log in", "logged in", "sign in", "signed in"),
)
_SUFFIX = (
    "(?:[_-]?(?:base|id|value|string|text|prod|production|dev|staging|live|test|old|new"
    "|[0-9]{1,3}))?+"
)
_MARKUP = "</?(?:b|strong|em|code|td|th|dt|dd|span)>"


def _assignments(names: str, suffix: str, flags: re.RegexFlag) -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<name>{names}){suffix} (?:
      # the end of "name", **name**, <td>name</td>, config["name"]
      (?P<end> (?:\\?["'`*_\])]){{0,4}}+ (?:{_MARKUP})?+ )
      (?P<space>\s{{0,20}}+) (?:[是为為は은는](?=\s?[:：]))?
      (?P<sign> :\s?\w{{1,20}}\??\s?=(?=\s?["'])           # name: type = "..."
            | :[:=]?|=(?!=)>? | == (?=\s?["']) | -> | [：＝→⇒|] | <t?d[td]?>
            | ,?["']?\s{{0,20}}["']?value["']?\s?[:=] | </key>\s{{0,20}}<string>
            | \{{[^{{}}]{{0,200}}?\bdefault\s{{0,9}}=            # a variable of Terraform
            | (?<=["'])(?: ,(?=\s?["']) | > )
            | \((?=\s?["']) )                                  # setPassword("...")
      (?:\s{{0,20}}+ (?:\*\*|__|{_MARKUP}|@?(?=["'])|[|>][+-]?(?=[ ]*\n))){{0,3}} \s{{0,20}}+
    | (?P<option>[ ]{{1,3}})                                   # --name value
    )
    # of token=token=..., only the last one is judged
    (?! --[a-z] | [a-z_-]{{0,16}} (?P=name) [:=][\w-] | (?P=name) [ :=])
    """,
        re.VERBOSE | flags,
    )


_ASSIGNED = _assignments(_NAME, _SUFFIX, re.ASCII)


def _spellings(words: Iterable[str]) -> list[str]:
    """Words as they are written, the longest first: with their marks, with combining marks and
    without; with " ", "_" or "-" for "_".
    """
    forms = set()
    for word in words:
        decomposed = normalize("NFD", word)
        plain = "".join(character for character in decomposed if not combining(character))
        written = {normalize("NFC", word), decomposed}
        if plain.isascii():
            written.add(plain)
        forms |= {form.replace("_", space) for form in written for space in (" ", "_", "-", "")}
    return sorted(forms, key=len, reverse=True)


@cache
def _foreign_words() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """The spellings of other languages' words, each with its group in the pattern, by a part that
    they contain, and these by their first character that is not ASCII ("" if all are): a text is
    searched for the parts first.
    """
    words = [
        (group, spelling)
        for group, of_group in (("token", TOKENS), ("password", PASSWORDS))
        for spelling in _spellings(of_group)
    ]
    parts = {
        max(re.split("[ _-]", spelling), key=lambda part: (not part.isascii(), len(part)))
        for _, spelling in words
    }
    shortest_first = sorted(parts, key=lambda part: (part.isascii(), len(part), part))
    by_character: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(dict)
    for word in words:
        part = next(part for part in shortest_first if part in word[1])
        character = next((c for c in part if not c.isascii()), "")
        by_character[character].setdefault(part, []).append(word)
    return by_character


@lru_cache(maxsize=100)
def _assigned_to(words: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    groups = defaultdict(list)
    for group, spelling in words:
        groups[group].append(re.escape(spelling))
    groups["password"] = groups["password"] or ["(?!x)x"]  # a pattern without matches
    names = "|".join(f"(?P<{group}>{'|'.join(forms)})" for group, forms in groups.items())
    return _assignments(names, r"(?:[^\W\d_]{0,4}?)", re.UNICODE)


@lru_cache(maxsize=2)
def present_words(lowered: str) -> tuple[tuple[str, str], ...]:
    """The words of other languages that are in this text, the longest first, each after its group."""
    by_character = _foreign_words()
    characters = by_character.keys() & {"", *_NOT_ASCII.findall(lowered)}
    present = [
        word
        for character in characters
        for part, words in by_character[character].items()
        if part in lowered
        for word in words
        if word[1] in lowered
    ]
    return tuple(sorted(present, key=lambda word: -len(word[1])))


def _foreign(lowered: str) -> re.Pattern[str] | None:
    """The pattern of an assignment to those words of other languages that are in this text."""
    present = present_words(lowered)
    if not present:
        return None
    return _assigned_to(present)


# Last words that are also common elsewhere; each must follow one of these words: `apiKey`,
# `smtp_pass`.
_ACCOUNTS = tuple(
    """admin auth basic db email ftp git imap ldap login mail mongo my mysql pg postgres proxy redis
    root smtp ssh sudo user wifi""".split()
)
_PURPOSES = tuple(
    """access account admin api app application auth bot client consumer cookie deploy encrypt
    encryption function hmac host jwt license master network private root secret service role shared signing
    spend storage subscription webhook wifi wlan wpa anthropic aws azure openai stripe""".split()
)
_BEFORE = {
    "token": (*_PURPOSES, "refresh", "bearer", "user", "my"),
    "key": _PURPOSES,
    "pass": _ACCOUNTS,
    "pw": _ACCOUNTS,
    "pat": ("github", "gitlab", "azure", "ado", "devops"),
    "creds": (),
    "_auth": (),
}
# Tokens and keys that are no secrets: positions in a list, and parts of texts
_NOT_SECRET = tuple(
    """page next continuation sync cursor eos bos pad unk sep cls mask stop max min num public primary
    foreign sort cache partition idempotency""".split()
)
_OPTION = re.compile(
    r"(?<![\w-])--?(?:[A-Za-z]+[_-]?){0,5}+\Z"
    # Commands that separate a name and its value by a space
    r"|(?:(?:^|\n)[ \t]*(?:ENV|setx|set[ ]-g?x)[ ]|\bnmcli[ ].*|\bgh[ ]secret[ ]set[ ].*--body[ ])\w{0,40}\Z"
)

CAMEL_CASE = re.compile("[a-z]+(?:[A-Z][a-z]+)+(?:V?[0-9]{1,3})?")
_SETTER = re.compile(r"(?:\w*(?:Set|With)|(?:\w*_)?(?:set|with))[A-Za-z_]{0,12}")

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_BARE = re.compile(  # up to white space; may contain a quotation mark, "|", "&" or ";"
    r"""(?:[^\s"'`<|&;\\]++|["'|](?=[A-Za-z0-9])|[&;](?![\w.-]{1,40}=|[&;\s]|\Z)"""
    r"""|\\(?![nrt"'\s])|<(?![/\w]))++"""
)
_AFTER_A_VALUE = ".,:)]}"
FIRST_OF_CJK = "\u1100"
_CJK = re.compile("[\u3001-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]")

_PLACEHOLDER = re.compile(
    r"""
      \$\w+\W? | \$[({].* | \$env:.* | \$[A-Z]\w*/.*        # $TOKEN, ${TOKEN}, $(command), $HOME/.token
    | <[^>]*>? | \{.* | \[.*                                # <your key>, {key}, [redacted]
    | ![a-z]+ | %[sd] | %[({].* | %\w+%                               # %s, %(key)s, %KEY%
    | [0-9]+\+ | [\W_]+ | (?:[a-z]{1,12}[_-]){0,3}[xX*•.]+      # ***, ..., xxxx, ghp_xxxx
    | [a-z]{1,4}-[0-9a-f]{8,32}                                  # ids of AWS
    | (?i:bytes|u?int|float|(?:var)?char|string)[0-9]{1,3}      # types
    | [A-Za-z]+(?:_[a-z]+)*=[\w.]{1,12}                          # limit=1
    | (?i:my)[_-]?(?i:password|secret|token|key)
    | (?i:tu|su|votre|ton|deine?|ihre?|seu|sua|uw|jouw)[_ -][A-Za-z_ -]+     # tu-key
    | (?i:your|insert|replace|enter|paste|put)[_ -].* | (?i:change[_-]?me) | .{0,16}(?:\.{3}|…)
    | (?:~|\.{1,2}|[A-Za-z]:)[/\\].* | /(?:[a-z._-]+[0-9]?|Users|Volumes|Library)(?:/.*)?
    | [\w./-]+\.(?:pem|key|pub|crt|json|ya?ml|txt|md|env|toml|ini|py|js|ts|sh|go|rs|java|html|png|jpe?g)
    | (?:[a-z][a-z-]*\.)+(?:com|org|net|io|dev|ai|cn|local)(?:[:/].*)?  # host names
    | (?:[a-z][a-z+.-]*://|(?:arn|file|env|vault|sha[0-9]+|keyring|op):).*
    | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+                         # API_KEY_2
    | (?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9].*              # dates
    | v?[0-9]{0,3}(?:[-.,:/_][0-9]+)*[kKmMgG%]?[bBs]?       # 12, 8-64, 1.2.3; 1234 may be a password
    | (?i:1password|sha[0-9-]+|md5|bcrypt.*|argon2.*|base64|utf-?8|oauth[0-9]?.*|ed25519|[rhe]s256)
    | (?i:aes.*|x509|k8s) | [A-Za-z]+-v?[0-9]+(?:\.[0-9]+)+   # GPL-3.0
    """,
    re.VERBOSE,
)
_CODE = re.compile(
    r"""
      # parse(line), line.split()[0]
      (?:[A-Za-z_]\w*(?:\.|->|::|\?\.))*+[A-Za-z_]\w*[(\[](?:[bfru]{0,2}["'].*|.*[)\]].*|.*,)?
    | (?:process|import|os|self|this|config|cfg|conf|settings|env|options|opts|args|req|request|res
        |response|ctx|context|secrets|vars|data|params|props|state|user|event|app|local|module)[.\[].*
    | (?:[A-Za-z_.]+[._])?(?i:password|passwd|pass|pwd?|secret|token|api_?key|credentials?)
        (?:[._][A-Za-z_.]+)?[,.:)}]?
    """,
    re.VERBOSE,
)
_ORDINARY = re.compile(  # assigned to "password" in schemas, forms and manuals
    r"""
      (?: required|optional|string|str|text|none|null|nil|true|false|yes|no|on|off|hidden|redacted
        | undefined|unset|empty|missing|invalid|wrong|incorrect|unknown|prompt|disabled|enabled
        | needed|default|masked|secure|varchar|char|bytes|object|boolean|number|integer|any|never
        | auto|same|above|below|field|input|label|value|valor|valeur|wert|here|password|secret|token )
    | (?:read|write|built|non|re|pre|auto|self|opt|case|multi|one|two|plain|end|user|server|client
        |env|command|low|high)-[a-z-]+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PROSE = re.compile(
    r"\b(?:your|enter|the|is|are|was|an?|of|for|must|has|have|should|can|cannot|required|invalid"
    r"|forgot|please|see|use|char\w*)\b"
)
NUMBER = re.compile(r"[0-9][0-9.,:/_TZ-]*[kKmMgG%]?[bBs]?")
_NUMBERED = re.compile("[a-z]+(?:[-_][a-z]+)*[-_]?[0-9]{1,2}")  # node2, postgres-auth-2
DIGIT = re.compile("[0-9]")
_HEADER_CELL = re.compile(r"[^\W_][\w .()/-]{0,30}|")
_RULE = re.compile(r"[ |:-]*--[ |:-]*\r?")  # below the header of a table in markdown
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SECRET_COLUMN = re.compile("api|access|secret|private|auth|client")
_INNER_SYMBOL = re.compile(r"[!@#$%^&*+~?=-](?=\w)")
_SYMBOL = re.compile(r"[!@#$%^&*+~?](?=\w)")
_WORD = re.compile(r"""[^\s"'`“”„«»‘’「」()\[\]<>{}|/]+""")
_UNMISTAKABLE = re.compile(r"[A-Za-z][0-9][a-z][A-Za-z]|[!@#$%^&*](?=\w)")
_UNLIKE_NAMES = re.compile("[A-Z!@#$%^&*+~]")  # unlike i-0a1b2c3d
_MIXED = re.compile(rf"[0-9]|{_SYMBOL.pattern}")


class _Value(NamedTuple):
    """A value that is assigned to a name: text[start:end]."""

    start: int
    end: int
    is_quoted: bool


def same_length_lower(text: str) -> str:
    """The text in lower case, with every character at its place."""
    return text.replace("İ", "i").lower()  # İ is the only letter whose lower case is longer


def named_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret found by its name, in order."""
    lowered = same_length_lower(text)
    found = places_of_names(lowered)
    places = sorted(chain.from_iterable(found[name] for name in _BEGINNINGS))
    spans = list(_assigned(text, map(partial(_ASSIGNED.match, lowered), places)))
    foreign = _foreign(lowered)
    if foreign:
        spans += _assigned(text, foreign.finditer(lowered))
    end = 0
    for span in sorted(spans):
        if span[0] >= end:
            yield span
            end = span[1]


def _assigned(text: str, assignments: Iterable[re.Match[str] | None]) -> Iterator[tuple[int, int]]:
    reached = 0
    for assignment in assignments:
        if assignment is None or assignment.start() < reached:
            continue
        reached = assignment.end()
        if assignment["option"] and not _is_option(text, assignment):
            continue
        if not _is_name(text, assignment):
            continue
        value = _value(text, reached)
        if _is_secret(text, assignment, value):
            reached = value.end
            if not value.is_quoted:
                reached = _bare_end(text, value.start, len(text))
            yield value.start, reached


@lru_cache(maxsize=1)
def places_of_names(lowered: str) -> dict[str, list[int]]:
    """The places of each of NAMES in a text. Much faster than a pattern with all of them."""
    found: dict[str, list[int]] = {}
    for name in NAMES:
        places = found[name] = []
        place = lowered.find(name)
        while place >= 0:
            places.append(place)
            place = lowered.find(name, place + 1)
    return found


def secrets_in_columns(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret in a column of a table, in markdown or CSV, whose header
    is the name of a secret.
    """
    lowered = same_length_lower(text)
    foreign = _foreign(lowered)
    found = places_of_names(lowered)
    named = {
        lowered.rfind("\n", 0, place) + 1
        for place in chain.from_iterable(found[name] for name in _BEGINNINGS)
    }
    if not foreign and not named:
        return
    lines = text.split("\n")
    columns: list[int] = []
    mark = ""
    width = 0
    position = 0
    for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
        cells = _cells(line, mark) if columns else []
        if columns and len(cells) == width:
            for column in columns:
                start, end = cells[column]
                if _is_cell_secret(line[start:end]):
                    yield position + start, position + end
        elif columns or foreign or position in named:
            columns, mark, width = _header(line, foreign)
            if mark == "|" and not _RULE.fullmatch(next_line):
                columns = []
        position += len(line) + 1


def _header(line: str, foreign: re.Pattern[str] | None) -> tuple[list[int], str, int]:
    """The columns of secrets if this line is the header of a table, the mark between its cells, and
    their number. `foreign` is the pattern of other languages' words.
    """
    if len(line) > LONGEST_HEADER:
        return [], "", 0
    for mark in "|\t,;":
        if mark not in line:
            continue
        cells = _cells(line, mark)
        names = [line[start:end].lower() for start, end in cells]
        if len(names) > 1 and all(map(_HEADER_CELL.fullmatch, names)) and line[:1] != " ":
            columns = [number for number, name in enumerate(names) if _is_header(name, foreign)]
            return columns, mark, len(cells)
    return [], "", 0


def _is_header(name: str, foreign: re.Pattern[str] | None) -> bool:
    """Whether a cell is the name of a password, or of a token with its purpose."""
    assigned = f"{name}:"
    for names in filter(None, (_ASSIGNED, foreign)):
        for match in names.finditer(assigned):
            is_secret = match["password"] or _SECRET_COLUMN.search(name)
            if is_secret and match.end() == len(assigned) and _is_name(name, match):
                return name != "pass"
    return False


def _cells(line: str, mark: str) -> list[tuple[int, int]]:
    """The start and end of each cell, without spaces, quotation marks and code marks around it."""
    spans = []
    for match in re.finditer(
        rf'(?:\A|(?<=[{mark}]))(?:\s*"[^"]*"\s*(?=[{mark}]|\Z)|[^{mark}]*)', line
    ):
        written = match[0]
        bare = written.strip(' \t\r"`*')
        start = match.start() + (written.index(bare) if bare else 0)
        spans.append((start, start + len(bare)))
    return spans


def _is_cell_secret(value: str) -> bool:
    if len(value) < FEWEST_OF_CONSTANT or " " in value or is_harmless(value, False, ""):
        return False
    return _MIXED.search(value) is not None and not NUMBER.fullmatch(value)


def _is_option(text: str, assignment: re.Match[str]) -> bool:
    """Whether the name ends an option, `--db-password x`, and not a word of a sentence."""
    start = assignment.start("name")
    before = text[max(start - LONGEST_OPTION, 0) : start]
    return _OPTION.search(before.rjust(LONGEST_OPTION, "\n")) is not None


def _is_product(text: str, assignment: re.Match[str]) -> bool:
    """Whether the name is a part of 1Password, which is a program."""
    start = assignment.start("name")
    return assignment["name"] == "password" and text[start - 1 : start] == "1"


def _is_name(text: str, assignment: re.Match[str]) -> bool:
    """Whether the word before the sign ends the name of a secret."""
    start, end = assignment.span("name")
    word = assignment["name"]
    written = text[start:end]
    if _is_product(text, assignment) or text.endswith("data-", 0, start):
        return False
    if assignment["sign"] == "|" and text[max(start - LONGEST_WORD, 0) : start].endswith("--"):
        return False  # a table of options
    if assignment["sign"] == "(" and not _SETTER.fullmatch(
        re.split(r"[^\w]", text[max(start - LONGEST_WORD, 0) : start])[-1]
    ):
        return False
    if assignment.re is not _ASSIGNED:  # a whole word, in a script that separates words
        is_inside = text[start - 1 : start].isalpha() and written[0] < FIRST_OF_CJK
        return not is_inside or written[0].isupper()
    purposes = _BEFORE.get(word)
    if purposes is None:
        return True
    before = text[max(start - LONGEST_WORD, 0) : start]
    if word in ("token", "key") and before.lower().rstrip(" _-").endswith(_NOT_SECRET):
        return False
    last = ""
    if before[-1:].isascii():
        last = before[-1:]
    if word in ("token", "creds") and not last.isalpha():
        return True
    if word in ("pass", "pw", "_auth") and not last.isalnum() and last not in ("_", "-"):
        is_described = assignment["sign"] == ":" and re.search("[A-Za-z] $", before)
        if not is_described:  # "Forward pass: …"
            return True
    if written.isupper() and last == "_":
        return before[:-1][-1:].isalnum()
    if word in ("token", "pass") and last.islower() and written[0].isupper():
        return True
    is_joined = last in ("_", "-", ".") or (last == " " and word in ("key", "pass", "pw"))
    if is_joined:
        purpose = before.removesuffix(last)
    else:
        purpose = before
    if (
        is_joined
        and word == "pass"
        and _is_strong(text[slice(*_value(text, assignment.end())[:2])])
    ):
        return True
    return purpose.lower().endswith(purposes)


def _value(text: str, at: int) -> _Value:
    """The value that starts here: a quoted string on one line, or everything up to white space."""
    escape = "\\" if text.startswith("\\", at) else ""  # \"…\", inside another string
    start = at + len(escape)
    opening = text[start : start + 1]
    if opening in _QUOTES:
        closing = escape + _QUOTES[opening]
        width = 1
        if text.startswith(opening * 3, start):
            width = 3
        start += width
        end = text.find(closing * width, start, start + LONGEST_QUOTED)
        while end > 0 and not escape and text[end - 1] == "\\":
            end = text.find(closing, end + 1, start + LONGEST_QUOTED)
        if end >= start and "\n" not in text[start:end]:
            return _Value(start, end, True)
    return _Value(start, _bare_end(text, start, start + LONGEST_JUDGED), False)


def _bare_end(text: str, start: int, limit: int) -> int:
    """The end of the unquoted value that starts here, without the punctuation after it."""
    value = _BARE.match(text, start, limit)
    if not value:
        return start
    written = value[0]
    if written[0].isascii():
        written = _CJK.split(written, 1)[0]  # no space follows a value there
    return start + len(written.rstrip(_AFTER_A_VALUE))


def _is_secret(text: str, assignment: re.Match[str], value: _Value) -> bool:
    """Whether the value assigned to this name is a secret."""
    shown = text[value.start : min(value.end, value.start + LONGEST_JUDGED)]
    if not _is_likely(text, assignment, shown, value.is_quoted):
        return False
    return not is_harmless(shown, value.is_quoted, text[value.end : value.end + len("...")])


def _is_likely(text: str, assignment: re.Match[str], value: str, is_quoted: bool) -> bool:
    """Whether the value looks enough like a secret for this name and this sign."""
    start, end = assignment.span("name")
    has_digit = DIGIT.search(value) is not None
    is_tight = (
        assignment["sign"] == "=" and not assignment["space"] and text[assignment.end() - 1] == "="
    )
    if assignment["sign"] in (",", "|") and (not _MIXED.search(value) or " " in value):
        return False
    if is_tight and text[start:end].isupper():
        return len(value) >= FEWEST_OF_CONSTANT
    if not assignment["password"]:
        if not has_digit:
            return _is_random(value)
        if not is_tight and _NUMBERED.fullmatch(value):
            return False
        has_letter = re.search("[A-Za-z]", value) is not None
        return len(value) >= FEWEST and has_letter and not NUMBER.fullmatch(value)
    if assignment.re is not _ASSIGNED:
        is_prose = not is_quoted and _CJK.search(value)
        return (
            len(value) >= FEWEST_OF_CONSTANT and _MIXED.search(value) is not None and not is_prose
        )
    if assignment["name"] in ("pass", "pw"):
        if NUMBER.fullmatch(value):
            return False
        if assignment["sign"] == ":" and not is_quoted:
            is_named = re.search(
                r"[\w-]$|@|(?i:user|login|email)\b.{0,60}$", text[max(start - 80, 0) : start]
            )
            return bool(is_named and has_digit) or _SYMBOL.search(value) is not None
    if is_tight or is_quoted:
        return len(value) >= (FEWEST_OF_PASSWORD if has_digit else FEWEST_OF_CONSTANT)
    if len(value) < FEWEST_OF_PASSWORD:
        return False
    return has_digit or _INNER_SYMBOL.search(value) is not None


def _is_strong(value: str) -> bool:
    """Whether a word has the characters of a strong password: a digit and two other kinds."""
    kinds = ("[a-z]", "[A-Z]", r"[!@#$%^&*+~?=.,/_-](?=\w)")
    found = sum(re.search(kind, value) is not None for kind in kinds)
    return len(value) >= FEWEST and DIGIT.search(value) is not None and found >= 2


def is_unmistakable(value: str) -> bool:
    """Whether a word is a strong password even without a sign before it: with a digit between small
    letters, or a symbol that no identifier contains.
    """
    is_word = re.fullmatch(r"\w[\w!@#$%^&*+~?=.,-]{5,39}", value) is not None
    if not is_word or re.search(r"@[\w-]+\.", value):  # an address of e-mail
        return False
    kinds = (_UNMISTAKABLE, _UNLIKE_NAMES)
    return _is_strong(value) and all(kind.search(value) for kind in kinds)


def changes(word: str) -> float:
    """The share of places where the kind of character changes between small letter, capital and
    digit, as a part of that expected in random characters of the kinds that are there.
    """
    kinds = re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]", "0", word)))
    found = sum(one != other for one, other in pairwise(kinds)) / (len(word) - 1)
    shares = {"a": 26, "A": 26, "0": 10}
    present = [shares[kind] for kind in set(kinds)]
    total = sum(present)
    expected = 1 - sum((share / total) ** 2 for share in present)
    if "0" not in kinds or not expected:
        return 0.0
    return found / expected


def is_harmless(value: str, is_quoted: bool, after: str) -> bool:
    """Whether the value is recognized as something else; `after` is the text after it."""
    if _PLACEHOLDER.fullmatch(value) or _ORDINARY.fullmatch(value):
        return True
    if is_quoted:
        if " " in value and (after[:1] == "`" or _PROSE.search(value)):
            return True
        return after[:1] == "`" and bool(_CODE.fullmatch(value) or CAMEL_CASE.fullmatch(value))
    if after == "..." and len(value) <= SHORTENED:
        return True
    return _CODE.fullmatch(value + after[:1].strip()) is not None


def _is_random(value: str) -> bool:
    """Whether the letters look random: 16 or more without a space, with about as many capitals as
    small letters.
    """
    if len(value) < 16 or value.islower() or " " in value:
        return False
    return 0.3 <= sum(map(str.isupper, value)) / len(value) <= 0.7
