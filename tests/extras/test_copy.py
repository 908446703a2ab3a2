import json
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.browse.passage import read
from hybrid_memory.extras.copy import copy
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.postgres import database as here
from hybrid_memory.extras.postgres import vectors
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run
from tests.conftest import TopicEmbedder

pytestmark = pytest.mark.large


@pytest.fixture
def filled(tmp_path: Path, embedder: TopicEmbedder) -> Iterator[HybridStore]:
    """A SQLite file with a folder of notes and a text."""
    folder = tmp_path / "memory"
    folder.mkdir()
    for number in range(150):
        (folder / f"n{number}.md").write_text(
            f"---\ntags: [t{number % 3}]\n---\n# Note {number}\n\nserver {number} "
            + "gpu dog cat " * (number % 9)
        )
    with HybridStore(tmp_path / "from.db", embedder=embedder) as store:
        Ingest(store).run([str(folder)])
        store.store("told", "the password is hunter2")
        yield store


def answers(store: HybridStore) -> list[list[tuple[str, float]]]:
    """Of either leg, since the scores of both together depend on which chunks are a sample of the store."""
    return [
        [(hit["chunk_id"], round(hit["score"], 5)) for hit in store.search(query, mode=mode)]
        for query in ("gpu server 17", "password", "n42", "dog cat")
        for mode in ("keyword", "vector")
    ]


def embeddings_of(store: HybridStore) -> "dict[str, array[float]]":
    documents = [*(f"memory/n{number}.md" for number in range(150)), "told"]
    ids = [id for doc_id in documents for id in store.storage.chunks.at(doc_id)]
    index = store.storage.vectors()
    rows = store.storage.chunks.rows(ids)
    return {row.chunk_id: array("f", index.of(id) or ()) for id, row in rows.items()}


def test_a_copy_there_and_back_answers_the_same(
    filled: HybridStore, postgres_path: str, tmp_path: Path, embedder: TopicEmbedder
) -> None:
    with HybridStore(postgres_path, embedder=embedder) as there:
        assert copy(filled, there) == {
            "documents": 151,
            "chunks": 151,
            "embeddings": 151,
            "written": 151,
            "warnings": [],
        }
        assert answers(there) == answers(filled)
        assert there.storage.embeddings.identity() == filled.storage.embeddings.identity()
        assert all(finding.ok for finding in examine(there, thorough=True))
        assert Ingest(there, incremental=True).update().skipped == 150
        with HybridStore(tmp_path / "back.db", embedder=embedder) as back:
            assert copy(there, back)["written"] == 151
            assert answers(back) == answers(filled)
            assert embeddings_of(back) == embeddings_of(filled) == embeddings_of(there)
            assert len(embeddings_of(back)) == 151
            assert read(back, "told")["text"] == "the password is hunter2"
            assert back.storage.sources.all() == filled.storage.sources.all()


def test_a_copy_has_its_vector_index_once_all_is_there(
    filled: HybridStore,
    postgres_path: str,
    embedder: TopicEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectors, "WORTH_AN_INDEX", 100)
    made = []
    with HybridStore(postgres_path, embedder=embedder) as there:
        is_made = "select exists (select from pg_class where relname like 'chunks_near%')"
        copy(filled, there, lambda _: made.append(there.storage.connection.one(is_made)[0]))  # type: ignore[attr-defined]
        assert not any(made[:3])  # while documents are written
        assert made[-1]


def test_a_copy_that_was_interrupted_goes_on(
    filled: HybridStore, postgres_path: str, embedder: TopicEmbedder
) -> None:
    def interrupted(progress: object) -> None:
        raise KeyboardInterrupt

    with HybridStore(postgres_path, embedder=embedder) as there:
        with pytest.raises(KeyboardInterrupt):
            copy(filled, there, interrupted)
        assert 0 < there.stats()["doc_count"] < 151
        assert 0 < copy(filled, there)["written"] < 151
        assert copy(filled, there) == {
            "documents": 151,
            "chunks": 151,
            "embeddings": 151,
            "written": 0,
            "warnings": [],
        }
        filled.store("told", "the secret is hunter3")
        assert copy(filled, there)["written"] == 1
        assert answers(there) == answers(filled)


def test_embeddings_of_two_models_are_not_mixed(filled: HybridStore, postgres_path: str) -> None:
    other = TopicEmbedder()
    other.model = "another"  # type: ignore[misc]
    with HybridStore(postgres_path, embedder=other) as there:
        there.store("a", "gpu")
        with pytest.raises(StoreError, match="copy to a new store"):
            copy(filled, there)
        assert there.stats()["doc_count"] == 1


def test_a_file_of_another_host_becomes_a_text(
    filled: HybridStore,
    postgres_path: str,
    tmp_path: Path,
    embedder: TopicEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with HybridStore(postgres_path, embedder=embedder) as there:
        copy(filled, there)
    assert here.here() != "ann@elsewhere"
    for module in ("database", "documents", "catalog"):
        monkeypatch.setattr(f"hybrid_memory.extras.postgres.{module}.here", lambda: "ann@elsewhere")
    with (
        HybridStore(postgres_path, embedder=embedder) as there,
        HybridStore(tmp_path / "back.db", embedder=embedder) as back,
    ):
        assert copy(there, back)["documents"] == 151
        assert read(back, "memory/n3.md")["text"].endswith(
            "# Note 3\n\nserver 3 gpu dog cat gpu dog cat gpu dog cat"
        )
        assert back.storage.sources.all() == []


def test_the_command_copies_a_space(
    filled: HybridStore, postgres_path: str, run: Run, tmp_path: Path
) -> None:
    done = run("copy", str(tmp_path / "from.db"), postgres_path, "--space", "team")
    assert (done.returncode, json.loads(done.stdout)["documents"]) == (0, 151)
    assert (
        json.loads(run("--db", postgres_path, "--space", "team", "stats").stdout)["doc_count"]
        == 151
    )
    assert run("copy", str(tmp_path / "missing.db"), postgres_path).returncode == 1
