"""The list of documents."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.lists import documents
from hybrid_memory.documents.document import Document
from hybrid_memory.storage.filters import Filters
from hybrid_memory.sync.ingest import Ingest
from tests.conftest import TopicEmbedder

Notes = Callable[[dict[str, str | bytes]], Path]


def test_what_is_told_of_a_document(store: HybridStore, notes: Notes) -> None:
    folder = notes({"2026-01-05.md": "gpu server\n\n# Two\n\ndög"})
    os.utime(folder / "2026-01-05.md", (1e9, 1e9))
    Ingest(store).run([str(folder)])
    [told] = documents(store)["documents"]
    indexed_at = told.pop("indexed_at")
    assert told == {
        "doc_id": "memory/2026-01-05.md",
        "collection": "memory",
        "date": "2026-01-05",
        "path": str(folder / "2026-01-05.md"),
        "chunks": 2,
        "pending": 0,
        "size": 23,
        "modified": "2001-09-09T01:46:40Z",
    }
    expected = "select strftime('%Y-%m-%dT%H:%M:%SZ', indexed_at, 'unixepoch') from documents"
    assert indexed_at == store.storage.connection.execute(expected).fetchone()[0]
    assert indexed_at.endswith("Z")


def test_newest_date_first_and_those_without_one_last(store: HybridStore) -> None:
    for doc_id in ("b", "2025-12-31", "a", "2026-01-05"):
        with store.storage.transaction():
            store.storage.documents.put(store.prepare(Document(doc_id, "dög", {})))
    answer = documents(store)
    assert [document["doc_id"] for document in answer["documents"]] == [
        "2026-01-05",
        "2025-12-31",
        "a",
        "b",
    ]
    assert {
        (document["path"], document["collection"], document["size"])
        for document in answer["documents"]
    } == {(None, None, 4)}
    some = documents(store, limit=2)
    assert (some["total"], some["documents"]) == (4, answer["documents"][:2])


def test_chunks_without_an_embedding_are_pending(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("a", "gpu")
    embedder.problem = "down"
    store.store("b", "dog\n\n# Two\n\ncat")
    assert [(d["doc_id"], d["chunks"], d["pending"]) for d in documents(store)["documents"]] == [
        ("a", 1, 0),
        ("b", 2, 2),
    ]


def test_empty_store_and_names_that_are_not_unicode(store: HybridStore, notes: Notes) -> None:
    assert documents(store) == {"total": 0, "documents": []}
    folder = notes({"a.md": "x"})
    os.rename(folder / "a.md", folder / os.fsdecode(b"\xe9.md"))
    Ingest(store).run([str(folder)])
    [document] = documents(store)["documents"]
    assert document["path"] == str(folder / os.fsdecode(b"\xe9.md"))


def test_filters_are_those_of_a_search(store: HybridStore, notes: Notes) -> None:
    folder = notes(
        {
            "2026-01-05.md": "gpu",
            "people/ann.md": "---\ntags: [vip]\n---\ngpu of ann",
            "people/bob.md": "gpu of bob",
        }
    )
    Ingest(store).run([str(folder)])
    store.store("2025-12-31", "old gpu", {"owner": "ann"})
    cases = [
        (
            Filters(collection="memory"),
            ["memory/2026-01-05.md", "memory/people/ann.md", "memory/people/bob.md"],
        ),
        (Filters(inside="memory/people/"), ["memory/people/ann.md", "memory/people/bob.md"]),
        (Filters(inside="memory/people"), ["memory/people/ann.md", "memory/people/bob.md"]),
        (Filters(inside="memory/people/a*"), ["memory/people/ann.md"]),
        (Filters(inside="memory/peop"), []),
        (Filters(tags=("vip",)), ["memory/people/ann.md"]),
        (Filters(where={"owner": "ann"}), ["2025-12-31"]),
        (Filters(since="2026-01"), ["memory/2026-01-05.md"]),
        (Filters(until="2025-12"), ["2025-12-31"]),
        (Filters(collection="none"), []),
    ]
    for filters, expected in cases:
        answer = documents(store, filters=filters)
        assert ([document["doc_id"] for document in answer["documents"]], answer["total"]) == (
            expected,
            len(expected),
        ), filters
        assert {hit["doc_id"] for hit in store.search("gpu", filters=filters)} == set(expected)
    assert documents(store, filters=Filters(collection="memory"), limit=1)["total"] == 3
    with pytest.raises(ValueError, match="'soon' is not a date"):
        documents(store, filters=Filters(since="soon"))


def test_limit_must_be_positive(store: HybridStore) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        documents(store, limit=0)
