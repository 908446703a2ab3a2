"""Files that were stored under an id of the user's choice."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.command import Run, answer

BUILTIN = ("--provider", "builtin")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "TOOLS.md"
    path.write_text("---\nowner: bob\ntags: [ops]\n---\n# Tools\n\nThe printer is upstairs.\n")
    return path


def store(run: Run, doc_id: str, path: Path | str, *options: str) -> Any:
    return answer(run("store", "--doc-id", doc_id, "--file", str(path), *options, *BUILTIN))


def found(run: Run, query: str, *options: str) -> list[str]:
    return [
        hit["doc_id"]
        for hit in answer(run("search", query, "--mode", "keyword", *options, *BUILTIN))
    ]


def documents(run: Run) -> dict[str, str | None]:
    return {document["doc_id"]: document["path"] for document in answer(run("list"))["documents"]}


def folders(tmp_path: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(tmp_path / "cli.db")) as conn:
        return conn.execute("select path, doc_id, metadata from folders order by path").fetchall()


def test_a_stored_file_is_a_files_document_and_follows_its_changes(
    run: Run, tools: Path, tmp_path: Path
) -> None:
    assert store(run, "tools", "TOOLS.md") == {"doc_id": "tools", "chunks": 1}
    assert documents(run) == {"tools": str(tools)}
    assert folders(tmp_path) == [(str(tools), "tools", "{}")]
    tools.write_text("# Tools\n\nThe kettle is downstairs.\n")
    assert "1 note of" in run("doctor", *BUILTIN).stdout
    assert answer(run("get", "tools"))["text"].endswith("downstairs.")
    assert found(run, "kettle", "--refresh") == ["tools"]
    assert found(run, "printer") == []
    os.utime(tools, (1, 1))
    tools.write_text("# Tools\n\nThe stapler is here.\n")
    assert answer(run("update", *BUILTIN))["files"] == 1
    assert found(run, "stapler") == ["tools"]
    assert "none has changed" in run("doctor", *BUILTIN).stdout


def test_metadata_given_by_option_wins_whenever_the_file_is_read(run: Run, tools: Path) -> None:
    store(run, "tools", tools, "--metadata", "owner=ann", "title=Mine", "date=2026-03-01")
    for text, command in (("kettle", "update"), ("stapler", "ingest")):
        tools.write_text(f"---\nowner: bob\ntags: [ops]\n---\n# Tools\n\nThe {text}.\n")
        answer(
            run(*((command, "--path", str(tools)) if command == "ingest" else (command,)), *BUILTIN)
        )
        [hit] = answer(
            run("search", text, "--full", "--tag", "ops", "--where", "owner=ann", *BUILTIN)
        )
        assert hit["metadata"] == {
            "owner": "ann",
            "tags": ["ops"],
            "title": "Mine",
            "date": "2026-03-01",
        }
        assert (hit["date"], hit["heading_path"]) == ("2026-03-01", "Mine > Tools")
    store(run, "tools", tools)
    [hit] = answer(run("search", "stapler", "--full", *BUILTIN))
    assert hit["metadata"] == {"owner": "bob", "tags": ["ops"]}


@pytest.mark.parametrize("doc_id", ["TOOLS.md", "notes/tools"])
def test_an_ingest_of_the_file_takes_the_document_over_with_its_id(
    run: Run, tools: Path, doc_id: str
) -> None:
    store(run, doc_id, tools)
    tools.write_text("The kettle.")
    done = run("ingest", "--path", "TOOLS.md", *BUILTIN)
    assert answer(done)["files"] == 1
    assert (answer(done)["errors"], answer(done)["warnings"]) == ([], [])
    assert documents(run) == {doc_id: str(tools)}
    assert found(run, "kettle") == [doc_id]


def test_text_for_a_files_document_is_refused_and_another_file_takes_its_place(
    run: Run, tools: Path, tmp_path: Path
) -> None:
    store(run, "x", tools)
    refused = run("store", "--doc-id", "x", "--text", "mine", *BUILTIN)
    assert (refused.returncode, "is the document of" in refused.stderr) == (1, True)
    other = tmp_path / "other.md"
    other.write_text("The kettle.")
    store(run, "x", other)
    assert documents(run) == {"x": str(other)}
    assert [row[0] for row in folders(tmp_path)] == [str(other)]
    store(run, "y", tools)
    assert found(run, "printer") == ["y"]


def test_a_file_that_is_in_already_is_refused_under_another_id(
    run: Run, folder: Path, tools: Path
) -> None:
    answer(run("ingest", "--path", str(folder), *BUILTIN))
    store(run, "tools", tools)
    for doc_id, path in (
        ("mine", folder / "pi.md"),
        ("memory/pi.md", folder / "pi.md"),
        ("other", tools),
    ):
        done = run("store", "--doc-id", doc_id, "--file", str(path), *BUILTIN)
        assert done.returncode == 1
        assert f"{path} is in the memory as" in done.stderr
        assert "`hybrid-memory update` keeps it current" in done.stderr
    done = run("store", "--doc-id", "memory/pi.md", "--file", "config.json", *BUILTIN)
    assert (done.returncode, "'memory/pi.md' is the document of" in done.stderr) == (1, True)
    assert len(documents(run)) == 3


def test_delete_forgets_the_file(run: Run, tools: Path, tmp_path: Path) -> None:
    store(run, "tools", tools)
    assert run("delete", "--doc-id", "tools").stderr == ""
    assert folders(tmp_path) == []
    assert run("update", *BUILTIN).returncode == 1
    assert documents(run) == {}


def test_a_stored_file_that_is_gone_is_told_and_kept(run: Run, tools: Path) -> None:
    store(run, "tools", tools)
    tools.unlink()
    done = run("update", *BUILTIN)
    assert (done.returncode, f"`hybrid-memory delete --path {tools}`" in done.stderr) == (1, True)
    assert found(run, "printer") == ["tools"]
    answer(run("delete", "--path", str(tools)))
    assert documents(run) == {}


def test_a_stored_transcript_is_read_as_one(run: Run, tmp_path: Path) -> None:
    said = {
        "type": "user",
        "message": {"content": "The password: hunter2secret is for the printer"},
    }
    (tmp_path / "s.jsonl").write_text(json.dumps(said) + "\n")
    assert store(run, "talk", "s.jsonl", "--metadata", "who=ann") == {"doc_id": "talk", "chunks": 1}
    [hit] = answer(run("search", "printer", "--full", *BUILTIN))
    assert (hit["text"].startswith("User: "), hit["metadata"], hit["collection"]) == (
        True,
        {"who": "ann"},
        "sessions",
    )
    with (tmp_path / "s.jsonl").open("a") as file:
        file.write(json.dumps({"type": "assistant", "message": {"content": "The kettle"}}) + "\n")
    answer(run("update", "--all", *BUILTIN))
    [hit] = answer(run("search", "kettle", "--full", *BUILTIN))
    assert (hit["doc_id"], hit["metadata"]) == ("talk", {"who": "ann"})
    (tmp_path / "data.jsonl").write_text('{"a": 1}\n')
    done = run("store", "--doc-id", "data", "--file", "data.jsonl", *BUILTIN)
    assert (answer(done)["chunks"], "no searchable text" in done.stderr) == (0, True)


@pytest.mark.parametrize("content", [b"\0binary", None], ids=["binary", "missing"])
def test_a_file_that_cannot_be_read_is_one_line_that_names_it(
    run: Run, tmp_path: Path, content: bytes | None
) -> None:
    if content:
        (tmp_path / "x.md").write_bytes(content)
    done = run("store", "--doc-id", "x", "--file", "x.md", *BUILTIN)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "cannot read" in done.stderr
    assert "x.md" in done.stderr


def test_a_pipe_is_a_text_without_a_file(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_text, args=("piped kettle",), daemon=True)
    writer.start()
    store(run, "p", "pipe")
    writer.join()
    assert documents(run) == {"p": None}
