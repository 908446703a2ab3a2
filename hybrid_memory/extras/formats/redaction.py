"""Replace the secrets in a text by [redacted]. Pure.

Secrets are recognized by their form. SERVICES list the keys of many services: a prefix and random
characters; `_tokens` finds such keys of other services. RULES find private keys, and secrets in URLs,
headers and files, COMMANDS those in the options of programs. `named_secrets` finds values that are
assigned to names such as `DB_PASSWORD`, `secrets_in_columns` those in tables, and
`secrets_in_sentences` words that look like secrets near such a name.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from .named_secrets import (
    CAMEL_CASE,
    LEAST_CHANGES,
    MASK,
    changes,
    named_secrets,
    same_length_lower,
    secrets_in_columns,
)
from .sentences import secrets_in_sentences

LONGEST_COMMAND = 400  # characters after the name of a program
LEAST_UNMARKED = 20  # random characters of a token whose prefix does not name a token

HEX = "[0-9a-f]"
LETTERS = "[A-Za-z0-9]"
WORD = r"[\w-]"
SIGNED = rf"eyJ{WORD}{{8,}}(?:\.(?:{WORD}{{8,}})?)?"  # the signature may be missing
ENCRYPTED = rf"{WORD}*\.{WORD}{{16,}}\.{WORD}{{8,}}\.{WORD}{{16,}}"
JWT = rf"{WORD}{{8,}}\.(?:{SIGNED}|{ENCRYPTED})"

# The service, the prefixes of its keys, and a pattern for the rest of a key. The lengths are
# minimums, because services have lengthened their keys before.
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
    ("AWS", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?<!EXAMPLE)(?![A-Za-z0-9])"),
    ("AWS, old", "A3T", "[A-Z0-9]{17}(?![A-Za-z0-9])"),
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
    ("Dropbox", "sl.", rf"(?:u\.)?{WORD}{{60,}}"),
    ("1Password", "ops_eyJ", r"[\w.+/=-]{40,}"),
    ("JSON Web Token (RFC 7519), also encrypted (RFC 7516)", "eyJ", JWT),
    ("NVIDIA", "nvapi-", f"{WORD}{{40,}}"),
    ("CircleCI", "CCIPAT_ CCIPRJ_", f"{LETTERS}{{20,}}_{HEX}{{40,}}"),
    ("Artifactory", "AKC", f"(?=[A-Za-z]{{0,80}}[0-9]){LETTERS}{{10,}}"),
    (
        "Artifactory, encrypted password",
        "AP",
        "(?<!/AP)[0-9A-F](?=[A-Za-z]{0,80}[0-9])(?=[A-Z0-9]{0,80}[a-z])(?=[a-z0-9]{0,80}[A-Z])"
        f"{LETTERS}{{8,}}(?![\\w-])",
    ),
    ("Buildkite", "bkua_", f"{HEX}{{40,}}"),
    ("Clojars", "CLOJARS_", f"{HEX}{{60,}}"),
    ("Google, new form", "AQ.", f"{WORD}{{40,}}"),
    ("Google, refresh token", "1//0", f"{WORD}{{40,}}"),
    ("Cloudflare, origin key", "v1.0-", f"{HEX}{{24}}-{HEX}{{100,}}"),
    ("GitLab, registration", "GR1348941", f"{WORD}{{20,}}"),
    ("Infisical", "st.", rf"{HEX}{{24}}\.{HEX}{{32}}\.{HEX}{{32}}"),
    ("Asana", "1/", f"[0-9]{{16}}:{HEX}{{32}}"),
    ("Bitcoin", "5H 5J 5K", f"{LETTERS}{{49}}(?!{WORD})"),
    ("EasyPost", "EZAK EZTK", f"{LETTERS}{{54,}}"),
    ("Prefect, ReadMe", "pnu_ pnb_ rdme_", f"{LETTERS}{{36,}}"),
    ("X", "AAAAAAAAAAAAAAAAAAAA", f"{LETTERS}{{20,80}}%3D{LETTERS}{{30,}}"),
    ("Discord", "M N O", rf"{WORD}{{22,27}}\.{WORD}{{6}}\.{WORD}{{27,}}"),
    ("1Password", "A3-", "[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,4}[A-Z0-9]{5}"),
    ("Flutterwave", "FLWSECK- FLWSECK_TEST-", f"{LETTERS}{{12,}}(?:-X)?"),
    ("OpenShift", "sha256~", f"{WORD}{{40,}}"),
    ("Hugging Face, organizations", "api_org_", f"{LETTERS}{{30,}}"),
    ("Harness", "pat. sat.", rf"{WORD}{{22}}\.{LETTERS}{{24}}\.{LETTERS}{{20}}"),
    ("Stripe, production", "sk_prod_ rk_prod_", f"{LETTERS}{{10,}}"),
    ("Square", "EAAA", f"{WORD}{{22,}}"),
    ("HashiCorp Vault, old", "s.", "(?=[a-zA-Z]{0,23}[0-9])[a-zA-Z0-9]{24}(?![\\w.])"),
    ("Artifactory, reference", "cmVmdGtu", f"{LETTERS}{{50,}}"),
    ("Grafana, old", "eyJrIjoi", r"[\w+/=]{60,}"),
    ("Brave", "BSA", f"{WORD}{{24,}}"),
    ("Frame.io, Intra 42", "fio-u- s-s4t2ud- s-s4t2af-", r"[\w=-]{64}"),
    ("ClickHouse", "4b1d", "[A-Za-z0-9]{38}(?![\\w])"),
    ("BIP 32, Nostr", "xprv nsec1", f"{LETTERS}{{50,}}"),
    ("Mapbox", "pk.eyJ sk.eyJ", rf"{WORD}{{20,}}\.{WORD}{{10,}}"),
]

_LONG = re.compile(r"[\w.+/=~-]{13,}", re.ASCII)  # no key is shorter
_PATTERNS = [(prefix, rest) for _, prefixes, rest in SERVICES for prefix in prefixes.split()]


def _without_service_keys(text: str, long: str, is_selected: Callable[[str], bool]) -> str:
    """Replace the selected keys of services by MASK. `long` are the long words of the text."""
    for prefix, rest in _PATTERNS if long else ():
        if prefix in long:
            spans = (match.span() for match in _pattern(prefix, rest).finditer(text))
            text = _masked(text, spans, is_selected)
    return text


@cache
def _pattern(prefix: str, rest: str) -> re.Pattern[str]:
    """The pattern of a key that begins at the beginning of a word, or after the `\\n` of a quoted
    string.

    The beginning is checked after the prefix, because `re` is fast with patterns that begin with
    plain letters.
    """
    prefix = re.escape(prefix)
    return re.compile(rf"{prefix}(?:(?<![\w-]{prefix})|(?<=\\[nrt]{prefix})){rest}", re.ASCII)


# A token of a service that is not listed, such as `zt_live_` and random characters
_TOKEN = re.compile(
    r"(?<![\w/+.@:%#&-])(?P<prefix>(?:(?:[a-z]{2,11}|[A-Z]{2,11})[0-9]?[_-]){1,3})"
    r"(?P<random>[A-Za-z0-9]{12,200})(?![\w/+-]|\.\w)",
    re.ASCII,
)
_RANDOM = re.compile("[_-][A-Za-z0-9]{12}")
_IN_A_QUERY = re.compile(r"[?&][\w-]{1,40}=\Z", re.ASCII)
_SECRET_PREFIX = re.compile(
    "(?i:_(?:live|test|prod)_|(?:^|[_-])(?:sk|pat|key|api|secret|token|auth|tok|sq[aup])[_-])"
)
# Prefixes of identifiers and hashes, which are no secrets
_IDENTIFIERS = frozenset(
    """acct addr address agent ami asst att batch blk block bucket build call ch chat chatcmpl
    check cmpl conv cus customer doc dpl edit event evt ext feat file fix fk fn fp gen group
    hash id idx img in index inv item job key link log md5 message mod model msg node note obj
    order org page part pay pi pk plan pr price prj prod proj project prompt ray rel release req
    request res resp response room run ses session sha1 sha256 sha384 sha512 shape span stake
    step sub task team thread tmp tool toolu trace trig txn upload uq urn user usr uuid v1 v2
    vec vol ws""".split()
)
# UUIDs, ULIDs, CUIDs and hashes, by their lengths and alphabets
_IDENTIFIER = re.compile(
    "01[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{24}|c[a-z0-9]{24}|(?:[0-9a-f]{4}){5,}|[0-9]+|[A-Z]+|[a-z]+"
)


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each token of an unlisted service."""
    for match in _TOKEN.finditer(text):
        prefix = match["prefix"]
        random = match["random"]
        is_marked = _SECRET_PREFIX.search(prefix) is not None
        if not is_marked:
            if _IDENTIFIERS.intersection(re.split("[_-]", prefix.lower())):
                continue
            if len(random) < LEAST_UNMARKED or _IDENTIFIER.fullmatch(random):
                continue
        if changes(random) < LEAST_CHANGES or CAMEL_CASE.fullmatch(random):
            continue
        if not _IN_A_QUERY.search(text[max(match.start() - 50, 0) : match.start()]):
            yield match.span()


class Rule(NamedTuple):
    """How to recognize one kind of secret."""

    name: str
    hints: tuple[str, ...]  # in lower case; a text without any of them is not searched
    pattern: str  # ignores case; its group `secret` is replaced


# Parts of the patterns. $TOKEN, ${TOKEN}, <your key>, {key}, %s, [redacted], *** and your-key are
# not secrets.
NOT_PLACEHOLDER = r"""(?!\$\w+(?:[\s"'`;,)@/]|\Z)|\$[({]|<|\{|%[s({]|\[|\*+(?:\W|\Z)|your[_-]
    |(?:admin|pass(?:word|wd)?|pw|secret|token)(?![\w!@#$%^&*+-]))"""
QUOTE = r"""[\\"'`]{0,3}"""
ARGUMENT = NOT_PLACEHOLDER + r"""(?P<secret>[^\s"'`-][^\s"']*)"""
ANY_KEY = r"[A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?[ ]?-{4,5}"
HEADERS = r"(?:\s{1,9}+(?:Proc-Type|DEK-Info|Version|Comment):[^\n]{0,200}+){0,6}+"
# Between lines of a key: quotation and diff marks, and line numbers of tools
SEPARATORS = r"""(?:\\[nrt]|[\s"'`,+>|\\]|[0-9]{1,6}+[→:|\t]){1,40}+"""
BASE64_LINES = rf"(?:{SEPARATORS}[A-Za-z0-9+/=]{{16,}}+)++"
LAST_LINE = (
    r"(?:\s{1,9}+(?:[0-9]{1,6}+[→:|\t]\s{0,3}+)?"
    r"(?=[A-Za-z]{0,80}+[0-9+/=])[A-Za-z0-9+/=]++(?=\n|\s{0,9}\Z))?"
)
# Words before a name and a password, in several languages
LOGINS = (
    "cred|login|log-in|account|admin|root|zugangsdaten|identifiant|inlog|логин|доступ"
    "|账号|帐号|アカウント"
)
RECOVERY = r"(?=[a-z-]{0,11}[0-9])[0-9a-z]{4,11}(?:-[0-9a-z]{4,11}){0,3}"
OPENVPN = "OpenVPN[ ]Static[ ]key[ ]V1-{4,5}"

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
        "private key without its beginning",
        ("private key",),
        rf"(?:(?<=\n)|\A)[> \t]{{0,8}}(?P<secret>[A-Za-z0-9+/=]{{40,}}+"
        rf"(?:{SEPARATORS}[A-Za-z0-9+/=]{{4,}}+){{0,120}}+\s{{1,9}}-{{4,5}}END[ ]{ANY_KEY})",
    ),
    Rule(
        "key of OpenVPN",
        ("static key",),
        rf"(?P<secret>-{{4,5}}BEGIN[ ]{OPENVPN}(?:[^-]*+-{{4,5}}END[ ]{OPENVPN}|{BASE64_LINES}))",
    ),
    Rule(
        "vault of Ansible",
        ("$ansible_vault",),
        r"\$ANSIBLE_VAULT;[\w.;-]{3,60}(?P<secret>(?:\s{1,12}+[0-9a-f]{20,}+)++)",
    ),
    Rule(
        "key of Ethereum",
        ("private key",),
        r"\b(?P<secret>0x[0-9a-f]{64})\b(?=[^\n]{0,20}private[ ]key)",
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
        "pair of AWS",
        ("akia", "asia"),
        r"(?P<secret>(?-i:\bA[KS]IA[A-Z0-9]{16}[\s\"',:;/|]{1,8}[A-Za-z0-9/+]{40}))(?![\w/+])",
    ),
    Rule(
        "session of another service",
        ("bw_session", "_skey"),
        rf"\b(?:BW_SESSION|[A-Z]{{1,20}}_SKEY){QUOTE}\s{{0,3}}[:=]\s{{0,3}}{QUOTE}"
        + NOT_PLACEHOLDER
        + r"(?P<secret>[\w+/=-]{16,})",
    ),
    Rule(
        "key of Terraform",
        (".atlasv1.",),
        r"(?<!\w)(?P<secret>[a-z0-9]{14}\.atlasv1\.[\w-]{50,})",
    ),
    Rule("key of Okta", ("ssws ",), r"\bSSWS[ ]{1,3}(?P<secret>[\w-]{20,})"),
    Rule(
        "key of Mailchimp",
        ("-us",),
        r"(?<!\w)(?P<secret>[0-9a-z]{32}-us[0-9]{1,2})(?!\w)",
    ),
    Rule(
        "key of Twitch", ("oauth:",), r"\boauth:(?P<secret>(?=[a-z]{0,29}[0-9])[a-z0-9]{30})(?!\w)"
    ),
    Rule(
        "account of Twilio",
        ("ac",),
        r"(?P<secret>(?-i:AC(?<!\w..)[0-9a-f]{32}[\s\"',:;]{1,6}[0-9a-f]{32}))(?!\w)",
    ),
    Rule(
        "application of Azure",
        ("q~",),
        r"(?<![\w.~-])(?P<secret>[\w.~-]{3}[0-9]Q~[\w.~-]{31,34})(?![\w.~-])",
    ),
    Rule(
        "hash of a password",
        ("$",),
        r"(?P<secret>\$(?:2[aby]|5|6|y|apr1|argon2id?)\$[\w./$,=+-]{20,})",
    ),
    Rule(
        "password in a URL",
        ("://",),
        r"""://[^\s/:@"']{0,200}:(?![0-9]{1,5}/|pass(?:word|wd)?@)"""
        + NOT_PLACEHOLDER
        + r"""(?P<secret>[^\s/@"']{1,200}+|(?:[^\s@"'()<>\[\]:]|:(?!//)){1,200}+)@(?=[\w\[$%{])""",
    ),
    Rule(
        "key in a URL",
        ("://",),
        r"://(?<!enode://)(?<!enrtree://)(?P<secret>(?=[\w-]{0,40}[0-9])[\w-]{20,200})@(?!sha[0-9])",
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
    Rule(
        "webhook of Discord",
        ("/api/webhooks/",),
        r"/api/webhooks/(?P<secret>(?=[0-9]{5})[\w/-]{20,})",
    ),
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
    Rule("answer to a challenge", ('response="',), r'\bresponse="(?P<secret>[0-9a-f]{32,128})"'),
    Rule("signature of AWS", ("signature=",), r"\bSignature=(?P<secret>[0-9a-f]{64})(?!\w)"),
    Rule(
        "key in the path of a URL",
        ("/soap/v3",),
        r"/soap/v3(?:\.1)?/(?P<secret>[a-z0-9]{64})(?!\w)",
    ),
    Rule(
        "cookies",
        ("cookie:",),
        r"cookie:\s{0,5}"
        + NOT_PLACEHOLDER
        + r"""(?P<secret>[\w.-]{1,60}=(?=[^\s"'`;]{0,99}[0-9]|\w{24})[^\s"'`;]{6,}(?:;[ ]?[^\s"'`;]+)*+)""",
    ),
    Rule(
        "bearer",
        ("bearer",),
        r"\bbearer[ \t]{1,5}(?P<secret>(?=[\w.~+/=-]{0,200}[0-9])[\w.~+/=-]{16,})",
    ),
    Rule(
        "bearer without a digit",
        ("bearer",),
        r"\bbearer[ \t]{1,5}(?P<secret>[a-z]{24,}(?![\w-])"
        r"|(?-i:(?=[a-z]{0,20}[A-Z]{1,20}[a-z]{1,20}[A-Z])[A-Za-z]{16,}))",
    ),
    Rule(
        "element of XML",
        ("</",),
        r"<(?P<tag>[\w.:-]{0,40}(?:pass(?:word|phrase|wd)?|pwd|secret|token"
        r"|(?:api|access|private|secret|auth|encryption|master|hash|signing|account|session)"
        r"[_-]?key))(?:\s[^<>]{0,100})?>\s{0,20}+"
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
        "password in .netrc",
        ("login", "machine"),
        r"\b(?:login|machine)\s{1,5}[^\s,]{1,100}(?:\s{1,5}account\s{1,5}\S{1,100})?"
        r"\s{1,5}password\s{1,5}" + ARGUMENT,
    ),
    Rule(
        "password in .pgpass",
        (":54", ":64", ":25060:", ":*:"),
        r"""(?:(?<=[\n>"'`])|\A)[\w.*-]{1,100}:(?:54[0-9]{2}|64[0-9]{2}|25060|\*):"""
        r"""(?![0-9]{1,9}:)[\w.*-]{1,63}:[\w.*-]{1,63}:(?P<secret>[^\s:"'`]{4,})(?=["'`]?(?:\n|\Z))""",
    ),
    Rule(
        "key of a cluster",
        ("client-key-data", "tls.key"),
        rf"(?:client-key-data|tls\.key){QUOTE}:\s{{0,3}}{QUOTE}(?P<secret>[\w+/=]{{40,}})",
    ),
    Rule(
        "login of a registry",
        ('auth"', 'auth\\"'),
        r'(?<=")auth\\?"\s{0,3}:\s{0,3}\\?"'
        r'(?P<secret>(?:(?=[a-z+/]{0,200}[0-9=])[a-z0-9+/]{12,}|[a-z+/]{24,})={0,2})(?=\\?")',
    ),
    Rule(
        "pair in a call",
        (
            "auth=",
            "auth =",
            "auth\t=",
            "auth(",
            "login(",
            "authenticate(",
            "credential(",
            "credentials(",
        ),
        r"(?:\bauth[ \t]?=\s?(?:[\w.]{1,60})?|(?:auth|login|authenticate|credentials?))\(\s?"
        r"""["'][^"'\n]{0,100}["'],\s{0,3}["']"""
        + NOT_PLACEHOLDER
        + r"""(?P<secret>[^"'\n]{2,200})["']\s?\)""",
    ),
    Rule(
        "password for a database in a call",
        ("mysqli", "getconnection(", "pdo("),
        r"(?:mysqli(?:_connect)?|getConnection|PDO)\(\s?"
        r"""(?:(?:[^()"',\n]{1,60}|["'][^"'\n]{0,100}["']),\s{0,3}){2}["']"""
        + NOT_PLACEHOLDER
        + r"""(?P<secret>[^"'\n]{2,200})["']""",
    ),
    Rule(
        "key of a wireless network",
        ("psk=",),
        r"\bpsk="
        + rf"""(?:["']{NOT_PLACEHOLDER}(?P<quoted>)|(?=\S{{0,63}}[0-9]){NOT_PLACEHOLDER})"""
        + r"""(?P<secret>(?(quoted)[^"'\n]|[^\s"']){8,64})""",
    ),
    Rule(
        "words of a seed",
        ("phrase", "mnemonic"),
        rf"(?:(?:seed|recovery|secret)[ ]phrase|mnemonic)[*]{{0,2}}{QUOTE}"
        rf"\s{{0,5}}[:=][*]{{0,2}}\s{{0,5}}{QUOTE}"
        r"(?P<secret>(?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})\b",
    ),
    Rule("community of SNMP", ("snmp-server c",), r"\bsnmp-server[ ]community[ ]{1,3}" + ARGUMENT),
    Rule(
        "setting in a file",
        ("pass ", "pw ", "passwd ", "password ", "auth ", "secret "),
        r"(?:(?<=\n)|\A)[ \t]{0,8}[a-z][a-z_.-]{1,30}(?:pass|pw|passwd|password|auth|secret)[ \t]{1,8}"
        + NOT_PLACEHOLDER
        + r"""(?P<secret>(?=[^\s"']{0,60}[0-9])(?=[^\s"']{0,60}[a-z])[^\s"'`(/:]{6,99})[ \t]{0,8}(?=\n|\Z)""",
    ),
    Rule(
        "codes for recovery",
        ("codes",),
        r"\b(?:recovery|backup|rescue|2fa|mfa|one-time|scratch|emergency)[ -]codes?\b[^\n:]{0,40}:"
        rf"[*_]{{0,2}}[ \n,;|*`>-]{{0,9}}(?P<secret>{RECOVERY}(?:[ \n,;|*`>-]{{1,9}}{RECOVERY}){{1,19}})"
        r"(?![\w-])",
    ),
    Rule(
        "password through a pipe",
        ("-stdin", "--with-token", "sudo ", "chpasswd"),
        r"""\b(?:echo|printf)[ ]{1,3}(?:-n[ ]{1,3})?["']?(?:[\w.-]{1,60}:)?"""
        + NOT_PLACEHOLDER
        + r"""(?P<secret>[^\s"'|-][^\s"'|]{1,200})["']?[ ]{0,3}\|[ ]{0,3}"""
        r"(?:sudo[ ]{1,3}-S|(?:sudo[ ]{1,3})?chpasswd|[^\n|]{1,150}--(?:password-stdin|with-token|stdin))\b",
    ),
    Rule("option of sshpass", ("sshpass",), r"""sshpass\s{1,5}-p[ ]?["']?""" + ARGUMENT),
    Rule(
        "network in a QR code",
        ("wifi:",),
        r"\bWIFI:(?:[STHEIR]:[^;\n]{0,99};){0,6}?P:(?P<secret>[^;\n]{4,99});",
    ),
    Rule(
        "password of Oracle in a URL",
        ("jdbc:oracle",),
        r"jdbc:oracle:\w{2,6}:[\w.-]{1,60}/" + NOT_PLACEHOLDER + r"(?P<secret>[^\s/@]{2,99})@",
    ),
    Rule(
        "name and password",
        tuple(LOGINS.split("|")),
        rf"\b(?:(?:{LOGINS})[a-z-]{{0,8}}"
        r"(?:[ ](?:are|is|for[ ][\w.-]{1,40})|(?:[ ][\w.-]{1,20}){1,4}(?=:))?"
        r"[ :=：→]{1,3}[\"'`]?[\w.@+-]{1,60}[\"'`]?[ ]?"
        r"|(?<![\w/.-])(?:admin(?:istrator)?|root))[:/](?!//)[ ]?[\"'`]?"
        + NOT_PLACEHOLDER
        + r"(?P<secret>(?=[^\s\"'`]{0,60}[0-9])(?=[^\s\"'`]{0,60}[a-z])"
        r"(?=[^\s\"'`]{0,60}[!@#$%&^*]|(?-i:(?=[\w-]{0,60}[A-Z])[A-Za-z0-9]{1,60}[_-]))[^\s\"'`,;/()\[\]]{6,99})",
    ),
    Rule(
        "name and password after a label",
        (" / ",),
        r"\b[\w-]{2,24}:[ ][\w.@+-]{2,60}[ ]/[ ](?P<secret>(?=\S{0,40}[0-9])(?=\S{0,40}[a-z])"
        r"(?=\S{0,40}(?:[!@#$%&^*]\w|\w[!#$%&^*]))[^\s\"'`,;/()\[\]]{6,99})",
    ),
    Rule(
        "setting of a command",
        (" set ",),
        r"\bconfig(?:ure)?[ ]{1,3}set[ ]{1,3}[\w.:/-]{0,80}(?:_key|token|secret|password)[ =]{1,3}"
        r"""["']?(?=[^\s]{0,200}[0-9])""" + ARGUMENT,
    ),
    Rule(
        "login with a key",
        ("login ", "authtoken "),
        r"(?:\bwandb[ ]{1,3}login|authtoken)[ ]{1,3}(?:--relogin[ ]{1,3})?"
        r"(?P<secret>(?=[a-z_-]{0,40}[0-9])[\w-]{20,})",
    ),
]

# Commands, and the option or argument before a secret
COMMANDS = [
    (
        "curl|wget",
        r"(?:-[a-z]{0,6}u|--(?:proxy-)?user)(?:[\"'],)?[ =]?[\"']?[^\s:\"']{1,100}[\"']?:",
    ),
    ("curl", r"(?:-b|--cookie)[ =]?[\"']?[\w.-]{1,60}="),
    ("http|https", r"(?:-a|--auth)[ =][\"']?[^\s:\"']{1,100}:"),
    ("docker login|podman login|helm registry login|oc login|az login|az acr login", r"-p[ =]?"),
    ("mongo|mongosh|mongodump|mongorestore", r"-p[ =]?"),
    ("mysql|mysqldump|mysqladmin|mariadb|7z|rar|unrar", r"-p"),
    ("zip|unzip", r"(?-i:-P)[ ]?"),
    ("smbclient|smbget|rpcclient|net", r"-U[ ]?[\"']?[^\s%\"']{1,60}%"),
    ("lftp", r"-u[ ]?[\"']?[^\s,\"']{1,60},"),
    ("xfreerdp|xfreerdp3|wfreerdp", r"/p:"),
    ("net use", r"(?:/user:[^\s]{1,60}|\\\\[^\s]{1,60})[ ]{1,3}(?![/*])"),
    ("net user", r"[\w.-]{1,60}[ ]{1,3}(?!/)"),
    ("rclone", r"(?:pass|password|secret_access_key|client_secret|token|key)[ =]"),
    ("redis-cli", r"-a[ ]?"),
    ("ldapsearch|ldapadd|ldapmodify|ldapdelete|ldapwhoami", r"-w[ ]?"),
    ("openssl", r"(?:-pass(?:in|out)?[ ][\"']?pass:|-k[ ](?=\S{0,99}[0-9!]))"),
    ("keytool|jarsigner", r"-(?:store|key)pass[ ]"),
    ("snmpwalk|snmpget|snmpset|snmpbulkwalk", r"(?-i:-[AX])[ ]"),
    ("gh secret set", r"(?:-b|--body)[ =][\"']?(?=\S{0,99}[0-9])"),
    (
        "htpasswd",
        r"-(?=[a-z]{0,5}b)(?:[a-z]{0,5}n[a-z]{0,5}|[a-z]{1,6}[ ]{1,3}\S{1,100})[ ]{1,3}\S{1,60}[ ]",
    ),
    ("convertto-securestring", r"(?:-string[ ])?(?=[\"'])"),
    ("enable|username", r"(?:secret|password)[ ][0-9][ ](?=\S{8})"),
    ("wpa_passphrase", r"[^\s\"'-]{1,32}[ ]"),
    ("sqlplus", r"[\w.-]{1,60}/(?=[^\s/]{1,60}@)"),
]


_PROGRAMS = sorted(
    (name for names, _ in COMMANDS for name in names.split("|")), key=len, reverse=True
)
_PROGRAM = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, _PROGRAMS))})(?=[\s\\\"',])")
# A text without an option and without these words has no such command
_OPTION = re.compile(r"-(?<=[\s\"'-]-)[A-Za-z]")
_WITHOUT_OPTION = "/p: /user: user rclone convertto- enable username wpa_pass sqlplus".split()


@cache
def _options_of(program: str) -> list[re.Pattern[str]]:
    """The patterns of the secrets of a program, in the rest of its line."""
    rows = [option for programs, option in COMMANDS if program in programs.split("|")]
    return [_compiled(rf"""[\s"']{option}["']?{ARGUMENT}""") for option in rows]


def _secrets_of_commands(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret that is an argument of a command."""
    spans = set()
    searched: dict[str, int] = {}  # program -> the end of its last command line
    lowered = same_length_lower(text)
    if not (_OPTION.search(text) or any(word in lowered for word in _WITHOUT_OPTION)):
        return
    for program in _PROGRAM.finditer(lowered):
        start = max(program.end(), searched.get(program[0], 0))
        rest = text[start : program.end() + LONGEST_COMMAND]
        end = start + len(re.split(r"(?<!\\)\n", rest, maxsplit=1)[0])
        searched[program[0]] = end
        for option in _options_of(program[0]):
            spans |= {match.span("secret") for match in option.finditer(text, start, end)}
    yield from sorted(spans)


def redact(text: str, is_selected: Callable[[str], bool] = bool) -> str:
    """Replace the secrets in a text by MASK; only those selected by `is_selected`.

    `curl -H "Authorization: Bearer abc123…" -> curl -H "Authorization: Bearer [redacted]`
    """
    lowered = text.lower()
    for rule in RULES:
        for hint in rule.hints:
            if hint in lowered:
                text = _masked(text, _spans(rule, text), is_selected)
                break
    text = _masked(text, _secrets_of_commands(text), is_selected)
    long = " ".join(_LONG.findall(text))  # a small part of most texts
    text = _without_service_keys(text, long, is_selected)
    text = _masked(text, named_secrets(text), is_selected)
    text = _masked(text, secrets_in_columns(text), is_selected)
    text = _masked(text, secrets_in_sentences(text), is_selected)
    if _RANDOM.search(long):
        text = _masked(text, _tokens(text), is_selected)
    return text


def _masked(text: str, spans: Iterable[tuple[int, int]], is_selected: Callable[[str], bool]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        if not is_selected(text[start:end]):
            continue
        pieces += [text[position:start], MASK]
        position = end
    if position:
        return "".join([*pieces, text[position:]])
    return text


def _spans(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret of this kind."""
    for match in _compiled(rule.pattern).finditer(text):
        yield match.span("secret")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)
