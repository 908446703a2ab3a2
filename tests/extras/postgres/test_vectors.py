"""The HNSW index: created for enough embeddings, and as good as comparing all of them."""

import random
from collections.abc import Iterator

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.postgres import connection, selection
from hybrid_memory.extras.postgres import vectors as index
from hybrid_memory.storage.encoding import encode_embedding
from hybrid_memory.storage.filters import Filters
from tests.conftest import TopicEmbedder

pytestmark = pytest.mark.large

DIMS = 8


@pytest.fixture
def engine() -> str:
    return "postgres"


def vector(rng: random.Random) -> list[float]:
    return [rng.gauss(0, 1) for _ in range(DIMS)]


@pytest.fixture
def crowd(db_path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[HybridStore]:
    """Enough embeddings for an index, half of them in the folder `even`."""
    monkeypatch.setattr(index, "WORTH_AN_INDEX", 300)
    monkeypatch.setattr(selection, "LISTED", 50)
    rng = random.Random(3)
    with HybridStore(db_path, embedder=TopicEmbedder()) as store:
        store.store("first", "gpu")
        for start in range(0, 600, 100):
            prepared = [
                store.prepare(Document(f"{'odd' if n % 2 else 'even'}/{n}", f"text {n}", {}))
                for n in range(start, start + 100)
            ]
            vectors = {
                key: (encode_embedding(vector(rng)), False)
                for each in prepared
                for key in each.texts
            }
            with store.storage.transaction():
                store.storage.documents.put_all(prepared, vectors)
        with store.storage.transaction():
            store.storage.embeddings.restore()  # as at the end of an ingest
        yield store


def is_indexed(store: HybridStore) -> bool:
    row = store.storage.connection.one(index.IS_INDEXED, {"name": index.INDEX.format(dims=DIMS)})  # type: ignore[attr-defined]
    return bool(row[0])


def plan(store: HybridStore) -> str:
    given = {"space": 1, "query": [0.1] * DIMS, "limit": 10, "proposed": 200}
    store.storage.connection.execute("set enable_seqscan = off")  # type: ignore[attr-defined]
    statement = index.PROPOSE.format(dims=DIMS, rows="", cosine=index.COSINE.format(dims=DIMS))
    return str(store.storage.connection.all(f"explain {statement}", given))  # type: ignore[attr-defined]


def test_an_index_is_made_once_there_are_enough_embeddings(crowd: HybridStore) -> None:
    assert is_indexed(crowd)
    assert index.INDEX.format(dims=DIMS) in plan(crowd)


@pytest.mark.parametrize("filters", [None, Filters(inside="even/*"), Filters(inside="even/1*")])
def test_what_it_finds_is_what_comparing_every_embedding_finds(
    crowd: HybridStore, filters: Filters | None
) -> None:
    rng = random.Random(5)
    plan(crowd)
    alike = 0
    for _ in range(20):
        query = vector(rng)
        with crowd.storage.snapshot(), crowd.storage.selection(filters or Filters()) as chosen:
            vectors = crowd.storage.vectors(chosen)
            found, exact = vectors.nearest(query, 10), vectors.nearest(query, 10, exact=True)
        assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))
        alike += len(dict(found).keys() & dict(exact).keys())
        if filters:
            assert all(
                row[1].startswith("even/")
                for row in crowd.storage.chunks.candidates([id for id, _ in found])
            )
    assert alike >= 0.99 * 200


def test_a_filter_of_which_the_index_finds_too_little_is_searched_in_full(
    crowd: HybridStore,
) -> None:
    plan(crowd)
    connection = crowd.storage.connection  # type: ignore[attr-defined]
    connection.execute("set hnsw.ef_search = 10")
    connection.execute("set hnsw.iterative_scan = off")  # as where it gives up
    with crowd.storage.snapshot(), crowd.storage.selection(Filters(inside="even/*")) as chosen:
        vectors = crowd.storage.vectors(chosen)
        found, exact = (
            vectors.nearest([0.1] * DIMS, 40),
            vectors.nearest([0.1] * DIMS, 40, exact=True),
        )
    assert len(exact) == 40
    assert found == exact


def test_the_doctor_tells_of_a_missing_index_and_reindex_makes_it(
    crowd: HybridStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_memory.extras.postgres.checks.WORTH_AN_INDEX", 300)
    crowd.storage.connection.execute(f"drop index {index.INDEX.format(dims=DIMS)}")  # type: ignore[attr-defined]
    assert any(
        "601 embeddings have no HNSW index; `hybrid-memory reindex`" in finding.text
        for finding in examine(crowd)
    )
    assert crowd.reindex() == 601
    assert is_indexed(crowd)


def test_more_candidates_are_looked_at_where_the_index_is_large(
    crowd: HybridStore, db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def candidates() -> str:
        with HybridStore(db_path, embedder=TopicEmbedder()) as store:
            return str(store.storage.connection.one("show hnsw.ef_search")[0])  # type: ignore[attr-defined]

    crowd.storage.connection.execute("analyze chunks")  # type: ignore[attr-defined]
    assert candidates() == "400"
    monkeypatch.setattr(connection, "LARGE", 600)
    assert candidates() == "1000"
