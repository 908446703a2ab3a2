"""Texts that are stored and deleted over HTTP, and updates with their progress."""

from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest

from hybrid_memory.sync.ingest import Ingest
from tests.extras.serving import Client, events, served


def test_a_stored_text_is_found_replaced_and_deleted(client: Client) -> None:
    first = client.put_text(
        "decisions/1", "# Zebra\n\nWe take the zebra.", metadata={"project": "zoo"}
    )
    assert (first.status_code, first.json()) == (
        201,
        {"doc_id": "decisions/1", "chunks": 1, "warnings": []},
    )
    assert (
        client.json("/api/search", q="zebra", where="project=zoo")["results"][0]["doc_id"]
        == "decisions/1"
    )
    assert client.put_text("decisions/1", "# Okapi\n\nWe take the okapi.").status_code == 200
    assert client.json("/api/documents/decisions/1")["text"].startswith("# Okapi")
    gone = client.delete("/api/documents/decisions/1")
    assert (gone.status_code, gone.json()) == (
        200,
        {"doc_id": "decisions/1", "chunks_deleted": 1, "warnings": []},
    )
    for again in (
        client.get("/api/documents/decisions/1"),
        client.delete("/api/documents/decisions/1"),
    ):
        assert again.status_code == 404


def test_a_files_document_can_be_neither_replaced_nor_deleted(client: Client, folder: Path) -> None:
    for told in (
        client.put_text("memory/pi.md", "other"),
        client.delete("/api/documents/memory/pi.md"),
    ):
        assert told.status_code == 409
        assert str(folder / "pi.md") in told.json()["detail"]
    assert "192.168.1.5" in client.json("/api/documents/memory/pi.md")["text"]


BODIES = [
    (b'{"text": "a"}', "text/plain", 415),
    (b'{"text": "a"}', "application/json; charset=utf-8", 201),
    (b"{", "application/json", 400),
    (b'{"text": "a", "metadata": {"n": NaN}}', "application/json", 400),
    (
        b'{"text": "a", "metadata": ' + b'{"a":' * 101 + b"1" + b"}" * 102,
        "application/json",
        422,
    ),
    (b"[]", "application/json", 422),
    (b'{"text": 1}', "application/json", 422),
    (b'{"text": "a", "metadata": [3]}', "application/json", 422),
    (b'{"text": "a", "append": "yes"}', "application/json", 422),
    (b'{"text": "a", "tittle": "b"}', "application/json", 422),
    (
        b'{"text": "a\\ud800b"}',
        "application/json",
        201,
    ),  # half of a pair is stored as a question mark
]


def test_a_body_that_is_no_text_is_refused(client: Client) -> None:
    for body, kind, status in BODIES:
        headers = {"Content-Type": kind} if kind else {}
        told = client.put("/api/documents/new", data=body, headers=headers)
        assert told.status_code == status, (body[:60], told.text)
        stored = client.delete("/api/documents/new").status_code
        assert stored == (200 if status == 201 else 404), body[:60]


def test_an_update_takes_in_what_has_changed_and_reports_it(client: Client, folder: Path) -> None:
    (folder / "new.md").write_text("# Zebra\n\nThe zebra crossing is closed.\n")
    (folder / "pi.md").unlink()
    told = client.post("/api/update")
    assert told.headers["content-type"].startswith("text/event-stream")
    *progress, (name, report) = events(told)
    assert name == "report"
    assert (report["files"], report["removed"], report["embedded"], report["errors"]) == (
        1,
        1,
        1,
        [],
    )
    assert {event for event, _ in progress} <= {"progress"}
    assert all(data.keys() == {"stage", "done", "total", "chunks"} for _, data in progress)
    assert client.json("/api/search", q="zebra")["results"][0]["doc_id"] == "memory/new.md"


def test_an_update_of_nothing_ends_with_a_problem(environ: dict[str, str], run: object) -> None:
    from hybrid_memory import HybridStore

    with HybridStore(environ["HYBRID_MEMORY_DB_PATH"], {"provider": "builtin"}):
        pass
    with served(environ) as client:
        [(name, problem)] = events(client.post("/api/update"))
    assert (name, problem["status"]) == ("problem", 409)
    assert "nothing was ingested yet" in problem["detail"]


def test_a_second_update_is_refused_and_readers_wait_for_none(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = Event(), Event()
    real = Ingest.update

    def slow(job: Ingest) -> object:
        begun.set()
        assert go_on.wait(60)
        return real(job)

    monkeypatch.setattr(Ingest, "update", slow)
    first = Thread(target=client.post, args=["/api/update"])
    first.start()
    assert begun.wait(60)
    second = client.post("/api/update")
    assert second.status_code == 409
    assert client.json("/api/overview")["server"]["updating"] is True
    assert client.json("/api/search", q="raspberry")["results"]
    go_on.set()
    first.join()
    assert events(client.post("/api/update"))[-1][0] == "report"


def test_an_update_goes_on_when_its_client_has_left(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "new.md").write_text("# Zebra\n\nThe zebra crossing is closed.\n")
    left = Event()
    real = Ingest.update
    monkeypatch.setattr(Ingest, "update", lambda job: left.wait(60) and real(job))
    client.post("/api/update", stream=True).close()
    left.set()
    while client.json("/api/overview")["server"]["updating"]:
        sleep(0.05)
    assert client.json("/api/search", q="zebra crossing")["results"][0]["doc_id"] == "memory/new.md"


def test_a_text_is_added_to_and_keeps_its_metadata(client: Client) -> None:
    text = "The heron nests at the lake behind the mill, and the otter hunts there at night."
    assert client.put_text("a", text, metadata={"ports": [80, 443]}).status_code == 201
    assert client.put_text("a", "The crane.", append=True).status_code == 200
    document = client.json("/api/documents/a")
    assert document["text"] == f"{text}\n\nThe crane."
    assert document["metadata"] == {"ports": [80, 443]}
    assert client.put_text("b", text, append="yes").status_code == 422
