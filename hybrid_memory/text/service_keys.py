"""Finds the keys of well-known services, which consist of a prefix and random characters. Pure.

The lengths are minimums, because services have lengthened their keys before.
"""

import re
from functools import cache

HEX, LETTERS, WORD = "[0-9a-f]", "[A-Za-z0-9]", r"[\w-]"

# The service, the prefixes of its keys, and a pattern for what follows the prefix.
SERVICES = [
    ("OpenAI, Anthropic, OpenRouter, Langfuse", "sk-ant- sk-proj- sk-or- sk-svcacct- sk-admin- sk-lf- pk-lf-", f"{WORD}{{16,}}"),
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
    ("GitLab", "glpat- glrt- gldt- glptt- glcbt- glsoat- glft- glimt- glagent- gloas- glffct-", r"[\w.-]{16,}"),
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
    ("Figma, Grafana, Doppler, Fly.io", "figd_ glsa_ glc_ dp.pt. dp.st. fo1_ fm2_", r"[\w./+=-]{20,}"),
    ("Sentry, Supabase", "sntrys_ sb_secret_", r"[\w./+=-]{20,}"),
    ("Sentry, Sourcegraph, Supabase", "sntryu_ sgp_ sbp_", f"{HEX}{{40,}}"),
    ("Heroku, New Relic, Postman", "HRKU- NRAK- NRJS- NRII- PMAK-", f"{WORD}{{20,}}"),
    ("PlanetScale, Pulumi, PostHog", "pscale_tkn_ pscale_pw_ pscale_oauth_ pul- phx_ phc_", r"[\w.-]{30,}"),
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

    The pattern checks that after the prefix, because `re` is fast with patterns that begin with plain letters.
    """
    prefix = re.escape(prefix)
    return re.compile(rf"{prefix}(?:(?<![\w-]{prefix})|(?<=\\[nrt]{prefix})){rest}", re.ASCII)
