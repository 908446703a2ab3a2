"""The kinds of secrets, and what looks like one, are in `secret_table.py`."""

import re
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.extras.formats import named_secrets, sentences
from hybrid_memory.extras.formats import redaction as service_keys
from hybrid_memory.extras.formats.redaction import (
    COMMANDS,
    MASK,
    RULES,
    Rule,
    _options_of,
    _secrets_of_commands,
    _spans,
    redact,
)
from tests.extras.secret_table import FAMILIES, INNOCENT, SECRETS, filled

PLAIN = [row.replace("⟦", "").replace("⟧", "") for row in SECRETS]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_secret_is_masked_and_the_rest_stays(family: str) -> None:
    for row in FAMILIES[family]:
        expected = re.sub("⟦.*⟧", MASK, row, flags=re.DOTALL)
        assert redact(re.sub("[⟦⟧]", "", row)) == expected


def test_the_table_has_hundreds_of_kinds() -> None:
    assert len(set(SECRETS)) >= 550
    assert all(row.count("⟦") == row.count("⟧") == 1 for row in SECRETS)
    assert len(set(INNOCENT)) >= 100


def test_what_only_looks_like_a_secret_stays() -> None:
    ends = ["-----END PRIVATE KEY----- is its last line", "a\n-----END RSA PRIVATE KEY-----"]
    changed = {text: redact(text) for text in [*INNOCENT, *ends] if redact(text) != text}
    assert changed == {}


def test_a_header_with_several_parts_shows_no_signature() -> None:
    signature = filled("{H64}")
    aws = "AWS4-HMAC-SHA256 Credential=AKIAQX7RT2MX9KLW4ZB1/2026/us, SignedHeaders=host"
    assert signature not in redact(f"Authorization: {aws}, Signature={signature}")
    answer = signature[:32]
    digest = f'Digest username="joe", realm="x", response="{answer}"'
    assert answer not in redact(f"Authorization: {digest}")


DETECTED = {  # by the plugins of detect-secrets: a text in the form that its pattern describes
    "artifactory.ArtifactoryDetector": ["x AKC{A20}", "x AP6{A20}"],
    "aws.AWSKeyDetector": ["AKIA{U16}", "ASIA{U16}", "A3TX{U16}", "aws_secret_key = '{A40}'"],
    "azure_storage_key.AzureStorageKeyDetector": ["AccountKey={A86}=="],
    "basic_auth.BasicAuthDetector": ["https://ann:{A12}@example.com/x"],
    "cloudant.CloudantDetector": [
        "cloudant_password = '{H64}'",
        "https://ann:{H64}@ann.cloudant.com",
    ],
    "discord.DiscordBotTokenDetector": ["M{A23}.{A6}.{A27}"],
    "github_token.GitHubTokenDetector": ["ghp_{A36}", "ghs_{A36}"],
    "gitlab_token.GitLabTokenDetector": [
        "glpat-{A20}", "glrt-{A20}", "GR1348941{A20}", "glcbt-1f_{A20}", "glimt-{A25}",
        "glptt-{A40}", "glagent-{A50}", "gloas-{A64}",
    ],
    "ibm_cloud_iam.IbmCloudIamDetector": ['ibm_cloud_iam_api_key = "{A44}"'],
    "ibm_cos_hmac.IbmCosHmacDetector": ['cos_hmac_secret_access_key = "{H48}"'],
    "jwt.JwtTokenDetector": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{A43}"],
    "mailchimp.MailchimpDetector": ["{H32}-us12"],
    "npm.NpmDetector": ["//npm.example.org/:_authToken=npm_{A36}"],
    "openai.OpenAIDetector": ["sk-proj-{A20}T3BlbkFJ{A20}"],
    "pypi_token.PypiTokenDetector": [
        "pypi-AgEIcHlwaS5vcmc{A70}", "pypi-AgENdGVzdC5weXBpLm9yZw{A70}",
    ],
    "sendgrid.SendGridDetector": ["SG.{A22}.{A43}"],
    "slack.SlackDetector": [
        "xoxb-123456789012-{A24}", "https://hooks.slack.com/services/T{A8}/B{A8}/{A24}",
    ],
    "softlayer.SoftlayerDetector": [
        'softlayer_api_key = "{H64}"', "https://api.softlayer.com/soap/v3/{H64}",
    ],
    "square_oauth.SquareOAuthDetector": ["sq0csp-{A43}"],
    "stripe.StripeDetector": ["sk_live_{A24}", "rk_live_{A24}"],
    "telegram_token.TelegramBotTokenDetector": ["110201543:AA{A33}"],
    "twilio.TwilioKeyDetector": ["AC{H32}", "SK{H32}"],
}  # fmt: skip


@pytest.mark.parametrize("plugin", DETECTED)
def test_another_scanner_finds_nothing_in_what_was_masked(plugin: str) -> None:
    module, name = plugin.split(".")
    detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
    for shape in DETECTED[plugin]:
        text = filled(shape.replace("{U16}", "QX7RT2MX9KLW4ZB1"))
        secrets = [secret for secret in detector.analyze_string(text) if secret]
        assert secrets, shape
        redacted = redact(text)
        assert not [secret for secret in secrets if secret in redacted], shape
        assert not [secret for secret in detector.analyze_string(redacted) if secret], shape


def test_secrets_are_found_in_the_middle_of_a_text() -> None:
    redacted = redact("\n\n".join(PLAIN))
    secrets = [row[row.index("⟦") + 1 : row.index("⟧")] for row in SECRETS]
    assert not [secret for secret in secrets if len(secret) > 8 and secret in redacted]
    innocent = "\n\n".join(INNOCENT)
    assert redact(innocent) == innocent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "password: a1b2, token: {A20}, key: value",
            f"password: {MASK}, token: {MASK}, key: value",
        ),
        ("f(token=parse(x), password='hunter22')", f"f(token=parse(x), password='{MASK}')"),
        ("token: password: hunter22", f"token: password: {MASK}"),
        ("İİİ password: hunter22", f"İİİ password: {MASK}"),
        ("sshpass -p hunter22 ssh -p 2222 x", f"sshpass -p {MASK} ssh -p 2222 x"),
        (
            "docker login -u ann\ndocker run -p 8080:80 x",
            "docker login -u ann\ndocker run -p 8080:80 x",
        ),
        (
            "-----BEGIN {P} KEY-----\nx\n-----BEGIN {P} KEY-----\ny\n-----END {P} KEY-----",
            f"-----BEGIN {{P}} KEY-----\nx\n{MASK}",
        ),
    ],
)
def test_several_on_a_line(text: str, expected: str) -> None:
    text, expected = (x.replace("{P}", "PRIVATE") for x in (filled(text), expected))
    assert redact(text) == expected


def test_a_secret_far_from_its_name_is_masked_as_a_whole_or_not_at_all() -> None:
    for distance in range(40, 95):
        far = "o" * distance
        for row in (f"the password {far} ⟦Ink!yPaws9x⟧ ends", f"so ⟦Ink!yPaws9x⟧, {far} password"):
            text = re.sub("[⟦⟧]", "", row)
            assert redact(text) in (re.sub("⟦.*⟧", MASK, row), text)


def test_long_secrets_are_masked_to_their_end() -> None:
    for start in (
        "password: ",
        "API_KEY=",
        "token: ",
        "Authorization: Bearer ",
        "ghp_",
        "https://a:",
    ):
        assert "a1" not in redact(f"{start}{'a1' * 90}{'@b/' if '://' in start else ''} end")
        assert redact(f"{start}{'a1' * 90}{'@b/' if '://' in start else ''} end").endswith(" end")
    for start in ("password: ", "API_KEY=", "token: ", "Authorization: Bearer "):
        assert redact(start + "a1" * 50_000) == start + MASK


PIECES = [
    "password",
    "token",
    "=",
    ": ",
    '"',
    "'",
    "\n",
    " ",
    "-----BEGIN PRIVATE KEY-----",
    "://",
    "a:",
    "@",
    "hunter22",
    "key",
    "<",
    ">",
    "-p",
    "İ",
]


@given(
    st.one_of(
        st.text(max_size=300),
        st.lists(st.sampled_from([*PIECES, *PLAIN[::7]]), max_size=8).map("".join),
    )
)
def test_redaction_is_done_once_and_for_all(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.text(max_size=300))
def test_the_lower_case_in_which_names_are_searched_has_the_same_length(text: str) -> None:
    assert len(text.replace("İ", "i").lower()) == len(text)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_what_a_rule_matches_has_one_of_its_hints(rule: Rule) -> None:
    matched = [text.lower() for text in PLAIN if list(_spans(rule, text))]
    assert matched
    assert all(any(hint in text for hint in rule.hints) for text in matched)


@pytest.mark.parametrize(("programs", "option"), COMMANDS)
def test_each_option_of_a_command_has_a_row_in_the_table(programs: str, option: str) -> None:
    names = programs.split("|")
    [pattern] = [each for each in _options_of(names[0]) if option in each.pattern]
    rows = [text for text in PLAIN if any(name in text.lower() for name in names)]
    assert any(pattern.search(text) and list(_secrets_of_commands(text)) for text in rows)


def test_no_prefix_of_a_service_is_listed_twice() -> None:
    prefixes = [prefix for _, prefixes, _ in service_keys.SERVICES for prefix in prefixes.split()]
    assert len(prefixes) == len(set(prefixes))


LENGTH = 30_000  # characters; a quarter of them must take about a quarter of the time, and not a sixteenth
MOST_GROWTH = 9.0
FLOODS = [" ", "\n", "a", "A", "1", "-", "_", "=", ":", "/", ".", ",", ";", "<", ">", "|", "&", "\\", '"', "'", "`", "a ", "a.", "a=", "A_", "://", "\n" + "a" * 64]  # fmt: skip


def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


def cpu_seconds(run: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    run(text)
    return time.process_time() - start


def grows_too_fast(run: Callable[[str], object], head: str, unit: str) -> bool:
    """Whether four times the length takes far more than four times the time: quadratic time is 16 times."""
    whole, quarter = (head + repeated(unit, length) for length in (LENGTH, LENGTH // 4))
    if cpu_seconds(run, whole) < 0.05:
        return False
    took, before = (min(cpu_seconds(run, text) for _ in range(3)) for text in (whole, quarter))
    return took > MOST_GROWTH * before


def repeated(unit: str, length: int) -> str:
    return unit * (length // len(unit))


def slow(run: Callable[[str], object], heads: Iterable[str]) -> list[tuple[str, str]]:
    """Inputs made of these beginnings that take far more than linear time."""
    inputs = [("", head) for head in heads] + [(head, flood) for head in heads for flood in FLOODS]
    return [
        (head, unit)
        for head, unit in dict.fromkeys([*inputs, *(("", f) for f in FLOODS)])
        if grows_too_fast(run, head, unit)
    ]


def beginnings(text: str, number: int) -> list[str]:
    return [
        text[: len(text) * i // number] for i in range(1, number + 1) if len(text) * i // number
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.large
def test_no_rule_takes_quadratic_time(rule: Rule) -> None:
    pattern = compiled(rule.pattern)
    samples = [text for text in PLAIN if pattern.search(text)][:1]
    heads = [*rule.hints, *(head for text in samples for head in beginnings(text, 5))]
    assert slow(lambda text: sum(1 for _ in pattern.finditer(text)), heads) == []


def test_no_key_of_a_service_takes_quadratic_time() -> None:
    for prefix, rest in service_keys._PATTERNS:
        pattern = service_keys._pattern(prefix, rest)
        run = partial(pattern.sub, "")
        for unit in (prefix, prefix + "a" * 20, prefix + "a" * 24 + ".", prefix + "1_"):
            assert not grows_too_fast(run, "", unit), unit
            assert not grows_too_fast(run, prefix, unit[len(prefix) :] or "a"), unit


def test_no_name_takes_quadratic_time() -> None:
    heads = [
        "password=",
        "password: ",
        '"token": "',
        "token",
        "API_KEY=",
        "--token ",
        "PASS",
        "<td>key</td>",
        'secret value="',
        "key",
    ]
    assert slow(lambda text: list(named_secrets.named_secrets(text)), heads) == []
    heads = ["user a, password is ", "A1!a as its password "]
    assert slow(lambda text: list(sentences.secrets_in_sentences(text)), heads) == []


@pytest.mark.parametrize(
    "unit",
    [
        "curl -b 'a=",
        "password de ",
        "password is 1 ",
        "contraseña de ",
        "a,password\n",
        "ab_",
        "key: ",
        "a-",
        "-----BEGIN PRIVATE KEY-----",
        "A_",
        "curl -u a:a ",
        "a",
        "password",
        " ",
    ],
)
def test_all_rules_together_take_linear_time(unit: str) -> None:
    assert not grows_too_fast(redact, "", unit)


TRIGGERS = [
    *(hint for rule in RULES for hint in rule.hints),
    *(prefix for prefix, _ in service_keys._PATTERNS),
]
NAMES = [
    "password",
    "pass",
    "pwd",
    "pw",
    "secret",
    "credentials",
    "token",
    "key",
    "pat",
    "_auth",
    "my_token",
    "TOKEN",
]
TRIGGERS += [name + sign for name in NAMES for sign in ("", "=", ":", ": ", " ")] + [
    "--token ",
    '"token": "',
    "a://",
    *(
        f"{program} {ending}"
        for names, _ in COMMANDS
        for program in names.split("|")
        for ending in ("", "-")
    ),
    *(f"{word}{sign}" for word in ("contraseña", "пароль", "密码") for sign in ("", ": ", " de ")),
    "| password |\n|---|\n",
    "a,password\n",
    "zt_live_",
    "zt_live_a1B2",
]


@pytest.mark.large
def test_no_word_that_triggers_a_search_makes_it_much_slower_than_prose() -> None:
    length = LENGTH // 5  # a factor shows in short texts, too; there are hundreds
    prose = repeated(
        "The meeting was moved to Tuesday (room 12): Ann sends the notes, key points first.\n",
        length,
    )
    usual = min(cpu_seconds(redact, prose) for _ in range(3))
    floods = {trigger: repeated(trigger, length) for trigger in dict.fromkeys(TRIGGERS)}
    suspects = {
        trigger: flood
        for trigger, flood in floods.items()
        if cpu_seconds(redact, flood) > MOST_GROWTH * usual
    }
    assert not [
        t
        for t, flood in suspects.items()
        if min(cpu_seconds(redact, flood) for _ in range(3)) > MOST_GROWTH * usual
    ]
