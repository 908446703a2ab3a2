"""Everything that is known, taken in with one word."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run, answer
from tests.conftest import TopicEmbedder
from tests.sync.test_ingest import ids

Notes = Callable[[dict[str, str | bytes]], Path]
BUILTIN = ("--provider", "builtin")


def test_each_folder_is_taken_in_as_it_was_ingested(
    store: HybridStore, notes: Notes, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    folder = notes({"a.txt": "gpu", "gone.txt": "dog"})
    (folder / "link").symlink_to(tmp_path / "outside")
    options = {
        "patterns": ["*.txt"],
        "exclude": ["drafts"],
        "follow_symlinks": True,
        "keep_missing": True,
    }
    Ingest(store, **options).run([str(folder)], "notes")  # type: ignore[arg-type]
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/b.md").write_text("cat")
    (tmp_path / "plain/gone.md").write_text("cat")
    Ingest(store).run([str(tmp_path / "plain")])
    notes({"new.txt": "x", "new.md": "x", "drafts/new.txt": "x"})
    (tmp_path / "outside/new.txt").write_text("x")
    (folder / "gone.txt").unlink()
    (tmp_path / "plain/gone.md").unlink()
    report = Ingest(store, incremental=True).update()
    assert ids(store) == [
        "notes/a.txt",
        "notes/gone.txt",
        "notes/link/new.txt",
        "notes/new.txt",
        "plain/b.md",
    ]
    assert (report.files, report.skipped, report.removed, report.embedded) == (2, 2, 1, 2)
    assert (report.errors, report.warnings) == ([], [])


def test_what_is_gone_is_an_error_with_the_way_out_and_the_others_go_on(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.md").write_text("cat")
    answer(run("ingest", "--path", str(folder), "--path", str(tmp_path / "other"), *BUILTIN))
    shutil.rmtree(folder)
    (tmp_path / "other/b.md").write_text("dog")
    done = run("update", *BUILTIN)
    report = json.loads(done.stdout)
    assert (done.returncode, report["files"], report["removed"]) == (1, 1, 0)
    way_out = f"if it is gone for good: `hybrid-memory delete --path {folder}`"
    assert report["errors"] == [
        {
            "path": str(folder),
            "reason": f"cannot ingest {folder}: No such file or directory; {way_out}",
            "kind": "gone",
        }
    ]
    assert way_out in done.stderr
    answer(run("delete", "--path", str(folder)))
    assert answer(run("update", *BUILTIN))["errors"] == []


@pytest.mark.parametrize("command", [("update",), ("ingest",), ("ingest", "--incremental")])
def test_ingest_without_a_path_is_the_same_word(
    run: Run, folder: Path, command: tuple[str, ...]
) -> None:
    answer(run("ingest", "--path", str(folder), *BUILTIN))
    (folder / "new.md").write_text("The kettle is green.")
    report = answer(run(*command, *BUILTIN))
    assert (report["files"], report["skipped"], report["embedded"], report["pending"]) == (
        1,
        2,
        1,
        0,
    )


def test_nothing_known_is_one_line_that_says_how_to_begin_and_makes_no_database(
    run: Run, tmp_path: Path
) -> None:
    for _ in range(2):
        for command in ("update", "ingest"):
            done = run(command, *BUILTIN)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
            assert "`hybrid-memory ingest --path DIR`" in done.stderr
        assert not (tmp_path / "cli.db").exists()


def test_texts_without_a_file_get_their_embeddings_too(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    embedder.problem = "down"
    store.store("mine", "gpu")
    embedder.problem = None
    assert [Ingest(store).update().embedded for _ in range(2)] == [1, 0]


def test_a_session_that_goes_on_is_read_at_once_with_all(run: Run, tmp_path: Path) -> None:
    def said(*texts: str) -> str:
        return "".join(
            json.dumps({"type": "user", "message": {"content": text}}) + "\n" for text in texts
        )

    (tmp_path / "a.jsonl").write_text(said("gpu"))
    answer(run("ingest", "--path", "a.jsonl", *BUILTIN))
    (tmp_path / "a.jsonl").write_text(said("gpu", "kettle"))
    assert answer(run("update", *BUILTIN))["skipped"] == 1
    assert answer(run("update", "--all", *BUILTIN))["files"] == 1


def test_a_note_that_icloud_has_evicted_stays(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    Ingest(store).run([str(folder)])
    (folder / "b.md").rename(folder / ".b.md.icloud")
    report = Ingest(store, incremental=True).update()
    assert (report.removed, report.skipped_by["not downloaded"]) == (0, 1)
    assert ids(store) == ["memory/a.md", "memory/b.md"]
    (folder / ".b.md.icloud").unlink()
    assert Ingest(store, incremental=True).update().removed == 1
