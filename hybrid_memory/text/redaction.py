"""Replaces the secrets in a text by [redacted]. Pure.

There are three ways to recognise a secret. `service_keys` knows the form of the keys of many
services. `named_secrets` finds values that are assigned to names such as `DB_PASSWORD`. The rules
in this module find private keys, and secrets in URLs, headers and commands. A password in a
sentence ("it is hunter2") is not recognised.

MERGED Finds the keys of well-known services, which consist of a prefix and random characters. Pure.

The lengths are minimums, because services have lengthened their keys before.

MERGED Finds secrets by the names they are assigned to: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token
…`, `**Password:** …`. Pure.

The name ends in a word such as "password", "token" or "key". The value is a secret unless it looks
like something else: a variable, a placeholder, a path, a function call, a number or an ordinary
word. How much it must look like a secret depends on the name and on the sign between them: after
`password:`, `correct-horse-battery` is enough, but after `token:` a digit is needed.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

HEX, LETTERS, WORD = "[0-9a-f]", "[A-Za-z0-9]", r"[\w-]"

# The service, the prefixes of its keys, and a pattern for what follows the prefix.
SERVICES = [
    (
        "OpenAI, Anthropic, OpenRouter, Langfuse",
        "sk-ant- sk-proj- sk-or- sk-svcacct- sk-admin- sk-lf- pk-lf-",
        f"{WORD}{{16,}}",
    ),
    ("OpenAI, DeepSeek and others", "sk- sess- csk-", f"{LETTERS}{{20,}}"),
    ("Perplexity, xAI, Groq", "pplx- xai- gsk_", f"{LETTERS}{{20,}}"),
    ("Voyage", "pa-", f"{WORD}{{40,}}"),
    ("Hugging Face, Replicate, Fireworks", "hf_ r8_ fw_", f"{LETTERS}{{20,}}"),
    ("Tavily, LangSmith, Pinecone, Jina", "tvly- lsv2_pt_ lsv2_sk_ pcsk_ jina_", f"{WORD}{{20,}}"),
    ("Firecrawl", "fc-", f"{HEX}{{32}}"),
    ("ElevenLabs", "sk_", f"{HEX}{{40,}}"),
    ("Stripe", "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_", f"{LETTERS}{{10,}}"),
    ("Stripe webhooks", "whsec_", "[A-Za-z0-9+/=]{16,}"),
    ("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", f"{LETTERS}{{30,}}"),
    ("GitHub, fine-grained", "github_pat_", r"\w{22,}"),
    (
        "GitLab",
        "glpat- glrt- gldt- glptt- glcbt- glsoat- glft- glimt- glagent- gloas- glffct-",
        r"[\w.-]{16,}",
    ),
    ("Slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xoxe. xapp-", r"[\w.%-]{10,}"),
    ("AWS", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AWS Bedrock", "ABSK", "[A-Za-z0-9+/=]{60,}"),
    ("Alibaba Cloud, Tencent Cloud", "LTAI AKID", f"{LETTERS}{{16,}}"),
    ("Google", "AIza ya29. GOCSPX-", f"{WORD}{{20,}}"),
    ("npm, RubyGems, crates.io", "npm_ rubygems_ cio", f"{LETTERS}{{30,}}"),
    ("PyPI", "pypi-", f"{WORD}{{50,}}"),
    ("NuGet", "oy2", "[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("Docker Hub", "dckr_pat_ dckr_oat_", f"{WORD}{{20,}}"),
    ("SendGrid", "SG.", rf"{WORD}{{16,}}\.{WORD}{{16,}}"),
    ("Brevo, Mailgun", "xkeysib- key-", f"{HEX}{{32,}}(?:-{LETTERS}{{16}})?"),
    ("Resend", "re_", f"{LETTERS}{{8,}}_{LETTERS}{{20,}}"),
    ("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", f"{HEX}{{32,}}"),
    ("Tailscale", "tskey-", r"[a-z]+-\w+-\w+"),
    ("age", "AGE-SECRET-KEY-1", "[A-Z0-9]{40,}"),
    ("HashiCorp Vault", "hvs. hvb. hvr.", f"{WORD}{{20,}}"),
    ("Shopify", "shpat_ shpss_ shpca_ shppa_", f"{LETTERS}{{20,}}"),
    ("Databricks", "dapi", f"{HEX}{{32}}(?:-[0-9])?(?!{WORD})"),
    ("Notion", "ntn_ secret_", f"{LETTERS}{{40,}}"),
    ("Linear", "lin_api_ lin_oauth_", f"{LETTERS}{{20,}}"),
    ("Twilio", "SK AC", f"{HEX}{{32}}(?!{LETTERS})"),
    ("Atlassian", "ATATT3 ATCTT3 ATBB", r"[\w=-]{20,}"),
    ("Airtable", "pat", rf"{LETTERS}{{14}}\.{HEX}{{40,}}"),
    (
        "Figma, Grafana, Doppler, Fly.io",
        "figd_ glsa_ glc_ dp.pt. dp.st. fo1_ fm2_",
        r"[\w./+=-]{20,}",
    ),
    ("Sentry, Supabase", "sntrys_ sb_secret_", r"[\w./+=-]{20,}"),
    ("Sentry, Sourcegraph, Supabase", "sntryu_ sgp_ sbp_", f"{HEX}{{40,}}"),
    ("Heroku, New Relic, Postman", "HRKU- NRAK- NRJS- NRII- PMAK-", f"{WORD}{{20,}}"),
    (
        "PlanetScale, Pulumi, PostHog",
        "pscale_tkn_ pscale_pw_ pscale_oauth_ pul- phx_ phc_",
        r"[\w.-]{30,}",
    ),
    ("HubSpot", "pat-na1- pat-eu1-", "[0-9a-f-]{30,}"),
    ("Netlify, Neon, Contentful, Dynatrace", "nfp_ napi_ CFPAT- dt0c01.", r"[\w.-]{30,}"),
    ("Square", "sq0atp- sq0csp-", f"{WORD}{{20,}}"),
    ("Facebook, Square", "EAA", f"{LETTERS}{{60,}}"),
    ("Dropbox", "sl.", f"{WORD}{{60,}}"),
    ("1Password", "ops_eyJ", r"[\w.+/=-]{40,}"),
    ("JSON Web Token (RFC 7519)", "eyJ", rf"{WORD}{{8,}}\.eyJ{WORD}{{8,}}\.{WORD}{{8,}}"),
    ("Discord", "M N O", rf"{WORD}{{22,27}}\.{WORD}{{6}}\.{WORD}{{27,}}"),
    ("Mapbox", "pk.eyJ sk.eyJ", rf"{WORD}{{20,}}\.{WORD}{{10,}}"),
]

_LONG = re.compile(r"[\w.+/=-]{16,}", re.ASCII)  # no key is shorter
_PATTERNS = [(prefix, rest) for _, prefixes, rest in SERVICES for prefix in prefixes.split()]


def without_service_keys(text: str, mask: str) -> str:
    """The text with `mask` in place of the keys of services."""
    long = " ".join(_LONG.findall(text))  # a small part of most texts
    for prefix, rest in _PATTERNS if long else ():
        if prefix in long:
            text = _pattern(prefix, rest).sub(mask, text)
    return text


@cache
def _pattern(prefix: str, rest: str) -> re.Pattern[str]:
    """The pattern of a key that begins where a word begins, or after the `\\n` of a quoted string.

    The pattern checks that after the prefix, because `re` is fast with patterns that begin with
    plain letters.
    """
    prefix = re.escape(prefix)
    return re.compile(rf"{prefix}(?:(?<![\w-]{prefix})|(?<=\\[nrt]{prefix})){rest}", re.ASCII)


LONGEST_OPTION, LONGEST_WORD = (
    40,
    16,
)  # characters that are looked at: of an option, and before the last word of a name
LONGEST_JUDGED = (
    120  # characters of a value that are looked at, so that a long text takes linear time
)
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

# Last words that are also common elsewhere, and the words of which one has to stand before them:
# `apiKey`, `smtp_pass`.
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
    return len(value) >= FEWEST_OF_PASSWORD and (
        has_digit or _INNER_SYMBOL.search(value) is not None
    )


def _is_harmless(value: str, is_quoted: bool, after: str) -> bool:
    """Whether the value is known to be something other than a secret; `after` is what follows it."""
    if _PLACEHOLDER.fullmatch(value) or _ORDINARY.fullmatch(value):
        return True
    if is_quoted:
        return (" " in value and _PROSE.search(value) is not None) or (
            after[:1] == "`" and _CODE.fullmatch(value) is not None
        )
    return (after == "..." and len(value) <= SHORTENED) or _CODE.fullmatch(
        value + after[:1].strip()
    ) is not None


def _is_random(value: str) -> bool:
    """Whether the letters look random: 16 or more without a space, with about as many capitals as
    small letters.
    """
    if len(value) < 16 or value.islower() or " " in value:
        return False
    return 0.3 <= sum(map(str.isupper, value)) / len(value) <= 0.7


MASK = "[redacted]"
LONGEST_COMMAND = 300  # characters between a command and its option


class Rule(NamedTuple):
    """How to recognise one kind of secret."""

    name: str
    hints: tuple[str, ...]  # in lower case; a text that has none of them is not searched
    pattern: str  # ignores case; what its group `secret` matches is replaced
    # A pattern of the command that has to stand before the match on the same line, or before \\ at
    # line ends
    after: str = ""


# Parts of the patterns. $TOKEN, ${TOKEN}, <your key>, {key}, %s, [redacted], *** and your-key are
# not secrets.
NOT_PLACEHOLDER = r"""(?!\$\w+(?:[\s"'`;,)@/]|\Z)|\$[({]|<|\{|%[s({]|\[|\*+(?:\W|\Z)|your[_-])"""
QUOTE = r"""[\\"'`]{0,3}"""
ARGUMENT = NOT_PLACEHOLDER + r"""(?P<secret>[^\s"'-][^\s"']*)"""
ANY_KEY = r"[A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?[ ]?-{4,5}"
HEADERS = r"(?:\s{1,9}+(?:Proc-Type|DEK-Info|Version|Comment):[^\n]{0,200}+){0,6}+"
BASE64_LINES = r"""(?:(?:\\[nrt]|[\s"'`,+>|\\]){1,40}+[A-Za-z0-9+/=]{16,}+)++"""
LAST_LINE = r"(?:\s{1,9}+(?=[A-Za-z]{0,80}+[0-9+/=])[A-Za-z0-9+/=]++(?=\n|\s{0,9}\Z))?"

RULES = [
    Rule(
        "private key",
        ("private key",),
        rf"""(?P<secret>-{{4,5}}[ ]?BEGIN[ ]{ANY_KEY} (?:
              [^-]*+ (?:-(?!---)[^-]*+)*+ -{{4,5}}[ ]?END[ ]{ANY_KEY}
            | {HEADERS} {BASE64_LINES} {LAST_LINE}  # the end of the key is missing
            ))""",
    ),
    Rule(
        "private key of PuTTY",
        ("private-lines",),
        rf"Private-Lines:[ ]\d+(?P<secret>{BASE64_LINES})",
    ),
    Rule(
        "bot of Telegram",
        (":",),
        r"(?P<secret>[0-9](?:(?<![\w-].)|(?<=\bbot.))[0-9]{5,11}:"
        r"(?-i:(?=[\w-]{0,45}[0-9])(?=[\w-]{0,45}[a-z])(?=[\w-]{0,45}[A-Z]))[\w-]{33,46})(?![\w-])",
    ),
    Rule(
        "key of Azure",
        ("accountkey=", "sharedaccesskey="),
        r"(?:account|sharedaccess)key="
        + NOT_PLACEHOLDER
        + r"(?P<secret>(?:(?=[a-z/]{0,200}[0-9+=])|(?=[a-z/]{40}))[\w/+=%]{6,})",
    ),
    Rule(
        "account of Twilio",
        ("ac",),
        r"(?P<secret>(?-i:\bAC[0-9a-f]{32}[\s\"',:;]{1,6}[0-9a-f]{32}))(?!\w)",
    ),
    Rule(
        "token in a sentence",
        ("token ", "key ", "secret "),
        r"\b(?:auth|access|api|secret|refresh|signing)[ _-]?(?:token|key|secret)[ ]{1,3}(?:(?:is|was)[ ]{1,3})?[\"'`]?"
        r"(?P<secret>(?=[a-f]{0,20}[0-9])[0-9a-f]{32,128})(?!\w)",
    ),
    Rule(
        "application of Azure",
        ("q~",),
        r"(?<![\w.~-])(?P<secret>[\w.~-]{3}[0-9]Q~[\w.~-]{31,34})(?![\w.~-])",
    ),
    Rule(
        "hash of a password",
        ("$2", "$5", "$6", "$y", "$apr1", "$argon2"),
        r"(?P<secret>\$(?:2[aby]|5|6|y|apr1|argon2id?)\$[\w./$,=+-]{20,})",
    ),
    Rule(
        "password in a URL",
        ("://",),
        r"""://[^\s/:@"']{0,200}:(?![0-9]{1,5}/)"""
        + NOT_PLACEHOLDER
        + r"""(?P<secret>[^\s/@"']{1,200}+|(?:[^\s@"'()<>\[\]:]|:(?!//)){1,200}+)@(?=[\w\[$%{])""",
    ),
    Rule(
        "key in a URL", ("://",), r"://(?P<secret>(?=[\w-]{0,40}[0-9])[\w-]{20,200})@(?!sha[0-9])"
    ),
    Rule(
        "signature in a URL",
        ("sig=", "signature="),
        r"[?&;](?:sig|x-amz-signature|x-goog-signature|signature)=(?P<secret>[\w%+/=-]{20,})",
    ),
    Rule(
        "webhook of Slack",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]{20,})",
    ),
    Rule("webhook of Discord", ("/api/webhooks/",), r"/api/webhooks/(?P<secret>[\w/-]{20,})"),
    Rule(
        "webhook of Teams",
        ("webhook.office.com",),
        r"webhook\.office\.com/(?P<secret>[\w@/-]{20,})",
    ),
    Rule(
        "header with credentials",
        ("authorization",),
        rf"authorization{QUOTE}\s{{0,5}}[:=]\s{{0,5}}{QUOTE}"
        r"(?:(?:bearer|basic|token|apikey|bot|digest|negotiate|key)\s{1,5})?"
        + NOT_PLACEHOLDER
        + r"""(?P<secret>(?=[^\s"'`]{0,200}[0-9=])[^\s"'`\\]{8,}|(?<=\s)[A-Za-z+/._~-]{16,}={0,2})""",
    ),
    Rule(
        "cookies",
        ("cookie:",),
        r"cookie:\s{0,5}"
        + NOT_PLACEHOLDER
        + r"""(?P<secret>[\w.-]{1,60}=[^\s"'`;]{6,}(?:;[ ]?[^\s"'`;]+)*+)""",
    ),
    Rule(
        "bearer",
        ("bearer",),
        r"\bbearer[ \t]{1,5}(?P<secret>(?=[\w.~+/=-]{0,200}[0-9])[\w.~+/=-]{16,})",
    ),
    Rule(
        "bearer without a digit",
        ("bearer",),
        r"\bbearer[ \t]{1,5}(?P<secret>[a-z]{24,}(?![\w-])|(?-i:(?=[a-z]{0,20}[A-Z]{1,20}[a-z]{1,20}[A-Z])[A-Za-z]{16,}))",
    ),
    Rule(
        "element of XML",
        ("</",),
        r"<(?P<tag>[\w.:-]{0,40}(?:pass(?:word|phrase|wd)?|pwd|secret|token|(?:api|access|private|secret|auth)[_-]?key))(?:\s[^<>]{0,100})?>\s{0,20}+"
        + NOT_PLACEHOLDER
        + r"(?P<secret>[^<>\n]{1,500})</(?P=tag)",
    ),
    Rule(
        "password in SQL",
        ("identified ", "password '", 'password "'),
        r"""(?:identified[ ](?:with[ ]\w{1,40}[ ])?by|password)[ ]{1,5}(?P<quote>["'])"""
        + NOT_PLACEHOLDER
        + r"""(?P<secret>[^"'\n]{3,200})(?P=quote)""",
    ),
    Rule(
        "password in .netrc", ("login",), r"login\s{1,5}\S{1,100}\s{1,5}password\s{1,5}" + ARGUMENT
    ),
    Rule(
        "words of a seed",
        ("phrase", "mnemonic"),
        rf"(?:(?:seed|recovery|secret)[ ]phrase|mnemonic)[*]{{0,2}}{QUOTE}\s{{0,5}}[:=][*]{{0,2}}\s{{0,5}}{QUOTE}"
        r"(?P<secret>(?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})\b",
    ),
    Rule(
        "option of curl",
        ("curl", "wget"),
        r"""[\s"'](?:-[a-z]{0,6}u|--(?:proxy-)?user)(?:["'],)?[ =]?["']?[^\s:"']{1,100}["']?:["']?"""
        + ARGUMENT,
        after="curl|wget",
    ),
    Rule(
        "option of a login",
        ("login", "mongo"),
        r"""\s-p[ =]?["']?""" + ARGUMENT,
        after=r"(?:docker|podman|helm|oc|az)\s.*login|mongo\w*",
    ),
    Rule(
        "option of mysql",
        ("mysql", "mariadb", "7z"),
        r"""\s-p["']?""" + ARGUMENT,
        after=r"mysql\w*|mariadb\w*|7z",
    ),
    Rule("option of redis-cli", ("redis-cli",), r"""\s-a[ ]?["']?""" + ARGUMENT, after="redis-cli"),
    Rule("option of ldapsearch", ("ldap",), r"""\s-w[ ]?["']?""" + ARGUMENT, after=r"ldap[a-z]+"),
    Rule("option of sshpass", ("sshpass",), r"""sshpass\s{1,5}-p[ ]?["']?""" + ARGUMENT),
    Rule("option of openssl", ("pass:",), r"""-pass(?:in|out)?[ ]["']?pass:""" + ARGUMENT),
]


def redact(text: str) -> str:
    """`curl -H "Authorization: Bearer abc123…" -> curl -H "Authorization: Bearer [redacted]`"""
    lowered = text.lower()
    for rule in RULES:
        if any(hint in lowered for hint in rule.hints):
            text = _masked(text, _found(rule, text))
    text = without_service_keys(text, MASK)
    return _masked(text, named_secrets(text))


def _masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += text[at:start], MASK
        at = end
    return "".join([*pieces, text[at:]]) if at else text


def _found(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each secret."""
    for found in _compiled(rule.pattern).finditer(text):
        before = text[max(found.start() - LONGEST_COMMAND, 0) : found.start() + 1]
        if not rule.after or _compiled(rf"\b(?:{rule.after})\b").search(
            before.replace("\\\n", "  ").rpartition("\n")[2]
        ):
            yield found.span("secret")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)
