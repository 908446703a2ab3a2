"""A few cases of each kind of `benchmarks/fuzz.py`, which tries any number of them."""

import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    return pytest.importorskip(request.param)


@pytest.mark.parametrize(
    ("fuzz", "count"),
    [("fuzz_queries", 100), ("fuzz_databases", 8), ("fuzz_documents", 6)],
    indirect=["fuzz"],
)
def test_hostile_input_is_answered_or_refused(fuzz: ModuleType, count: int, tmp_path: Path) -> None:
    for number in range(count):
        fuzz.check(fuzz.make(random.Random(f"test:{number}")), tmp_path)
