"""Searches that first take in what changed."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.conftest import TopicEmbedder
from tests.fake_ollama import FakeOllama
from tests.sync.test_ingest import ids

Notes = Callable[[dict[str, str | bytes]], Path]


def reasons(report: Any) -> list[str]:
    return [f"{Path(warning['path']).name}: {warning['reason']}" for warning in report.warnings]


def test_new_changed_and_vanished_files_of_all_that_was_ingested(
    store: HybridStore, notes: Notes, tmp_path: Path
) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    (tmp_path / "TOOLS.md").write_text("printer")
    Ingest(store).run([str(folder), str(tmp_path / "TOOLS.md")])
    notes({"a.md": "password", "sub/new.md": "puppy"})
    (folder / "b.md").unlink()
    (tmp_path / "TOOLS.md").write_text("kettle")
    report = refresh(store)
    assert (report.files, report.removed, report.embedded, report.pending) == (3, 1, 3, 0)
    assert ids(store) == ["TOOLS.md", "memory/a.md", "memory/sub/new.md"]
    assert store.search("kettle", mode="keyword")
    assert reasons(report) == []


def test_the_last_excludes_count_and_the_patterns_of_all_ingests(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.md": "gpu", "b.txt": "dog"})
    Ingest(store, exclude=["secret"]).run([str(folder)])
    Ingest(store, patterns=["*.txt"], exclude=["drafts"]).run([str(folder)])
    notes({"a.md": "new", "b.txt": "new", "secret/c.md": "x", "drafts/d.md": "x"})
    assert refresh(store).files == 3
    assert ids(store) == ["memory/a.md", "memory/b.txt", "memory/secret/c.md"]


def test_folder_that_was_empty_at_first_is_looked_at_and_not_warned_of(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.txt": "x"})
    assert len(Ingest(store).run([str(folder)]).warnings) == 1
    assert refresh(store).warnings == []
    notes({"a.md": "gpu"})
    assert refresh(store).files == 1


def test_what_is_gone_or_cannot_be_read_is_a_warning_and_keeps_its_documents(
    store: HybridStore, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"closed/b.md": "dog", "c.md": "cat"})
    (tmp_path / "other").mkdir()
    for name in ("other/a.md", "TOOLS.md"):
        (tmp_path / name).write_text("gpu")
    Ingest(store).run([str(folder), str(tmp_path / "other"), str(tmp_path / "TOOLS.md")])
    before = ids(store)
    (tmp_path / "other").rename(tmp_path / "elsewhere")
    (tmp_path / "TOOLS.md").unlink()
    scandir = os.scandir

    def guarded(path: str) -> Any:  # root may list everything
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    report = refresh(store)
    assert [line.partition(";")[0] for line in reasons(report)] == [
        f"TOOLS.md: cannot ingest {tmp_path}/TOOLS.md: No such file or directory",
        f"other: cannot ingest {tmp_path}/other: No such file or directory",
        "closed: Permission denied",
    ]
    assert f"`hybrid-memory delete --path {tmp_path}/other`" in report.warnings[1]["reason"]
    assert report.errors == []
    assert ids(store) == before


def test_locked_database_is_one_warning_and_no_long_wait(
    store: HybridStore, notes: Notes, db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ingest(store).run([str(notes({"a.md": "gpu"}))])
    notes({"a.md": "dog"})
    other = sqlite3.connect(db_path, isolation_level=None)
    other.execute("begin immediate")
    (patience,) = store.storage.connection.execute("pragma busy_timeout").fetchone()
    [warning] = refresh(store).warnings
    assert "being written by another process" in warning["reason"]
    assert store.search("gpu")
    assert store.storage.connection.execute("pragma busy_timeout").fetchone() == (patience,)
    other.close()
    assert refresh(store).files == 1


def test_server_that_hangs_is_left_when_time_is_up_and_nothing_is_lost(
    db_path: str, notes: Notes
) -> None:
    with (
        FakeOllama(dims=8) as ollama,
        HybridStore(db_path, {"ollama_url": ollama.url, "dims": 8}) as store,
    ):
        Ingest(store).run([str(notes({"a.md": "gpu"}))])
        ollama.cold = 60.0
        notes({"a.md": "password"})
        report = refresh(store, embed_seconds=0.2)
        assert (report.files, report.embedded, report.pending) == (1, 0, 1)
        assert store.embedder is not None
        assert store.embedder.document_timeout > 60  # type: ignore[attr-defined]
        assert store.search("password", mode="keyword")


def test_what_is_new_is_embedded_before_what_waited_longer(
    store: HybridStore, notes: Notes, embedder: TopicEmbedder
) -> None:
    embedder.problem = "down"
    folder = notes({f"{number}.md": f"old {number}" for number in range(20)})
    Ingest(store).run([str(folder)])
    embedder.problem = None
    notes({"new.md": "the gpu server"})
    refresh(store)
    assert embedder.documents[20:][0].endswith("the gpu server")


def test_embeddings_come_in_small_batches_until_time_is_up(
    store: HybridStore, notes: Notes, embedder: TopicEmbedder
) -> None:
    Ingest(store).run([str(notes({"a.md": "gpu"}))])
    notes({f"{i}.md": f"note {i}" for i in range(50)})
    clock = iter([0.0, 0.5, 1.0, 2.5, 2.5])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hybrid_memory.indexing.pending.time.monotonic", lambda: next(clock))
        report = refresh(store, embed_seconds=2.0)
    assert (report.files, report.embedded, report.pending) == (50, 32, 18)
