"""Replies that no decent server sends. The embedder gives [] and one line that says why, soon and with little memory."""

import json
import threading
import tracemalloc

import pytest

from hybrid_memory.embedding.ollama import OllamaEmbedder
from hybrid_memory.embedding.transport import REPLY_BYTES, TEXT_BYTES
from hybrid_memory.extras.providers.openai import OpenAIEmbedder
from tests.embedding import nasty

MOST_MEMORY = (
    12_000_000  # bytes: the longest reply to one text is 1.2 MB, and it is kept a few times
)
PATIENCE = 60.0  # seconds until a thread counts as stuck


@pytest.fixture(params=["127.0.0.1", "2130706433"], ids=["loopback", "requests"])
def ask(request, monkeypatch):
    """Embeds a text, and gives the problem and the most memory in bytes."""
    import requests  # noqa: F401 – its import is not to be measured

    def asked(reply, **options):
        with nasty.answering(reply) as port:
            embedder = OllamaEmbedder(
                f"http://{request.param}:{port}", "m", sleep=lambda seconds: None, **options
            )
            tracemalloc.start()
            try:
                assert embedder.embed("a") == []
                return embedder.problem, tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
                embedder.close()

    return asked


@pytest.mark.parametrize(
    "reply", [nasty.terabyte, nasty.until_close, nasty.chunked], ids=lambda reply: reply.__name__
)
def test_body_without_end_is_read_up_to_a_limit(ask, reply):
    problem, memory = ask(reply)
    assert "sent a reply that is too long; is the URL right?" in problem
    assert memory < MOST_MEMORY


@pytest.mark.parametrize("reply", [nasty.bomb, nasty.nested_bomb], ids=lambda reply: reply.__name__)
def test_compressed_body_is_unpacked_up_to_a_limit(ask, reply):
    made = list(reply())
    problem, memory = ask(lambda: made)
    assert "too long" in problem or "answers, but not like Ollama" in problem
    assert memory < MOST_MEMORY


@pytest.mark.parametrize(
    "reply", [nasty.long_error, nasty.endless_error], ids=lambda reply: reply.__name__
)
def test_body_of_an_error_is_cut(ask, reply):
    problem, memory = ask(reply)
    assert "answered 500" in problem
    assert len(problem) < 300
    assert memory < MOST_MEMORY


def test_body_of_a_redirect_is_not_read_to_its_end(ask):
    problem, memory = ask(nasty.redirect)
    assert "redirects to http://192.0.2.1/" in problem
    assert memory < MOST_MEMORY


@pytest.mark.parametrize(
    "reply",
    [nasty.status_line, nasty.many_headers, nasty.long_header, nasty.chunk_size_line],
    ids=lambda reply: reply.__name__,
)
def test_line_or_header_without_end_is_a_broken_connection(ask, reply):
    problem, memory = ask(reply)
    assert "broke off the connection" in problem
    assert memory < MOST_MEMORY


@pytest.mark.parametrize(
    "reply",
    [nasty.trailers, nasty.interim, nasty.dripping_headers, nasty.dripping_body],
    ids=lambda reply: reply.__name__,
)
def test_thread_that_waits_for_a_reply_without_end_gives_up(ask, reply, monkeypatch):
    monkeypatch.setattr("hybrid_memory.embedding.base.READ_TIMEOUT", 1.0)
    before = set(threading.enumerate())
    problem, memory = ask(reply, query_timeout=0.1)
    assert "did not answer within 0.1 s" in problem
    assert memory < MOST_MEMORY
    for thread in set(threading.enumerate()) - before:
        if "run" in thread.name:  # of `within`; the server has threads of its own
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"[" * 100_000, "answers, but not like"),
        (b'{"a":' * 20_000, "answers, but not like"),
        (b'{"embeddings": [[' + b"9" * 100_000 + b"]]}", "answers, but not like"),
        (b'{"embeddings": [[' + b", ".join([b"9" * 4000] * 32) + b"]]}", "NaN"),
        (b'{"embeddings": [[NaN, 1.0]]}', "NaN"),
        (b'{"embeddings": [[Infinity, 1.0]]}', "NaN"),
        (b'{"embeddings": [[1e999, 1.0]]}', "NaN"),
        (b'{"embeddings": [[true, false]]}', "NaN"),
        (b'{"embeddings": [["1", "2"]]}', "NaN"),
        (b'{"embeddings": [[[1.0], 2.0]]}', "NaN"),
        (b'{"embeddings": [true]}', "gave no vector"),
        (b'{"embeddings": "a"}', "sent a reply without a vector for each text"),
        (b'{"embeddings": {"0": [1.0]}}', "sent a reply without a vector for each text"),
        (b'{"embeddings": [[1.0], [1.0]]}', "sent a reply without a vector for each text"),
        (
            b'{"embeddings": ' + json.dumps([[1.0]] * 5_000).encode() + b"}",
            "sent a reply without a vector for each text",
        ),
        (b"\xff\xfe\xfa", "answers, but not like"),
        (b"", "answers, but not like"),
    ],
    ids=lambda value: value[:32].decode("latin-1") if isinstance(value, bytes) else None,
)
def test_json_that_does_not_hold_a_vector_is_refused(ask, body, told):
    problem, _ = ask(lambda: nasty.with_earlier_sizes(body))
    assert told in problem


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 90_000,
        b'"\\ud800"',
        b'{"error": {"error": []}}',
        b"\xff" * 1000,
        b"\x00\x1b]0;title\x07",
    ],
)
def test_error_of_any_form_is_one_printable_line(ask, body):
    problem, _ = ask(lambda: nasty.with_earlier_sizes(body, b"500 Failed"))
    assert "answered 500" in problem
    assert problem.isprintable()
    assert len(problem) < 300


@pytest.mark.parametrize("length", [b"99", b"-5", b"x", b"9" * 5000, b"2\r\nContent-Length: 3"])
def test_wrong_content_length_does_no_harm(ask, length):
    problem, _ = ask(lambda: [nasty.OK + b"Content-Length: " + length + b"\r\n\r\n{}"])
    assert problem


def test_reply_that_ends_early_is_a_broken_connection(ask):
    problem, _ = ask(lambda: [nasty.OK + b'Content-Length: 99\r\n\r\n{"embeddings": [[1.0'])
    assert "broke off the connection" in problem


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433"])
def test_longest_reply_of_a_large_model_is_taken(host):
    """32 vectors of 4,096 dimensions, a number on each line."""
    vectors = [[0.012345678901234567 * (-1) ** i for i in range(4096)]] * 32
    body = json.dumps({"embeddings": vectors}, indent=4).encode()
    assert len(body) > 0.6 * (REPLY_BYTES + 32 * TEXT_BYTES)
    with nasty.answering(lambda: nasty.with_earlier_sizes(body)) as port:
        embedder = OllamaEmbedder(f"http://{host}:{port}", "m")
        embedder.batch_size = 32
        assert [
            len(vector) for vector in embedder.embed_batch([f"text {i}" for i in range(32)])
        ] == [4096] * 32
        embedder.close()


def test_server_to_which_every_text_is_too_long_is_given_up():
    asked = []

    def reply():
        asked.append(1)
        return nasty.with_earlier_sizes(b"too large", b"413 Payload Too Large")

    with nasty.answering(reply) as port:
        embedder = OpenAIEmbedder(f"http://127.0.0.1:{port}")
        assert embedder.embed_batch([f"{i} " + "word " * 50 for i in range(200)]) == [[]] * 200
        assert "answered 413" in embedder.problem
        embedder.close()
    assert len(asked) < 150
