"""Secrets out of a text: keys by their prefix, private keys, passwords in URLs and what is assigned to a name that says so. Pure.

But: a password in a sentence ("it is hunter2") is not known for one, and stays. Where the kind is not certain, a value needs a
digit, so that `token = parse(line)` and "Password: required" stay, too.
"""

import re

MASK = "[redacted]"

# What a key of a service begins with. Lengths are lower bounds: services have lengthened theirs before.
PREFIXED = r"""
    sk-(?:(?:ant|proj|or|svcacct|admin|lf)-[\w-]{16,} | [A-Za-z0-9]{20,})  # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse
  | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,} | whsec_[A-Za-z0-9+/=]{16,}  # Stripe
  | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_\w{22,} | glpat-[\w.-]{16,}
  | xox[abeoprs]-[\w-]{10,} | xapp-[\w-]{10,}  # Slack
  | (?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])  # AWS
  | AIza[\w-]{30,} | ya29\.[\w-]{20,} | GOCSPX-[\w-]{20,}  # Google
  | npm_[A-Za-z0-9]{30,} | pypi-[\w-]{50,} | hf_[A-Za-z0-9]{30,} | r8_[A-Za-z0-9]{30,}
  | gsk_[A-Za-z0-9]{20,} | pplx-[A-Za-z0-9]{20,} | xai-[A-Za-z0-9]{20,} | pa-[A-Za-z0-9_-]{40,}
  | SG\.[\w-]{16,}\.[\w-]{16,} | dop_v1_[a-f0-9]{32,} | tskey-[a-z]+-\w+-\w+ | AGE-SECRET-KEY-1[A-Z0-9]{40,}
  | eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}  # JSON Web Token (RFC 7519): {"alg": …}.{…}.signature
  | [0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])  # Telegram
"""
NAME = (
    r"(?<![a-z])(?:password|passwd|passphrase|pwd|(?:client|app)?[_-]?secret|(?:access|refresh|auth|api|bot)?[_-]?token"
    r"|(?:api|access|private|auth|secret)[_-]?key|credentials?)"
)
PLACEHOLDER = r"(?![$<{*%\[])"  # `$TOKEN`, `<your key>`, `[redacted]`
WITH_DIGIT = r"(?=[^\s\"'`]{0,200}[0-9])"  # bounds like this one keep long texts from taking quadratic time

# Each with words without one of which a text cannot match: most texts have none.
RULES = [
    (
        ("PRIVATE KEY",),
        re.compile(r"-----BEGIN ([A-Z ]*)PRIVATE KEY( BLOCK)?-----.*?(?:-----END \1PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL),
        MASK,
    ),
    (
        (
            "sk-", "k_live_", "k_test_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox",
            "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "GOCSPX-", "npm_", "pypi-", "hf_", "r8_", "gsk_", "pplx-", "xai-", "pa-",
            "SG.", "dop_v1_", "tskey-", "AGE-SECRET", "eyJ", ":AA",
        ),
        re.compile(rf"(?<![\w-])(?:{PREFIXED})", re.VERBOSE),
        MASK,
    ),
    (
        ("earer", "EARER"),
        re.compile(r"\b(bearer\s+)(?=[\w.~+/=-]*[0-9])[\w.~+/=-]{16,}", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    (
        ("asic",),
        re.compile(r"\b(authorization[\"']?\s*[:=]\s*[\"']?basic\s+)[A-Za-z0-9+/]{8,}={0,2}", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    (("://",), re.compile(rf"([a-z]://[^\s/:@\"']{{0,200}}:){PLACEHOLDER}[^\s/@\"']{{1,200}}@", re.IGNORECASE), rf"\1{MASK}@"),
    (
        ("hooks",),
        re.compile(r"(hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/)[\w/-]{20,}"),
        rf"\1{MASK}",
    ),
    (  # API_TOKEN=…, export DB_PASSWORD='…': as environments have it
        ("KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL"),
        re.compile(
            r"(?<![a-z])((?:API_?KEY|ACCESS_KEY(?:_ID)?|PRIVATE_KEY|AUTH_KEY|SECRET(?:_KEY)?|TOKEN|PASSWORD|PASSWD|PASSPHRASE|PWD"
            rf"|CREDENTIALS?)=)(?:\"{PLACEHOLDER}[^\"\n]{{4,}}\"|'{PLACEHOLDER}[^'\n]{{4,}}'|{PLACEHOLDER}[^\s\"'`;&]{{4,}})"
        ),
        rf"\1{MASK}",
    ),
    (  # "api_key": "…", password=hunter2, client_secret: …
        ("assw", "assph", "pwd", "ecret", "oken", "key", "Key", "redential"),
        re.compile(
            rf"({NAME}[\"']?\s*[:=]\s*)([\"']?){PLACEHOLDER}{WITH_DIGIT}[^\s\"'`,;&(){{}}]{{6,}}\2", re.IGNORECASE
        ),
        rf"\1\2{MASK}\2",
    ),
    (
        ("--",),
        re.compile(rf"(--(?:[a-z]{{1,20}}-){{0,3}}{NAME}[= ]+)([\"']?){PLACEHOLDER}{WITH_DIGIT}[^\s\"'`]{{6,}}\2", re.IGNORECASE),
        rf"\1\2{MASK}\2",
    ),
]  # fmt: skip


def redact(text: str) -> str:
    """`curl -H "Authorization: Bearer abc123…" -> curl -H "Authorization: Bearer [redacted]`"""
    for hints, pattern, replacement in RULES:
        if any(hint in text for hint in hints):
            text = pattern.sub(replacement, text)
    return text
