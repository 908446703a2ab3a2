"""Which servers are asked through a proxy, and what the session of `requests` makes of a reply."""

import http.client
import socket
import sys
import threading
import zlib
from contextlib import contextmanager

import pytest

from hybrid_memory.embedding.ollama import OllamaEmbedder
from hybrid_memory.extras.providers import remote
from hybrid_memory.extras.providers.apis import OpenAIEmbedder
from hybrid_memory.extras.providers.remote import is_local
from tests.embedding import nasty
from tests.fake_ollama import FakeOllama

HOST_NAME = socket.gethostname()
RESOLVES_SHORT = pytest.mark.skipif(
    sys.platform == "win32", reason="the resolver does not take short spellings"
)


@pytest.fixture
def ollama():
    with FakeOllama("all-minilm", dims=32) as server:
        yield server


@pytest.fixture
def proxied(monkeypatch):
    """What a proxy for all schemes was sent, which is nothing if it was not asked."""
    sent = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    sent.append(connection.recv(65536))

        threading.Thread(target=accept, daemon=True).start()
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{listener.getsockname()[1]}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
        yield sent
        listener.shutdown(socket.SHUT_RDWR)


LOCAL = [
    "LOCALHOST",
    "localhost.",
    "memory.localhost",
    HOST_NAME.upper() + ".",
    "0.0.0.0",
    "127.3.2.1",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    pytest.param("127.1", marks=RESOLVES_SHORT),
    pytest.param("2130706433", marks=RESOLVES_SHORT),
]


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", LOCAL)
def test_server_on_this_machine_is_never_asked_through_a_proxy(proxied, host, scheme):
    embedder = OpenAIEmbedder(f"{scheme}://{host}:9", sleep=lambda seconds: None)
    assert embedder.embed("private text") == []
    assert "proxy" not in embedder.problem
    assert proxied == []


@pytest.mark.parametrize("host", ["localhost", pytest.param("127.1", marks=RESOLVES_SHORT)])
def test_server_on_this_machine_answers_although_a_proxy_is_set(proxied, ollama, host):
    assert len(OllamaEmbedder(f"http://{host}:{ollama.port}", "all-minilm").embed("a")) == 32


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "127.example.invalid", "localhost.example.invalid", "[2001:db8::1]"]
)
def test_server_elsewhere_is_asked_through_the_proxy(proxied, host):
    OpenAIEmbedder(f"http://{host}:9", sleep=lambda seconds: None).embed("a text")
    assert proxied


def test_server_elsewhere_is_asked_directly_if_no_proxy_names_it(proxied, ollama, monkeypatch):
    monkeypatch.setattr(remote, "is_local", lambda host: False)
    monkeypatch.setenv("NO_PROXY", "2130706433")
    assert len(OllamaEmbedder(f"http://2130706433:{ollama.port}", "all-minilm").embed("a")) == 32


def test_resolver_that_does_not_answer_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(remote, "LOOK_UP", 0.05)
    ended = threading.Event()

    def silent(*args, **options):
        ended.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    assert not is_local("slow.example")
    ended.set()


def test_own_address_in_a_network_is_local():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        assert is_local(probe.getsockname()[0])


@pytest.mark.parametrize("host", ["", "x" * 300, "no-such-host.invalid", "192.0.2.1"])
def test_host_of_any_form_that_is_not_this_machine_is_not_local(host):
    assert not is_local(host)


def test_certificates_of_the_environment_are_used_on_this_machine_too(monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/certificates")
    session = remote.RemoteSession("https://localhost:9", "localhost", {}, direct=True)
    assert session._session.verify == "/certificates"


# The session


@contextmanager
def connected(port):
    session = remote.RemoteSession(f"http://2130706433:{port}", "2130706433", {}, direct=True)
    yield lambda: session.request(
        "GET", f"http://127.0.0.1:{port}/", data=None, headers={}, timeout=(3.0, 10.0), most=1000
    )
    session.close()


def test_one_connection_serves_many_requests(ollama, monkeypatch):
    opened = []
    connect = http.client.HTTPConnection.__init__
    monkeypatch.setattr(
        http.client.HTTPConnection,
        "__init__",
        lambda *a, **o: (opened.append(1), connect(*a, **o))[1],
    )
    with connected(ollama.port) as ask:
        assert [ask().status_code for _ in range(3)] == [200] * 3
    assert len(opened) == 1


def test_compressed_reply_is_unpacked():
    packer = zlib.compressobj(wbits=31)
    body = packer.compress(b"[1]") + packer.flush()
    reply = nasty.whole(body, headers=b"Content-Encoding: gzip\r\n")
    with nasty.answering(lambda: reply) as port, connected(port) as ask:
        assert ask().content == b"[1]"


def test_errors_of_requests_are_those_of_sockets():
    with connected(9) as ask, pytest.raises(ConnectionRefusedError):
        ask()


def test_proxy_of_a_kind_that_cannot_be_used_is_told_at_once(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:9")
    embedder = OpenAIEmbedder("https://192.0.2.1/v1", sleep=pytest.fail)
    assert embedder.embed_batch(["a"]) == [[]]
    assert embedder.problem == "https://192.0.2.1/v1 is not a usable address (InvalidSchema)"
