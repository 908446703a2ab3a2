"""What was embedded once is not embedded again: texts that come back, and files that are cut in another size."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import examine
from hybrid_memory.indexing.documents import delete_collection
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.command import Run, answer
from tests.conftest import TopicEmbedder
from tests.fake_ollama import FakeOllama

Notes = Callable[..., Path]

SPARE = "select count(*) from spare_embeddings"
LONG = "# GPU server\n\n" + "\n\n".join(
    f"The password of server {number} is in the vault, under its name." for number in range(60)
)


def ingest(store: HybridStore, folder: Path) -> None:
    Ingest(store, incremental=True).run([str(folder)])


def spare(store: HybridStore) -> int:
    return int(store.storage.connection.execute(SPARE).fetchone()[0])  # type: ignore[attr-defined]


def test_neither_is_one_whose_file_was_away(
    store: HybridStore, embedder: TopicEmbedder, notes: Notes
) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    ingest(store, folder)
    (folder / "a.md").unlink()
    ingest(store, folder)
    embedder.documents.clear()
    ingest(store, notes({"moved/a.md": "gpu"}))
    assert embedder.documents == []
    assert store.stats()["pending_count"] == 0


def test_what_is_deleted_leaves_nothing_behind(store: HybridStore, embedder: TopicEmbedder) -> None:
    store.store("a", "gpu")
    store.store("a", "dog")
    store.store("b", "password")
    assert spare(store) == 1
    store.delete("a")
    assert spare(store) == 0
    embedder.documents.clear()
    store.store("a", "gpu")
    assert embedder.documents == ["gpu"]


def test_deleting_a_collection_takes_the_embeddings_of_files_that_were_gone_before(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    ingest(store, folder)
    (folder / "a.md").unlink()
    ingest(store, folder)
    assert spare(store) == 1
    delete_collection(store.storage, "memory")
    assert spare(store) == 0


@pytest.mark.parametrize(
    ("config", "left"),
    [({"old_embeddings_days": 0.5}, 0), ({"old_embeddings_mb": 0.0001}, 3), ({}, 10)],
)
def test_what_left_is_kept_for_a_while(
    db_path: str, notes: Notes, embedder: TopicEmbedder, config: dict[str, float], left: int
) -> None:
    with HybridStore(db_path, config, embedder=embedder) as store:
        ingest(store, notes({f"{number}.md": f"gpu {number}" for number in range(10)}))
        folder = notes({f"{number}.md": f"dog {number}" for number in range(10)})
        ingest(store, folder)
        age = "update spare_embeddings set kept_at = kept_at - 86400"
        store.storage.connection.execute(age)  # type: ignore[attr-defined]
        ingest(store, notes({"other.md": "a new one"}))
        assert spare(store) == left


def test_chunk_sizes_that_a_source_was_ingested_with_hold_for_it(
    run: Run, notes: Notes, environ: dict[str, str]
) -> None:
    environ["HYBRID_MEMORY_PROVIDER"] = "builtin"
    folder = str(notes({"a.md": LONG}))
    chunks = answer(run("ingest", "--path", folder, "--chunk-size", "1200"))["chunks"]
    assert answer(run("ingest", "--path", folder, "--incremental"))["files"] == 0
    assert "none has changed" in run("doctor").stdout
    assert answer(run("ingest", "--path", folder))["chunks"] == chunks
    Path(folder, "a.md").write_text(LONG + "\n")
    answer(run("search", "password", "--refresh"))
    assert answer(run("stats"))["chunk_count"] == chunks
    assert (
        answer(run("ingest", "--path", folder, "--chunk-size", "300", "--incremental"))["chunks"]
        > 2 * chunks
    )


def test_chunks_of_another_size_take_the_place_of_the_old_ones_once_they_are_embedded(
    db_path: str, notes: Notes, embedder: TopicEmbedder
) -> None:
    folder = notes({"a.md": LONG, "b.md": "# Dog\n\nA puppy."})
    with HybridStore(db_path, embedder=embedder) as store:
        ingest(store, folder)
        before = store.stats()["chunk_count"]
    with HybridStore(db_path, {"chunk_size": 1200}, embedder=embedder) as store:
        embedder.problem = "down"
        report = Ingest(store, incremental=True).run([str(folder)])
        assert (report.files, report.pending) == (1, 0)  # the short note has the same chunks
        assert any("chunks of another size until" in line for line in report.problem_lines())
        assert (store.stats()["chunk_count"], store.stats()["embedded_count"]) == (before, before)
        assert any("cut with other settings" in finding.text for finding in examine(store))
        embedder.problem = None
        assert Ingest(store, incremental=True).run([str(folder)]).files == 1
        after = store.stats()
        assert (after["embedded_count"], after["pending_count"]) == (after["chunk_count"], 0)
        assert after["chunk_count"] < before


def test_chunks_of_another_size_get_no_vectors_of_another_model_with_the_same_name(
    db_path: str, notes: Notes, ollama: FakeOllama
) -> None:
    folder = notes({"a.md": LONG})
    config = {"ollama_url": ollama.url, "model": "nomic-embed-text"}
    with HybridStore(db_path, config) as store:
        ingest(store, folder)
        before = store.stats()["chunk_count"]
    for change in ({"digest": "another"}, {"dims": ollama.dims // 2}):
        vars(ollama).update(change)
        with HybridStore(db_path, config | {"chunk_size": 1200}) as store:
            Ingest(store, incremental=True).run([str(folder)])
            assert (
                store.stats()["chunk_count"],
                store.stats()["embedded_count"],
                spare(store),
            ) == (before, before, 0)


def test_a_transcript_of_another_size_waits_for_its_embeddings_too(
    db_path: str, tmp_path: Path, embedder: TopicEmbedder
) -> None:
    lines = [
        f'{{"type": "user", "message": {{"role": "user", "content": "{"gpu server " * 60}{n}"}}}}'
        for n in range(30)
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n")
    job = {"patterns": ["*.jsonl"], "incremental": True, "everything": True}
    with HybridStore(db_path, embedder=embedder) as store:
        Ingest(store, **job).run([str(tmp_path)])  # type: ignore[arg-type]
        before = store.stats()["chunk_count"]
    with HybridStore(db_path, {"chunk_size": 2000}, embedder=embedder) as store:
        embedder.problem = "down"
        Ingest(store, **job).run([str(tmp_path)])  # type: ignore[arg-type]
        assert (store.stats()["chunk_count"], store.stats()["pending_count"]) == (before, 0)
        embedder.problem = None
        Ingest(store, **job).run([str(tmp_path)])  # type: ignore[arg-type]
        after = store.stats()
        assert after["embedded_count"] == after["chunk_count"] < before


def test_a_refresh_takes_nothing_that_is_kept_for_the_next_model(
    store: HybridStore, notes: Notes, db_path: str
) -> None:
    ingest(store, notes({"a.md": "gpu", "b.md": "dog"}))
    with store.storage.transaction():
        store.storage.embeddings.spare.begin_next({"provider": "x", "model": "y", "dims": 8})
        store.storage.embeddings.spare.put(
            {"provider": "x", "model": "y", "dims": 8}, {b"h": (b"\0" * 32, False)}
        )
    notes({"a.md": "password"})
    refresh(store, embed_seconds=0)
    assert spare(store) == 2  # also what has just left
