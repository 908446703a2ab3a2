"""Texts that have no file are read and cut anew where the settings have changed, as files are."""

import json
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.why.explain import explain
from hybrid_memory.sync import texts
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.command import Run, answer, in_process
from tests.conftest import TopicEmbedder
from tests.fake_ollama import FakeOllama
from tests.sync.test_crash import Scene

Notes = Callable[..., Path]
LONG = "\n\n".join(
    f"The gpu server number {n} has a password, as the dog knows." for n in range(60)
)
DATED = "---\nwhen: 2026-01-05\ncreated: 2025-03-09\n---\n# Plan\n\nThe puppy is here.\n"
STORED = {"long": LONG, "plan": DATED, "short": "a cat"}


def everything(store: HybridStore) -> dict[str, Any]:
    """What the store has of the texts, but for the time of storing."""
    found = {}
    for doc_id in STORED:
        whole = store.storage.documents.whole(doc_id)
        assert whole
        row = {key: whole.prepared.row[key] for key in ("content", "metadata", "date", "chunking")}
        chunks = [
            {key: value for key, value in chunk.items() if key != "embedding"}
            for chunk in whole.prepared.chunks
        ]
        found[doc_id] = (row, chunks, len(whole.vectors))
    return found


def times(store: HybridStore) -> list[tuple[str, str]]:
    entries = map(store.storage.catalog.entry, STORED)
    return [(entry["modified"], entry["indexed_at"]) for entry in entries]


def filled(db_path: str, config: dict[str, Any], embedder: TopicEmbedder) -> HybridStore:
    store = HybridStore(db_path, config, embedder=embedder)
    for doc_id, text in STORED.items():
        store.store(doc_id, text, {"given": "kept"})
    return store


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("config", "does"),
    [
        ({"chunk_size": 1500}, "update"),
        ({"chunk_size": 100, "chunk_overlap": 0}, "ingest"),
        ({"date_keys": ["when"]}, "update"),
    ],
)
def test_texts_are_what_a_fresh_store_makes_of_them(
    engine: str, db_path: str, tmp_path: Path, notes: Notes, config: dict[str, Any], does: str
) -> None:
    folder = str(notes({"a.md": "a puppy"}))
    with filled(db_path, {}, TopicEmbedder()) as store:
        earlier = "update documents set indexed_at = indexed_at - 100"
        store.storage.connection.execute(earlier)  # type: ignore[attr-defined]
        before = times(store)
        chunks = store.stats()["chunk_count"]
    with HybridStore(db_path, config, embedder=TopicEmbedder()) as store:
        job = Ingest(store, incremental=True)
        report = job.update() if does == "update" else job.run([folder])
        assert report.notes[0].startswith("3 texts without a file were re-chunked")
        assert (report.errors, report.warnings, report.pending) == ([], [], 0)
        with filled(str(tmp_path / "fresh.db"), config, TopicEmbedder()) as fresh:
            assert everything(store) == everything(fresh)
        assert times(store) == before
        assert [finding for finding in examine(store, thorough=True) if not finding.ok] == []
        report = Ingest(store, incremental=True).update()
        assert (report.chunks, report.notes) == (0, [])
    with HybridStore(db_path, embedder=TopicEmbedder()) as store:
        Ingest(store, incremental=True).update()  # and back
        assert store.stats()["chunk_count"] == chunks + (does == "ingest")


def test_a_text_without_a_date_keeps_the_day_on_which_it_was_stored(
    db_path: str, embedder: TopicEmbedder
) -> None:
    with filled(db_path, {}, embedder) as store:
        conn: Any = store.storage.connection  # type: ignore[attr-defined]
        conn.execute("update documents set date = '2024-02-03' where doc_id = 'short'")
        conn.execute("update documents set indexed_at = 1700000000")  # 2023-11-14
    with HybridStore(db_path, {"date_keys": ["nothing"]}, embedder=embedder) as store:
        Ingest(store, incremental=True).update()
        dates = {doc_id: store.storage.catalog.document(doc_id).date for doc_id in STORED}
    assert dates["short"] == "2024-02-03"
    assert dates["plan"] == "2023-11-14"  # `created`, which gave it another day, counts no longer


def test_reindex_cuts_them_too(run: Run, environ: dict[str, str]) -> None:
    environ["HYBRID_MEMORY_PROVIDER"] = "builtin"
    answer(run("store", "--doc-id", "long", "--text", LONG))
    before = answer(run("stats"))["chunk_count"]
    answer(run("config", "set", "chunk_size", "1500"))
    assert answer(run("reindex"))["chunks"] < before
    assert answer(run("stats"))["pending_count"] == 0
    answer(run("config", "set", "chunk_size", "100"))
    done = answer(run("reindex", "--embeddings"))
    assert (done["status"], done["pending"]) == ("ok", 0)
    assert done["chunks"] > before


def test_chunks_that_the_model_can_never_embed_are_not_pending_after_reindex(
    run: Run, environ: dict[str, str]
) -> None:
    environ["HYBRID_MEMORY_PROVIDER"] = "builtin-english"
    answer(run("store", "--doc-id", "long", "--text", LONG))
    answer(run("store", "--doc-id", "russian", "--text", "Документ о насосе."))
    answer(run("config", "set", "chunk_size", "1500"))
    answer(run("reindex"))
    stats = answer(run("stats"))
    assert (stats["pending_count"], stats["unembeddable_count"]) == (0, 1)


def test_sizes_that_an_ingest_is_given_are_those_of_its_paths_alone(
    run: Run, folder: Path, environ: dict[str, str]
) -> None:
    environ["HYBRID_MEMORY_PROVIDER"] = "none"
    answer(run("store", "--doc-id", "long", "--text", LONG))
    before = answer(run("list"))["documents"]
    answer(run("ingest", "--path", str(folder), "--chunk-size", "100"))
    assert [doc for doc in answer(run("list"))["documents"] if doc["doc_id"] == "long"] == before


def test_a_refresh_cuts_nothing_anew(db_path: str, embedder: TopicEmbedder) -> None:
    with filled(db_path, {}, embedder) as store:
        before = everything(store)
    with HybridStore(db_path, {"chunk_size": 100}, embedder=embedder) as store:
        refresh(store)
        assert everything(store) == before


def test_old_chunks_answer_until_the_new_ones_are_embedded(
    db_path: str, embedder: TopicEmbedder
) -> None:
    with filled(db_path, {}, embedder) as store:
        before = store.stats()
    with HybridStore(db_path, {"chunk_size": 1500}, embedder=embedder) as store:
        embedder.problem = "down"
        report = Ingest(store, incremental=True).update()
        [warning] = report.warnings
        assert warning["path"] == store.path
        assert warning["reason"].startswith("1 document keeps its chunks of another size until")
        assert store.stats()["chunk_count"] == before["chunk_count"]
        assert store.stats()["pending_count"] == 0
        embedder.problem = None
        Ingest(store, incremental=True).update()
        after = store.stats()
        assert after["chunk_count"] < before["chunk_count"]
        assert after["embedded_count"] == after["chunk_count"]


def test_a_text_that_another_process_changes_meanwhile_is_left_to_it(
    db_path: str, embedder: TopicEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(db_path, {}, embedder).close()
    changed = {"long": "a new gpu", "short": None}

    def meanwhile(storage: Any, prepared: Any, **options: Any) -> None:
        doc_id = prepared.row["doc_id"]
        with HybridStore(db_path, embedder=TopicEmbedder()) as other:
            text = changed.get(doc_id, STORED[doc_id])
            if text is None:
                other.delete(doc_id)
            elif doc_id in changed:
                other.store(doc_id, text)
        put_again(storage, prepared, **options)

    put_again = texts.put_again
    monkeypatch.setattr(texts, "put_again", meanwhile)
    with HybridStore(db_path, {"chunk_size": 1500}, embedder=embedder) as store:
        report = Ingest(store, incremental=True).update()
        assert report.notes[0].startswith("1 text without a file was re-chunked")
        assert store.storage.catalog.document("long").content == "a new gpu"
        assert store.storage.catalog.by_id("short") is None


def test_doctor_and_why_say_so_until_it_is_done(db_path: str, embedder: TopicEmbedder) -> None:
    filled(db_path, {}, embedder).close()
    with HybridStore(db_path, {"chunk_size": 1500}, embedder=embedder) as store:
        [problem] = [finding for finding in examine(store) if finding.ok is False]
        assert problem.text == (
            "3 stored texts were cut with other settings; `hybrid-memory update` cuts them again"
        )
        told = explain(store, "long")
        assert (told["current"], told["rule"]) == (False, "settings")
        assert told["way_out"] == "`hybrid-memory update` cuts it again"
        Ingest(store, incremental=True).update()
        assert [finding for finding in examine(store) if finding.ok is False] == []
        assert explain(store, "long")["current"]


def test_kills_leave_each_text_as_it_was_or_as_it_shall_be(tmp_path: Path) -> None:
    with FakeOllama(dims=64) as server:
        scene = Scene(tmp_path, server.url)
        for number in range(6):
            text = LONG.replace("server", f"server{number}")
            stored = ("store", "--doc-id", f"t{number}", "--text", text)
            answer(in_process(stored, scene.environ, tmp_path))
        [before] = set(chunkings(scene).values())
        (tmp_path / "config.json").write_text(json.dumps({"chunk_size": 1500}))
        chance = random.Random(5)
        for _ in range(3):
            moment = chance.randint(1, scene.statements("update") * 9 // 10)
            assert scene.run("update", moment=moment).returncode == -signal.SIGKILL
            scene.assert_whole()
            assert set(chunkings(scene).values()) <= {before, (3, ":1500:")}
        assert scene.run("update").returncode == 0
        assert set(chunkings(scene).values()) == {(3, ":1500:")}
        scene.assert_whole()


def chunkings(scene: Scene) -> dict[str, tuple[int, str]]:
    """The chunks of each text, as they are counted, and the size in what it says of its cutting."""
    with scene.open() as store:
        rows = store.storage.connection.execute(  # type: ignore[attr-defined]
            "select doc_id, count(*), chunking from chunks join documents using (doc_id) group by 1"
        ).fetchall()
    return {
        doc_id: (count, next(size for size in (":512:", ":1500:") if size in chunking))
        for doc_id, count, chunking in rows
    }
