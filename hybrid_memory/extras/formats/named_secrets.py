"""Find secrets by the names they are assigned to: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`,
`**Password:** …`. Pure.

The name ends in a word such as "password", "token" or "key". The value is a secret unless it looks
like something else: a variable, a placeholder, a path, a function call, a number or an ordinary
word. How much it must look like a secret depends on the name and on the sign between them: after
`password:`, `correct-horse-battery` is enough, but after `token:` a digit is needed.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Limits in characters, so that a long text takes linear time
LONGEST_OPTION = 40
LONGEST_WORD = 16  # before the last word of a name
LONGEST_JUDGED = 120  # of a value
LONGEST_QUOTED = 2000  # between quotation marks

SHORTENED = (
    16  # a key with at most this many characters before an ellipsis is no secret: `gsk_12ab...`
)

# Characters of a secret
FEWEST_OF_PASSWORD = 2
FEWEST_OF_CONSTANT = 4
FEWEST = 6

# The last word of a name, in lower case, and the characters between it and its value.
_NAME = (
    "(?P<name>pass(?:word|wort|wd|phrase|code)?|pwd|pw|secret|credentials?|creds|token|key|pat"
    "|_auth)"
)
_SUFFIX = (
    "(?:[_-]?(?:base|id|value|string|text|prod|production|dev|staging|live|test|old|new"
    "|[0-9]{1,3}))?+"
)
_MARKUP = "</?(?:b|strong|em|code|td|th|dt|dd|span)>"
_ASSIGNED = re.compile(
    rf"""{_NAME}{_SUFFIX} (?:
      # the end of "name", **name**, <td>name</td>, config["name"]
      (?:\\?["'`*_\])]){{0,4}}+ (?:{_MARKUP})?+
      (?P<space>\s{{0,20}}+)
      (?P<sign> [:=]{{1,2}}>? | \| | <t?d[td]?> | ,?["']?\s{{0,20}}["']?value["']?\s?[:=])
      (?:\s{{0,20}}+ (?:\*\*|__|{_MARKUP}|@?(?=["']))){{0,3}} \s{{0,20}}+
    | (?P<option>[ ]{{1,3}})                                   # --name value
    )
    # of token=token=..., only the last one is judged
    (?! --[a-z] | [a-z_-]{{0,16}} (?P=name) [:=][\w-] | (?P=name) [ :=])
    """,
    re.VERBOSE | re.ASCII,
)

# Last words that are also common elsewhere; each must follow one of these words: `apiKey`,
# `smtp_pass`.
_ACCOUNTS = tuple(
    """admin auth basic db email ftp git imap ldap login mail mongo my mysql pg postgres proxy redis
    root smtp ssh sudo user wifi""".split()
)
_PURPOSES = tuple(
    """access account admin api app application auth bot client consumer cookie deploy encrypt
    encryption function hmac host jwt license master private root secret service role shared signing
    storage subscription webhook anthropic aws azure openai stripe""".split()
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
_NOT_SECRET_KEYS = (
    "PUBLIC_",
    "PRIMARY_",
    "FOREIGN_",
    "SORT_",
    "CACHE_",
    "PARTITION_",
    "IDEMPOTENCY_",
)
_OPTION = re.compile(r"(?<![\w-])--?(?:[A-Za-z]+[_-]?){0,5}+\Z")

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_BARE = re.compile(  # up to white space; may contain a quotation mark, "|", "&" or ";"
    r"""(?:[^\s"'`<|&;\\]++|["'|](?=[A-Za-z0-9])|[&;](?![\w.-]{1,40}=|[&;\s]|\Z)"""
    r"""|\\(?![nrt"'\s])|<(?![/\w]))++"""
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
    | v?[0-9]{0,3}(?:[-.,:/_][0-9]+)*[kKmMgG%]?[bBs]?       # 12, 8-64, 1.2.3; 1234 may be a password
    | (?i:1password|sha[0-9-]+|md5|bcrypt.*|argon2.*|base64|utf-?8|oauth[0-9]?.*|ed25519|[rhe]s256)
    | (?i:aes.*|x509|k8s)
    """,
    re.VERBOSE,
)
_CODE = re.compile(
    r"""
      # parse(line), line.split()[0]
      (?:[A-Za-z_]\w*(?:\.|->|::|\?\.))*+[A-Za-z_]\w*[(\[](?:["'].*|.*[)\]].*|.*,)?
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
        | auto|same|above|below|field|input|label|value|here|password|secret|token )
    | (?:read|write|built|non|re|pre|auto|self|opt|case|multi|one|two|plain|end|user|server|client
        |env|command|low|high)-[a-z-]+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PROSE = re.compile(
    r"\b(?:your|enter|the|is|are|was|an?|of|for|must|has|have|should|can|cannot|required|invalid"
    r"|forgot|please|see|use|char\w*)\b"
)
_NUMBER = re.compile(r"[0-9][0-9.,:/_TZ-]*[kKmMgG%]?[bBs]?")
_DIGIT = re.compile("[0-9]")
_INNER_SYMBOL = re.compile(r"[!@#$%^&*+~?=-](?=\w)")


class _Value(NamedTuple):
    """A value that is assigned to a name: text[start:end]."""

    start: int
    end: int
    is_quoted: bool


def named_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret found by its name, in order."""
    lowered = text.replace("İ", "i").lower()  # İ is the only letter whose lower case is longer
    position = 0
    while assignment := _ASSIGNED.search(lowered, position):
        position = assignment.end()
        if not _is_name(text, assignment):
            continue
        value = _value(text, position)
        if _is_secret(text, assignment, value):
            position = value.end
            if not value.is_quoted:
                position = _bare_end(text, value.start, len(text))
            yield value.start, position


def _is_name(text: str, assignment: re.Match[str]) -> bool:
    """Whether the word before the sign ends the name of a secret."""
    start, end = assignment.span("name")
    word = assignment["name"]
    if assignment["option"]:
        before = text[max(start - LONGEST_OPTION, 0) : start]
        if "-" not in before or not _OPTION.search(before):
            return False
    purposes = _BEFORE.get(word)
    if purposes is None:
        return True
    before = text[max(start - LONGEST_WORD, 0) : start]
    written = text[start:end]
    last = ""
    if before[-1:].isascii():
        last = before[-1:]
    if word in ("token", "creds") and not last.isalpha():
        return True
    if word in ("pass", "pw", "_auth") and not last.isalnum() and last not in ("_", "-"):
        return True
    if written.isupper() and last == "_":
        return before[:-1][-1:].isalnum() and not before.endswith(_NOT_SECRET_KEYS)
    if word in ("token", "pass") and last.islower() and written[0].isupper():
        return True
    is_joined = last in ("_", "-") or (last == " " and word == "key")
    if is_joined:
        purpose = before.removesuffix(last)
    else:
        purpose = before
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
    if value:
        return start + len(value[0].rstrip(_AFTER_A_VALUE))
    return start


def _is_secret(text: str, assignment: re.Match[str], value: _Value) -> bool:
    """Whether the value assigned to this name is a secret."""
    shown = text[value.start : min(value.end, value.start + LONGEST_JUDGED)]
    if not _is_likely(text, assignment, shown, value.is_quoted):
        return False
    return not _is_harmless(shown, value.is_quoted, text[value.end : value.end + len("...")])


def _is_likely(text: str, assignment: re.Match[str], value: str, is_quoted: bool) -> bool:
    """Whether the value looks enough like a secret for this name and this sign."""
    start, end = assignment.span("name")
    has_digit = _DIGIT.search(value) is not None
    is_tight = (
        assignment["sign"] == "=" and not assignment["space"] and text[assignment.end() - 1] == "="
    )
    if is_tight and text[start:end].isupper():
        return len(value) >= FEWEST_OF_CONSTANT
    if not assignment["name"].startswith(("pass", "pw")):
        if not has_digit:
            return _is_random(value)
        return len(value) >= FEWEST and not _NUMBER.fullmatch(value)
    if is_tight or is_quoted:
        return len(value) >= (FEWEST_OF_PASSWORD if has_digit else FEWEST_OF_CONSTANT)
    if assignment["name"] == "pass" and not re.match(r"[\w-]", text[max(start - 1, 0) : start]):
        return False  # "PASS: test_login2"
    if len(value) < FEWEST_OF_PASSWORD:
        return False
    return has_digit or _INNER_SYMBOL.search(value) is not None


def _is_harmless(value: str, is_quoted: bool, after: str) -> bool:
    """Whether the value is recognized as something else; `after` is the text after it."""
    if _PLACEHOLDER.fullmatch(value) or _ORDINARY.fullmatch(value):
        return True
    if is_quoted:
        if " " in value and _PROSE.search(value):
            return True
        return after[:1] == "`" and _CODE.fullmatch(value) is not None
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
