"""Every benchmark runs with tiny inputs and says its results in one form; the page's tables and plots are those of the results."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    monkeypatch.setenv(
        "PYTHONDONTWRITEBYTECODE", "1"
    )  # which `common` takes away; this puts it back
    return pytest.importorskip(request.param)


@pytest.mark.parametrize("module", ["report"], indirect=True)
def test_tables_and_plots_are_made_of_the_results(module: ModuleType) -> None:
    for path, text in module.made().items():
        assert path.read_text("utf-8") == text, (
            f"uv run benchmarks/report.py writes {path.name} anew"
        )


@pytest.mark.parametrize("module", ["report"], indirect=True)
def test_every_table_of_the_results_has_its_place_in_the_page(module: ModuleType) -> None:
    page = module.PAGE.read_text("utf-8")
    assert [name for name in module.TABLES if f"<!-- {name} -->" not in page] == []
    assert [name for name in module.PLOTS if f"](measurements/{name}.svg)" not in page] == []


@pytest.mark.parametrize("module", ["notes"], indirect=True)
def test_a_made_up_note_depends_on_its_number_alone(module: ModuleType, tmp_path: Path) -> None:
    module.write(tmp_path, 3)
    assert (tmp_path / module.path(2)).read_text("utf-8") == module.Writer(2).note()
    assert module.Writer(1).note() != module.Writer(2).note()
    asked = module.queries(5, 3)
    assert len(set(asked)) == 5
    assert asked == module.queries(5, 3)


@pytest.mark.parametrize("module", ["all"], indirect=True)
@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([], "no rows"),
        ([{"a": 1, "ms": 2.0}, {"ms": 2.0}], "labels"),
        ([{"a": 1, "ms": 2.0}, {"a": 1, "ms": 3.0}], "same"),
        ([{"a": 1, "ms": float("nan")}], "no number"),
        ([{"a": 1}], "no number"),
    ],
)
def test_results_in_another_form_are_a_failure(
    module: ModuleType, rows: list[dict[str, object]], wrong: str
) -> None:
    assert wrong in module.problem({"labels": ["a"], "rows": rows})
    assert (
        module.problem({"labels": ["a"], "rows": [{"a": 1, "ms": 2.0}, {"a": 2, "ms": 0}]}) is None
    )


@pytest.mark.large
@pytest.mark.skipif(not (BENCHMARKS.parent / ".git").exists(), reason="there is no repository")
def test_a_benchmark_compares_with_another_revision() -> None:
    command = [
        sys.executable,
        str(BENCHMARKS / "size.py"),
        "--small",
        "--json",
        "--against",
        "HEAD",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    answer = json.loads(done.stdout)
    assert answer["against"]["revision"] == "HEAD"
    assert [row["name"] for row in answer["ratios"]] == [row["name"] for row in answer["rows"]]
    assert all(row["mb"] > 0 for row in answer["ratios"])
    assert answer["machine"]["cores"] >= 1
