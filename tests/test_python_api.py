"""Wrong types, and embedders that raise: what a program may do that uses the library."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import examine
from hybrid_memory.storage.filters import Filters
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.conftest import TopicEmbedder

Notes = Callable[..., Path]


@pytest.fixture
def tagged(store: HybridStore) -> HybridStore:
    store.store("a", "---\ntags: [gpu]\nowner: ann\n---\nthe gpu server")
    return store


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tags": "gpu"}, "tags: 'gpu' is not a list of texts"),
        ({"tags": [1]}, "tags: 1 is not a text"),
        ({"tags": 5}, "tags: 5 is not a list of texts"),
        ({"where": "owner=ann"}, "where: 'owner=ann' does not have values by key"),
        ({"where": ["owner=ann"]}, r"where: \['owner=ann'\] does not have values by key"),
        ({"collection": ["a"]}, r"collection: \['a'\] is not a text"),
        ({"inside": ["a"]}, r"inside: \['a'\] is not a text"),
        ({"heading": ["a"]}, r"heading: \['a'\] is not a text"),
        ({"linked_to": 1}, "linked_to: 1 is not a text"),
        ({"filters": {"tags": ["gpu"]}}, "filters: .* is not a hybrid_memory.*Filters"),
        ({"filters": Filters(tags="gpu")}, "tags: 'gpu' is not a list of texts"),
        ({"filters": Filters(tags="gpu"), "since": "7d"}, "tags: 'gpu' is not a list"),
        ({"filters": Filters(where="owner=ann")}, "where: .* does not have values"),  # type: ignore[arg-type]
    ],
)
def test_a_filter_of_another_type_is_a_type_error(
    tagged: HybridStore, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        tagged.search("gpu", **options)
    assert tagged.warnings == []


@pytest.mark.parametrize(
    "options",
    [
        {"tags": ["gpu"]},
        {"tags": ("gpu",)},
        {"tags": {"gpu"}},
        {"tags": []},
        {"where": {"owner": "ann"}},
        {"where": {"owner": ("ann",)}},
        {"filters": Filters(tags=["gpu"]), "where": {"owner": ["ann"]}},
    ],
)
def test_filters_of_the_right_type_are_taken(tagged: HybridStore, options: dict[str, Any]) -> None:
    assert [hit["doc_id"] for hit in tagged.search("gpu", **options)] == ["a"]


def test_one_path_or_pattern_is_no_list_of_letters(store: HybridStore, notes: Notes) -> None:
    folder = str(notes({"a.md": "gpu"}))
    with pytest.raises(TypeError, match="paths: '.*' is not a list of paths"):
        Ingest(store).run(folder)
    for option in ("patterns", "exclude"):
        with pytest.raises(TypeError, match=rf"{option}: '\*.md' is not a list of texts"):
            Ingest(store, **{option: "*.md"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="paths: '.*' is not a list of paths"):
        refresh(store, paths=folder)
    assert store.stats()["doc_count"] == 0


# An embedder that raises


class Raising(TopicEmbedder):
    """Raises what it is told to, in the methods that it is told."""

    error: Exception | None = None
    where: Sequence[str] = ("embed", "embed_batch", "dims", "is_available")

    def _may_raise(self, method: str) -> None:
        if self.error and method in self.where:
            raise self.error

    def embed(self, text: str) -> list[float]:
        self._may_raise("embed")
        return super().embed(text)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        self._may_raise("embed_batch")
        return super().embed_batch(texts)

    def dims(self) -> int:
        self._may_raise("dims")
        return super().dims()

    def is_available(self) -> bool:
        self._may_raise("is_available")
        return super().is_available()


class Complete(Raising):
    """The same, with everything that an embedder may offer."""

    wanted_dims = None
    is_final = True

    def embed_batch(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        return super().embed_batch(texts)

    def fingerprint(self) -> str | None:
        self._may_raise("is_available")
        return None

    def close(self) -> None:
        self._may_raise("is_available")


ERRORS = [ConnectionError("connection refused\nby the host"), KeyError("data"), MemoryError()]
SAID = [
    "the embedder toy topics: ConnectionError: connection refused by the host",
    "the embedder toy topics: KeyError: 'data'",
    "the embedder toy topics: MemoryError",
]


@pytest.mark.parametrize(("error", "said"), list(zip(ERRORS, SAID, strict=True)))
@pytest.mark.parametrize("kind", [Raising, Complete])
def test_what_an_embedder_raises_costs_an_embedding_and_no_text(
    db_path: str, notes: Notes, kind: type[Raising], error: Exception, said: str
) -> None:
    embedder = kind()
    embedder.error = error
    with HybridStore(db_path, embedder=embedder) as store:
        assert store.store("note", "the gpu server") == 1
        assert store.warnings == [said]
        report = Ingest(store).run([str(notes({"a.md": "a server", "b.md": "a dog"}))])
        assert (report.files, report.pending, report.errors) == (2, 3, [])
        assert report.embedding_problems[0].startswith(said)
        assert refresh(store).errors == []
        assert {hit["doc_id"] for hit in store.search("server")} == {"note", "memory/a.md"}
        assert [finding.check for finding in examine(store) if finding.ok is False] == [
            "embedder",
            "embeddings",
        ]
        embedder.error = None
        assert Ingest(store, incremental=True).update().pending == 0
        assert store.stats()["embedded_count"] == 3
        embedder.error = error
        store.warnings.clear()
        assert [hit["source"] for hit in store.search("server")] == ["keyword"] * 2
        assert store.warnings == [f"{said}; meanwhile, searches answer by keyword"]
        assert store.search("server", mode="vector") == []


class Odd(TopicEmbedder):
    """Gives what is told instead of vectors."""

    batch: Any = None
    vector: Any = None

    def embed(self, text: str) -> list[float]:
        return self.vector if self.vector is not None else super().embed(text)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        return self.batch if self.batch is not None else super().embed_batch(texts)


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ([], "ValueError: 0 vectors for 1 texts"),
        ([[1.0], [2.0]], "ValueError: 2 vectors for 1 texts"),
        (5, "TypeError: 'int' object is not iterable"),
        (["ab"], "ValueError: could not convert string to float"),
        ([None], ""),
        ([[float("nan")] * 8], ""),
    ],
)
def test_what_is_no_vector_is_none(db_path: str, batch: Any, said: str) -> None:
    embedder = Odd()
    embedder.batch = batch
    with HybridStore(db_path, embedder=embedder) as store:
        assert store.store("note", "the gpu server") == 1
        assert store.stats()["pending_count"] == 1
        assert said in "".join(store.warnings)
        embedder.batch = None
        assert store.embed().fits
        embedder.vector = ["x"]
        assert [hit["source"] for hit in store.search("server")] == ["keyword"]


def test_vectors_of_several_dimensions_are_none(db_path: str, notes: Notes) -> None:
    embedder = Odd()
    embedder.batch = [[1.0, 0.0], [1.0]]
    with HybridStore(db_path, embedder=embedder) as store:
        report = Ingest(store).run([str(notes({"a.md": "gpu", "b.md": "dog"}))])
        assert report.embedding_problems[0].endswith("vectors of 1 and of 2 dimensions")
        assert report.pending == 2


def test_arrays_of_a_library_are_vectors(db_path: str) -> None:
    numpy = pytest.importorskip("numpy")

    class Arrays(TopicEmbedder):
        def embed(self, text: str) -> Any:
            return numpy.array(super().embed(text), "f4")

        def embed_batch(self, texts: Sequence[str]) -> Any:
            return numpy.array(super().embed_batch(texts), "f4")

    with HybridStore(db_path, embedder=Arrays()) as store:
        store.store("note", "the gpu server")
        assert store.search("server", mode="vector")[0]["doc_id"] == "note"
        assert store.warnings == []


def test_a_report_shows_what_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("A note.")
    with HybridStore(":memory:", {"provider": "none"}) as store:
        report = Ingest(store).run([str(tmp_path / "notes")])
        assert repr(report) == "Report(files=1, chunks=1, pending=1, is_complete=True)"
        assert repr(Ingest(store).run([str(tmp_path / "notes")])).startswith("Report(")
