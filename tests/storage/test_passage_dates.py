"""The date of a passage: from its own messages, from its document, or from when it was stored."""

import json
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.lists import documents
from hybrid_memory.browse.passage import read
from hybrid_memory.documents.document import Document
from hybrid_memory.search.request import Request
from hybrid_memory.storage.filters import Filters
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.text.dates import heading_day
from tests.traces import is_of_date, steps

CONFIG = {"provider": "none", "chunk_size": 200}
SAID = [
    ("2026-01-05T23:50:00Z", "the gateway listens on port 22"),
    ("2026-01-06T00:10:00Z", "the gateway listens on port 2222 now"),
    (None, "and the gateway has a new key"),
    ("2026-03-01T08:00:00Z", "the gateway is gone"),
]


def transcript(path: Path, said: list[tuple[str | None, str]]) -> None:
    lines = []
    for time, text in said:
        record = {"type": "message", "message": {"role": "user", "content": text}}
        lines.append(json.dumps(record | ({"timestamp": time} if time else {})))
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (1e9, 1e9))  # the session has ended


@pytest.fixture
def session(db_path: str, tmp_path: Path) -> Iterator[HybridStore]:
    transcript(tmp_path / "sessions" / "s1.jsonl", SAID)
    with HybridStore(db_path, CONFIG) as store:
        Ingest(store, patterns=["*.jsonl"]).run([str(tmp_path / "sessions")])
        store.store("filler/1", "a word or two of the garden", {"date": "2026-01-06"})
        yield store


def days(store: HybridStore, query: str = "gateway", **options: object) -> dict[str, str]:
    return {hit["text"].split("\n")[0]: hit["date"] for hit in store.search(query, **options)}


@pytest.mark.both_engines
def test_a_passage_of_a_transcript_has_the_day_of_its_messages(session: HybridStore) -> None:
    assert days(session) == {
        "User: the gateway listens on port 22": "2026-01-05",
        "User: the gateway listens on port 2222 now": "2026-01-06",
        "User: the gateway is gone": "2026-03-01",
    }


def test_a_message_without_a_time_is_of_the_day_before_it(session: HybridStore) -> None:
    [hit] = session.search("new key", limit=1)
    assert (hit["date"], hit["start_line"], hit["end_line"]) == ("2026-01-06", 2, 3)


PERIODS = [
    ("2026-01-06", None, {2, 4}),
    (None, "2026-01-05", {1}),
    ("2026-01", "2026-01", {1, 2}),
    ("2026-02", "2026-02", set()),
]


@pytest.mark.parametrize("is_rare", [False, True])
@pytest.mark.both_engines
def test_filters_leave_the_passages_of_the_days(session: HybridStore, is_rare: bool) -> None:
    if is_rare:  # few of many chunks are listed, others are looked at
        for number in range(30):
            session.store(f"other/{number}", "gateway", {"date": "2020-01-01"})
    for since, until, lines in PERIODS:
        filters = Filters(since=since, until=until, inside="sessions")
        found = {hit["start_line"] for hit in session.search("gateway", filters=filters)}
        assert found == lines, (since, until)


def test_age_and_the_days_of_a_query_are_those_of_passages(session: HybridStore) -> None:
    request = Request(half_life=1, today=date(2026, 3, 1), explain=True)
    hits = session.answer("gateway", request).results
    decays = {hit["date"]: steps(hit, "decay") for hit in hits}
    assert decays["2026-03-01"] == []
    assert decays["2026-01-06"][0]["multiply"] == pytest.approx(2**-54, abs=1e-6)

    request = Request(explain=True)
    hits = session.answer("gateway on 2026-01-06", request).results
    assert {hit["date"] for hit in hits if is_of_date(hit)} == {"2026-01-06"}


@pytest.mark.both_engines
def test_get_tells_the_day_of_the_lines(session: HybridStore) -> None:
    first = read(session, "sessions/s1.jsonl")
    assert (first["date"], first["date_from"]) == ("2026-01-05", "text")
    assert read(session, "sessions/s1.jsonl#L3")["date"] == "2026-01-06"
    assert read(session, "sessions/s1.jsonl#L4")["date"] == "2026-03-01"


@pytest.mark.both_engines
def test_a_session_that_grows_keeps_the_days_of_earlier_passages(
    session: HybridStore, tmp_path: Path
) -> None:
    before = {hit["chunk_id"]: hit["date"] for hit in session.search("gateway")}
    later = ("2026-04-01T08:00:00Z", "the gateway is back")
    transcript(tmp_path / "sessions" / "s1.jsonl", [*SAID, later])
    Ingest(session, patterns=["*.jsonl"]).run([str(tmp_path / "sessions")])
    after = {hit["chunk_id"]: hit["date"] for hit in session.search("gateway")}
    assert after == before | {"sessions/s1.jsonl-3": "2026-04-01"}


@pytest.mark.both_engines
def test_passages_beside_the_place_where_a_session_has_grown_are_neighbours(
    session: HybridStore, tmp_path: Path
) -> None:
    session.store("between", "Another document takes the next ids.")
    transcript(tmp_path / "sessions" / "s1.jsonl", [*SAID, ("2026-04-01T08:00:00Z", "zebra")])
    Ingest(session, patterns=["*.jsonl"]).run([str(tmp_path / "sessions")])
    [hit] = session.search("zebra", mode="keyword")
    assert hit["chunk_id"] == "sessions/s1.jsonl-3"
    assert hit["text"] == "User: zebra"
    [longer] = session.search("zebra", mode="keyword", context=1)
    assert longer["text"] == "User: the gateway is gone\n\nUser: zebra"


def test_get_and_search_tell_the_same_day(db_path: str, tmp_path: Path) -> None:
    note = tmp_path / "log" / "2022-03-01.md"
    note.parent.mkdir()
    boiler, ideas = "The boiler was mended. " * 20, "Buy a kettle. " * 30
    note.write_text(f"# Log\n\n## Friday, 4 March\n\n{boiler}\n\n## Ideas\n\n{ideas}\n")
    with HybridStore(db_path, CONFIG) as store:
        Ingest(store).run([str(note.parent)])
        told = {}
        for word in ("boiler", "kettle"):
            hit = store.search(word)[0]
            read_again = read(store, hit["citation"])
            assert read_again["date"] == hit["date"]
            told[word] = (read_again["date"], read_again["date_from"])
        assert told == {"boiler": ("2022-03-04", "text"), "kettle": ("2022-03-01", "path")}
        whole = read(store, "log/2022-03-01.md")
        assert (whole["date"], whole["date_from"]) == ("2022-03-01", "path")


def test_a_stored_text_has_the_day_on_which_it_was_stored(db_path: str) -> None:
    with HybridStore(db_path, CONFIG) as store:
        store.store("facts/ssh", "ssh listens on 2222")
        [hit] = store.search("ssh")
        assert hit["date"] == date.today().isoformat()
        assert read(store, "facts/ssh")["date_from"] == "stored"
        assert len(store.search("ssh", filters=Filters(since="7d"))) == 1


@pytest.mark.both_engines
def test_a_stored_text_keeps_its_day_until_it_changes(db_path: str) -> None:
    with HybridStore(db_path, CONFIG) as store:
        prepared = store.prepare(Document("facts/ssh", "ssh listens on 22", {}))
        with store.storage.transaction():
            row = prepared.row | {"date": "2020-02-02"}
            store.storage.documents.put(prepared._replace(row=row))
        store.store("facts/ssh", "ssh listens on 22")
        assert store.search("ssh")[0]["date"] == "2020-02-02"
        store.store("facts/ssh", "ssh listens on 2222")
        assert store.search("ssh")[0]["date"] == date.today().isoformat()


@pytest.mark.both_engines
def test_the_time_of_a_file_filters_and_sorts_and_is_told(db_path: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, day in (("2026-01-05", 1_000_000_000), ("2020-01-05", 1_200_000_000)):
        (notes / f"{name}.md").write_text("ssh")
        os.utime(notes / f"{name}.md", (day, day))
    with HybridStore(db_path, CONFIG) as store:
        Ingest(store).run([str(notes)])

        def ids(**options: Any) -> list[str]:
            return [document["doc_id"] for document in documents(store, **options)["documents"]]

        assert ids() == ["notes/2026-01-05.md", "notes/2020-01-05.md"]
        assert ids(by_change=True) == ["notes/2020-01-05.md", "notes/2026-01-05.md"]
        recent = Filters(modified_since="2005-01-01")
        assert ids(filters=recent) == ["notes/2020-01-05.md"]
        assert [hit["doc_id"] for hit in store.search("ssh", filters=recent)] == ids(filters=recent)
        assert read(store, "notes/2026-01-05.md")["modified"] == "2001-09-09T01:46:40Z"

        store.store("today", "ssh")
        assert ids(by_change=True)[0] == "today"


def test_a_passage_below_a_dated_heading_has_that_day(db_path: str, tmp_path: Path) -> None:
    log = tmp_path / "notes" / "log.md"
    log.parent.mkdir()
    log.write_text(
        "# Log\n\nThe gateway is a box.\n\n## 2026-01-05\n\nThe gateway listens on port 22.\n\n"
        "## Friday, 13 February 2026\n\n### Access\n\nThe gateway listens on port 2222.\n\n"
        "## Release of 2026-04-01\n\nThe gateway is painted.\n"
    )
    with HybridStore(db_path, CONFIG) as store:
        Ingest(store).run([str(log.parent)])
        dates = days(store)
    assert dates == {
        "# Log": None,
        "## 2026-01-05": "2026-01-05",
        "## Friday, 13 February 2026": "2026-02-13",
        "## Release of 2026-04-01": None,
    }


@pytest.mark.parametrize(
    ("heading", "of_document", "day"),
    [
        ("4 March", "2026-01-05", "2026-03-04"),
        ("4 March", None, None),
        ("4. März 2026", None, "2026-03-04"),
        ("Room 4", "2026-01-05", None),
        ("Today 1", "2026-01-05", "2026-01-05"),
        ("Today 1", "2026-01", None),
    ],
)
def test_a_heading_that_begins_with_a_day_is_dated(
    heading: str, of_document: str | None, day: str | None
) -> None:
    assert heading_day(["Log", heading], of_document) == day
