"""OllamaEmbedder against a server that answers as Ollama does, with all of Ollama's errors."""

import logging
import math
import re
import socket
import subprocess
import sys
import time

import pytest

from hybrid_memory.embedder import OllamaEmbedder
from hybrid_memory.embedding import base, loopback
from hybrid_memory.embedding.ollama import parse_ollama_host
from tests.fake_ollama import FakeOllama, vector

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="needs Linux: 0 is an address of this machine"
)
HANG = 60.0  # seconds: a call that takes longer hangs, on any machine


@pytest.fixture
def ollama():
    with FakeOllama("nomic-embed-text", "all-minilm", dims=32, context=100) as server:
        yield server


@pytest.fixture
def waits():
    return []


@pytest.fixture
def embedder(ollama, waits):
    embedder = OllamaEmbedder(ollama.url, "all-minilm", sleep=waits.append)
    yield embedder
    embedder.close()


@pytest.fixture
def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def sizes(ollama):
    return [len(body["input"]) for body in ollama.embed_requests]


def inputs(ollama):
    return [body["input"] for body in ollama.embed_requests]


# Requests and vectors


def test_request_names_the_model_and_keeps_it_loaded_and_forbids_truncation(ollama, embedder):
    embedder.embed_batch(["one", "two"])
    assert ollama.embed_requests == [
        {"model": "all-minilm", "input": ["one", "two"], "truncate": False, "keep_alive": "30m"}
    ]


def test_batch_keeps_order_and_sends_no_blank_text_and_each_text_once(ollama, embedder):
    vectors = embedder.embed_batch(["alpha", "", "beta", " \n\t", "alpha"])
    assert vectors[0] == pytest.approx(vector("alpha", 32))
    assert vectors[2] == pytest.approx(vector("beta", 32))
    assert vectors[1] == vectors[3] == []
    assert vectors[4] == vectors[0]
    assert inputs(ollama) == [["alpha", "beta"]]
    assert embedder.embed_batch(["", " "]) == [[], []]
    assert embedder.embed("  ") == []
    assert len(ollama.requests) == 1
    assert embedder.problem is None


def test_a_request_has_few_texts_so_that_queries_of_others_come_in_between(ollama, embedder):
    assert all(embedder.embed_batch([f"text {i}" for i in range(10)]))
    assert sizes(ollama) == [4, 4, 2]


def test_a_request_is_limited_in_bytes_too(ollama, embedder):
    ollama.context = 1_000_000
    assert all(embedder.embed_batch([f"{i} " + "é" * 20_000 for i in range(5)]))
    assert sizes(ollama) == [2, 2, 1]


def test_half_a_surrogate_pair_is_sent_as_a_question_mark(ollama, embedder):
    embedder.embed("a \ud800 b")
    assert ollama.embedded == ["a ? b"]


def test_query_and_document_get_the_prompt_of_the_model_and_nomic_lower_case(ollama):
    embedder = OllamaEmbedder(ollama.url, "nomic-embed-text")
    embedder.embed("Where?")
    embedder.embed_batch(["There"])
    OllamaEmbedder(ollama.url, "all-minilm").embed_batch(["There"])
    assert inputs(ollama) == [["search_query: where?"], ["search_document: there"], ["There"]]


def test_prompts_can_be_set(ollama):
    prompts = {"query_prompt": "Q {text}", "document_prompt": "D {text} {text}"}
    embedder = OllamaEmbedder(ollama.url, "all-minilm", **prompts)
    embedder.embed("a {text}")
    embedder.embed_batch(["b"])
    assert inputs(ollama) == [["Q a {text}"], ["D b b"]]


def test_a_repeated_query_makes_no_request(ollama, embedder):
    first = embedder.embed("again")
    first[0] = 99.0  # changes the caller's copy only
    embedder.embed("again")[0] = 99.0
    assert embedder.embed("again") == pytest.approx(vector("again", 32))
    assert len(ollama.requests) == 1


def test_the_query_used_least_recently_is_evicted(ollama):
    embedder = OllamaEmbedder(ollama.url, "all-minilm", cache_size=2)
    for text in ["a", "b", "a", "c", "a", "b"]:
        embedder.embed(text)
    assert inputs(ollama) == [["a"], ["b"], ["c"], ["b"]]


def test_a_failure_is_not_cached_and_forgotten_by_the_next_call(ollama, embedder, caplog):
    ollama.chat = True
    with caplog.at_level(logging.WARNING, logger="hybrid_memory"):
        assert embedder.embed("a") == []
    assert caplog.messages == [embedder.problem]
    ollama.chat = False
    assert len(embedder.embed("a")) == 32
    assert embedder.problem is None


# Dimensions


def test_dims_are_asked_once(ollama, embedder, free_port):
    assert [embedder.dims(), embedder.dims()] == [32, 32]
    assert len(ollama.requests) == 1
    down = f"http://127.0.0.1:{free_port}"
    assert (OllamaEmbedder(down).dims(), OllamaEmbedder(down, dims=256).dims()) == (0, 256)


@pytest.mark.parametrize("ignored", [False, True])
def test_configured_dims_cut_the_vector_and_normalise_it(ollama, ignored):
    ollama.ignores_dimensions = ignored
    embedder = OllamaEmbedder(ollama.url, "all-minilm", dims=16)
    v = embedder.embed("alpha beta gamma")
    cut = vector("alpha beta gamma", 32)[:16]
    assert v == pytest.approx([x / math.hypot(*cut) for x in cut])
    assert ollama.embed_requests[0]["dimensions"] == 16
    assert (embedder.dims(), embedder.wanted_dims) == (16, 16)


def test_a_model_of_fewer_dims_than_configured_is_a_problem(ollama):
    embedder = OllamaEmbedder(ollama.url, "all-minilm", dims=768)
    assert embedder.embed_batch(["a", "b"]) == [[], []]
    assert embedder.problem == (
        "all-minilm gives 32 dimensions; dims is 768: `hybrid-memory config set dims 32` lowers it"
    )


# Availability


@pytest.mark.parametrize(
    ("installed", "asked"),
    [
        ("nomic-embed-text", "nomic-embed-text"),
        ("Nomic-Embed-Text", "nomic-embed-text:LATEST"),
        ("nomic-embed-text:v1.5", "nomic-embed-text:v1.5"),
        ("nomic-embed-text", "registry.ollama.ai/library/nomic-embed-text:latest"),
    ],
)
def test_available_if_the_model_is_there(installed, asked):
    with FakeOllama(installed) as ollama:
        embedder = OllamaEmbedder(ollama.url, asked)
        assert embedder.is_available()
        assert embedder.problem is None


@pytest.mark.parametrize("asked", ["nomic-embed-text:v2", "user/nomic-embed-text"])
def test_unavailable_if_the_model_is_not_there(asked):
    with FakeOllama("nomic-embed-text:v1.5") as ollama:
        embedder = OllamaEmbedder(ollama.url, asked)
        assert not embedder.is_available()
        assert f"`ollama pull {asked}`" in embedder.problem


def test_a_server_that_does_not_list_its_models_in_time_is_asked_once(ollama):
    embedder = OllamaEmbedder(ollama.url, "all-minilm", query_timeout=0.2)
    ollama.hangs = True
    try:
        assert embedder.fingerprint() is None
        assert not embedder.is_available()
        assert embedder.is_late is False  # not asked
        assert embedder.embed_batch(["a"]) == [[]]
    finally:
        ollama.hangs = False
    assert len(ollama.requests) == 1


# Errors of Ollama


# Switches of the server, a part of the problem, and whether one request was enough to know
FAILURES = {
    "a chat model": ({"chat": True}, "all-minilm is not an embedding model; get one with `oll", True),
    "a missing model": ({"models": []}, "has no model all-minilm; get it with `ollama pull all-", True),
    "cannot load": ({"cannot_load": "illegal instruction"}, "terminated: illegal instruction", False),
    "another server": (
        {"page": (404, '{"error":{"code":404,"message":"File Not Found"}}')},
        "not like Ollama 0.2.6 or later; if it has /v1/embeddings, use `--provider openai` and base_url http",
        True,
    ),
    "an old server": ({"old": True}, "not like Ollama 0.2.6 or later", True),
    "a refused key": ({"error": (401, "unauthorized")}, "refused the key; is OLLAMA_API_KEY right?", True),
    "a forbidden cloud": ({"error": (403, "cloud is disabled")}, "cloud is disabled", True),
    "an unknown page": ({"error": (404, "no such page")}, "no such page", True),
    "a wrong count": ({"count_off": -1}, "sent a reply without a vector for each text", False),
    "no JSON": ({"page": (200, "Ollama is running")}, "answers, but not like Ollama", True),
    "other JSON": ({"page": (200, '{"embedding": [1.0]}')}, "answers, but not like Ollama", True),
    "a page of a proxy": ({"page": (502, "<h1>Bad Gateway</h1>")}, "answered 502: a page of HTML", False),
    "an empty page": ({"page": (503, "")}, "answered 503", False),
    "a broken backend": ({"error": (500, "backend failed")}, "answered 500: backend failed", False),
    "a refusal": ({"error": (400, "something new")}, "2 of 2 texts not embedded", False),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_a_line_that_names_the_thing(ollama, embedder, kind):
    switches, problem, is_plain = FAILURES[kind]
    vars(ollama).update(switches)
    assert embedder.embed_batch(["a", "b"]) == [[], []]
    assert problem in embedder.problem
    assert (len(ollama.requests) == 1) == is_plain
    assert not embedder.is_available()


@pytest.mark.parametrize("path", ["/v1", "/a/b/"])
def test_a_path_that_leads_nowhere_is_to_be_left_out(ollama, path):
    embedder = OllamaEmbedder(ollama.url + path, "all-minilm")
    for call in (lambda: embedder.embed("a"), embedder.is_available):
        assert not call()
        place = ollama.url + path.rstrip("/")
        assert embedder.problem == f"Ollama is not at {place}; leave out the path: {ollama.url}"


@pytest.mark.parametrize(
    ("switches", "tries"), [({"eof": 1}, 2), ({"busy": 2}, 3), ({"drop": 2}, 3)]
)
def test_what_may_pass_by_itself_is_tried_again(ollama, embedder, waits, switches, tries):
    vars(ollama).update(switches)
    assert len(embedder.embed("a")) == 32
    assert (len(ollama.requests), len(waits), embedder.problem) == (tries, tries - 1, None)
    assert all(0.5 < wait < 3.0 for wait in waits)


def test_a_server_that_always_fails_is_given_up_before_each_text_is_tried(ollama, embedder, waits):
    ollama.error = (500, "backend failed")
    assert embedder.embed_batch([f"text {i}" for i in range(300)]) == [[]] * 300
    assert len(ollama.requests) < 30
    assert sum(waits) <= base.LONGEST_FAILING


def test_only_the_text_that_crashes_the_runner_is_left_out(ollama, embedder):
    ollama.crashing = "poison"
    texts = [f"text {i}" for i in range(50)]
    texts[17] = "poison"
    vectors = embedder.embed_batch(texts)
    assert [i for i, v in enumerate(vectors) if not v] == [17]
    assert "1 of 50 texts not embedded" in embedder.problem
    assert "EOF" in embedder.problem
    assert len(ollama.embedded) == len(set(ollama.embedded)) == 49


def test_a_long_text_that_crashes_the_runner_is_shortened(ollama, embedder):
    ollama.context = 500
    ollama.crashing = "word " * 600
    assert all(embedder.embed_batch(["short", "word " * 900]))
    assert embedder.truncated == {1}


@pytest.mark.parametrize(
    "words",
    [
        None,
        (400, "embedding contains NaN or Inf values"),
        (500, "failed to encode response: json: unsupported value: NaN"),
    ],
)
def test_a_text_that_gives_nan_is_left_out_without_waiting(ollama, embedder, waits, words):
    ollama.nan, ollama.nan_words = "nan", words
    texts = [f"text {i}" for i in range(32)]
    texts[0] = "nan"
    texts[31] = "nan too"
    vectors = embedder.embed_batch(texts)
    assert [i for i, v in enumerate(vectors) if not v] == [0, 31]
    assert "2 of 32 texts not embedded" in embedder.problem
    assert re.search("NaN|unsupported value|zeros", embedder.problem)
    assert waits == []


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ([0.0] * 32, "zeros"),
        ([], "no vector"),
        ("text", "no vector"),
        ([math.nan] * 32, "NaN"),
        (["1"] * 32, "NaN"),
        ([1.0] * 31, "31 dimensions instead of 32"),
    ],
)
def test_a_bad_vector_is_refused_and_the_others_are_kept(ollama, embedder, spoilt, reason):
    embedder.embed("first")
    ollama.spoilt, ollama.spoilt_vector = "spoilt", spoilt
    vectors = embedder.embed_batch(["good", "spoilt", "fine"])
    assert [len(v) for v in vectors] == [32, 0, 32]
    assert "1 of 3 texts not embedded" in embedder.problem
    assert reason in embedder.problem


@pytest.mark.parametrize(
    "words",
    [
        "the input length exceeds the context length",
        "input exceeds maximum context length and cannot be truncated further",
        "input (103 tokens) is too large to process. increase the physical batch size (current batch size: 64)",
        "request (302 tokens) exceeds the available context size (256 tokens), try increasing it",
    ],
)
def test_every_wording_of_too_long_is_understood(ollama, embedder, waits, words):
    ollama.error = (400, words)
    assert embedder.embed("word " * 10) == []
    assert len(ollama.embed_requests) > 3  # each with a shorter text
    assert waits == []


def test_an_over_long_text_is_cut_and_marked_and_the_others_are_not(ollama, embedder, waits):
    texts = [f"text {i}" for i in range(40)]
    texts[7] = "long " * 300
    texts[20] = "also long " * 120
    assert all(embedder.embed_batch(texts))
    assert embedder.truncated == {7, 20}
    assert (embedder.problem, waits) == (None, [])
    [kept] = [text for text in ollama.embedded if text.startswith("long")]
    assert texts[7].startswith(kept)
    assert len(kept.split()) > 50
    assert len(ollama.computed) <= 1.1 * len(texts)  # it costs the server little
    embedder.embed_batch(["short"])
    assert embedder.truncated == set()


def test_the_prompt_of_an_over_long_text_is_not_cut(ollama):
    prompt = "title: none | text: {text} END"
    embedder = OllamaEmbedder(ollama.url, "all-minilm", document_prompt=prompt)
    embedder.embed_batch(["word " * 500])
    assert ollama.embedded[0].startswith("title: none | text: word")
    assert ollama.embedded[0].endswith("END")


def test_a_redirect_is_reported_and_not_followed(ollama, embedder):
    with FakeOllama("all-minilm") as other:
        ollama.redirect = f"http://user:secret@127.0.0.1:{other.port}/api/embed?token=secret"
        assert embedder.embed("a") == []
        assert other.requests == []
        assert f"redirects to 127.0.0.1:{other.port}/api/embed" in embedder.problem
        assert "secret" not in embedder.problem


def test_control_characters_of_a_server_do_not_reach_the_terminal(ollama, embedder):
    ollama.error = (400, "\x1b[31mred\nalert\x07 " + "x" * 1000)
    embedder.embed("a")
    assert "[31mred alert" in embedder.problem
    assert embedder.problem.isprintable()
    assert len(embedder.problem) < 400


# Time


def test_a_long_wait_for_documents_is_reported_once(ollama, embedder, monkeypatch):
    monkeypatch.setattr(base, "SILENCE", 0.01)
    lines: list[str] = []
    embedder.on_wait = lines.append
    ollama.slow = 0.2
    assert all(embedder.embed_batch(["a"]))
    assert all(embedder.embed_batch(["b"]))
    assert embedder.embed("c")
    [line] = lines
    assert line.startswith(f"waiting for Ollama at {ollama.url}, at most 300 s")


def test_a_server_that_hangs_is_given_up_long_before_the_time_limit(ollama, embedder, monkeypatch):
    monkeypatch.setattr(base, "SILENCE", 0.05)
    monkeypatch.setattr(base, "CHECK_TIMEOUT", 0.2)
    ollama.hangs = True
    try:
        assert embedder.embed_batch([f"text {i}" for i in range(100)]) == [[]] * 100
    finally:
        ollama.hangs = False
    assert embedder.problem == f"Ollama at {ollama.url} accepts connections, but does not answer"
    assert embedder.fingerprint() is None
    assert [request.path for request in ollama.requests] == ["/api/embed", "/api/version"]


def test_a_server_that_answers_other_requests_may_take_its_time(ollama, embedder, monkeypatch):
    monkeypatch.setattr(base, "SILENCE", 0.05)
    monkeypatch.setattr(base, "CHECK_TIMEOUT", 0.2)
    ollama.cold = 1.0
    assert all(embedder.embed_batch(["a", "b"]))
    assert embedder.problem is None


def test_a_reply_that_has_begun_must_end_soon(ollama, embedder, monkeypatch):
    monkeypatch.setattr(loopback, "REPLY_TIMEOUT", 0.2)
    ollama.drip = 0.01
    assert embedder.embed_batch([f"text {i}" for i in range(100)]) == [[]] * 100
    assert embedder.problem.endswith("did not finish its reply in time")
    assert len(ollama.requests) == 1


def test_a_server_that_is_down_fails_the_whole_call_at_once(free_port, waits):
    embedder = OllamaEmbedder(f"http://127.0.0.1:{free_port}", sleep=waits.append)
    started = time.monotonic()
    assert embedder.embed_batch([f"text {i}" for i in range(500)]) == [[]] * 500
    assert not embedder.is_available()
    assert time.monotonic() - started < HANG
    assert waits == []
    assert embedder.problem == (
        f"cannot connect to Ollama at http://127.0.0.1:{free_port} (connection refused); start it with `ollama serve`"
    )


def test_a_restart_between_two_batches_is_waited_for(ollama):
    def sleep(seconds):
        if not waits:
            ollama.start()
        waits.append(seconds)

    waits = []
    embedder = OllamaEmbedder(ollama.url, "all-minilm", sleep=sleep)
    assert all(embedder.embed_batch(["a"]))
    ollama.stop()
    assert all(embedder.embed_batch(["b", "c"]))
    assert waits
    assert embedder.problem is None
    assert sorted(ollama.embedded) == ["a", "b", "c"]


def test_a_server_that_does_not_come_back_is_waited_for_once(ollama, embedder, waits):
    embedder.embed_batch(["a"])
    ollama.stop()
    assert embedder.embed_batch(["b", "c"]) == [[], []]
    assert embedder.embed_batch(["d"]) == [[]]
    assert len(waits) == 2
    assert "connection refused" in embedder.problem
    ollama.start()


def test_a_query_does_not_wait_for_a_restart(ollama, embedder, waits):
    embedder.embed("a")
    ollama.stop()
    assert embedder.embed("b") == []
    assert "connection refused" in embedder.problem
    assert len(waits) <= 1  # for the connection that broke
    ollama.start()


def test_a_query_keeps_its_budget_over_its_tries(ollama, waits):
    ollama.busy = 10
    embedder = OllamaEmbedder(ollama.url, "all-minilm", query_timeout=0.2, sleep=waits.append)
    assert embedder.embed("a") == []
    assert "server busy" in embedder.problem
    assert waits == []  # even the shortest wait would go beyond it


def test_after_a_time_out_a_server_is_not_asked_for_a_while(ollama):
    ollama.drip = 0.05
    embedder = OllamaEmbedder(ollama.url, "all-minilm", query_timeout=0.2)
    for text in ("a", "b", "c"):
        assert embedder.embed(text) == []
        assert "did not answer within 0.2 s (query_timeout)" in embedder.problem
    assert len(ollama.requests) == 1
    ollama.drip = 0.0
    assert len(embedder.embed_batch(["documents have a time limit of their own"])[0]) == 32


def test_a_batch_has_a_time_limit_too(ollama):
    ollama.drip = 0.2
    embedder = OllamaEmbedder(ollama.url, "all-minilm", document_timeout=0.2)
    assert embedder.embed_batch(["a", "b"]) == [[], []]
    assert "did not answer within 0.2 s" in embedder.problem
    assert embedder.embed_batch(["c"]) == [[]]
    assert len(ollama.requests) == 1


def test_documents_wait_for_a_cold_model_that_a_query_does_not(ollama):
    ollama.cold = 0.6
    embedder = OllamaEmbedder(ollama.url, "all-minilm", query_timeout=0.2)
    assert embedder.embed("a") == []
    assert len(embedder.embed_batch(["a"])[0]) == 32
    assert ollama.loads <= 2


def test_a_search_that_gave_up_lets_the_model_load(ollama):
    """The request goes on after the time-out, because Ollama stops loading the model when the client disconnects."""
    ollama.cold = 0.4
    embedder = OllamaEmbedder(ollama.url, "all-minilm", query_timeout=0.1)
    assert embedder.embed("a") == []
    waited = time.monotonic()
    while ollama.cold and time.monotonic() - waited < HANG:
        time.sleep(0.02)
    assert (ollama.cold, ollama.loads) == (0.0, 1)


def test_an_enormous_time_out_is_not_an_error(ollama):
    embedder = OllamaEmbedder(ollama.url, "all-minilm", query_timeout=1e12)
    assert len(embedder.embed("a")) == 32


# Addresses and keys


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        (' "box" ', "http://box:11434"),
        ("box:5000", "http://box:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("ollama.com", "https://ollama.com:443"),
        ("box:port", "http://box:11434"),
        ("box:99999", "http://box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("[::]:5000", "http://[::1]:5000"),
        ("::1", "http://[::1]:11434"),
        ("http://[fe80::1]", "http://[fe80::1]:80"),
        ("https://user:pass@box", "https://user:pass@box:443"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(value, url):
    assert parse_ollama_host(value) == url
    assert parse_ollama_host(url) == url
    assert OllamaEmbedder(value).base_url == url


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ftp://127.0.0.1:9", "must begin with http"),
        ("http://a b", "is not a usable address"),
        ("http://no-such-host.invalid", "(no such host, or no route to it)"),
    ],
)
def test_an_address_that_cannot_be_asked_is_reported(url, told):
    embedder = OllamaEmbedder(url, query_timeout=HANG)
    assert embedder.embed("a") == []
    assert told in embedder.problem


@pytest.fixture
def deaf():
    """A port whose queue of connections is full: nothing is refused and nothing is answered."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@LINUX  # elsewhere a full queue refuses
@pytest.mark.parametrize("host", ["127.0.0.1", "0"])
def test_a_server_that_does_not_take_connections_is_reported_and_not_asked_again(
    deaf, monkeypatch, host
):
    monkeypatch.setattr("hybrid_memory.embedding.transport.CONNECT_TIMEOUT", 0.2)
    embedder = OllamaEmbedder(f"http://{host}:{deaf}", query_timeout=HANG)
    assert embedder.embed("a") == []
    assert "cannot connect" in embedder.problem
    monkeypatch.setattr("hybrid_memory.embedding.transport.CONNECT_TIMEOUT", HANG)
    started = time.monotonic()
    assert embedder.embed("b") == []
    assert time.monotonic() - started < HANG


def test_https_to_a_server_of_http_is_reported(ollama):
    embedder = OllamaEmbedder(ollama.url.replace("http", "https"))
    assert embedder.embed("a") == []
    assert "its certificate is not trusted, or it does not support https" in embedder.problem


def test_a_proxy_that_is_down_is_reported(monkeypatch, free_port):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port}")
    embedder = OllamaEmbedder("http://192.0.2.1:11434")
    assert embedder.embed("a") == []
    assert "the proxy in HTTPS_PROXY or HTTP_PROXY fails" in embedder.problem


def test_the_key_is_sent_as_a_bearer_token_and_never_shown(ollama, monkeypatch, caplog, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("OLLAMA_API_KEY", "sesame-123")
    ollama.error = (500, "who sent Bearer sesame-123?")
    with caplog.at_level(logging.DEBUG):
        for host in ("127.0.0.1", "2130706433"):  # by loopback.py and by remote.py
            url = f"http://{host}:{ollama.port}"
            embedder = OllamaEmbedder(url, "all-minilm", sleep=lambda seconds: None)
            embedder.embed("a")
            assert "who sent Bearer ***?" in embedder.problem
    sent = {request.headers["authorization"] for request in ollama.requests}
    assert sent == {"Bearer sesame-123"}
    assert "sesame" not in caplog.text


def test_no_authorization_is_sent_without_a_key(ollama, embedder, monkeypatch):
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    embedder.embed("a")
    assert "authorization" not in ollama.requests[0].headers


def test_a_key_with_impossible_characters_is_reported_and_not_shown(embedder, monkeypatch):
    monkeypatch.setenv("OLLAMA_API_KEY", "schlüssel")
    assert embedder.embed("a") == []
    assert embedder.problem == "OLLAMA_API_KEY holds characters that cannot be part of a key"


def test_a_password_in_the_url_is_used_and_not_shown(ollama):
    embedder = OllamaEmbedder(
        ollama.url.replace("//", "//user:secret@"), "all-minilm", sleep=lambda seconds: None
    )
    assert len(embedder.embed("a")) == 32
    assert ollama.requests[0].headers["authorization"].startswith("Basic ")
    ollama.error = (500, "no")
    embedder.embed("b")
    assert "secret" not in embedder.problem


def test_nothing_is_printed_if_logging_is_not_configured(ollama):
    ollama.chat = True
    code = (
        "import requests\n"
        "from hybrid_memory.embedder import OllamaEmbedder\n"
        f"embedder = OllamaEmbedder({ollama.url!r}, 'all-minilm')\n"
        "embedder.embed('a')\n"
        "assert embedder.problem\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
