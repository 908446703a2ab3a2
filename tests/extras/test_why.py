import errno
import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.passage import read
from hybrid_memory.errors import QueryError
from hybrid_memory.extras.why.explain import explain
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run, answer, in_terminal

Notes = Callable[..., Path]
FILES: dict[str, str | bytes] = {
    "a.md": "gpu", "d/b.md": "dog", ".obsidian/h.md": "x", "d/node_modules/n.md": "x", "drafts/e.md": "x", "t.txt": "x",
    "bin.md": b"\0", "big.md": "x" * 101, "latin.md": b"caf\xe9", "empty.md": "", "taken.md": "x",
    ".gitignore": "*.log.md\n", "1.log.md": "x",
}  # fmt: skip


@pytest.fixture
def top(store: HybridStore, notes: Notes, tmp_path: Path) -> Path:
    """A folder that was ingested, with one file or more for each rule."""
    folder = notes(FILES)
    for name in ("outside", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "o.md").write_text("x")
    (folder / "link.md").symlink_to(tmp_path / "outside/o.md")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "pipe.md")
    store.store("memory/taken.md", "cat")
    store.config["max_file_bytes"] = 100
    Ingest(store, exclude=["drafts", "*.tmp"]).run([str(folder)])
    (folder / "new.md").write_text("kettle")
    return folder


@pytest.mark.parametrize(
    ("name", "rule", "reason"),
    [
        (".obsidian/h.md", "hidden", "memory/.obsidian: names that begin with a dot"),
        (".obsidian", "hidden", "names that begin with a dot"),
        ("d/node_modules/n.md", "node_modules", "d/node_modules: folders with this name"),
        ("drafts/e.md", "excluded", "memory/drafts: --exclude leaves it out"),
        ("1.log.md", ".gitignore", ".gitignore:1: *.log.md leaves it out"),
        ("t.txt", "pattern", "no pattern of the folder matches"),
        ("link.md", "symbolic link", "a symbolic link that is not followed"),
        ("linked/o.md", "symbolic link", "memory/linked: it is a symbolic link"),
        ("pipe.md", "special", "only regular files"),
        ("bin.md", "encoding", "binary: it contains NUL bytes"),
        ("big.md", "size", "101 bytes, over max_file_bytes (100)"),
        ("taken.md", "id taken", "a text added by `store`"),
        ("new.md", "new", "it has not been read yet"),
        ("../outside/o.md", "not ingested", "not in any ingested folder"),
    ],
)
def test_note_that_is_not_in_is_told_with_its_rule(
    store: HybridStore, top: Path, name: str, rule: str, reason: str
) -> None:
    found = explain(store, str(top / name))
    assert (found["in_memory"], found["current"], found["rule"]) == (False, False, rule)
    assert reason in found["reason"]
    assert found["path"] == os.path.abspath(top / name)


@pytest.mark.parametrize(
    "name",
    [".obsidian/h.md", "t.txt", "linked/o.md", "big.md", "taken.md", "new.md", "../outside/o.md"],
)
def test_the_way_out_takes_the_note_in(
    store: HybridStore, top: Path, run: Run, db_path: str, name: str
) -> None:
    told = explain(store, str(top / name))["way_out"]
    words = shlex.split(told.split("`")[1])
    start = words.index("hybrid-memory")
    settings = dict(word.split("=") for word in words[:start])
    limit = {"HYBRID_MEMORY_MAX_FILE_BYTES": "100"}
    run(*words[start + 1 :], "--db", db_path, "--provider", "none", env=limit | settings)
    assert explain(store, str(top / name))["in_memory"]


@pytest.mark.parametrize("name", ["bin.md", "pipe.md"])
def test_what_cannot_be_ingested_is_said_to_be_so(store: HybridStore, top: Path, name: str) -> None:
    told = explain(store, str(top / name))["way_out"]
    assert told is None or told.startswith("save it as text in UTF-8, then `")


@pytest.mark.parametrize("note", ["path", "a"])
def test_note_that_is_in_is_told_by_path_or_id(store: HybridStore, top: Path, note: str) -> None:
    found = explain(store, str(top / "a.md") if note == "path" else note)
    assert found.pop("indexed_at")
    assert found == {
        "path": str(top / "a.md"), "doc_id": "memory/a.md", "in_memory": True, "current": True, "rule": None, "reason": None,
        "way_out": None, "source": str(top), "chunks": 1, "pending": 0, "date": None,
    }  # fmt: skip


def test_note_that_is_not_what_was_read_says_so(store: HybridStore, top: Path) -> None:
    (top / "a.md").write_text("gpu server")
    (top / "d/b.md").unlink()
    again = f"`hybrid-memory ingest --path {top} --exclude drafts --exclude '*.tmp' --incremental`"
    for note, rule, way_out in (
        ("memory/a.md", "changed", f"{again} reads changed files"),
        ("memory/d/b.md", "gone", f"{again} removes notes without a file"),
    ):
        found = explain(store, note)
        assert (found["in_memory"], found["current"]) == (True, False)
        assert (found["rule"], found["way_out"]) == (rule, way_out)


def test_note_that_is_in_with_something_to_know_says_it(store: HybridStore, top: Path) -> None:
    latin, empty = explain(store, str(top / "latin.md")), explain(store, str(top / "empty.md"))
    assert (latin["current"], latin["rule"], latin["reason"][:21]) == (
        True,
        "encoding",
        "not UTF-8 at byte 3: ",
    )
    assert (empty["current"], empty["rule"], empty["chunks"]) == (True, "empty", 0)
    assert explain(store, "memory/taken.md")["path"] is None


def test_front_matter_that_is_not_read_is_told(store: HybridStore, notes: Notes) -> None:
    text = "---\ntitle: Rack\nstray\n---\nThe rack."
    Ingest(store).run([str(notes({"rack.md": text}))])
    store.store("stored", text)
    for note in ("memory/rack.md", "stored"):
        found = explain(store, note)
        assert (found["current"], found["rule"]) == (True, "front matter")
        assert found["reason"] == "line 3: 'stray' is not a key of the front matter; it is left out"


def test_file_that_no_pattern_would_help_has_no_way_out(store: HybridStore, top: Path) -> None:
    (top / "picture.png").write_bytes(b"\x89PNG\0")
    found = explain(store, str(top / "picture.png"))
    assert (found["rule"], found["way_out"]) == ("pattern", None)
    assert found["reason"].endswith("and it would be refused: binary: it contains NUL bytes")


def test_the_way_out_of_a_folder_has_the_patterns_of_its_source(
    store: HybridStore, notes: Notes
) -> None:
    top = notes({"a.txt": "gpu", ".own/b.txt": "gpu"})
    Ingest(store, patterns=["*.txt"]).run([str(top)])
    told = explain(store, str(top / ".own/b.txt"))["way_out"]
    assert told == f"`hybrid-memory ingest --path {top / '.own'} --pattern '*.txt'` ingests it"


def test_links_that_are_followed(store: HybridStore, notes: Notes, tmp_path: Path) -> None:
    top = notes({"a.md": "gpu"})
    (tmp_path / "o.md").write_text("x")
    for name, target in (
        ("1.md", tmp_path / "o.md"),
        ("2.md", tmp_path / "o.md"),
        ("3.md", "none"),
    ):
        (top / name).symlink_to(target)
    Ingest(store, follow_symlinks=True).run([str(top)])
    assert explain(store, str(top / "2.md"))["doc_id"] == "memory/1.md"  # the same file
    broken = explain(store, str(top / "3.md"))
    assert (broken["rule"], broken["way_out"]) == ("symbolic link", None)


def test_path_through_a_link_above_the_folder_is_the_same_note(
    store: HybridStore, top: Path, tmp_path: Path
) -> None:
    (tmp_path / "home").symlink_to(tmp_path)
    assert explain(store, str(tmp_path / "home/memory/a.md"))["current"]
    assert explain(store, str(tmp_path / "home/memory/t.txt"))["rule"] == "pattern"


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("d", "is a folder"),
        (".", "is a folder that no rule leaves out; name a file in it"),
        ("..", "is a folder that was not ingested"),
    ],
)
def test_what_is_no_note_is_refused(store: HybridStore, top: Path, note: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        explain(store, str(top / note))


def test_a_terminal_shows_one_line_and_the_status_tells(
    run: Run, environ: dict[str, str], folder: Path
) -> None:
    run("ingest", "--path", str(folder))
    assert run("why", "pi.md").returncode == 0
    assert "memory/pi.md: in the memory and current: 1 chunk, 1 pending, read " in in_terminal(
        environ, "why", "pi.md"
    )
    (folder / "n.txt").write_text("x")
    assert run("why", str(folder / "n.txt")).returncode == 1
    seen = in_terminal(environ, "why", str(folder / "n.txt"))
    assert "n.txt: not in the memory: pattern; no pattern" in seen and len(seen.splitlines()) == 1


def test_a_new_note_of_nested_folders_gets_the_id_that_was_told(
    store: HybridStore, notes: Notes
) -> None:
    top = notes({"a.md": "gpu", "sub/a.md": "gpu", ".own/a.md": "gpu"})
    Ingest(store, patterns=["*.md", "*.txt"]).run([str(top)])
    for name in ("sub", ".own"):
        Ingest(store).run([str(top / name)])
    # The deepest folder that takes it, although one around it leaves it out
    new = {
        "sub/new.md": "sub/new.md",
        "sub/new.txt": "memory/sub/new.txt",
        ".own/new.md": ".own/new.md",
    }
    for name, doc_id in new.items():
        (top / name).write_text("kettle")
        told = explain(store, str(top / name))
        assert (told["rule"], told["doc_id"]) == ("new", doc_id)
        assert told["way_out"].endswith(" --incremental` ingests it")
    Ingest(store).update()
    assert set(new.values()) <= set(store.storage.catalog.ids())


def said(text: str) -> str:
    """A line of a transcript."""
    message = {"type": "message", "message": {"role": "user", "content": text}}
    return f"{json.dumps(message)}\n"


@pytest.mark.parametrize(
    ("name", "before", "after", "current"),
    [
        ("a.md", "gpu one", "gpu two", False),
        ("a.md", "gpu one", "gpu one", True),
        ("a.md", "gpu one", "gpu", False),
        ("a.md", "gpu one", "gpu one and two", False),
        ("a.jsonl", said("gpu one"), said("gpu one") + said("two"), True),  # too little to read
        ("a.jsonl", said("gpu one"), said("gpu two") + said("two"), False),
    ],
)
@pytest.mark.parametrize("time", ["same", "another"])
def test_why_reads_the_file(
    store: HybridStore, notes: Notes, name: str, before: str, after: str, current: bool, time: str
) -> None:
    folder = notes({name: before})
    status = (folder / name).stat()
    Ingest(store, patterns=[f"*{Path(name).suffix}"]).run([str(folder)])
    [doc_id] = [row.doc_id for row in store.storage.catalog.source_files()]
    assert explain(store, doc_id)["current"]
    (folder / name).write_text(after)
    if time == "same":  # as `cp -p`, an archive or a sync tool leaves it
        os.utime(folder / name, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = explain(store, doc_id)
    assert (found["current"], found["rule"]) == (current, None if current else "changed")
    assert read(store, doc_id)["changed"] == (before != after)


def test_a_file_that_cannot_be_read_is_not_said_to_be_current(
    store: HybridStore, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str, follow_symlinks: bool) -> BinaryIO:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("hybrid_memory.extras.why.states.open_regular", refused)
    found = explain(store, "memory/a.md")
    assert (found["in_memory"], found["current"], found["rule"]) == (True, False, "unreadable")


@pytest.mark.parametrize("path", ["none.md", "/none/none.md"])
def test_a_path_that_does_not_exist_is_said_to_be_missing(run: Run, path: str) -> None:
    answer(run("store", "--doc-id", "a", "--text", "A note.", "--provider", "none"))
    done = run("why", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"no document '{path}' in this memory" in done.stderr
    is_path = "/" in path
    assert ("there is no file /" in done.stderr) == is_path
