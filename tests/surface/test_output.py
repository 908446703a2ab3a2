import json
import os
import re
import shlex
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from hybrid_memory.surface.output import unmarked
from hybrid_memory.surface.quotes import without_gaps
from tests.command import Run, in_terminal

ESCAPES = "gpu \033[31mred\033[0m \033]0;title\007 \u202eturned \x9b2J bell\a del\x7f"
FORBIDDEN = ["\033", "\007", "\x7f", "\x9b", "\u202e"]


@pytest.fixture
def environ(environ: dict[str, str]) -> dict[str, str]:
    return environ | {"HYBRID_MEMORY_PROVIDER": "none"}


@pytest.fixture
def search(run: Run, folder: Path) -> Run:
    """`search` over two files and a stored text."""
    (folder / "pi.md").write_text(
        "# Raspberry Pi\n\n```\ngpu_mem = 16\n    indented\n```\n\nIts password is the GPU server's.\n"
    )
    run("ingest", "--path", str(folder))
    run("store", "--doc-id", "kept", "--text", "A gpu password in a stored text.")
    return lambda *args: run("search", "gpu password", *args)


def test_a_result_is_a_line_with_what_is_needed_to_cite_it_and_full_has_all(search: Run) -> None:
    shown = search("--format", "json").stdout
    lean, full = json.loads(shown), json.loads(search("--full").stdout)
    for hit, all_of_it in zip(lean, full, strict=True):
        needed = {
            "doc_id",
            "chunk_id",
            "heading",
            "text",
            "score",
            "source",
            "citation",
            "confidence",
        }
        assert set(hit) == needed | {"date" if all_of_it["date"] else "modified"}
        assert hit == {
            key: round(all_of_it[key], 3) if key == "score" else all_of_it[key] for key in hit
        }
        assert {
            "path",
            "start_line",
            "end_line",
            "metadata",
            "heading_path",
            "also",
            "scores",
            "collection",
        } <= set(all_of_it)
    first, *lines, last = shown.splitlines()
    assert (first, last) == ("[", "]")
    assert [json.loads(line.removesuffix(",")) for line in lines] == lean
    assert len(shown) < len(search("--full").stdout)
    assert all("explain" in hit for hit in json.loads(search("--explain").stdout))
    assert search("--in", "nowhere/").stdout == "[]\n"


def test_json_is_one_document_and_jsonl_its_results_a_line_each(search: Run) -> None:
    results = json.loads(search("--format", "json").stdout)
    assert len(results) == 3
    assert results == json.loads(search("--json").stdout) == json.loads(search().stdout)
    for option in ([], ["--full"]):
        lines = search("--format", "jsonl", *option).stdout.splitlines()
        assert [json.loads(line) for line in lines] == json.loads(search(*option).stdout)


def test_paths_are_the_files_best_first_each_once(search: Run, folder: Path) -> None:
    results = json.loads(search("--json", "--full").stdout)
    paths = search("--format", "paths").stdout.splitlines()
    assert paths == list(dict.fromkeys(result["path"] or result["doc_id"] for result in results))
    assert sorted(paths) == sorted([str(folder / "2026-01-05.md"), str(folder / "pi.md"), "kept"])


def test_empty_lines_in_a_row_become_one_except_in_code() -> None:
    code = "```\na\n\n\nb\n```"
    assert without_gaps(f"- a\n\n \n\n\t- b\n\n{code}\n") == f"- a\n\n\t- b\n\n{code}\n"


def test_markdown_quotes_the_texts_as_they_stand_under_their_citations(search: Run) -> None:
    shown = search("--format", "md").stdout
    today = datetime.now(UTC).date()
    line = f"**memory/pi.md#L1-L8**, file of {today}, confidence 0.54 (some)"
    assert f"{line}\n> # Raspberry Pi\n" in shown
    quoted = "> # Raspberry Pi\n>\n> ```\n> gpu_mem = 16\n>     indented\n> ```\n>\n> Its password is the GPU server's.\n"
    assert quoted in shown
    assert f"**kept#L1-L1**, {date.today()}, confidence" in shown
    for line in shown.splitlines():
        assert not line or line.startswith(("**", "> ")) or line == ">"


def test_text_shows_place_score_and_the_passage_with_its_words_marked(search: Run) -> None:
    shown = search("--format", "text").stdout
    assert "1.000  GPU server > SSH\n" in shown
    assert "memory/2026-01-05.md:1  lines 1-5, keyword, confidence 0.54 (some)\n" in shown
    assert "The SSH [password] of the [GPU] server is hunter2." in shown
    assert "kept:1  lines 1-1," in shown
    assert "explain" not in shown
    assert "\033" not in shown


def test_text_explains_where_it_is_asked_to(search: Run) -> None:
    shown = " ".join(search("--format", "text", "--explain").stdout.split())
    assert " x 1.000, rank 1) + vector 0.000 (0.00 x 0.000, rank -)" in shown
    assert "coverage 1.00 (gpu 1, password 1)" in shown
    assert "decay" not in shown
    aged = search(
        "--format", "text", "--explain", "--half-life", "1", "--in", "memory/2026*"
    ).stdout
    assert "x decay 0." in aged


def test_text_names_the_other_places_of_the_same_text(run: Run) -> None:
    for doc_id in ("a", "b"):
        run("store", "--doc-id", doc_id, "--text", "gpu")
    assert "\n       also b#L1-L1\n" in run("search", "gpu", "--format", "text").stdout


@pytest.mark.parametrize("form", ["jsonl", "md", "paths", "text"])
def test_no_results_print_nothing(search: Run, form: str) -> None:
    done = search("--format", form, "--in", "nowhere/")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no id is like 'nowhere/'" in done.stderr


@pytest.mark.parametrize("form", ["text", "md"])
def test_no_control_character_of_a_text_reaches_a_terminal(
    run: Run, environ: dict[str, str], form: str
) -> None:
    for doc_id in ("x\033[31m\u202e", "y\033]0;t\007"):
        run("store", "--doc-id", doc_id, "--text", f"# Head \033[1m\n\n{ESCAPES}")
    options = ("--format", form, "--explain", "--context", "1")
    seen = in_terminal(environ, "search", "gpu red", *options, env={"NO_COLOR": "1"})
    assert "red" in seen
    assert [mark for mark in FORBIDDEN if mark in seen] == []


@pytest.mark.parametrize("columns", ["1", "8", "1000000000000", "x"])
def test_text_fits_no_terminal_that_is_too_narrow_but_ends(
    search: Run, run: Run, columns: str
) -> None:
    search()
    options = ("--format", "text", "--explain")
    shown = run("search", "gpu password", *options, env={"COLUMNS": columns}).stdout
    assert "".join("The SSH [password] of the [GPU] server is hunter2.".split()) in "".join(
        shown.split()
    )
    assert max(map(len, shown.splitlines())) <= 120


def test_paths_are_exact_in_a_pipe_and_harmless_on_a_terminal(
    run: Run, environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "a\033[31m\x9b b.md").write_text("gpu")
    run("ingest", "--path", str(folder))
    options = ("search", "gpu", "--format", "paths")
    assert run(*options).stdout == f"{folder}/a\033[31m\x9b b.md\n"
    assert in_terminal(environ, *options) == f"{folder}/a\ufffd[31m\ufffd b.md\r\n"


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_escapes_what_a_terminal_would_obey(run: Run, form: str) -> None:
    text = "gpu \x9b2J \x7f \u2028 \u2029 \u202e \u200f é 東 🚀"
    run("store", "--doc-id", "x\x9b", "--text", text)
    shown = run("search", "gpu", "--format", form).stdout
    assert "\\u009b2J \\u007f \\u2028 \\u2029 \\u202e \\u200f é 東 🚀" in shown
    [hit] = [json.loads(shown)] if form == "jsonl" else json.loads(shown)
    assert (hit["doc_id"], hit["text"]) == ("x\x9b", text)


def test_a_file_name_that_is_no_utf8_is_printed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md")).write_text("gpu")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    run("ingest", "--path", str(folder))
    for form in ("text", "md", "paths", "jsonl", "json"):
        done = run("search", "gpu", "--format", form)
        assert done.returncode == 0, done.stderr
        assert ".md" in done.stdout


CODE = """# Deploy

Run it on the host, with the gpu password that is kept in the vault of the team and nowhere else at all, please:

```bash
docker compose -f docker-compose.yml -f docker-compose.extra.yml -f docker-compose.gpu.yml up
if true; then
    echo   "gpu"
fi
```

| gpu   | password |
|-------|----------|
| atlas | hunter2  |

- one
  - two, a gpu
"""


def test_text_keeps_code_tables_and_lists_and_wraps_prose(run: Run) -> None:
    run("store", "--doc-id", "it", "--text", CODE.split("| gpu")[0])
    run("store", "--doc-id", "table", "--text", "| gpu" + CODE.split("| gpu")[1])
    options = ("--format", "text")
    shown = run("search", "gpu", *options, env={"COLUMNS": "60"}).stdout
    assert (
        "       docker compose -f docker-compose.yml -f docker-compose.extra.yml -f docker-compose.[gpu].yml up\n"
        in shown
    )
    assert '           echo   "[gpu]"\n       fi\n' in shown
    assert "```" not in shown
    assert (
        "       | [gpu]   | password |\n       |-------|----------|\n       | atlas | hunter2  |\n"
        in shown
    )
    assert "       - one\n         - two, a [gpu]\n" in shown
    prose = [
        line for line in shown.splitlines() if line.startswith("       ") and "docker" not in line
    ]
    assert max(map(len, prose)) <= 60


def test_code_that_began_before_the_passage_is_code(run: Run) -> None:
    text = f"make a gpu {'x' * 40} {'y' * 40}\n    make  b\n```\n\n1. Then\n\n```bash\nmake   c\n```\n\nThe end."
    run("store", "--doc-id", "it", "--text", text)
    shown = run("search", "gpu", "--format", "text", env={"COLUMNS": "60"}).stdout
    assert f"make a [gpu] {'x' * 40} {'y' * 40}\n" in shown
    assert "           make  b\n" in shown
    assert "       make   c\n" in shown


def test_the_place_can_be_pasted_into_get(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "my notes' $x.md").write_text("# One\n\nabc\n\n# Two\n\ngpu password\n")
    run("ingest", "--path", str(folder))
    shown = run("search", "gpu", "--format", "text").stdout
    [place] = shlex.split(shown.splitlines()[1])[:1]
    assert place == "memory/my notes' $x.md:5"
    assert run("get", place).stdout.count("# Two") == 1


LINKED = re.compile(r"\033\]8;;(.*?)\033\\(.*?)\033\]8;;\033\\", re.DOTALL)


@pytest.mark.parametrize(
    ("env", "is_linked"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm", "VTE_VERSION": "7006"}, True),
        ({"TERM": "xterm", "TERM_PROGRAM": "vscode", "NO_COLOR": "1"}, True),
        ({"TERM": "xterm"}, False),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "tmux-256color", "VTE_VERSION": "7006"}, False),
        ({"TERM": "dumb", "FORCE_HYPERLINK": "1"}, False),
    ],
)
def test_places_are_links_where_the_terminal_knows_them(
    search: Run, environ: dict[str, str], folder: Path, env: dict[str, str], is_linked: bool
) -> None:
    search()
    plain = {
        key: value
        for key, value in environ.items()
        if key not in ("VTE_VERSION", "TERM_PROGRAM", "WT_SESSION", "FORCE_HYPERLINK")
    }
    seen = in_terminal(
        plain, "search", "hunter2", "--limit", "1", env={"FORCE_HYPERLINK": ""} | env
    )
    found = LINKED.findall(seen)
    assert [
        (url.partition("/memory/")[2], text.partition("memory/")[2]) for url, text in found
    ] == ([("2026-01-05.md", "2026-01-05.md:1")] if is_linked else [])
    assert all(url.startswith(f"file://{os.uname().nodename}/") for url, _ in found)
    assert search("--format", "text").stdout.count("\033") == 0


def test_no_name_of_a_file_breaks_out_of_its_link(
    run: Run, environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "a\033\\\033]0;title\007 \x9c;b\n%é.md").write_text("gpu")
    run("ingest", "--path", str(folder))
    seen = in_terminal(environ, "search", "gpu", env={"FORCE_HYPERLINK": "1", "NO_COLOR": "1"})
    [(url, _)] = LINKED.findall(seen)
    assert url.endswith("/memory/a%1B%5C%1B%5D0%3Btitle%07%20%C2%9C%3Bb%0A%25%C3%A9.md")
    assert not set("\033\007\x9c") & set(LINKED.sub("", seen))


def test_a_person_gets_a_sentence_and_a_program_json(
    run: Run, environ: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    """Terminals show the sentence; --json, like a pipe, gives the document."""
    file = str(tmp_path / "c.json")
    said = {
        ("ingest", "--path", str(folder)): "Indexed 2 files (2 chunks).",
        ("update",): "Nothing has changed.",
        ("store", "--doc-id", "a", "--text", "one"): "Stored a (1 chunk).",
        ("delete", "a"): "Deleted a (1 chunk).",
        ("delete", "--collection", "memory"): (
            "Deleted 2 notes of the collection memory (2 chunks)."
        ),
        ("config", "set", "limit", "7", "--config", file): f"limit is now 7, in {file}.",
        ("config", "set", "limit", "8", "--config", file): (
            f"limit is now 8 (it was 7), in {file}."
        ),
        ("config", "unset", "limit", "--config", file): (
            f"limit is no longer set (it was 8), in {file}."
        ),
    }
    for arguments, sentence in said.items():
        seen = in_terminal(environ, *arguments, "--quiet", env={"HYBRID_MEMORY_PROVIDER": "none"})
        assert seen.replace("\r\n", "\n") == sentence + "\n"
    for arguments in said:
        if "unset" not in arguments:
            seen = in_terminal(
                environ, *arguments, "--json", "--quiet", env={"HYBRID_MEMORY_PROVIDER": "none"}
            )
            assert isinstance(json.loads(seen), dict), arguments


def test_stats_are_sentences_on_a_terminal(run: Run, environ: dict[str, str]) -> None:
    run("store", "--doc-id", "a", "--text", "one", "--provider", "builtin")
    seen = in_terminal(environ, "stats", env={"HYBRID_MEMORY_PROVIDER": "builtin"})
    first, *others = seen.splitlines()
    assert re.fullmatch(r"1 note in 1 chunk, \d\.\d MB, in .*\.", first)
    # A checkout that has a memory is told of between them.
    assert any(
        re.fullmatch(r"Embedded by builtin builtin-\S+: 1 of 1 chunk\.", line) for line in others
    )
    assert json.loads(run("stats").stdout)["doc_count"] == 1
    assert json.loads(in_terminal(environ, "stats", "--json", "--quiet"))["chunk_count"] == 1


def test_what_was_not_there_is_told_once(run: Run, environ: dict[str, str]) -> None:
    run("store", "--doc-id", "a", "--text", "one")
    seen = in_terminal(environ, "delete", "b")
    assert seen.splitlines() == ["hybrid-memory: there is no document 'b'; nothing was deleted"]


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("The kettle is green, and that is all that we know about it.", "nomic-embed-text"),
        ("Der Kessel ist grün, und mehr wissen wir darüber nicht.", "bge-m3"),
        ("水壶是绿色的，我们只知道这些。服务器在地下室。", "bge-m3"),
    ],
)
def test_the_first_ingest_advises_a_model_for_the_language_of_the_notes(
    run: Run, tmp_path: Path, text: str, model: str
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text(text)
    first = run("ingest", "--path", str(tmp_path / "notes"), "--provider", "auto")
    assert f"`ollama pull {model}`" in first.stderr
    (tmp_path / "notes/b.md").write_text(text + " Zwei.")
    assert "ollama pull" not in run("update", "--provider", "auto").stderr


VAULT = {
    "Kettle.md": "# Kettle\n\nkettle gpu\n\n## Red\n\ngpu kettle red\n\n## Blue\n\ngpu kettle blue\n",
    "plain.md": "---\ntitle: The plain note\n---\ngpu kettle\n",
    **{f"n{number}.md": f"kettle {number}\n" for number in range(9)},
}


@pytest.fixture
def vault(run: Run, tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name, text in VAULT.items():
        (folder / name).write_text(text)
    run("ingest", "--path", str(folder))
    return folder


def test_a_note_is_one_result_with_its_title_first_and_json_has_passages(
    vault: Path, run: Run
) -> None:
    options = ("search", "gpu kettle", "--limit", "4")
    shown = run(*options, "--format", "text").stdout
    heads = [
        line.partition("  ")[2] for line in shown.splitlines() if re.match(r"<?\d\.\d{3} ", line)
    ]
    assert len(heads) == 4
    assert heads[0] in ("Kettle", "Kettle > Red", "Kettle > Blue", "The plain note")
    assert "The plain note" in heads
    assert sum(head.startswith("Kettle") for head in heads) == 1
    assert re.search(r"\n       2 more in this note: lines \d+-\d+, \d+-\d+\n", shown)
    passages = json.loads(run(*options).stdout)
    assert [hit["doc_id"] for hit in passages].count("vault/Kettle.md") == 3
    assert "more" not in passages[0]
    unfolded = run(*options, "--format", "text", "--per-doc", "3").stdout
    assert unfolded.count("vault/Kettle.md:") == 3
    assert "more in this note" not in unfolded


def test_a_terminal_shows_five_notes_and_no_more_than_a_screen(
    vault: Path, environ: dict[str, str]
) -> None:
    def places(*more: str, lines: str = "60") -> list[str]:
        seen = in_terminal(
            environ | {"LINES": lines, "COLUMNS": "100", "NO_COLOR": "1"},
            *("search", "kettle", "--quiet", *more),
        )
        return re.findall(r"vault/([\w ]+\.md):", seen)

    five = places()
    assert len(five) == len(set(five)) == 5
    assert places(lines="19") == five[:3]
    assert places(lines="4") == five[:1]
    assert len(places("--limit", "9", lines="15")) == 9
    assert len(places("--limit", "2")) == 2


def test_open_opens_the_note_that_is_shown_under_this_number(
    vault: Path, run: Run, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\necho "$@" >"{tmp_path}/opened"\n')
    editor.chmod(0o700)
    options = ("search", "gpu kettle", "--format", "text")
    shown = run(*options, "--open", "2", env={"EDITOR": str(editor)}).stdout
    second = re.findall(r"vault/([\w ]+\.md):", shown)[1]
    assert (tmp_path / "opened").read_text() == f"{vault / second}\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("> [!info]- A *gpu* of `a_b`", "> A gpu of a_b"),
        ("**both _at_ once** and ***all***", "both at once and all"),
        ("_type identifier_ a_b_c __init__ 2 * 3 * 4 *.md", None),
        ("a ==mark== and ``a`b`` or `` ` ``", "a mark and a`b or  ` "),
        ("*Deadlocks* na** unpaired ` quote", "Deadlocks na** unpaired  quote"),
        ("*two\nlines* here\n\n*not\n\nthis*", "two lines here\n\n*not\n\nthis*"),
        ("two  \nlines\n- and\n  an item\n1. two", "two  \nlines\n- and\n  an item\n1. two"),
        (
            "of [[hosts/atlas|Atlas]], [[hosts/atlas#Log in]], [it](http://a.b)",
            "of Atlas, atlas > Log in, it",
        ),
        ("See ![[Harbour#^payments]] and ![[Plan]].", "See Harbour and Plan."),
        ("![[plan.png|100]]%%never%% seen <!-- x\ny --> here ^run", " seen  here"),
        ("one\n\n---\n\n<div>\ntwo\n</div>", "one\n\ntwo "),
        ("```\n*a* `b`\n```\n*c*", "```\n*a* `b`\n```\nc"),
        ("| *a* | `b` |", "| *a* | `b` |"),
        ("> [!Firewall Manager|wide]+ ~~Old~~ *name*\n> text", "> Old name\n> text"),
    ],
)
def test_marks_that_only_say_how_a_text_looks_are_no_part_of_an_excerpt(
    text: str, shown: str | None
) -> None:
    expected = shown if shown is not None else text.replace("_type identifier_", "type identifier")
    assert unmarked(text) == expected


def test_filters_without_words_list_the_notes_that_they_leave(vault: Path, run: Run) -> None:
    for query in ("in:vault -in:Kettle.md", "in:vault -in:vault/Kettle.md"):
        done = run("search", query, "--format", "text")
        notes = [line.split("  ")[-1] for line in done.stdout.splitlines()[1:]]
        assert notes
        assert "vault/Kettle.md" not in notes
        assert all(note.startswith("vault/") for note in notes)
        without = query.removeprefix("in:vault ")
        assert done.stderr == f"hybrid-memory: filtered by in:vault; left out by {without}\n"
    told = run("search", "tag:nosuch", "--format", "text")
    assert "no document has the tag 'nosuch'" in told.stderr
    assert told.stdout == ""
    assert json.loads(run("search", "in:vault").stdout) == []
