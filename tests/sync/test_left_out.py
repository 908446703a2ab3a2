"""Notes of the memory that a list, a skill or a sync program's copy leaves out later."""

from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "notes"
    for name in ("a.md", "drafts/b.md", "drafts/c.md", "x/d.md", "plan 2.md"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"The walrus sleeps in the harbour, says the first line of {name}.")
    return top


def ids(store: HybridStore) -> list[str]:
    return sorted(doc_id.removeprefix("notes/") for doc_id, *_ in store.storage.catalog.names())


LATER = [
    (".gitignore", "drafts/\n", "2 .gitignore", {"drafts/b.md", "drafts/c.md"}),
    (".ignore", "b.md\n", "1 .ignore", {"drafts/b.md"}),
    ("x/SKILL.md", "A skill.\n", "1 skill", {"x/d.md"}),
    ("plan.md", "The walrus sleeps in the harbour, says the first line of plan 2.md.", "1 conflict copy", {"plan 2.md"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "rule", "left_out"), LATER)
def test_a_note_that_is_left_out_later_is_reported_before_it_goes(
    store: HybridStore, folder: Path, name: str, text: str, rule: str, left_out: set[str]
) -> None:
    Ingest(store).run([str(folder)])
    before = ids(store)
    (folder / name).write_text(text)
    for _ in range(2):
        job = Ingest(store, incremental=True)
        report = job.update()
        assert report.removed == 0
        [line] = report.notes
        assert f"left out by rule ({rule})" in line
        assert all(f"notes/{doc_id}" in line for doc_id in left_out)
        assert f"`hybrid-memory ingest --path {folder} --incremental` removes" in line
        assert ("--no-ignore" in line) == ("ignore" in rule)
    assert refresh(store).removed == 0
    assert set(before) <= set(ids(store))
    report = Ingest(store, incremental=True).run([str(folder)])
    assert (report.removed, report.notes) == (len(left_out), [])
    assert set(before) - set(ids(store)) == left_out


def test_no_ignore_is_kept_for_later_updates(store: HybridStore, folder: Path) -> None:
    (folder / ".gitignore").write_text("*.md\n")
    Ingest(store, no_ignore=True).run([str(folder)])
    report = Ingest(store, incremental=True).update()
    assert (report.removed, report.notes, len(ids(store))) == (0, [], 5)
    [source] = store.storage.sources.all()
    assert source.no_ignore


def test_a_folder_where_all_is_left_out_later_is_no_lost_disk(
    store: HybridStore, folder: Path
) -> None:
    Ingest(store).run([str(folder)])
    (folder / ".gitignore").write_text("*\n")
    report = Ingest(store, incremental=True).update()
    assert (report.errors, len(report.notes), len(ids(store))) == ([], 1, 5)
    report = Ingest(store, incremental=True).run([str(folder)])
    assert (report.errors, ids(store)) == ([], [])


def test_what_is_left_out_is_told_with_the_way_to_take_it_in(
    store: HybridStore, folder: Path
) -> None:
    (folder / ".gitignore").write_text("drafts/\n")
    [line] = Ingest(store).run([str(folder)]).left_out()
    assert line.startswith("left out by rule: ")
    assert "1 .gitignore" in line
    assert line.endswith("`ingest --no-ignore` reads what a list such as .gitignore leaves out")
