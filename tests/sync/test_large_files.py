"""A large note is read in portions and stored at once, as any other note."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents import formats, large_files, portions
from hybrid_memory.documents.chunker import Chunk
from hybrid_memory.extras.doctor import examine
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.report import Report
from tests.conftest import TopicEmbedder, indexed_words
from tests.kills import COUNTED
from tests.sync.test_crash import WHOLE

Notes = Callable[..., Path]
SMALL = """
from hybrid_memory.documents import formats, large_files, portions
formats.LARGE = 1_000
large_files.PORTION = 1_000
portions.LOOK_AHEAD = 500
"""
WORDS = "gpu server password port backup mirror kettle garden violin ledger".split()


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "LARGE", 1_000)
    monkeypatch.setattr(large_files, "PORTION", 1_000)
    monkeypatch.setattr(portions, "LOOK_AHEAD", 500)


def note(parts: int, title: str = "The log") -> str:
    chance = random.Random(1)
    text = "---\ntags: [ops]\naliases: [Journal]\n---\nBefore all.\n\n" + f"# {title}\n\n"
    for number in range(parts):
        words = " ".join(chance.choices(WORDS, k=60))
        text += f"## {2000 + number}-03-05\n\n{words} [[Note {number}]] #tag{number % 7}\n\n"
    return text


def while_reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> None:
    """Call `act` with the number of each chunk of a large file when it has been read."""
    chunks = large_files.LargeReading.chunks

    def interrupted(self: Any, *sizes: int) -> Iterator[Chunk]:
        for number, chunk in enumerate(chunks(self, *sizes)):
            act(number)
            yield chunk

    monkeypatch.setattr(large_files.LargeReading, "chunks", interrupted)


def ingest(store: HybridStore, folder: Path, **options: Any) -> Report:
    return Ingest(store, **options).run([str(folder)])


def stored(store: HybridStore, doc_id: str = "memory/log.md") -> Any:
    """All of a document but the time of its file, and how its words are indexed."""
    whole = store.storage.documents.whole(doc_id)
    assert whole
    words = None
    if hasattr(store.storage, "connection") and store.path.endswith(".db"):
        words = indexed_words(store.storage.connection)
    row = {key: value for key, value in whole.prepared.row.items() if key != "file_mtime"}
    return row, whole.prepared.chunks, whole.prepared.links, words


@pytest.mark.both_engines
def test_a_large_note_is_stored_as_any_other(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"log.md": note(20)})
    report = ingest(store, folder)
    assert (report.files, report.pending) == (1, 0)
    in_portions = stored(store)
    monkeypatch.setattr(formats, "LARGE", 10**9)
    ingest(store, folder)
    assert stored(store) == in_portions
    assert store.storage.links.named("journal") == ["memory/log.md"]
    assert store.search("violin", tags=["ops", "tag3"], mode="keyword")


@pytest.mark.both_engines
def test_only_the_changed_end_of_a_large_note_is_written(
    store: HybridStore, notes: Notes, embedder: TopicEmbedder
) -> None:
    folder = notes({"log.md": note(20)})
    ingest(store, folder)
    embedder.documents.clear()
    notes({"log.md": note(20) + "## Today\n\nThe dog sleeps.\n"})
    report = ingest(store, folder, incremental=True)
    assert report.chunks <= 2
    assert len(embedder.documents) <= 2
    assert store.search("dog sleeps", mode="keyword")[0]["heading_path"] == "The log > Today"


@pytest.mark.both_engines
@pytest.mark.parametrize("change", ["title", "aliases", "begin", "middle", "end"])
def test_a_changed_large_note_is_stored_like_a_new_one(
    store: HybridStore, notes: Notes, change: str
) -> None:
    text = note(20)
    folder = notes({"log.md": text})
    ingest(store, folder)
    changed = {
        "title": note(20, "The diary"),
        "aliases": text.replace("[Journal]", "[Logbook]"),
        "begin": text.replace("Before all.", "Before all of this."),
        "middle": text.replace("## 2010-03-05", "## 2030-03-05\n\nnew\n\n## 2010-03-05"),
        "end": note(12),
    }[change]
    notes({"log.md": changed})
    ingest(store, folder, incremental=True)
    after = stored(store)
    store.delete(doc_id="memory/log.md")
    ingest(store, folder)
    assert after == stored(store)
    for query in ("diary", "logbook", "new", "journal"):
        found = store.search(query, mode="keyword")
        assert bool(found) == (query in changed.lower()), query


def test_an_unchanged_large_note_is_not_read_or_written_again(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"log.md": note(20)})
    ingest(store, folder)
    before = stored(store)
    monkeypatch.setattr(large_files, "chunks_of", None)  # nothing is cut
    os.utime(folder / "log.md", (1, 1))
    report = ingest(store, folder, incremental=True)
    assert report.skipped_by == {"unchanged": 1}
    monkeypatch.setattr(large_files, "open_regular", None)  # nothing is read
    assert ingest(store, folder, incremental=True).skipped_by == {"unchanged": 1}
    assert stored(store) == before


@pytest.mark.both_engines
def test_others_search_and_write_while_a_large_note_is_read(
    store: HybridStore, db_path: str, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"log.md": note(20)})
    ingest(store, folder)
    notes({"log.md": note(25, "The diary")})
    found: list[int] = []

    def search_and_write(number: int) -> None:
        if number == 5:
            with HybridStore(db_path, embedder=TopicEmbedder()) as other:
                other.store("mine", "the puppy")
                found.append(len(other.search("log", mode="keyword")))
                found.append(len(other.search("diary", mode="keyword")))

    while_reading(monkeypatch, search_and_write)
    assert ingest(store, folder).errors == []
    assert found[0] > 0
    assert found[1] == 0
    assert store.search("puppy")[0]["doc_id"] == "mine"
    assert store.search("diary", mode="keyword")


def test_refusals_of_large_files_are_remembered(
    db_path: str, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HybridStore(db_path, {"max_file_bytes": 5_000}, embedder=TopicEmbedder()) as store:
        folder = notes({"log.md": note(20), "bin.md": b"a\0b" * 500})
        reasons = [error["reason"] for error in ingest(store, folder, incremental=True).errors]
        assert len(reasons) == 2
        monkeypatch.setattr(large_files, "open_regular", None)
        again = ingest(store, folder, incremental=True).errors
        assert [error["reason"] for error in again] == reasons


def test_a_large_note_that_changes_while_it_is_read_keeps_its_old_text(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"log.md": note(20)})
    ingest(store, folder)
    before = stored(store)
    notes({"log.md": note(25)})
    while_reading(monkeypatch, lambda _: os.utime(folder / "log.md", (1, 1)))
    [error] = ingest(store, folder).errors
    assert error["kind"] == "changing"
    assert stored(store) == before


def test_a_killed_ingest_leaves_all_or_nothing_of_a_large_note(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    path = folder / "log.md"
    db = str(tmp_path / "memory.db")
    command = ["--db", db, "--provider", "none", "ingest", "--path", str(folder)]
    config = {"HYBRID_MEMORY_CONFIG": str(tmp_path / "config.json")}
    (tmp_path / "config.json").write_text("{}")

    def run(moment: int) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", SMALL + COUNTED, str(moment), *command],
            env=os.environ | config,
            capture_output=True,
            text=True,
            check=False,
        )

    def titles() -> set[str]:
        with HybridStore(db, {"provider": "none"}, create=False) as store:
            wrong = [
                each
                for each in examine(store, thorough=True)
                if each.check in WHOLE and not each.ok
            ]
            assert wrong == []
            rows = store.storage.connection.execute("select heading_path, doc_id from chunks")
            return {path.split(" > ")[0] for path, _ in rows if path}

    path.write_text(note(20, "Version 0"))
    done = run(0)
    assert done.returncode == 0, done.stderr
    statements = int(done.stderr.splitlines()[-1])
    chance = random.Random(2026)
    for version in range(1, 7):
        path.write_text(note(20, f"Version {version}"))
        killed = run(chance.randint(statements // 2, statements))
        assert killed.returncode in (0, -signal.SIGKILL), killed.stderr
        assert len(titles()) == 1
    assert run(0).returncode == 0
    assert titles() == {"Version 6"}
