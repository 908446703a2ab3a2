"""Notes whose files are gone: what a result says, and what an update removes."""

from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.command import Run, answer


def folder_of(tmp_path: Path, count: int) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nThe boiler {number} is cold.\n")
    return folder


@pytest.mark.parametrize(
    ("count", "gone", "is_kept"), [(30, 16, True), (30, 15, False), (17, 9, False)]
)
@pytest.mark.parametrize("by", ["update", "refresh"])
def test_most_notes_gone_at_once_are_reported_before_they_are_removed(
    tmp_path: Path, count: int, gone: int, is_kept: bool, by: str
) -> None:
    folder = folder_of(tmp_path, count)
    with HybridStore(tmp_path / "m.db", {"provider": "none"}) as store:
        Ingest(store).run([str(folder)])
        for number in range(gone):
            (folder / f"{number}.md").unlink()
        if by == "update":
            report = Ingest(store, incremental=True).update()
        else:
            report = refresh(store)
        lines = [*report.error_lines(), *report.warning_lines()]
        assert any(f"{gone} notes are gone at once" in line for line in lines) == is_kept
        assert store.stats()["doc_count"] == (count if is_kept else count - gone)
        Ingest(store, incremental=True).run([str(folder)])
        assert store.stats()["doc_count"] == count - gone


def test_notes_that_were_renamed_are_not_gone(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 20)
    with HybridStore(tmp_path / "m.db", {"provider": "none"}) as store:
        Ingest(store).run([str(folder)])
        for path in folder.iterdir():
            path.rename(path.with_name(f"old-{path.name}"))
        report = Ingest(store, incremental=True).update()
        assert (report.removed, report.errors, store.stats()["doc_count"]) == (20, [], 20)


def test_a_result_whose_file_is_gone_has_a_mark(run: Run, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 2)
    answer(run("ingest", "--path", str(folder)))
    (folder / "0.md").unlink()
    found = {hit["doc_id"]: hit.get("gone") for hit in answer(run("search", "boiler", "--json"))}
    assert found == {"notes/0.md": True, "notes/1.md": None}
    passages = run("search", "boiler", "--format", "md").stdout.split("\n\n")
    assert {"0.md" in passage for passage in passages if "file is gone" in passage} == {True}
