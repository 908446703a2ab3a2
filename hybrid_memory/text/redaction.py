"""Replaces the secrets in a text by [redacted]. Pure.

There are three ways to recognise a secret. `service_keys` knows the form of the keys of many services. `named_secrets` finds
values that are assigned to names such as `DB_PASSWORD`. The rules in this module find private keys, and secrets in URLs, headers
and commands. A password in a sentence ("it is hunter2") is not recognised.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from .named_secrets import named_secrets
from .service_keys import without_service_keys

MASK = "[redacted]"
LONGEST_COMMAND = 300  # characters between a command and its option


class Rule(NamedTuple):
    """How to recognise one kind of secret."""

    name: str
    hints: tuple[str, ...]  # in lower case; a text that has none of them is not searched
    pattern: str  # ignores case; what its group `secret` matches is replaced
    after: str = ""  # a pattern of the command that has to stand before the match on the same line, or before \\ at line ends


# Parts of the patterns. $TOKEN, ${TOKEN}, <your key>, {key}, %s, [redacted], *** and your-key are not secrets.
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
    Rule("private key of PuTTY", ("private-lines",), rf"Private-Lines:[ ]\d+(?P<secret>{BASE64_LINES})"),
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
    Rule("account of Twilio", ("ac",), r"(?P<secret>(?-i:\bAC[0-9a-f]{32}[\s\"',:;]{1,6}[0-9a-f]{32}))(?!\w)"),
    Rule(
        "token in a sentence",
        ("token ", "key ", "secret "),
        r"\b(?:auth|access|api|secret|refresh|signing)[ _-]?(?:token|key|secret)[ ]{1,3}(?:(?:is|was)[ ]{1,3})?[\"'`]?"
        r"(?P<secret>(?=[a-f]{0,20}[0-9])[0-9a-f]{32,128})(?!\w)",
    ),
    Rule("application of Azure", ("q~",), r"(?<![\w.~-])(?P<secret>[\w.~-]{3}[0-9]Q~[\w.~-]{31,34})(?![\w.~-])"),
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
    Rule("key in a URL", ("://",), r"://(?P<secret>(?=[\w-]{0,40}[0-9])[\w-]{20,200})@(?!sha[0-9])"),
    Rule(
        "signature in a URL",
        ("sig=", "signature="),
        r"[?&;](?:sig|x-amz-signature|x-goog-signature|signature)=(?P<secret>[\w%+/=-]{20,})",
    ),
    Rule("webhook of Slack", ("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]{20,})"),
    Rule("webhook of Discord", ("/api/webhooks/",), r"/api/webhooks/(?P<secret>[\w/-]{20,})"),
    Rule("webhook of Teams", ("webhook.office.com",), r"webhook\.office\.com/(?P<secret>[\w@/-]{20,})"),
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
        r"cookie:\s{0,5}" + NOT_PLACEHOLDER + r"""(?P<secret>[\w.-]{1,60}=[^\s"'`;]{6,}(?:;[ ]?[^\s"'`;]+)*+)""",
    ),
    Rule("bearer", ("bearer",), r"\bbearer[ \t]{1,5}(?P<secret>(?=[\w.~+/=-]{0,200}[0-9])[\w.~+/=-]{16,})"),
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
    Rule("password in .netrc", ("login",), r"login\s{1,5}\S{1,100}\s{1,5}password\s{1,5}" + ARGUMENT),
    Rule(
        "words of a seed",
        ("phrase", "mnemonic"),
        rf"(?:(?:seed|recovery|secret)[ ]phrase|mnemonic)[*]{{0,2}}{QUOTE}\s{{0,5}}[:=][*]{{0,2}}\s{{0,5}}{QUOTE}"
        r"(?P<secret>(?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})\b",
    ),
    Rule(
        "option of curl",
        ("curl", "wget"),
        r"""[\s"'](?:-[a-z]{0,6}u|--(?:proxy-)?user)(?:["'],)?[ =]?["']?[^\s:"']{1,100}["']?:["']?""" + ARGUMENT,
        after="curl|wget",
    ),
    Rule(
        "option of a login",
        ("login", "mongo"),
        r"""\s-p[ =]?["']?""" + ARGUMENT,
        after=r"(?:docker|podman|helm|oc|az)\s.*login|mongo\w*",
    ),
    Rule("option of mysql", ("mysql", "mariadb", "7z"), r"""\s-p["']?""" + ARGUMENT, after=r"mysql\w*|mariadb\w*|7z"),
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
        if not rule.after or _compiled(rf"\b(?:{rule.after})\b").search(before.replace("\\\n", "  ").rpartition("\n")[2]):
            yield found.span("secret")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)
