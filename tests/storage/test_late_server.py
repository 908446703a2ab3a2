"""The note that the server of the embeddings was late."""

import sqlite3
from pathlib import Path

import pytest

from hybrid_memory import HybridStore

MINUTE = 60.0


@pytest.mark.both_engines
def test_one_of_several_processes_notes_it_and_all_know(
    db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("time.time", lambda: now)
    with HybridStore(db_path) as one, HybridStore(db_path) as other:
        first, second = one.storage.embeddings, other.storage.embeddings
        assert not first.was_server_late(MINUTE)
        assert [note(MINUTE) for note in (first.note_late_server, second.note_late_server)] == [
            True,
            False,
        ]
        assert second.was_server_late(MINUTE)
        now += MINUTE + 1
        assert not first.was_server_late(MINUTE)
        assert second.note_late_server(MINUTE)
        now -= 10 * MINUTE  # the clock was corrected
        assert not first.was_server_late(MINUTE)
        assert first.note_late_server(MINUTE)


def test_it_is_not_noted_while_another_process_writes(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with HybridStore(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        assert not store.storage.embeddings.note_late_server(MINUTE)
        other.execute("rollback")
        other.close()
        assert store.storage.embeddings.note_late_server(MINUTE)


@pytest.mark.both_engines
def test_a_store_that_is_read_only_stays_as_it_is(db_path: str) -> None:
    with HybridStore(db_path) as store:
        store.store("a", "text")
    with HybridStore(db_path, read_only=True) as store:
        assert not store.storage.embeddings.note_late_server(MINUTE)
        assert not store.storage.embeddings.was_server_late(MINUTE)
