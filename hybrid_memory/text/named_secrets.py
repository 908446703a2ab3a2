"""Finds secrets by the names they are assigned to: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, `**Password:** …`. Pure.

The name ends in a word such as "password", "token" or "key". The value is a secret unless it looks like something else: a
variable, a placeholder, a path, a function call, a number or an ordinary word. How much it must look like a secret depends on the
name and on the sign between them: after `password:`, `correct-horse-battery` is enough, but after `token:` a digit is needed.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_OPTION, LONGEST_WORD = 40, 16  # characters that are looked at: of an option, and before the last word of a name
LONGEST_JUDGED = 120  # characters of a value that are looked at, so that a long text takes linear time
LONGEST_QUOTED = 2000  # characters between quotation marks
SHORTENED = 16  # characters before an ellipsis that are not a secret: `gsk_12ab...`
FEWEST_OF_PASSWORD, FEWEST_OF_CONSTANT, FEWEST = 2, 4, 6  # characters of a secret

# The last word of a name, in lower case, and what may stand between it and its value.
_NAME = "(?P<name>pass(?:word|wort|wd|phrase|code)?|pwd|pw|secret|credentials?|creds|token|key|pat|_auth)"
_SUFFIX = "(?:[_-]?(?:base|id|value|string|text|prod|production|dev|staging|live|test|old|new|[0-9]{1,3}))?+"
_MARKUP = "</?(?:b|strong|em|code|td|th|dt|dd|span)>"
_ASSIGNED = re.compile(
    rf"""{_NAME}{_SUFFIX} (?:
      (?:\\?["'`*_\])]){{0,4}}+ (?:{_MARKUP})?+                # what closes "name", **name**, <td>name</td>, config["name"]
      (?P<space>\s{{0,20}}+)
      (?P<sign> [:=]{{1,2}}>? | \| | <t?d[td]?> | ,?["']?\s{{0,20}}["']?value["']?\s?[:=])
      (?:\s{{0,20}}+ (?:\*\*|__|{_MARKUP}|@?(?=["']))){{0,3}} \s{{0,20}}+
    | (?P<option>[ ]{{1,3}})                                   # --name value
    )
    (?! --[a-z] | [a-z_-]{{0,16}} (?P=name) [:=][\w-] | (?P=name) [ :=])  # of token=token=..., only the last one is judged
    """,
    re.VERBOSE | re.ASCII,
)

# Last words that are also common elsewhere, and the words of which one has to stand before them: `apiKey`, `smtp_pass`.
_ACCOUNTS = tuple(
    """admin auth basic db email ftp git imap ldap login mail mongo my mysql pg postgres proxy redis root smtp ssh sudo user
    wifi""".split()
)
_PURPOSES = tuple(
    """access account admin api app application auth bot client consumer cookie deploy encrypt encryption function hmac host jwt
    license master private root secret service role shared signing storage subscription webhook
    anthropic aws azure openai stripe""".split()
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
_NOT_SECRET_KEYS = ("PUBLIC_", "PRIMARY_", "FOREIGN_", "SORT_", "CACHE_", "PARTITION_", "IDEMPOTENCY_")
_OPTION = re.compile(r"(?<![\w-])--?(?:[A-Za-z]+[_-]?){0,5}+\Z")

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_BARE = re.compile(  # up to white space; inside, a quotation mark, "|", "&" or ";" may stand
    r"""(?:[^\s"'`<|&;\\]++|["'|](?=[A-Za-z0-9])|[&;](?![\w.-]{1,40}=|[&;\s]|\Z)|\\(?![nrt"'\s])|<(?![/\w]))++"""
)
_AFTER_A_VALUE = ".,:)]}"

_PLACEHOLDER = re.compile(
    r"""
      \$\w+\W? | \$[({].* | \$env:.* | \$[A-Z]\w*/.*        # $TOKEN, ${TOKEN}, $(command), $HOME/.token
    | <[^>]*>? | \{.* | \[.*                                # <your key>, {key}, [redacted]
    | %[sd] | %[({].* | %\w+%                               # %s, %(key)s, %KEY%
    | [\W_]+ | [xX*•.]+                                     # ***, ..., xxxx
    | (?i:your|insert|replace|enter|paste|put)[_ -].* | (?i:change[_-]?me) | .{0,16}(?:\.{3}|…)
    | (?:~|\.{1,2}|[A-Za-z]:)[/\\].* | /(?:[a-z._-]+|Users|Volumes|Library)(?:/.*)?
    | [\w./-]+\.(?:pem|key|pub|crt|json|ya?ml|txt|md|env|toml|ini|py|js|ts|sh|go|rs|java|html|png|jpe?g)
    | (?:[a-z][a-z-]*\.)+(?:com|org|net|io|dev|ai|cn|local)(?:[:/].*)?  # host names
    | (?:[a-z][a-z+.-]*://|(?:arn|file|env|vault|sha[0-9]+|keyring|op):).*
    | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+                         # API_KEY_2
    | v?[0-9]{0,3}(?:[-.,:/_][0-9]+)*[kKmMgG%]?[bBs]?       # 12, 8-64, 1.2.3, 128k; but 1234 may be a password
    | (?i:1password|sha[0-9-]+|md5|bcrypt.*|argon2.*|base64|utf-?8|oauth[0-9]?.*|ed25519|[rhe]s256|aes.*|x509|k8s)
    """,
    re.VERBOSE,
)
_CODE = re.compile(
    r"""
      (?:[A-Za-z_]\w*(?:\.|->|::|\?\.))*+[A-Za-z_]\w*[(\[](?:["'].*|.*[)\]].*|.*,)?  # parse(line), line.split()[0]
    | (?:process|import|os|self|this|config|cfg|conf|settings|env|options|opts|args|req|request|res|response|ctx|context|secrets
        |vars|data|params|props|state|user|event|app|local|module)[.\[].*
    | (?:[A-Za-z_.]+[._])?(?i:password|passwd|pass|pwd?|secret|token|api_?key|credentials?)(?:[._][A-Za-z_.]+)?[,.:)}]?
    """,
    re.VERBOSE,
)
_ORDINARY = re.compile(  # what schemas, forms and manuals assign to "password"
    r"""
      (?: required|optional|string|str|text|none|null|nil|true|false|yes|no|on|off|hidden|redacted|undefined|unset|empty|missing
        | invalid|wrong|incorrect|unknown|prompt|disabled|enabled|needed|default|masked|secure|varchar|char|bytes|object|boolean
        | number|integer|any|never|auto|same|above|below|field|input|label|value|here|password|secret|token )
    | (?:read|write|built|non|re|pre|auto|self|opt|case|multi|one|two|plain|end|user|server|client|env|command|low|high)-[a-z-]+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PROSE = re.compile(
    r"\b(?:your|enter|the|is|are|was|an?|of|for|must|has|have|should|can|cannot|required|invalid|forgot|please|see|use|char\w*)\b"
)
_NUMBER = re.compile(r"[0-9][0-9.,:/_TZ-]*[kKmMgG%]?[bBs]?")
_DIGIT = re.compile("[0-9]")
_INNER_SYMBOL = re.compile(r"[!@#$%^&*+~?=-](?=\w)")


class _Value(NamedTuple):
    """What is assigned to a name: text[start:end]."""

    start: int
    end: int
    is_quoted: bool


def named_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where the text has secrets that are known by their names: start and end of each, in order."""
    lowered = text.replace("İ", "i").lower()  # İ is the only letter whose lower case is longer
    at = 0
    while found := _ASSIGNED.search(lowered, at):
        at = found.end()
        if _is_name(text, found):
            value = _value(text, at)
            if _is_secret(text, found, value):
                at = value.end if value.is_quoted else _bare_end(text, value.start, len(text))
                yield value.start, at


def _is_name(text: str, found: re.Match[str]) -> bool:
    """Whether the word that was found is the last one of a name that belongs to a secret."""
    start, end = found.span("name")
    if found["option"]:
        before = text[max(start - LONGEST_OPTION, 0) : start]
        if "-" not in before or not _OPTION.search(before):
            return False
    words = _BEFORE.get(found["name"])
    if words is None:
        return True
    before, name = text[max(start - LONGEST_WORD, 0) : start], text[start:end]
    last = before[-1:] if before[-1:].isascii() else ""
    if found["name"] in ("token", "creds") and not last.isalpha():
        return True
    if found["name"] in ("pass", "pw", "_auth") and not last.isalnum() and last not in ("_", "-"):
        return True
    if name.isupper() and last == "_":
        return before[:-1][-1:].isalnum() and not before.endswith(_NOT_SECRET_KEYS)
    if found["name"] in ("token", "pass") and last.islower() and name[0].isupper():
        return True
    joined = last in ("_", "-") or (last == " " and found["name"] == "key")
    return before.removesuffix(last if joined else "").lower().endswith(words)


def _value(text: str, at: int) -> _Value:
    """The value that starts here: a quoted string on one line, or everything up to white space."""
    escape = "\\" if text.startswith("\\", at) else ""  # \"…\", inside another string
    start = at + len(escape)
    opening = text[start : start + 1]
    if opening in _QUOTES:
        closing = escape + _QUOTES[opening]
        width = 3 if text.startswith(opening * 3, start) else 1
        start += width
        end = text.find(closing * width, start, start + LONGEST_QUOTED)
        while end > 0 and not escape and text[end - 1] == "\\":
            end = text.find(closing, end + 1, start + LONGEST_QUOTED)
        if end >= start and "\n" not in text[start:end]:
            return _Value(start, end, True)
    return _Value(start, _bare_end(text, start, start + LONGEST_JUDGED), False)


def _bare_end(text: str, start: int, limit: int) -> int:
    """The end of the unquoted value that starts here, without the punctuation after it."""
    found = _BARE.match(text, start, limit)
    return start + len(found[0].rstrip(_AFTER_A_VALUE)) if found else start


def _is_secret(text: str, found: re.Match[str], value: _Value) -> bool:
    """Whether the value that is assigned to this name is a secret."""
    shown = text[value.start : min(value.end, value.start + LONGEST_JUDGED)]
    if not _is_likely(text, found, shown, value.is_quoted):
        return False
    return not _is_harmless(shown, value.is_quoted, text[value.end : value.end + len("...")])


def _is_likely(text: str, found: re.Match[str], value: str, is_quoted: bool) -> bool:
    """Whether the value looks enough like a secret for this name and this sign."""
    start, end = found.span("name")
    is_tight = found["sign"] == "=" and not found["space"] and text[found.end() - 1] == "="
    has_digit = _DIGIT.search(value) is not None
    if is_tight and text[start:end].isupper():
        return len(value) >= FEWEST_OF_CONSTANT
    if not found["name"].startswith(("pass", "pw")):
        if not has_digit:
            return _is_random(value)
        return len(value) >= FEWEST and not _NUMBER.fullmatch(value)
    if is_tight or is_quoted:
        return len(value) >= (FEWEST_OF_PASSWORD if has_digit else FEWEST_OF_CONSTANT)
    if found["name"] == "pass" and not re.match(r"[\w-]", text[max(start - 1, 0) : start]):
        return False  # "PASS: test_login2"
    return len(value) >= FEWEST_OF_PASSWORD and (has_digit or _INNER_SYMBOL.search(value) is not None)


def _is_harmless(value: str, is_quoted: bool, after: str) -> bool:
    """Whether the value is known to be something other than a secret; `after` is what follows it."""
    if _PLACEHOLDER.fullmatch(value) or _ORDINARY.fullmatch(value):
        return True
    if is_quoted:
        return (" " in value and _PROSE.search(value) is not None) or (after[:1] == "`" and _CODE.fullmatch(value) is not None)
    return (after == "..." and len(value) <= SHORTENED) or _CODE.fullmatch(value + after[:1].strip()) is not None


def _is_random(value: str) -> bool:
    """Whether the letters look random: 16 or more without a space, with about as many capitals as small letters."""
    if len(value) < 16 or value.islower() or " " in value:
        return False
    return 0.3 <= sum(map(str.isupper, value)) / len(value) <= 0.7
