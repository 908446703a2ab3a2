"""A search has one answer: a few random queries and options on all surfaces; `benchmarks/one_answer.py` tries more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.extras import surfaces
from tests.extras.surfaces import QUERIES, Surfaces, choices


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    with surfaces.surfaces(Path(tmp_path_factory.mktemp("surfaces"))) as memory:
        yield memory


@settings(derandomize=True, max_examples=25)
@given(query=QUERIES, chosen=choices())
def test_every_surface_gives_the_same_answer(
    memory: Surfaces, query: str, chosen: dict[str, list[str]]
) -> None:
    memory.check(query, chosen)
