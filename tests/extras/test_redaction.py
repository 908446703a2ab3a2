"""The kinds of secrets, and what looks like one, are in `secret_table.py`."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.extras.formats import named_secrets
from hybrid_memory.extras.formats.named_secrets import MASK
from hybrid_memory.extras.formats.redaction import Rule, redact, rules, secrets_of
from hybrid_memory.extras.formats.secret_rules import compiled, hinted, read_rules
from tests.extras.secret_table import FAMILIES, INNOCENT, SECRETS, filled
from tests.growth import grows_too_fast

REDACTED = {
    re.sub("[⟦⟧]", "", row): re.sub("⟦.*⟧", MASK, row, flags=re.DOTALL) for row in SECRETS
} | {text: text for text in INNOCENT}
PLAIN = [row.replace("⟦", "").replace("⟧", "") for row in SECRETS]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_secret_is_masked_and_the_rest_stays(family: str) -> None:
    for row in FAMILIES[family]:
        expected = re.sub("⟦.*⟧", MASK, row, flags=re.DOTALL)
        assert redact(re.sub("[⟦⟧]", "", row)) == expected


def test_what_only_looks_like_a_secret_stays() -> None:
    ends = ["-----END PRIVATE KEY----- is its last line", "a\n-----END RSA PRIVATE KEY-----"]
    assert {text: redact(text) for text in [*INNOCENT, *ends] if redact(text) != text} == {}


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
    starts = ("password: ", "API_KEY=", "token: ", "Authorization: Bearer ")
    for start in (*starts, "ghp_", "https://a:"):
        redacted = redact(f"{start}{'a1' * 90}{'@b/' if '://' in start else ''} end")
        assert "a1" not in redacted
        assert redacted.endswith(" end")
    for start in starts:
        assert redact(start + "a1" * 50_000) == start + MASK


PIECES = [
    *("password", "token", "key", "-p", "pin", "the new one is ", "hunter22", "İ", "=", ": ", '"'),
    *("'", "\n", " ", "<", ">", ";", "://", "a:", "@", "-----BEGIN PRIVATE KEY-----"),
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


@pytest.mark.parametrize("rule", rules().forms, ids=lambda rule: rule.name)
def test_a_rule_matches_a_row_of_the_table_and_only_what_has_its_hints(rule: Rule) -> None:
    matched = [text for text in PLAIN if list(secrets_of(rule, text))]
    assert matched
    assert all([rule] == list(hinted([rule], text.lower() + text)) for text in matched)


VALUES = {
    "password": "hunter22!x",
    "weak": "hunter22!x",
    "token": "q7Rt2mX9kLw4Zb1V",
    "code": "4711",
}
NAME_TABLES = [table for table in read_rules("secret_names.toml")["names"] if "before" not in table]


@pytest.mark.parametrize("table", NAME_TABLES, ids=lambda table: next(iter(table.values())))
def test_a_value_after_each_name_is_masked(table: dict[str, Any]) -> None:
    rows = [(name, value) for kind, value in VALUES.items() for name in table.get(kind, ())]
    for name, value in rows:
        for form in (name, name.upper(), name.replace(" ", "_"), normalize("NFD", name)):
            assert redact(f"{form}: {value}, ok") == f"{form}: {MASK}, ok"


def without(field: str, row: Any) -> named_secrets.NameRules:
    found = named_secrets.rules()
    return found._replace(**{field: [one for one in getattr(found, field) if one is not row]})


@pytest.mark.parametrize(
    ("field", "row"),
    [
        (field, row)
        for field in ("links", "levels")
        for row in getattr(named_secrets.rules(), field)
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_each_link_and_each_level_is_needed(
    field: str, row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, a row of the table is masked that should stay, or stays that should be masked."""
    fewer = without(field, row)
    monkeypatch.setattr(named_secrets, "rules", lambda: fewer)
    changed = any(redact(text) != REDACTED[text] for text in reversed(REDACTED))  # rare forms first
    assert changed


LENGTH, LITTLE = 4_000, 0.0016  # characters, and the seconds that they may take however these grow
FLOODS = [" ", "\n", "a", "A", "1", "-", "_", "=", ":", "/", ".", ",", ";", "<", ">", "|", "&", "\\", '"', "'", "`", "a ", "a.", "a=", "A_", "://", "\n" + "a" * 64]  # fmt: skip


def takes_quadratic_time(run: Callable[[str], object], head: str, unit: str) -> bool:
    return grows_too_fast(run, lambda length: head + repeated(unit, length), LENGTH, little=LITTLE)


def repeated(unit: str, length: int) -> str:
    return unit * (length // len(unit))


def slow(run: Callable[[str], object], heads: Iterable[str]) -> list[tuple[str, str]]:
    """Inputs made of these beginnings that take far more than linear time."""
    inputs = [("", head) for head in heads] + [(head, flood) for head in heads for flood in FLOODS]
    return [
        (head, unit)
        for head, unit in dict.fromkeys([*inputs, *(("", f) for f in FLOODS)])
        if takes_quadratic_time(run, head, unit)
    ]


def beginnings(text: str, number: int) -> list[str]:
    return [
        text[: len(text) * i // number] for i in range(1, number + 1) if len(text) * i // number
    ]


@pytest.mark.parametrize("rule", rules().forms, ids=lambda rule: rule.name)
@pytest.mark.large
def test_no_rule_takes_quadratic_time(rule: Rule) -> None:
    samples = [text for text in PLAIN if list(secrets_of(rule, text))][:1]
    heads = [*rule.hints, *(head for text in samples for head in beginnings(text, 5))]
    assert slow(lambda text: list(secrets_of(rule, text)), heads) == []


def test_no_key_of_a_service_takes_quadratic_time() -> None:
    for rule in rules().keys:
        run = partial(compiled(rule.pattern, rule.flags).sub, "")
        prefix = rule.hints[0]
        for unit in (prefix, prefix + "a" * 20, prefix + "a" * 24 + ".", prefix + "1_"):
            assert not takes_quadratic_time(run, "", unit), unit
            assert not takes_quadratic_time(run, prefix, unit[len(prefix) :] or "a"), unit


@pytest.mark.parametrize(
    "head",
    [
        *("password=", "token", "API_KEY=", "key"),
        *("user a, password is ", "A1!a as its password "),
        *("password:\n", "password. The new one is "),
    ],
)
def test_no_name_takes_quadratic_time(head: str) -> None:
    assert slow(lambda text: list(named_secrets.named_secrets(text)), [head]) == []
