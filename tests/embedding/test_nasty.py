"""Replies that no decent server sends. The embedder gives [] and one line that says why, soon and with little memory."""

import json
import threading
import tracemalloc

import pytest

from hybrid_memory.embedding.ollama import OllamaEmbedder
from hybrid_memory.embedding.transport import REPLY_BYTES, TEXT_BYTES
from hybrid_memory.extras.providers.apis import OpenAIEmbedder
from tests.embedding import nasty

MOST_MEMORY = (
    12_000_000  # bytes: the longest reply to one text is 1.2 MB, and it is kept a few times
)
PATIENCE = 60.0  # seconds until a thread counts as stuck
HOSTS = {"loopback": "127.0.0.1", "requests": "2130706433"}


def problem_of(reply, host="127.0.0.1", **options):
    """The problem of an embedder, after it used little memory."""
    with nasty.answering(reply) as port:
        embedder = OllamaEmbedder(
            f"http://{host}:{port}", "m", sleep=lambda seconds: None, **options
        )
        tracemalloc.start()
        try:
            assert embedder.embed("a") == []
            assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
        finally:
            tracemalloc.stop()
            embedder.close()
    return embedder.problem


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (nasty.until_close, "sent a reply that is too long; is the URL right?"),
        (nasty.endless_error, "answered 500"),
        (nasty.long_header, "broke off the connection"),
        (
            lambda: [nasty.OK + b'Content-Length: 99\r\n\r\n{"embeddings": [[1.0'],
            "broke off the connection",
        ),
    ],
)
def test_reply_without_its_end_is_a_line(host, reply, told):
    import requests  # noqa: F401 – its import is not to be measured

    problem = problem_of(reply, host)
    assert told in problem
    assert problem.isprintable()
    assert len(problem) < 300


def test_thread_that_waits_for_a_reply_without_end_gives_up(monkeypatch):
    monkeypatch.setattr("hybrid_memory.embedding.base.READ_TIMEOUT", 1.0)
    before = set(threading.enumerate())
    assert "did not answer within 0.1 s" in problem_of(nasty.dripping_body, query_timeout=0.1)
    for thread in set(threading.enumerate()) - before:
        if "run" in thread.name:  # of `within`; the server has threads of its own
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"[" * 100_000, "answers, but not like"),
        (b'{"embeddings": [[NaN, 1.0]]}', "NaN"),
        (b'{"embeddings": [[[1.0], 2.0]]}', "NaN"),
        (b'{"embeddings": [true]}', "gave no vector"),
        (b'{"embeddings": {"0": [1.0]}}', "sent a reply without a vector for each text"),
        (b"\xff\xfe\xfa", "answers, but not like"),
    ],
    ids=lambda value: value[:32].decode("latin-1") if isinstance(value, bytes) else None,
)
def test_json_that_does_not_hold_a_vector_is_refused(body, told):
    assert told in problem_of(lambda: nasty.whole(body))


@pytest.mark.parametrize("body", [b'{"error": {"error": []}}', b"\xff" * 1000, b"\x1b]0;title\x07"])
def test_error_of_any_form_is_one_printable_line(body):
    problem = problem_of(lambda: nasty.whole(body, b"500 Failed"))
    assert "answered 500" in problem
    assert problem.isprintable()
    assert len(problem) < 300


def test_longest_reply_of_a_large_model_is_taken():
    """32 vectors of 4,096 dimensions, a number on each line."""
    vectors = [[0.012345678901234567 * (-1) ** i for i in range(4096)]] * 32
    body = json.dumps({"embeddings": vectors}, indent=4).encode()
    assert len(body) > 0.6 * (REPLY_BYTES + 32 * TEXT_BYTES)
    with nasty.answering(lambda: nasty.whole(body)) as port:
        embedder = OllamaEmbedder(f"http://127.0.0.1:{port}", "m")
        embedder.batch_size = 32
        assert [
            len(vector) for vector in embedder.embed_batch([f"text {i}" for i in range(32)])
        ] == [4096] * 32
        embedder.close()


def test_server_to_which_every_text_is_too_long_is_given_up():
    asked = []

    def reply():
        asked.append(1)
        return nasty.whole(b"too large", b"413 Payload Too Large")

    with nasty.answering(reply) as port:
        embedder = OpenAIEmbedder(f"http://127.0.0.1:{port}")
        assert embedder.embed_batch([f"{i} " + "word " * 50 for i in range(200)]) == [[]] * 200
        assert "answered 413" in embedder.problem
        embedder.close()
    assert len(asked) < 150
