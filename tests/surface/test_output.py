import json
import os
from pathlib import Path

import pytest

from tests.command import Run, in_terminal

ESCAPES = "gpu \033[31mred\033[0m \033]0;title\007 \u202eturned \x9b2J bell\a del\x7f"
FORBIDDEN = ["\033", "\007", "\x7f", "\x9b", "\u202e"]


@pytest.fixture
def search(run: Run, folder: Path) -> Run:
    """`search` over two files and a stored text."""
    (folder / "pi.md").write_text("# Raspberry Pi\n\n```\ngpu_mem = 16\n    indented\n```\n\nIts password is the GPU server's.\n")
    run("ingest", "--path", str(folder), "--provider", "none")
    run("store", "--doc-id", "kept", "--text", "A gpu password in a stored text.", "--provider", "none")
    return lambda *args: run("search", "gpu password", "--provider", "none", *args)


def test_json_is_one_document_and_jsonl_its_results_a_line_each(search: Run) -> None:
    results = json.loads(search("--format", "json").stdout)
    assert len(results) == 3
    assert results == json.loads(search("--json").stdout) == json.loads(search().stdout)
    lines = search("--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == results


def test_paths_are_the_files_best_first_each_once(search: Run, folder: Path) -> None:
    results = json.loads(search("--json").stdout)
    paths = search("--format", "paths").stdout.splitlines()
    assert paths == list(dict.fromkeys(result["path"] or result["doc_id"] for result in results))
    assert sorted(paths) == sorted([str(folder / "2026-01-05.md"), str(folder / "pi.md"), "kept"])


def test_paths_name_a_file_of_several_results_once(run: Run, folder: Path) -> None:
    (folder / "pi.md").write_text("# One\n\ngpu one\n\n# Two\n\ngpu two\n")
    run("ingest", "--path", str(folder / "pi.md"), "--provider", "none")
    done = run("search", "gpu", "--format", "paths", "--provider", "none")
    assert done.stdout == f"{folder / 'pi.md'}\n"


def test_markdown_quotes_the_texts_as_they_stand_under_their_citations(search: Run) -> None:
    shown = search("--format", "md").stdout
    assert "**memory/pi.md#L1-L8** (Raspberry Pi), score 0." in shown
    quoted = "> # Raspberry Pi\n>\n> ```\n> gpu_mem = 16\n>     indented\n> ```\n>\n> Its password is the GPU server's.\n"
    assert quoted in shown
    assert "**kept#L1-L1**, score" in shown
    for line in shown.splitlines():
        assert not line or line.startswith(("**", "> ")) or line == ">"


def test_text_shows_place_score_and_the_passage_with_its_words_marked(search: Run) -> None:
    shown = search("--format", "text").stdout
    assert "memory/2026-01-05.md:1-5  keyword, confidence 1.00\n" in shown
    assert "\n       # GPU server > SSH\n" in shown
    assert "The SSH [password] of the [GPU] server is hunter2." in shown
    assert "kept:1-1" in shown
    assert "explain" not in shown
    assert "\033" not in shown


def test_text_explains_where_it_is_asked_to(search: Run) -> None:
    shown = " ".join(search("--format", "text", "--explain").stdout.split())
    assert " x 1.000, rank 1) + vector 0.000 (0.00 x 0.000, rank -) + neighbours 0.000 + document 0." in shown
    assert "coverage 1.00 (gpu, password)" in shown
    assert "decay" not in shown
    aged = search("--format", "text", "--explain", "--half-life", "1", "--in", "memory/2026*").stdout
    assert "x decay 0." in aged


def test_text_names_the_other_places_of_the_same_text(run: Run) -> None:
    for doc_id in ("a", "b"):
        run("store", "--doc-id", doc_id, "--text", "gpu", "--provider", "none")
    assert "\n       also b#L1-L1\n" in run("search", "gpu", "--format", "text", "--provider", "none").stdout


def test_context_is_shown_with_its_lines(run: Run) -> None:
    run("store", "--doc-id", "it", "--text", "# One\n\nfirst\n\n# Two\n\ngpu\n\n# Three\n\nlast", "--provider", "none")
    shown = run("search", "gpu", "--context", "1", "--format", "md", "--provider", "none").stdout
    assert shown.startswith(
        "**it#L1-L11** (Two), score 1.000\n\n> # One\n>\n> first\n>\n> # Two\n>\n> gpu\n>\n> # Three\n>\n> last\n"
    )


@pytest.mark.parametrize("form", ["jsonl", "md", "paths", "text"])
def test_no_results_print_nothing(search: Run, form: str) -> None:
    done = search("--format", form, "--in", "nowhere/")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing found under these filters" in done.stderr


@pytest.mark.parametrize("form", ["text", "md"])
def test_no_control_character_of_a_text_reaches_a_terminal(run: Run, environ: dict[str, str], form: str) -> None:
    for doc_id in ("x\033[31m\u202e", "y\033]0;t\007"):
        run("store", "--doc-id", doc_id, "--text", f"# Head \033[1m\n\n{ESCAPES}", "--provider", "none")
    options = ("--format", form, "--provider", "none", "--explain", "--context", "1")
    seen = in_terminal(environ, "search", "gpu red", *options, env={"NO_COLOR": "1"})
    assert "red" in seen
    assert [mark for mark in FORBIDDEN if mark in seen] == []


@pytest.mark.parametrize("columns", ["-3", "0", "1", "5", "6", "7", "8", "20", "1000000000000", "x"])
def test_text_fits_no_terminal_that_is_too_narrow_but_ends(search: Run, run: Run, columns: str) -> None:
    search()
    options = ("--format", "text", "--explain", "--provider", "none")
    shown = run("search", "gpu password", *options, env={"COLUMNS": columns}).stdout
    assert "".join("The SSH [password] of the [GPU] server is hunter2.".split()) in "".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 120


def test_a_bare_carriage_return_does_not_leave_the_quote(run: Run, tmp_path: Path) -> None:
    record = {"type": "message", "message": {"role": "user", "content": "gpu one\rtwo\r\nthree\u2028four\x85five\x0bsix"}}
    (tmp_path / "s.jsonl").write_text(json.dumps(record) + "\n")
    run("ingest", "--path", str(tmp_path / "s.jsonl"), "--provider", "none")
    shown = run("search", "gpu", "--format", "md", "--provider", "none").stdout
    assert all(line.startswith((">", "**")) for line in shown.splitlines() if line)
    assert "\n> two\n" in shown


def test_paths_are_exact_in_a_pipe_and_harmless_on_a_terminal(run: Run, environ: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "a\033[31m\x9b b.md").write_text("gpu")
    run("ingest", "--path", str(folder), "--provider", "none")
    options = ("search", "gpu", "--format", "paths", "--provider", "none")
    assert run(*options).stdout == f"{folder}/a\033[31m\x9b b.md\n"
    assert in_terminal(environ, *options) == f"{folder}/a\ufffd[31m\ufffd b.md\r\n"


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_escapes_what_a_terminal_would_obey(run: Run, form: str) -> None:
    text = "gpu \x9b2J \x7f \u2028 \u2029 \u202e \u200f é 東 🚀"
    run("store", "--doc-id", "x\x9b", "--text", text, "--provider", "none")
    shown = run("search", "gpu", "--format", form, "--provider", "none").stdout
    assert "\\u009b2J \\u007f \\u2028 \\u2029 \\u202e \\u200f é 東 🚀" in shown
    [hit] = [json.loads(shown)] if form == "jsonl" else json.loads(shown)
    assert (hit["doc_id"], hit["text"]) == ("x\x9b", text)


@pytest.mark.parametrize("form", ["text", "md"])
def test_nor_does_one_of_a_file_name(run: Run, environ: dict[str, str], tmp_path: Path, form: str) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "a\033[31m\nb.md").write_text("gpu")
    run("ingest", "--path", str(folder), "--provider", "none")
    seen = in_terminal(environ, "search", "gpu", "--format", form, "--provider", "none", env={"NO_COLOR": "1"})
    assert "b.md" in seen
    assert "\033" not in seen
    assert "a\ufffd[31m b.md" in seen


def test_a_file_name_that_is_no_utf8_is_printed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md")).write_text("gpu")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    run("ingest", "--path", str(folder), "--provider", "none")
    for form in ("text", "md", "paths", "jsonl", "json"):
        done = run("search", "gpu", "--format", form, "--provider", "none")
        assert done.returncode == 0, done.stderr
        assert ".md" in done.stdout
