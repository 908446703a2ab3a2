"""Real kinds of secrets, none of them real; and what looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.redaction import MASK, redact

HEX = "0123456789abcdef"
WORD = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"  # 36 characters
PEM = f"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk{WORD}\nQyNTUxOQ==\n-----END OPENSSH PRIVATE KEY-----"

SECRETS = [  # a text around one secret, which stands between braces
    "export it: {sk-proj-" + WORD + "}",
    "{sk-ant-api03-" + WORD + "-" + WORD + "}",
    "{sk-or-v1-" + HEX * 4 + "}",
    "key={sk-" + HEX * 2 + "}",
    "{sk_live_" + WORD + "}",
    "{ghp_" + WORD + "}, and then",
    "{github_pat_11" + WORD + "_" + WORD + "}",
    "{glpat-" + WORD[:20] + "}",
    "{xoxb-1234567890-" + WORD[:24] + "}",
    "({AKIAIOSFODNN7EXAMPLE})",
    "{AIza" + WORD[:35] + "}",
    "{npm_" + WORD + "}",
    "{hf_" + WORD[:34] + "}",
    "{gsk_" + WORD + "}",
    "{SG." + WORD[:22] + "." + WORD + "}",
    "token {eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + WORD + "}",
    "bot {123456789:AA" + WORD[:33] + "} is ours",
    "Here:\n{" + PEM + "}\nDone.",
    "{-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA" + WORD + "}",
    "curl -H 'Authorization: Bearer {" + WORD + "}'",
    "Authorization: Basic {dXNlcjpwYXNzd29yZA==}",
    "postgres://app:{s3cr3t!}@db.example.com:5432/app",
    "https://ann:{hunter2}@example.com/x",
    "https://hooks.slack.com/services/{T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX}",
    "DB_PASSWORD={correct-horse}",
    "export OPENAI_API_KEY={abcdefgh}",
    "AWS_SECRET_ACCESS_KEY={wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY}",
    'HASS_TOKEN={"quoted value with spaces"}',
    '{"apiKey": "{' + WORD[:12] + '}"}',
    "password: {hunter22}",
    "client_secret = '{q1w2e3r4}'",
    "mysql --password={hunter22} -u root",
    "tool --api-key {a1b2c3d4} run",
]

HARMLESS = [
    "The SSH password of the GPU server is hunter2.",
    "Password: required",
    "token = tokenizer.next()",
    "max_tokens=4096",
    "token: str | None = None",
    "API_KEY=$OPENAI_API_KEY",
    "API_KEY=<your key here>",
    'DB_PASSWORD="${DB_PASSWORD}"',
    "PRIMARY_KEY=user_id",
    "sk-learn-pipeline-transformer-v2",
    "the task-0123456789abcdef is done",
    "https://example.com:8080/a@b",
    "ann@example.com wrote to http://localhost:11434/api/embed",
    "git@github.com:owner/repository.git",
    "Bearer authentication-and-authorization is explained there",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "123e4567-e89b-12d3-a456-426614174000",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBg\n-----END PUBLIC KEY-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0 ann@box",
    "at 12:30:45 on 2026-01-05",
    "key: value, secret santa: Ann, the token economy",
    "def f(password: str, api_key: str) -> None:",
    "ghost_in_the_shell and xoxo",
]


@pytest.mark.parametrize("text", SECRETS, ids=lambda text: text[:24])
def test_secret_is_masked_and_the_rest_stays(text: str) -> None:
    start, end = (1, text.rindex("}", 0, -1)) if text.startswith('{"') else (text.index("{"), text.rindex("}"))
    if text.startswith('{"'):
        start = text.index("{", 1)
    secret = text[start + 1 : end]
    plain = text[:start] + secret + text[end + 1 :]
    assert redact(plain).replace('"', "") == (text[:start] + MASK + text[end + 1 :]).replace('"', "")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=300))
def test_redaction_is_done_once_and_for_all(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


def test_long_texts_take_linear_time() -> None:
    for text in (
        "key: " * 50_000,
        "a-" * 100_000 + "token",
        "://" * 50_000,
        "-----BEGIN PRIVATE KEY-----" * 2000,
        "A_" * 100_000 + "KEY",
    ):
        redact(text)
