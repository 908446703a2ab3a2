"""Equal notes give equal answers, whatever order they came in and whatever was there before."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.search.request import Request
from hybrid_memory.storage.filters import Filters
from hybrid_memory.storage.rows import best_first, best_of
from tests.conftest import TopicEmbedder
from tests.storage.test_filters import write

TODAY = date(2026, 3, 1)
WORDS = "alder birch cedar elm fir hazel larch maple oak pine rowan willow".split()
SIGNS = "→ ✓ 🎉".split()
History = Callable[[HybridStore, dict[str, str]], None]


def notes() -> dict[str, str]:
    """Many passages that are as good as many others for any query."""
    chance = random.Random(2)
    found = {}
    for number in range(30):
        sections = [
            f"# {chance.choice(WORDS)}\n\n"
            f"{chance.choice(('valve', 'wire', 'lamp'))} {' '.join(chance.choices(WORDS, k=19))}"
            for _ in range(6)
        ]
        found[f"n{number:02}.md"] = "\n\n".join(sections)
    for number in range(70):
        found[f"same{number % 9}/{number}/README.md"] = "a gpu server of the lab"
        found[f"sign{number}"] = f"{chance.choice(SIGNS)} {number % 2}"
        found[f"tagged{number}"] = f"---\ntags: [t{number % 3}]\n---\nthe dog and the cat"
    return found


def in_order(store: HybridStore, texts: dict[str, str]) -> None:
    write(store, [Document(doc_id, text, {}) for doc_id, text in texts.items()])


def backwards(store: HybridStore, texts: dict[str, str]) -> None:
    in_order(store, dict(reversed(texts.items())))


def with_a_past(store: HybridStore, texts: dict[str, str]) -> None:
    """Stored in another order, with other texts before, some deleted and stored again."""
    chance = random.Random(7)
    shuffled = chance.sample(list(texts.items()), len(texts))
    in_order(store, {doc_id: f"{text} and more" for doc_id, text in shuffled[::3]})
    in_order(store, dict(shuffled))
    for doc_id, _ in shuffled[::7]:
        store.delete(doc_id)
    in_order(store, dict(shuffled[::7]))


REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a word": ("wire", {}),
    "two words": ("valve birch", {}),
    "a phrase": ('"wire oak"', {}),
    "many equal notes": ("gpu server", {}),
    "a name of many notes": ("README.md", {}),
    "signs": ("→ ✓", {}),
    "a misspelt word": ("vallve", {}),
    "a typed beginning": ("wi", {"typed": True}),
    "an expression": ("wire OR lamp", {"fts_syntax": True}),
    "a broad filter": ("dog", {"filters": Filters(tags=["t1"])}),
    "a narrow filter": ("wire", {"filters": Filters(inside="n0*")}),
    "every vector": ("puppy server", {"exact": True}),
}


@pytest.fixture
def stores(engine: str, db_path: str, tmp_path: Path) -> Iterator[list[HybridStore]]:
    """The same texts, with three histories."""
    with ExitStack() as stack:
        opened = []
        for number, history in enumerate([in_order, backwards, with_a_past]):
            path, config = str(tmp_path / f"{number}.db"), {}
            if engine == "postgres":
                path, config = db_path, {"space": f"s{number}"}
            store = stack.enter_context(HybridStore(path, config, embedder=TopicEmbedder()))
            history(store, notes())
            opened.append(store)
        yield opened


def untimed(results: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Results without the time at which their texts were stored."""
    return [{**result, "modified": None} for result in results]


@pytest.mark.both_engines
def test_answers_do_not_depend_on_the_history(stores: list[HybridStore], engine: str) -> None:
    for mode, limit in (("keyword", 70), ("vector", 5), ("hybrid", 5), ("hybrid", 70)):
        for name, (query, options) in REQUESTS.items():
            if engine == "postgres" and "fts_syntax" in options:
                continue
            request: dict[str, Any] = {"mode": mode, "explain": True, "today": TODAY, **options}
            answers = [store.answer(query, Request(limit, **request)) for store in stores]
            first, *others = [(untimed(answer.results), answer.warnings) for answer in answers]
            for other in others:
                assert other == first, (name, mode, limit)


@pytest.mark.parametrize("total", [0, 1, 59, 60, 61, 119, 120, 121, 5000])
def test_all_that_are_as_good_as_the_last_one_are_read(total: int) -> None:
    chance = random.Random(total)
    ids = chance.sample(range(total), total)
    for tied in (1, 2, 61, 4000):
        hits = [(id, float(-(place // tied))) for place, id in enumerate(ids)]
        best = best_of(lambda most, hits=hits: hits[:most], 60, sorted)
        complete = best_first(hits, sorted)
        assert best == [hit for hit in complete if hit[1] >= complete[:60][-1][1]], tied
