"""A dump of a database that is restored as another one."""

from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import examine
from hybrid_memory.sync.ingest import Ingest
from tests.conftest import TopicEmbedder
from tests.extras.postgres_server import PostgresServer

pytestmark = pytest.mark.large


def answers(address: str, embedder: TopicEmbedder) -> list[list[tuple[str, float]]]:
    with HybridStore(address, embedder=embedder, create=False) as store:
        assert all(finding.ok for finding in examine(store, thorough=True))
        return [
            [(hit["chunk_id"], hit["score"]) for hit in store.search(query, mode=mode)]
            for query in ("gpu server", "password", "n42", '"server 17"')
            for mode in ("keyword", "vector", "hybrid")
        ]


def test_a_restored_dump_answers_as_before_and_can_be_written(
    postgres: PostgresServer, postgres_path: str, tmp_path: Path, embedder: TopicEmbedder
) -> None:
    for number in range(60):
        (tmp_path / f"n{number}.md").write_text(f"# Note {number}\n\ngpu server {number} dog")
    with HybridStore(postgres_path, embedder=embedder) as store:
        Ingest(store).run([str(tmp_path)])
        store.store("told", "the password is hunter2")
    name = postgres_path.partition("@/")[2].partition("?")[0]
    restored = postgres.restored(name, f"{name}_restored")
    assert answers(restored, embedder) == answers(postgres_path, embedder)
    with HybridStore(restored, embedder=embedder) as store:
        store.store("after", "a kettle")
        assert [hit["doc_id"] for hit in store.search("kettle", mode="keyword")] == ["after"]
        assert Ingest(store, incremental=True).update().skipped == 60
    postgres.drop(f"{name}_restored")
