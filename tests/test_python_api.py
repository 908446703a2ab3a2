"""Wrong types: what a program may do that uses the library."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.storage.filters import Filters
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh

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
