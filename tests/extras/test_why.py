import errno
import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

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
}  # fmt: skip


@pytest.fixture
def top(store: HybridStore, notes: Notes, tmp_path: Path) -> Path:
    """A folder that was ingested, with one file or more for each rule."""
    folder = notes(FILES)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/o.md").write_text("x")
    (folder / "link.md").symlink_to(tmp_path / "outside/o.md")
    (folder / "linked").symlink_to(tmp_path / "outside")
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
        ("drafts/e.md", "excluded", "--exclude drafts leaves it out"),
        ("t.txt", "pattern", "no pattern of the folder matches"),
        ("link.md", "symbolic link", "memory/link.md is a symbolic link"),
        ("linked/o.md", "symbolic link", "memory/linked is a symbolic link"),
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
    [
        ".obsidian/h.md",
        "d/node_modules/n.md",
        "drafts/e.md",
        "t.txt",
        "link.md",
        "linked/o.md",
        "big.md",
        "new.md",
        "../outside/o.md",
    ],
)
def test_the_way_out_takes_the_note_in(run: Run, notes: Notes, tmp_path: Path, name: str) -> None:
    folder = notes(
        {name: content for name, content in FILES.items() if name not in ("bin.md", "taken.md")}
    )
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/o.md").write_text("x")
    (folder / "link.md").symlink_to(tmp_path / "outside/o.md")
    (folder / "linked").symlink_to(tmp_path / "outside")
    limit = {"HYBRID_MEMORY_PROVIDER": "none", "HYBRID_MEMORY_MAX_FILE_BYTES": "100"}
    assert run("ingest", "--path", str(folder), "--exclude", "drafts", env=limit).returncode == 1
    (folder / "new.md").write_text("kettle")
    asked = run("why", str(folder / name), "--json", env=limit)
    assert asked.returncode == 1
    way_out = in_json(asked.stdout)["way_out"]
    words = shlex.split(way_out.split("`")[1])
    more = dict(word.split("=") for word in words[: words.index("hybrid-memory")])
    run(*words[words.index("hybrid-memory") + 1 :], env=limit | more)
    assert answer(run("why", str(folder / name), env=limit | more))["in_memory"]


def in_json(text: str) -> Any:
    return json.loads(text)


@pytest.mark.parametrize("note", ["path", "memory/a.md", "a.md", "a", "memory/a.md#L1"])
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
    changed, gone = explain(store, "memory/a.md"), explain(store, "memory/d/b.md")
    assert [(found["in_memory"], found["current"], found["rule"]) for found in (changed, gone)] == [
        (True, False, "changed"),
        (True, False, "gone"),
    ]
    again = f"`hybrid-memory ingest --path {top} --exclude drafts --exclude '*.tmp' --incremental`"
    assert (changed["way_out"], gone["way_out"]) == (
        f"{again} reads it again",
        f"{again} removes it",
    )


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
    assert found["reason"].endswith(
        "matches its name, and it would be refused: binary: it contains NUL bytes"
    )


def test_path_through_a_link_above_the_folder_is_the_same_note(
    store: HybridStore, top: Path, tmp_path: Path
) -> None:
    (tmp_path / "home").symlink_to(tmp_path)
    assert explain(store, str(tmp_path / "home/memory/a.md"))["current"]
    assert explain(store, str(tmp_path / "home/memory/t.txt"))["rule"] == "pattern"


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("nothing.md", "no document"),
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


@pytest.mark.parametrize("order", [("w", "w/memory"), ("w/memory", "w")])
def test_a_new_note_of_nested_folders_gets_the_id_that_was_told(
    store: HybridStore, tmp_path: Path, order: tuple[str, str]
) -> None:
    (tmp_path / "w/memory").mkdir(parents=True)
    (tmp_path / "w/memory/old.md").write_text("gpu")
    for folder in order:
        Ingest(store).run([str(tmp_path / folder)])
    (tmp_path / "w/memory/new.md").write_text("kettle")
    told = explain(store, str(tmp_path / "w/memory/new.md"))
    Ingest(store).update()
    assert told["doc_id"] == explain(store, str(tmp_path / "w/memory/new.md"))["doc_id"]
    assert explain(store, told["doc_id"])["current"]


def said(text: str) -> str:
    """A line of a transcript."""
    message = {"type": "message", "message": {"role": "user", "content": text}}
    return f"{json.dumps(message)}\n"


def rewritten(path: Path, text: str) -> None:
    """Put another text in a file that keeps its time, as `cp -p`, an archive or a sync tool does."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("name", "before", "after", "current"),
    [
        ("a.md", "gpu one", "gpu two", False),
        ("a.md", "gpu one", "gpu one", True),
        ("a.md", "gpu one", "gpu", False),
        ("a.md", "gpu one", "gpu one and two", False),
        ("a.md", "", "gpu", False),
        ("a.org", "gpu one", "gpu two", False),
        ("a.html", "<p>gpu one", "<p>gpu two", False),
        ("a.jsonl", said("gpu one"), said("gpu two"), False),
        ("a.jsonl", said("gpu one"), said("gpu one") + said("two"), True),  # too little to read
        ("a.jsonl", said("gpu one"), said("gpu two") + said("two"), False),
    ],
)
def test_why_reads_the_file(
    store: HybridStore, notes: Notes, name: str, before: str, after: str, current: bool
) -> None:
    folder = notes({name: before})
    Ingest(store, patterns=[f"*{Path(name).suffix}"]).run([str(folder)])
    [doc_id] = [row.doc_id for row in store.storage.catalog.source_files()]
    assert explain(store, doc_id)["current"]
    rewritten(folder / name, after)
    found = explain(store, doc_id)
    assert (found["current"], found["rule"] == "changed") == (current, not current)
    assert (found["reason"] is None) == (before == after)
    assert read(store, doc_id)["changed"] == (before != after)


def test_a_file_that_was_only_touched_is_current(store: HybridStore, top: Path) -> None:
    os.utime(top / "a.md", (1, 1))
    assert explain(store, "memory/a.md")["current"]


def test_the_way_out_reads_a_file_whose_size_and_time_are_as_before(run: Run, notes: Notes) -> None:
    folder = notes({"s1.md": "# S\nwolfone\n", "s2.md": "# S\nwolftwo\n"})
    for name in ("s1.md", "s2.md"):
        os.utime(folder / name, (1, 1))
    run("ingest", "--path", str(folder))
    (folder / "s1.md").rename(folder / "t")
    (folder / "s2.md").rename(folder / "s1.md")
    (folder / "t").rename(folder / "s2.md")
    told = in_json(run("why", str(folder / "s1.md"), "--json").stdout)
    assert (told["current"], told["rule"]) == (False, "changed")
    assert told["reason"].endswith("with the same size and time")
    words = shlex.split(told["way_out"].split("`")[1])
    run(*words[1:])
    assert answer(run("why", str(folder / "s1.md")))["current"]


def test_a_file_that_cannot_be_read_is_not_said_to_be_current(
    store: HybridStore, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str, follow_symlinks: bool) -> BinaryIO:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("hybrid_memory.extras.why.explain.open_regular", refused)
    found = explain(store, "memory/a.md")
    assert (found["in_memory"], found["current"], found["rule"]) == (True, False, "unreadable")
    assert found["reason"] == "its file cannot be read, so it may have changed: Permission denied"


@pytest.mark.parametrize(
    "path", ["none.md", "./none.md", "~/none.md", "/none/none.md", "a/none.md"]
)
def test_a_path_that_does_not_exist_is_said_to_be_missing(run: Run, path: str) -> None:
    answer(run("store", "--doc-id", "a", "--text", "A note.", "--provider", "none"))
    done = run("why", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"no document '{path}' in this memory" in done.stderr
    is_path = "/" in path
    assert ("there is no file /" in done.stderr) == is_path
