"""The command as users run it: a process, its streams and its exit code."""

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from datetime import date
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hybrid_memory.documents import markdown
from hybrid_memory.registry import COMMANDS, GROUPS
from hybrid_memory.surface.arguments import command_parser
from hybrid_memory.sync import writing
from tests.command import Run, answer, as_process, in_process, in_terminal
from tests.fake_ollama import FakeOllama

KEYWORDS = ("--provider", "none")


def test_store_then_search(run: Run, ollama: FakeOllama) -> None:
    url = ("--ollama-url", ollama.url)
    metadata = ("--metadata", "a=1", "b=x=y", "--metadata", "c=3")
    stored = run(*url, "store", "--doc-id", "n", "--text", "gpu password", *metadata)
    assert answer(stored) == {"doc_id": "n", "chunks": 1}
    done = run("search", "gpu", "--full", *url)
    [hit] = answer(done)
    assert (hit["doc_id"], hit["source"], hit["metadata"]) == (
        "n",
        "hybrid",
        {"a": 1, "b": "x=y", "c": 3},
    )
    assert done.stderr == ""


def test_without_a_server_everything_works_by_keyword_and_one_line_says_so(
    run: Run, folder: Path
) -> None:
    for args in (
        ("store", "--doc-id", "n", "--text", "gpu"),
        ("ingest", "--path", str(folder)),
        ("search", "gpu", "--also", "graphics card"),  # without it, a line suggests it
    ):
        done = run(*args)
        answer(done)
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("hybrid-memory: ")
        assert "ollama" in done.stderr.lower()
        assert run(*args, "--quiet").stderr == ""


def test_ingest_tells_of_a_model_that_is_down_and_of_bad_files(run: Run, folder: Path) -> None:
    (folder / "latin.md").write_bytes(b"caf\xe9")
    assert run("ingest", "--path", str(folder), "--quiet").stderr == ""
    done = run("ingest", "--path", str(folder))
    report = answer(done)
    assert (report["pending"], report["warnings_by"]) == (3, {"encoding": 1, "model": 1})
    of_file, of_model = report["warnings"]
    assert (of_file["path"], of_file["kind"]) == (str(folder / "latin.md"), "encoding")
    assert (of_model["path"], of_model["kind"]) == (None, "model")
    assert "ollama serve" in of_model["reason"]
    latin, model = done.stderr.splitlines()
    assert "latin.md: not UTF-8" in latin
    assert of_model["reason"] in model


@pytest.mark.parametrize(
    "args", [("search", "nothing like it"), ("list", "--limit", "1"), ("doctor",)]
)
def test_quiet_silences_advice(run: Run, folder: Path, args: tuple[str, ...]) -> None:
    builtin = ("--provider", "auto")  # nobody has chosen a model
    assert "built-in English model" in run("ingest", "--path", str(folder), *builtin).stderr
    assert run("ingest", "--path", str(folder), "--quiet", *builtin).stderr == ""
    if args[0] == "search":
        args = (*args, "--min-confidence", "1")
    assert run(*args, *builtin).stderr
    assert run(*args, "--quiet", *builtin).stderr == ""


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("ingest --path {memory}", 0),
        ("ingest --path {memory} --path {missing}", 1),
        ("search gpu", 0),
        ("search gpu --mode vector", 1),
        ("search gpu tag:none", 0),
        ("search gpu --min-confidence 1", 0),
        ("search --fts-syntax 'gpu AND'", 1),
        ("store --doc-id n --text gpu", 0),
        ("delete --doc-id none", 0),
        ("get nothing", 1),
        ("why memory/pi.md gpu", 0),
        ("list --tag none", 0),
        ("reindex", 0),
        ("reindex --embeddings", 1),
        ("stats", 0),
        ("config unset limit", 0),
    ],
)
def test_quiet_prints_only_errors(run: Run, folder: Path, words: str, status: int) -> None:
    run("ingest", "--path", str(folder))
    args = shlex.split(words.format(memory=folder, missing=folder / "missing"))
    done = run(*args, "--quiet")
    assert (done.returncode, bool(done.stderr)) == (status, bool(status))


def test_model_that_is_not_pulled_is_named_with_the_command_that_pulls_it(
    run: Run, ollama: FakeOllama
) -> None:
    done = run(
        "--ollama-url", ollama.url, "--model", "absent", "store", "--doc-id", "n", "--text", "gpu"
    )
    assert answer(done)["chunks"] == 1
    assert "`ollama pull absent`" in done.stderr


def test_ingest_of_a_bad_file_reports_it_and_exits_1(run: Run, folder: Path) -> None:
    (folder / "bin.md").write_bytes(b"\0")
    done = run("ingest", "--path", str(folder))
    assert done.returncode == 1
    assert json.loads(done.stdout)["files"] == 2
    assert "bin.md: binary" in done.stderr


def test_delete_takes_the_id_with_or_without_its_option(run: Run) -> None:
    for number, form in enumerate((["n"], ["--doc-id", "n"])):
        run("store", "--doc-id", "n", "--text", f"gpu {number}", *KEYWORDS)
        assert answer(run("delete", *form)) == {"doc_id": "n", "chunks_deleted": 1}
        done = run("delete", *form)
        assert answer(done) == {"doc_id": "n", "chunks_deleted": 0}
        assert "no document 'n'" in done.stderr
    wrong = ([], ["n", "--doc-id", "n"], ["n", "--path", "x"])
    assert [run("delete", *form).returncode for form in wrong] == [2, 2, 2]


def test_delete_of_a_collection_or_a_folder(run: Run, folder: Path) -> None:
    run("ingest", "--path", str(folder))
    done = run("delete", "--collection", "notes")
    assert answer(done) == {"collection": "notes", "documents_deleted": 0, "chunks_deleted": 0}
    assert (
        "nothing was deleted, because there is no collection 'notes'; known: memory" in done.stderr
    )
    assert answer(run("delete", "--collection", "memory")) == {
        "collection": "memory",
        "documents_deleted": 2,
        "chunks_deleted": 2,
    }
    run("ingest", "--path", str(folder))
    moved = folder.rename(folder.with_name("moved"))
    done = run("ingest", "--path", str(moved), "--collection", "memory")
    assert done.returncode == 1
    assert "`hybrid-memory delete --collection memory`" in done.stderr
    done = run("delete", "--path", "memory")
    assert answer(done) == {"path": str(folder), "documents_deleted": 2, "chunks_deleted": 2}
    assert done.stderr == ""
    done = run("delete", "--path", "memory")
    assert answer(done)["documents_deleted"] == 0
    assert f"nothing was deleted, because there is no path '{folder}'; known: none" in done.stderr
    assert answer(run("ingest", "--path", str(moved), "--collection", "memory"))["files"] == 2


def test_a_collection_without_documents_is_forgotten_without_a_complaint(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("# A")
    for name in ("one", "two"):
        run("ingest", "--path", str(tmp_path / "notes"), "--collection", name)
    done = run("delete", "--collection", "two")
    assert (answer(done)["documents_deleted"], done.stderr) == (0, "")
    assert "nothing was deleted" in run("delete", "--collection", "two").stderr


def test_a_limit_holds_where_there_are_only_filters(run: Run) -> None:
    for name in "abc":
        run("store", "--doc-id", f"notes/{name}", "--text", "The dog.")
    done = run("search", "in:notes", "--format", "text", "--limit", "2")
    assert len(done.stdout.splitlines()) == 3  # with the head of the table


def test_reindex_and_stats(run: Run, folder: Path) -> None:
    run("ingest", "--path", str(folder))
    assert answer(run("reindex")) == {"status": "ok", "chunks": 2}
    stats = answer(run("stats"))
    assert {"doc_count", "chunk_count", "embedded_count", "db_size_bytes"} <= set(stats)
    assert (stats["doc_count"], stats["chunk_count"]) == (2, 2)


def test_doctor_finds_a_sound_store_sound_and_names_what_is_not(
    run: Run, environ: dict[str, str], folder: Path
) -> None:
    builtin = ("--provider", "builtin")
    run("ingest", "--path", str(folder), *builtin)
    findings = answer(run("doctor", *builtin))
    assert all(finding["ok"] is not False for finding in findings)
    (folder / "pi.md").unlink()
    done = run("doctor", *builtin)
    assert done.returncode == 1
    assert ["memory" in f["text"] for f in json.loads(done.stdout) if f["ok"] is False] == [True]
    seen = in_terminal(environ, "doctor", *builtin)
    assert "PROBLEM sources: 1 note of" in seen
    assert "--incremental` removes notes without a file" in seen


def test_eval_prints_figures_and_tells_what_it_left_out(
    run: Run, environ: dict[str, str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", "--path", str(folder))
    (tmp_path / "queries.jsonl").write_text(
        '{"id": "1", "text": "gpu password"}\n{"id": "2", "text": "puppy"}\n{"id": "3", "text": "x"}\n'
    )
    (tmp_path / "qrels.txt").write_text("1 0 2026-01-05 1\n2 0 pi.md 1\n2 0 absent.md 1\n")
    judged = ("eval", "--queries", "queries.jsonl", "--qrels", "qrels.txt")
    done = run(*judged)
    found = answer(done)
    assert (found["queries"], found["unjudged"]) == (2, 1)
    assert found["unknown_documents"] == ["absent.md"]
    assert found["modes"]["keyword"]["hit@1"] == 0.5
    assert "misses" not in found
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["hybrid-memory"] * 4
    assert "left out mode hybrid: no chunk has an embedding" in done.stderr
    assert "1 of 3 queries not run: no relevant document" in done.stderr
    assert "count as missed: absent.md" in done.stderr
    assert [miss["id"] for miss in answer(run(*judged, "--misses"))["misses"]] == ["2"]
    monkeypatch.chdir(tmp_path)
    seen = in_terminal(environ, *judged, "--misses", "--modes", "keyword", env={"NO_COLOR": "1"})
    assert "ndcg@10  recall@5" in seen
    assert "keyword     0.5000" in seen
    assert max(len(line) for line in seen.splitlines() if " 0.5000 " in line) <= 80
    assert "2: puppy" in seen
    assert run(*judged, "--modes", "vector").returncode == 1


def test_get_reads_what_a_search_cites(run: Run, folder: Path) -> None:
    run("ingest", "--path", str(folder))
    [hit] = answer(run("search", "hunter2", "--quiet"))
    done = run("get", hit["citation"])
    assert hit["text"] in answer(done)["text"]
    assert done.stderr == ""
    assert answer(run("get", "memory/2026-01-05.md:5"))["text"].startswith("The SSH password")
    for option, bound, rest in (("--max-lines", "2", "L3-L5"), ("--max-chars", "5", "L1C6-L5")):
        page = answer(run("get", "2026-01-05.md", option, bound))
        assert page["next"] == f"memory/2026-01-05.md#{rest}"


def test_get_tells_of_a_change_and_of_what_it_cannot_read(run: Run, folder: Path) -> None:
    run("ingest", "--path", str(folder))
    (folder / "pi.md").write_text("new")
    done = run("get", "memory/pi.md")
    assert (answer(done)["text"], answer(done)["changed"]) == ("new", True)
    assert "memory/pi.md changed since it was indexed" in done.stderr
    assert run("get", "memory/pi.md", "--quiet").stderr == ""
    for target in ("memory/pie.md", "../../etc/passwd", "memory/pi.md#L9"):
        done = run("get", target)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)


def test_list_names_the_documents_and_how_many_were_left_out(run: Run, folder: Path) -> None:
    run("ingest", "--path", str(folder))
    done = run("list")
    assert [document["doc_id"] for document in answer(done)["documents"]] == [
        "memory/2026-01-05.md",
        "memory/pi.md",
    ]
    assert done.stderr == ""
    done = run("list", "--limit", "1")
    assert (answer(done)["total"], len(answer(done)["documents"])) == (2, 1)
    assert done.stderr == "hybrid-memory: 1 of 2 documents; --limit 2 lists them all\n"
    assert answer(run("list", "--since", "2026-01"))["documents"] == answer(done)["documents"]
    assert answer(run("list", "--in", "memory/p*"))["total"] == 1
    done = run("list", "--since", "soon")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    "command", ["search x", "get x", "list", "stats", "delete --doc-id x", "reindex"]
)
def test_missing_database_is_named_and_not_made(run: Run, tmp_path: Path, command: str) -> None:
    done = run(*command.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert f"no database at {tmp_path}/cli.db" in done.stderr
    assert not (tmp_path / "cli.db").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("search x --limit 0", "argument --limit: 0 is less than 1"),
        ("search x --limit many", "'many' is not a whole number"),
        ("search x --mode fuzzy", "'fuzzy' is not one of hybrid, keyword, vector"),
        ("search", "give the query once"),
        (
            "eval --queries q --qrels r --modes keyword,best",
            "'best' is not one of keyword, vector, hybrid",
        ),
        ("search x --query y", "give the query once"),
        (
            "search --maxfail",
            '--maxfail; a query with a - is written in quotes, "a -b", or as --query=-b (see hybrid-memory search --',
        ),
        ("search x --lim 3", "unrecognized arguments: --lim"),
        ("search x --chunk-size 10 --overlap 50", "chunk_overlap (50"),
        ("search x --chunk-size 10", "chunk_overlap (50"),
        ("search x --keyword-weight -1", "must be at least 0"),
        ("store --doc-id x", "one of the arguments --text --file is required"),
        ("store --doc-id x --text a --file b", "not allowed with argument"),
        ("store --text a", "required: --doc-id"),
        ("store --text a --doc-id=", "--doc-id: it is empty"),
        ("store --doc-id x --text a --metadata novalue", "'novalue' is not KEY=VALUE"),
        ("ingest --pattern *.txt", "--pattern needs --path"),
        ("ingest --incremental --keep-missing", "--keep-missing needs --path"),
        ("delete", "one of the arguments ID --doc-id --collection --path is required"),
        ("delete --doc-id x --path y", "not allowed with argument"),
        ("frobnicate", "there is no command 'frobnicate'"),
        ("", "required: COMMAND"),
        ("serch gpu", "no command 'serch'; did you mean search? (see hybrid-memory --help)"),
        ("delte gpu", "did you mean delete?"),
        ("ingset gpu", "did you mean ingest?"),
        ("help serach", "did you mean search?"),
        ("search gpu --limt 3", "did you mean --limit?"),
        ("search gpu --qqq 3", '; a query with a - is written in quotes, "a -b"'),
        ("search x --chunksize 3", "did you mean --chunk-size?"),
        ("store --fill x --doc-id x --text y", "did you mean --file?"),
        ("--qiet search gpu", "did you mean --quiet?"),
        (
            "--limit 3 search gpu",
            "--limit is not an option of every command; put the command before its options (see hybrid-memory --help)",
        ),
        ("search --half-life 'gpu server'", "'gpu server' is not a number"),
        ("search --half-life 'gpu server'", "--half-life=30"),
        ("store --doc-id=x --text=--", "-- as its value: '--"),
        ("stats --db=--", "-- as its value: '--"),
        ("search x --json --format text", "--json contradicts --format text"),
        ("search x --format paths --json", "--json contradicts --format paths"),
        (
            "search port --limit 1 SSH",
            "unrecognized arguments: SSH; put QUERY before or after all options",
        ),
        ("ingest a --incremental b", "unrecognized arguments: b; put DIR before or after"),
        ("note a --dir . b", "unrecognized arguments: b; put TEXT before or after"),
    ],
)
def test_wrong_usage_is_told_in_a_line_and_exits_2(run: Run, args: str, message: str) -> None:
    done = run(*shlex.split(args))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("hybrid-memory: ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("store --doc-id x --file missing.md", "cannot read missing.md: No such file"),
        ("ingest --path missing", "cannot ingest missing: No such file"),
        ("stats --config missing.json", "cannot read the config file missing.json"),
    ],
)
def test_missing_input_is_named_and_exits_1(
    run: Run, args: str, message: str, tmp_path: Path
) -> None:
    done = run(*args.split())
    assert not (tmp_path / "cli.db").exists()
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_unknown_key_in_the_config_file_exits_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"chunksize": 1}')
    done = run("stats")
    assert done.returncode == 1
    assert "unknown key 'chunksize'" in done.stderr


def test_global_options_count_before_and_after_the_command(run: Run, tmp_path: Path) -> None:
    run("--db", "before.db", "store", "--doc-id", "x", "--text", "gpu")
    run("store", "--db", "after.db", "--doc-id", "x", "--text", "gpu")
    assert (tmp_path / "before.db").exists()
    assert (tmp_path / "after.db").exists()
    assert len(answer(run("--db", "before.db", "search", "gpu"))) == 1


@pytest.mark.parametrize("args", [("--query=--maxfail",), ("--", "--maxfail")])
def test_query_that_begins_with_a_dash(run: Run, args: tuple[str, ...]) -> None:
    run("store", "--doc-id", "x", "--text", "use --maxfail 1")
    assert len(answer(run("search", *args))) == 1


def test_fts_syntax_by_an_option_and_its_errors_with_their_place(run: Run, folder: Path) -> None:
    run("ingest", "--path", str(folder))
    assert [
        hit["doc_id"] for hit in answer(run("search", "--fts-syntax", "pass* NOT raspberry"))
    ] == ["memory/2026-01-05.md"]
    done = run("search", "--fts-syntax", "gpu AND")
    assert (done.returncode, done.stdout) == (1, "")
    assert "fts5: syntax error" in done.stderr


def test_vector_mode_exits_1_if_the_query_cannot_be_embedded(run: Run, ollama: FakeOllama) -> None:
    run("--ollama-url", ollama.url, "store", "--doc-id", "n", "--text", "gpu")
    ollama.stop()
    for quiet in ([], ["--quiet"]):
        done = run("--ollama-url", ollama.url, "search", "--mode", "vector", "gpu", *quiet)
        assert (done.returncode, done.stdout) == (1, "[]\n")
        assert ollama.url in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("provider", ["ollama", "none"])
def test_vector_mode_with_nothing_embedded_exits_1_with_the_reason(run: Run, provider: str) -> None:
    run("store", "--doc-id", "n", "--text", "gpu", "--provider", provider)
    done = run("search", "--mode", "vector", "gpu", "--provider", provider)
    assert (done.returncode, done.stdout) == (1, "[]\n")
    assert (
        "no search by meaning" if provider == "none" else "no chunk has an embedding yet; `"
    ) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert run("search", "gpu", "--provider", provider).returncode == 0


def test_vector_mode_does_not_claim_to_answer_by_keyword(run: Run, ollama: FakeOllama) -> None:
    run("--ollama-url", ollama.url, "store", "--doc-id", "n", "--text", "gpu")
    ollama.models = []
    for other in (["--provider", "builtin"], ["--ollama-url", ollama.url, "--model", "other"]):
        by_keyword, by_meaning = (
            run("search", "gpu", "--mode", mode, *other) for mode in ("hybrid", "vector")
        )
        assert json.loads(by_keyword.stdout)[0]["source"] == "keyword"
        assert "answering by keyword" not in by_meaning.stderr
        assert (by_keyword.returncode, by_meaning.returncode, by_meaning.stdout) == (0, 1, "[]\n")


def test_vector_mode_that_finds_nothing_near_is_an_empty_answer(run: Run) -> None:
    run("store", "--doc-id", "n", "--text", "gpu", "--provider", "builtin")
    done = run("search", "--mode", "vector", "大熊猫", "--provider", "builtin")
    assert answer(done) == []


def test_store_reads_a_file_or_standard_input(run: Run, process: Run, folder: Path) -> None:
    assert answer(run("store", "--doc-id", "f", "--file", str(folder / "pi.md")))["chunks"] == 1
    assert (
        answer(process("store", "--doc-id", "s", "--file", "-", input="piped words"))["chunks"] == 1
    )
    assert answer(run("search", "piped"))[0]["doc_id"] == "s"


def test_damaged_database_is_one_line_and_exits_1(run: Run, tmp_path: Path) -> None:
    run("store", "--doc-id", "x", "--text", "gpu " * 5000)
    damaged = (tmp_path / "cli.db").read_bytes()
    (tmp_path / "cli.db").write_bytes(damaged[: len(damaged) // 2])
    done = run("search", "gpu")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


NETWORK = "requests urllib3 ssl socket http asyncio hybrid_memory.embedder"
READING = "hybrid_memory.chunker hybrid_memory.documents.chunker hybrid_memory.documents.markdown"
FOR_EYES = "hybrid_memory.surface.terminal"
FORMATS = "hybrid_memory.extras.formats.transcripts hybrid_memory.extras.formats.redaction"


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        (
            "search gpu --mode keyword",
            f"{NETWORK} {READING} {FOR_EYES} hybrid_memory.sync.ingest hybrid_memory.extras.environment importlib.metadata dataclasses logging hashlib subprocess numpy",
        ),
        (
            "search zqxvk --mode keyword",
            "hybrid_memory.storage.sqlite.catalog",
        ),  # it counts documents
        ("search gpu --format md", "subprocess threading signal"),  # for an editor
        ("search gpu --refresh --provider none", f"{NETWORK} {READING} {FOR_EYES} {FORMATS}"),
        ("get memory/pi.md#L2", f"{NETWORK} {READING}"),
        ("--version", "sqlite3 hybrid_memory.store hybrid_memory.search hybrid_memory.storage"),
        ("--help", "sqlite3 hybrid_memory.store hybrid_memory.search hybrid_memory.storage"),
    ],
)
def test_a_command_loads_only_what_it_needs(
    environ: dict[str, str], run: Run, folder: Path, command: str, unneeded: str
) -> None:
    run("ingest", "--path", str(folder), *KEYWORDS)
    code = f"import atexit, sys; sys.path[:] = {sys.path!r}; atexit.register(lambda: print(*sys.modules)); from hybrid_memory.cli import main; main({command.split()})"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "hybrid_memory.surface.arguments" in loaded
    assert loaded & set(unneeded.split()) == set()
    assert len([name for name in loaded if name.startswith("hybrid_memory.surface.commands.")]) <= 1


def test_a_search_compiles_no_annotation(environ: dict[str, str], run: Run) -> None:
    """A quoted annotation in a NamedTuple or TypedDict is compiled, and the first one loads `ast`."""
    run("store", "--doc-id", "x", "--text", "gpu")
    code = (
        "import sys; compiled = [];"
        "sys.addaudithook(lambda event, args: event == 'compile' and compiled.append(args));"
        "from hybrid_memory.cli import main; main(['search', 'gpu', '--mode', 'keyword']);"
        "annotations = [source for source, file in compiled if file == '<string>'];"
        "print([each for each in annotations if not each.startswith(b'lambda _cls')])  # of a tuple"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_refresh_takes_in_what_changed_and_tells_what_it_could_not(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.md").write_text("x")
    paths = [option for name in "abcd" for option in ("--path", f"{name}.md")]
    run("ingest", "--path", str(folder), *paths, "--provider", "none")
    (folder / "new.md").write_text("The kettle is green.")
    for name in "abcd":
        (tmp_path / f"{name}.md").unlink()
    done = run("search", "kettle", "--refresh", "--provider", "none")
    assert [hit["doc_id"] for hit in answer(done)] == ["memory/new.md"]
    told = done.stderr.splitlines()
    assert len(told) == 4
    assert f"a.md: cannot ingest {tmp_path}/a.md: No such file" in told[0]
    assert told[3] == "hybrid-memory: and 1 more; `hybrid-memory update` lists all"
    assert run("search", "kettle", "--refresh", "--provider", "none", "--quiet").stderr == ""


def test_a_workspace_sets_the_options_of_search_once_and_a_command_overrides(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    for number in range(12):
        (folder / f"{number}.md").write_text(
            f"# One\n\ncedar {number}\n\n# Two\n\ncedar again {number}"
        )
    run("ingest", "--path", str(folder))

    def found(*args: str, **values: object) -> list[str]:
        (tmp_path / "config.json").write_text(json.dumps({"provider": "none", **values}))
        return [hit["doc_id"] for hit in answer(run("search", "cedar wurzelbrunft", *args))]

    assert (len(found()), len(found(limit=3)), len(found("--limit", "5", limit=3))) == (10, 3, 5)
    assert len(found("--limit", "100", per_doc=1)) == 12
    assert len(found("--limit", "100", "--per-doc", "0", per_doc=1)) == 24
    assert found(min_confidence=1.0) == []
    assert len(found("--min-confidence", "0", min_confidence=1.0)) == 10
    good, all_found = (
        found("--limit", "100", *option, min_score=1.0) for option in ((), ("--min-score", "0"))
    )
    assert len(good) < len(all_found)
    assert answer(run("list", "--limit", "100"))["total"] == 14  # its limit is another one
    (folder / "late.md").write_text("zebra cedar " * 3)
    assert "memory/late.md" not in found("--limit", "100", "--no-refresh", refresh=True)
    assert "memory/late.md" in found("--limit", "100", refresh=True)
    (tmp_path / "config.json").write_text("{}")
    env = {"HYBRID_MEMORY_LIMIT": "2", "HYBRID_MEMORY_PER_DOC": "0"}
    assert len(answer(run("search", "cedar", env=env))) == 2


def test_terminal_shows_results_for_eyes(run: Run, environ: dict[str, str], folder: Path) -> None:
    run("ingest", "--path", str(folder))
    seen = in_terminal(environ, "search", "gpu password")
    assert "2026-01-05.md:1\r\n" in seen
    assert "\033[1;33mpassword\033[0m" in seen
    plain = in_terminal(environ, "search", "gpu password", env={"NO_COLOR": "1"})
    assert "\033" not in plain
    assert "[password]" in plain
    [first, *_] = json.loads(in_terminal(environ, "search", "gpu", "--json", *KEYWORDS))
    assert first["doc_id"] == "memory/2026-01-05.md"


def test_terminal_gets_the_text_itself_and_how_to_go_on(run: Run, environ: dict[str, str]) -> None:
    run("store", "--doc-id", "a b", "--text", "one\n    two\033[31m\nthree\n")
    seen = in_terminal(environ, "get", "a b", "--max-lines", "2").replace("\r\n", "\n")
    assert (
        seen
        == "one\n    two\ufffd[31m\nhybrid-memory: line 2 of 3; continue with `hybrid-memory get 'a b#L3-L3'`\n"
    )
    assert json.loads(in_terminal(environ, "get", "a b", "--json"))["total_lines"] == 3


def test_get_answers_several_targets_and_tells_of_those_that_it_cannot_read(
    run: Run, environ: dict[str, str], folder: Path
) -> None:
    run("ingest", "--path", str(folder), "--provider", "none")
    both = answer(run("get", "pi", "2026-01-05.md:1"))
    assert [(found["doc_id"], found["end_line"]) for found in both] == [
        ("memory/pi.md", 3),
        ("memory/2026-01-05.md", 1),
    ]
    done = run("get", "absent", "pi")
    assert (done.returncode, [found["doc_id"] for found in json.loads(done.stdout)]) == (
        1,
        ["memory/pi.md"],
    )
    assert done.stderr.startswith("hybrid-memory: no document 'absent' in this memory")
    seen = in_terminal(environ, "get", "pi:1", "2026-01-05:1").replace("\r\n", "\n")
    assert (
        seen
        == "==> memory/pi.md#L1-L1 <==\n# Raspberry Pi\n\n==> memory/2026-01-05.md#L1-L1 <==\n# GPU server\n"
    )


def test_colours_follow_the_option_then_the_variables_then_the_terminal(
    run: Run, environ: dict[str, str], folder: Path
) -> None:
    run("ingest", "--path", str(folder), "--provider", "none")

    def coloured(*args: str, is_terminal: bool = False, **env: str) -> bool:
        command = ("search", "gpu", "--format", "text", "--provider", "none", *args)
        seen = (
            in_terminal(environ, *command, env=env)
            if is_terminal
            else run(*command, env=env).stdout
        )
        assert "GPU" in seen
        return "\033" in seen

    assert (coloured(), coloured(is_terminal=True)) == (False, True)
    assert not coloured(NO_COLOR="1", is_terminal=True)
    assert (coloured(FORCE_COLOR="1"), coloured(FORCE_COLOR="1", NO_COLOR="1")) == (True, False)
    assert coloured("--color=always", NO_COLOR="1")
    assert not coloured("--color=never", FORCE_COLOR="1", is_terminal=True)
    assert not coloured("--color=auto", FORCE_COLOR="1")
    assert coloured("--color=auto", NO_COLOR="1", is_terminal=True)


def test_terminal_gets_a_table_of_the_documents(
    run: Run, environ: dict[str, str], folder: Path
) -> None:
    run("ingest", "--path", str(folder))
    run("store", "--doc-id", "x\033[31m", "--text", "word " * 400)
    lines = in_terminal(environ, "list", env={"NO_COLOR": "1"}).splitlines()
    assert lines == [
        "DATE        PASSAGES  PENDING  BYTES  NOTE",
        f"{date.today()}         4        4  2,000  x\ufffd[31m",
        "2026-01-05         1        1     69  memory/2026-01-05.md",
        "                   1        1     47  memory/pi.md",
    ]
    assert json.loads(in_terminal(environ, "list", "--json"))["total"] == 3


def test_terminal_shows_progress_and_a_pipe_does_not(
    run: Run, environ: dict[str, str], folder: Path
) -> None:
    seen = in_terminal(environ, "ingest", "--path", str(folder))
    assert "files 2/2" in seen
    assert "embeddings 2/2" in in_terminal(
        environ, "reindex", "--embeddings", "--provider", "builtin"
    )
    assert "files 2/2" not in in_terminal(environ, "ingest", "--path", str(folder), "--quiet")
    assert "2/2" not in run("ingest", "--path", str(folder)).stderr


# What runs in the background ignores interrupts, and so do the processes that it starts.
HEEDING_INTERRUPTS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from hybrid_memory.cli import entry_point
entry_point()
"""


def test_interrupted_ingest_says_how_to_go_on_and_goes_on_from_there(
    environ: dict[str, str],
    run: Run,
    folder: Path,
    ollama: FakeOllama,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(148):
        (folder / f"{number}.md").write_text(f"note {number}")
    is_waiting, may_go_on = Event(), Event()
    embed = ollama._embed

    def stalling(*args: Any) -> Any:
        if len(ollama.embedded) >= 128:  # which are committed
            is_waiting.set()
            may_go_on.wait(60)
        return embed(*args)

    monkeypatch.setattr(ollama, "_embed", stalling)
    ingest = ("--ollama-url", ollama.url, "ingest", "--path", str(folder))
    with subprocess.Popen(
        [sys.executable, "-c", HEEDING_INTERRUPTS, *ingest],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert is_waiting.wait(60)
            process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=60)
        finally:
            process.kill()
            may_go_on.set()
    assert (process.returncode, *told) == (
        130,
        "",
        "hybrid-memory: interrupted; run it again with --incremental to continue\n",
    )
    report = answer(run(*ingest, "--incremental"))
    assert [report[key] for key in ("files", "skipped", "embedded", "pending")] == [0, 150, 22, 0]


def test_files_read_before_an_interrupt_are_in(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(148):
        (folder / f"{number}.md").write_text(f"note {number}")
    read = markdown.read
    calls = count(1)

    def interrupted_at_the_hundredth(*args: Any) -> Any:
        if next(calls) == 100:
            raise KeyboardInterrupt
        return read(*args)

    ingest = ("ingest", "--path", str(folder), *KEYWORDS)
    monkeypatch.setattr(writing, "GROUP", 40)
    monkeypatch.setattr(markdown, "read", interrupted_at_the_hundredth)
    done = run(*ingest)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == (
        "hybrid-memory: interrupted; run it again with --incremental to continue\n"
    )
    assert answer(run("stats"))["doc_count"] == 99
    report = answer(run(*ingest, "--incremental"))
    assert (report["files"], report["skipped"]) == (51, 99)


HOSTILE = "a\033[31m\x9b\u202e\u2028\u200fz"
OBEYED = ["\033", "\x9b", "\u202e", "\u2028", "\u200f"]


def test_no_control_character_of_a_file_name_or_an_argument_reaches_a_terminal(
    run: Run, environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / HOSTILE
    folder.mkdir()
    (folder / f"{HOSTILE}.md").write_text("gpu")
    (folder / f"binary{HOSTILE}.md").write_bytes(b"\0")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"id": HOSTILE, "text": f"gpu {HOSTILE}"}))
    (tmp_path / "qrels.txt").write_text(f"{HOSTILE}\tabsent{HOSTILE}\t1\n")
    commands = [
        ("ingest", "--path", str(folder)), ("list",), ("doctor",), ("search", "gpu", "--format", "paths"), ("search", "gpu", "--format", "md"), ("search", "gpu"),
        ("stats",),
        ("search", "gpu", "--json"), ("get", f"{HOSTILE}.md"), ("get", "absent" + HOSTILE), ("search", HOSTILE, "--" + HOSTILE),
        ("eval", "--queries", str(tmp_path / "queries.jsonl"), "--qrels", str(tmp_path / "qrels.txt"), "--misses"),
        ("store", "--doc-id", "x", "--file", HOSTILE), ("stats", "--config", HOSTILE), ("ingest", "--path", HOSTILE),
        ("delete", "--collection", HOSTILE + "x"), ("delete", "--path", str(folder)), ("search", "gpu", "--mode", HOSTILE),
    ]  # fmt: skip
    for command in commands:
        seen = in_terminal(environ, *command, "--provider", "none", env={"NO_COLOR": "1"}).replace(
            "\033[K", ""
        )
        assert seen
        assert [mark for mark in OBEYED if mark in seen] == [], command


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no way to a deleted folder")
@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("search gpu --format text", 0),
        ("get n", 0),
        ("stats", 0),
        ("get ./x", 1),
        ("ingest --path .", 1),
        ("delete --path x", 1),
        ("search gpu --db x.db", 1),
        ("search gpu --config c.json", 1),
    ],
)
def test_a_deleted_working_directory_is_a_line_if_it_is_needed(
    environ: dict[str, str], run: Run, tmp_path: Path, command: str, status: int
) -> None:
    run("store", "--doc-id", "n", "--text", "gpu", *KEYWORDS)
    gone = tmp_path / "gone"
    gone.mkdir()
    descriptor = os.open(gone, os.O_RDONLY)
    gone.rmdir()
    try:
        folder = Path(f"/proc/self/fd/{descriptor}")
        done = in_process((*command.split(), *KEYWORDS), environ, folder)
    finally:
        os.close(descriptor)
    assert (done.returncode, len(done.stderr.splitlines())) == (status, status)
    assert done.stderr.startswith("hybrid-memory: ") or not status


def test_a_command_starts_in_a_deleted_working_directory(
    environ: dict[str, str], run: Run, tmp_path: Path
) -> None:
    run("store", "--doc-id", "n", "--text", "gpu", *KEYWORDS)
    (tmp_path / "gone").mkdir()
    shell = f"cd {tmp_path}/gone && rmdir ../gone && {sys.executable} -m hybrid_memory search gpu --quiet"
    environ["PYTHONPATH"] = str(Path(__file__).parent.parent)
    done = subprocess.run(["bash", "-c", shell], env=environ, capture_output=True, text=True)
    assert (done.stderr, len(answer(done))) == ("", 1)


def test_arguments_that_are_not_utf8_are_told_as_names_with_escapes(run: Run) -> None:
    raw = os.fsdecode(b"caf\xe9")
    metadata = ("--metadata", f"{raw}={raw}", f"tags={raw}")
    answer(run("store", "--doc-id", raw, "--text", f"gpu {raw}", *metadata, *KEYWORDS))
    assert answer(run("get", raw))["doc_id"] == "caf\\udce9"
    for filters in (("--where", f"{raw}={raw}"), ("--tag", raw), ("--in", raw)):
        assert len(answer(run("search", "gpu", *filters))) == 1, filters
    assert answer(run("search", "gpu", "--collection", raw)) == []
    assert answer(run("delete", "--collection", raw))["collection"] == "caf\\udce9"
    assert answer(run("delete", "--doc-id", raw))["chunks_deleted"] == 1
    done = run("stats", "--model", raw)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("words", ["search x --maxfail", "search x --folder", "qqq"])
def test_what_is_like_nothing_of_its_command_is_answered_with_no_suggestion(
    run: Run, words: str
) -> None:
    assert "did you mean" not in run(*words.split()).stderr


def test_what_the_engine_raises_is_a_line_and_exits_1(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    run("store", "--doc-id", "n", "--text", "gpu")
    monkeypatch.setattr("hybrid_memory.store.HybridStore.stats", fail)
    done = run("stats")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "malformed" in done.stderr


@pytest.mark.parametrize(
    "at",
    [
        "hybrid_memory.cli.parse",
        "hybrid_memory.cli.load",
        "hybrid_memory.surface.commands.search.arguments",
        "hybrid_memory.surface.commands.search.output",
        "hybrid_memory.surface.commands.search.open_store",
    ],
)
def test_an_interrupt_at_any_moment_exits_130_without_a_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    class Interrupted:
        def __call__(self, *_: object, **__: object) -> None:
            raise KeyboardInterrupt

        def __getattr__(self, name: str) -> None:
            raise KeyboardInterrupt

    run("store", "--doc-id", "n", "--text", "gpu")
    monkeypatch.setattr(at, Interrupted())
    done = run("search", "gpu", *KEYWORDS)
    assert (done.returncode, done.stdout) == (130, "")
    assert len(done.stderr.splitlines()) <= 1


@pytest.mark.parametrize("module", ["surface.arguments", "surface.commands.search"])
def test_an_interrupt_while_the_command_is_imported_exits_130_without_a_traceback(
    environ: dict[str, str], module: str
) -> None:
    code = f"""
import sys
import hybrid_memory
class Interrupting:
    def find_spec(self, name, *_):
        if name == "hybrid_memory.{module}": raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from hybrid_memory.cli import entry_point
sys.argv[1:] = ["search", "gpu"]
entry_point()
"""
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


def test_help_names_every_command_and_what_it_does(run: Run) -> None:
    told = " ".join(run("--help").stdout.split())
    assert [
        name for name, command in COMMANDS.items() if f"{name} {command.about}" not in told
    ] == []


def test_help_lists_every_command_in_its_group(run: Run) -> None:
    help = run("--help").stdout
    shown = {}
    for group in GROUPS:
        _, _, rest = help.partition(f"\n{group}:\n")
        lines = rest.partition("\n\n")[0].splitlines()
        shown[group] = [line.split()[0] for line in lines if not line.startswith("   ")]
    assert all(shown.values())
    assert {name: group for group, names in shown.items() for name in names} == {
        name: command.group for name, command in COMMANDS.items()
    }


IN_A_PIPE = {  # a command -> its arguments
    "init": ("memory", "--yes"),
    "search": ("gpu",),
    "get": ("pi",),
    "why": ("pi",),
    "list": (),
    "links": ("--broken",),
    "tags": (),
    "ingest": ("--path", "memory"),
    "update": (),
    "store": ("--doc-id", "n", "--text", "gpu"),
    "note": ("gpu", "--dir", "."),
    "delete": ("memory/pi.md",),
    "config": (),
    "stats": (),
    "doctor": (),
    "reindex": (),
    "copy": ("cli.db", "other.db"),
    "eval": ("--queries", "queries", "--qrels", "qrels"),
    "tools": (),
    "connect": ("claude", "--dir", ".", "--yes"),
    "disconnect": ("claude", "--dir", ".", "--yes"),
    "demo": (),
}
AS_TEXT = {"recall": ("which IP address does the raspberry pi have?",)}
UNTIL_STOPPED = {"watch", "mcp", "serve"}


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - UNTIL_STOPPED))
def test_an_answer_has_the_form_that_help_promises(
    run: Run, folder: Path, tmp_path: Path, command: str
) -> None:
    (tmp_path / "queries").write_text('{"id": "q", "text": "gpu"}\n')
    (tmp_path / "qrels").write_text("q memory/pi.md 1\n")
    run("ingest", "--path", str(folder))
    done = run(command, *{**IN_A_PIPE, **AS_TEXT}[command])
    assert done.stdout
    if command in AS_TEXT:
        told = " ".join(run("--help").stdout.split())
        assert "recall always prints text" in told
        assert not done.stdout.startswith(("{", "["))
    else:
        json.loads(done.stdout)


def test_version(run: Run) -> None:
    assert run("--version").stdout.startswith("hybrid-memory 0.")


def test_installed_command_is_the_module(environ: dict[str, str]) -> None:
    command = Path(sys.executable).parent / "hybrid-memory"
    assert subprocess.run(
        [command, "--version"], capture_output=True, text=True, check=True
    ).stdout.startswith("hybrid-memory ")


def test_the_usage_of_a_command_has_all_that_must_be_given() -> None:
    for name in COMMANDS:
        parser = command_parser(name)
        usage = str(parser.usage).removeprefix(f"hybrid-memory {name} [options]")
        needed = [
            argument.option_strings[0]
            if argument.option_strings
            else str(argument.metavar).split()[0]
            for argument in parser.arguments
            if argument.required or not argument.option_strings
        ]
        assert [word for word in needed if word not in usage] == [], name


def test_options_of_every_command_may_stand_anywhere(run: Run, tmp_path: Path) -> None:
    run("store", "--doc-id", "n", "--text", "gpu")
    for words in (
        ["--quiet", "list", "--json"],
        ["list", "--quiet", "--json"],
        ["list", "--json", "--quiet", "--db", str(tmp_path / "cli.db")],
    ):
        assert answer(run(*words))["total"] == 1, words
    assert run("search", "--", "--quiet").returncode == 0
    assert run("--db", "search", "list").stderr.startswith("hybrid-memory: no database at")


@pytest.mark.parametrize("query", ["", "  ", "\n"])
def test_an_empty_query_is_said_to_be_empty(run: Run, query: str) -> None:
    answer(run("store", "--doc-id", "a", "--text", "A note.", *KEYWORDS))
    done = run("search", query, *KEYWORDS)
    assert (answer(done), done.stderr) == (
        [],
        "hybrid-memory: the query is empty; `hybrid-memory list` lists the documents\n",
    )


def test_a_command_without_threads_ends_before_the_clean_up_of_python(
    run: Run, environ: dict[str, str]
) -> None:
    answer(run("store", "--doc-id", "n", "--text", "gpu", *KEYWORDS))
    program = (
        "import atexit; atexit.register(print, 'clean-up')\n"
        "from hybrid_memory.cli import entry_point; entry_point()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "get", "n"],
        env=environ, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, json.loads(done.stdout)["text"]) == (0, "gpu")


@pytest.mark.parametrize("words", [("help",), ("help", "search"), ("help", "config", "x")])
def test_help_is_a_command(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run(*words[1:2], "--help").stdout


def test_ingest_takes_folders_as_arguments(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.md").write_text(f"The note of {name}.")
    report = answer(run("ingest", "a", "b", "--path", "c", "--incremental", *KEYWORDS))
    assert report["files"] == 3
    done = run("ingest", "none")
    assert (done.returncode, "No such file or directory" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "words",
    [("store", "--doc-id", "a", "--text", "x"), ("ingest", "."), ("note", "--dir", ".", "x")],
)
def test_a_memory_that_is_not_kept_is_said_to_be_lost(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "a.md").write_text("A note.")
    done = run(*words, "--db", ":memory:", *KEYWORDS)
    assert done.returncode == 0
    assert "the database :memory: ends with this command; nothing is kept" in done.stderr


def test_tags_has_a_limit(run: Run) -> None:
    for number in range(3):
        tags = ", ".join(["a", "b", "c"][: number + 1])
        answer(run("store", "--doc-id", f"{number}", "--text", "x", "--metadata", f"tags=[{tags}]"))
    found = answer(run("tags", "--limit", "2"))
    assert found == {
        "total": 3,
        "tags": [{"tag": "a", "documents": 3}, {"tag": "b", "documents": 2}],
    }


def test_messages_on_a_terminal_break_at_words_and_keep_commands_together(
    environ: dict[str, str],
) -> None:
    missing = {"HYBRID_MEMORY_DB_PATH": "/tmp/" + "long-" * 12 + "name.db"}
    lines = in_terminal(environ, "stats", env=missing).splitlines()
    assert len(lines) > 1
    message = " ".join(lines)
    assert "hybrid-memory: no database at /tmp/long-" in message
    assert any("`hybrid-memory ingest --path DIR`" in line for line in lines)
    assert all(len(line) <= 80 for line in lines if "/tmp/" not in line)
    assert as_process(("stats",), environ | missing, Path.cwd()).stderr.count("\n") == 1
