"""Every benchmark runs with tiny inputs and says its results in one form; the page's tables and plots are those of the results."""

import json
import os
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


@pytest.mark.parametrize("module", ["real_notes"], indirect=True)
def test_a_question_about_real_notes_quotes_only_a_few_words_of_them(module: ModuleType) -> None:
    rows = [json.loads(line) for line in module.QUESTIONS.read_text("utf-8").splitlines()]
    questions = [row for row in rows if "id" in row]
    assert len({row["id"] for row in questions}) == len(questions)
    assert {row["source"] for row in questions} == {
        row["source"] for row in rows if "repository" in row
    }
    answers = [answer for row in questions for answer in row["answers"] or []]
    assert max(len(answer["needle"]) for answer in answers) <= 60
    assert {row["answers"] is None for row in questions} == {True, False}
    assert [] not in [row["answers"] for row in questions]


@pytest.mark.parametrize("module", ["real_notes"], indirect=True)
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# Ports\nSSH on 60022\n", None),
        ("# Ports\n\nSSH on 60022\n", "line 2 does not contain 'SSH on 60022'"),
        ("# Ports\n", "line 2 does not contain 'SSH on 60022'"),
        (None, "ports.md does not exist"),
    ],
)
def test_notes_that_are_not_those_of_the_questions_are_refused(
    module: ModuleType, tmp_path: Path, text: str | None, problem: str | None
) -> None:
    if text is not None:
        (tmp_path / "ports.md").write_text(text, "utf-8")
    answer = module.Answer("ports.md", "SSH on 60022", 2)
    questions = [module.Question("a", "ssh port", [answer], [])]
    if problem is None:
        module.check(tmp_path, questions, "x/y at 1f")
    else:
        with pytest.raises(SystemExit, match=rf"{problem}.* x/y at 1f"):
            module.check(tmp_path, questions, "x/y at 1f")


@pytest.mark.parametrize("module", ["real_notes"], indirect=True)
def test_a_right_passage_has_the_words_and_is_from_the_file(module: ModuleType) -> None:
    question = module.Question("a", "ssh port", [module.Answer("ports.md", "SSH on 60022", 2)], [])
    right = module.Passage("ports.md", "# Ports\n\nSSH on\n60022", "some")
    other_file = right._replace(file="hosts.md")
    other_part = right._replace(text="# Ports\n\nHTTP on 80", match="strong")
    ranks = [
        (found.rank, found.is_document_first)
        for found in (
            module.outcome(question, passages)
            for passages in ([right], [other_part, other_file, right], [other_file], [])
        )
    ]
    assert ranks == [(1, True), (3, True), (0, False), (0, False)]


@pytest.mark.parametrize("module", ["real_notes"], indirect=True)
def test_confidence_is_counted_apart_for_what_nobody_noted(module: ModuleType) -> None:
    outcomes = [
        module.Outcome(1, True, "strong", True),
        module.Outcome(0, False, "strong", True),
        module.Outcome(2, True, "some", True),
        module.Outcome(0, False, "strong", False),
        module.Outcome(0, False, "faint", False),
    ]
    assert module.figures(outcomes) == {
        "questions": 3,
        "passage_first": 1,
        "passage_mrr": 0.5,
        "document_first": 2,
        "strong": 2,
        "strong_and_right": 1,
        "unanswered": 2,
        "unanswered_strong": 1,
    }


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


# A benchmark of the package that it imports: the number of its modules, and whether it is this one
COUNTING = """
from pathlib import Path

import common
import hybrid_memory

def measure(args):
    package = Path(hybrid_memory.__file__).parent
    yield {
        "name": "package",
        "modules": len([*package.rglob("*.py")]),
        "this": int(package.parent == common.CHECKOUT),
    }

common.run("Count modules.", "name", measure)
"""


@pytest.mark.large
@pytest.mark.skipif(not (BENCHMARKS.parent / ".git").exists(), reason="there is no repository")
def test_a_benchmark_compares_with_another_revision(tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    command = [sys.executable, "counting.py", "--json", "--against", "HEAD", "--rounds", "1"]
    environ = os.environ | {"PYTHONPATH": str(BENCHMARKS)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300
    )
    answer = json.loads(done.stdout)
    [row], [other], [ratio] = (answer["rows"], answer["against"]["rows"], answer["ratios"])
    assert answer["against"]["revision"] == "HEAD"
    assert (row["this"], other["this"]) == (1, 0)
    assert ratio["name"] == "package"
    assert ratio["modules"] == pytest.approx(other["modules"] / row["modules"])
    assert answer["machine"]["cores"] >= 1
