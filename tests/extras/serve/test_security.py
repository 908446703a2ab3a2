"""What an attacker may try: another site's page, another name for this address, guesses, and what is too long or too slow."""

import asyncio
import http.client
import os
import socket
import stat
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore, config
from hybrid_memory.errors import ConfigError, UsageError
from hybrid_memory.extras.serve import responses, routes, security
from hybrid_memory.extras.serve.memory import READERS, Memory
from hybrid_memory.extras.serve.security import Hosts
from tests.extras.run_async import run_async
from tests.extras.serving import Client, served

TOKEN = "correct-horse-battery-staple"
EVERY = ["/", "/api/search?q=a", "/mcp"]
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}},
}  # fmt: skip


@pytest.fixture
def guarded(folder: Path, environ: dict[str, str]) -> Iterator[Client]:
    with served(environ, "--token", TOKEN) as client:
        yield client


def status(client: Client, method: str, path: str, **headers: str) -> int:
    """The status of a request whose headers are exactly these."""
    connection = http.client.HTTPConnection(client.base.removeprefix("http://"), timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def test_a_name_that_was_made_to_lead_here_gets_no_answer(reader: Client) -> None:
    for host in ("evil.example:8377", "localhost.evil.example", "10.0.0.1", "", "localhost/x"):
        answered = {p for p in EVERY if status(reader, "GET", p, Host=host) not in (400, 421)}
        assert answered == set(), host
    for host in ("localhost", "127.0.0.1:1234", "[::1]:99", "LOCALHOST"):
        assert status(reader, "GET", "/api/status", Host=host) == 200, host


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3000", ""])
def test_a_page_of_another_site_can_neither_read_nor_write(reader: Client, origin: str) -> None:
    for method, path in (("GET", "/api/search?q=a"), ("POST", "/mcp"), ("OPTIONS", "/api/update")):
        refused = status(
            reader, method, path, Host="127.0.0.1:8377", Origin=origin, Content_Length="0"
        )
        assert (method, path, refused) == (method, path, 403)


def test_what_a_browser_fetches_for_another_site_is_refused(reader: Client) -> None:
    for site, expected in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
        path = "/api/search?q=a&refresh=true"
        assert status(reader, "GET", path, Host="localhost", Sec_Fetch_Site=site) == expected


def test_no_answer_may_be_read_or_framed_by_another_site(reader: Client) -> None:
    for answer in (reader.get("/api/status"), reader.get("/nix"), reader.post("/api/status")):
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers


CLOSED = ["/api/search?q=a", "/mcp", "/%61pi/status"]


def test_without_the_token_nothing_of_the_memory_is_told(guarded: Client) -> None:
    for path, headers in product(
        CLOSED,
        (
            {},
            {"Authorization": f"Bearer {TOKEN}x"},
            {"Authorization": f"Basic {TOKEN}"},
            {"Cookie": f"hybrid-memory={TOKEN}"},
        ),
    ):
        answer = guarded.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_token_opens_the_api_and_the_tools(guarded: Client) -> None:
    shown = {"Authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/api/status", headers=shown).status_code == 200
    assert guarded.get("/api/overview", headers=shown).json()["server"]["token"] is True
    accepted = shown | {"Accept": "application/json, text/event-stream"}
    assert guarded.post("/mcp", json=INITIALIZE, headers=accepted).status_code == 200


def test_the_page_exchanges_the_token_for_a_cookie_that_scripts_cannot_read(
    guarded: Client,
) -> None:
    assert guarded.post("/api/session", json={"token": "wrong"}).status_code == 401
    assert guarded.post("/api/session", json={"token": None}).status_code == 401
    assert guarded.post("/api/session", data={"token": TOKEN}).status_code == 415
    given = guarded.post("/api/session", json={"token": TOKEN})
    cookie = given.headers["set-cookie"]
    assert given.status_code == 204
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert guarded.get("/api/status").status_code == 200
    refused = guarded.put(
        "/api/documents/a", json={"text": "a"}, headers={"Origin": "http://evil.example"}
    )
    assert refused.status_code == 403


def test_a_server_without_a_token_takes_any_and_gives_no_cookie(reader: Client) -> None:
    given = reader.post("/api/session", json={"token": "x"})
    assert given.status_code == 204
    assert "set-cookie" not in given.headers


def test_a_token_is_made_once_and_kept_for_its_owner_only(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db.token")
    token = security.kept_token(path)
    assert len(token.secret) >= 32
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert security.kept_token(path).secret == token.secret


def test_a_token_that_others_may_know_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="others may know the token"):
        security.kept_token(str(path))
    (tmp_path / "link").symlink_to(path)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="cannot keep a token"):
        security.kept_token(str(tmp_path / "link"))
    path.write_text("short")
    with pytest.raises(ConfigError, match="at least 16"):
        security.kept_token(str(path))


@pytest.mark.parametrize(
    "secret", ["short", "with spaces in it all over", "naïve-naïve-naïve-naïve"]
)
def test_a_token_that_is_weak_or_cannot_be_sent_is_refused(secret: str) -> None:
    with pytest.raises(UsageError):
        security.AccessToken(secret)


def test_a_server_for_other_machines_makes_a_token_and_knows_its_addresses(
    folder: Path, environ: dict[str, str]
) -> None:
    with served(environ, "--host", "0.0.0.0") as client:
        path = environ["HYBRID_MEMORY_DB_PATH"] + ".token"
        shown = {"Authorization": f"Bearer {Path(path).read_text().strip()}"}
        assert client.get("/api/status").status_code == 401
        assert client.get("/api/status", headers=shown).status_code == 200
        assert (
            client.get("/api/status", headers=shown | {"Host": "192.168.7.7:8377"}).status_code
            == 200
        )
        assert (
            client.get("/api/status", headers=shown | {"Host": "evil.example"}).status_code == 421
        )
    hosts = Hosts("box.lan", is_loopback=False)
    assert "box.lan:80" in hosts
    assert socket.gethostname() in hosts
    assert "other.lan" not in hosts


def test_an_address_that_is_too_long_is_refused(reader: Client) -> None:
    assert reader.get("/api/search", params={"q": "a" * security.MOST_ADDRESS}).status_code == 414
    assert reader.get("/" + "a/" * security.MOST_ADDRESS).status_code == 414


def test_a_body_that_is_too_large_is_refused_before_it_is_read(reader: Client) -> None:
    declared = {
        "Host": "localhost",
        "Content_Type": "application/json",
        "Content_Length": str(10**12),
    }
    assert status(reader, "PUT", "/api/documents/a", **declared) == 413
    assert status(reader, "POST", "/mcp", **declared) == 413


def test_a_body_that_does_not_come_holds_nothing_up(
    reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "BODY_SECONDS", 0.3)
    declared = {"Host": "localhost", "Content_Type": "application/json", "Content_Length": "10"}
    assert status(reader, "PUT", "/api/documents/a", **declared) == 408


def test_only_what_is_indexed_can_be_read(client: Client, folder: Path) -> None:
    secret = folder.parent / "secret.txt"
    secret.write_text("hunter3")
    (folder / "new.md").symlink_to(secret)
    for path in (
        "/api/documents/%2E%2E%2Fsecret.txt", f"/api/documents/{str(secret).replace('/', '%2F')}", "/../secret.txt",
        "/..%2f..%2fserve.py", "/api/documents/memory/new.md", "/api/documents/memory%00", "/api/documents/%FF",
    ):  # fmt: skip
        connection = http.client.HTTPConnection(client.base.removeprefix("http://"), timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status in (400, 404), path
        assert b"hunter3" not in answer.read()
        connection.close()


def test_a_file_that_became_a_link_is_not_followed(client: Client, folder: Path) -> None:
    (folder.parent / "secret.txt").write_text("hunter3")
    (folder / "pi.md").unlink()
    (folder / "pi.md").symlink_to(folder.parent / "secret.txt")
    told = client.get("/api/documents/memory/pi.md")
    assert told.status_code == 409
    assert "hunter3" not in told.text


def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_error(
    capfd: pytest.CaptureFixture[str], folder: Path, environ: dict[str, str]
) -> None:
    with served(environ) as client:
        host, port = client.base.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
            connection.sendall(f'{head}\r\nContent-Length: 100\r\n\r\n{{"te'.encode())
            client.json("/api/status")
        client.json("/api/status")
    assert capfd.readouterr().err == ""


def test_a_client_that_sends_too_much_before_it_reads_gets_the_answer(reader: Client) -> None:
    body = b'{"text": "' + b"a" * (2 * responses.MOST_BODY) + b'"}'
    headers = {"Content-Type": "application/json"}
    told = reader.put("/api/documents/a", data=iter([body]), headers=headers)
    assert told.status_code == 413
    assert told.json()["detail"] == "the body is larger than 4,194,304 bytes"


def test_an_answer_for_a_client_that_has_left_is_given_up() -> None:
    steps: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            steps.append("given up")
            raise

    async def leave() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def play() -> None:
        guard = security.Guard(app, Hosts("127.0.0.1", is_loopback=True), None)
        headers = [(b"host", b"localhost")]
        scope = {
            "type": "http",
            "method": "GET",
            "raw_path": b"/api/search",
            "state": {},
            "query_string": b"",
            "headers": headers,
        }
        await guard(scope, leave, leave)  # type: ignore[arg-type]

    run_async(play)
    assert steps == ["given up"]


def test_what_nobody_waits_for_is_not_read(folder: Path, environ: dict[str, str]) -> None:
    settings = config.load(None, {}, environ)
    free = threading.Event()
    read: list[str] = []

    async def play() -> None:
        memory = Memory(lambda: HybridStore(environ["HYBRID_MEMORY_DB_PATH"]), settings)
        busy = [
            asyncio.ensure_future(memory.readers.do(lambda store: free.wait(60)))
            for _ in range(READERS)
        ]
        abandoned = asyncio.ensure_future(memory.readers.do(lambda store: read.append("abandoned")))
        await asyncio.sleep(0)
        abandoned.cancel()
        await asyncio.wait([abandoned])
        last = asyncio.ensure_future(memory.readers.do(lambda store: read.append("last")))
        await asyncio.sleep(0)
        free.set()
        await asyncio.gather(*busy, last)
        memory.close()

    run_async(play)
    assert read == ["last"]


def test_a_bug_is_told_to_the_log_only(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError("hunter3")

    monkeypatch.setattr(routes, "status_of", fail)
    told = client.get("/api/status")
    assert (told.status_code, told.headers["content-type"]) == (500, "application/problem+json")
    assert told.headers["x-content-type-options"] == "nosniff"
    assert "hunter3" not in told.text
    with Client(client.base) as other:
        other.json("/api/openapi.json")  # answered after the log of the other request
    assert "hunter3" in caplog.text
