"""The command `note`, which writes to a file that people read, too."""

from datetime import date
from pathlib import Path

import pytest

from tests.command import Run, answer


@pytest.fixture
def workspace(tmp_path: Path, run: Run) -> Path:
    (tmp_path / "work/memory").mkdir(parents=True)
    (tmp_path / "work/memory/2026-01-05.md").write_text("# Monday\n\nRain.\n")
    answer(run("ingest", "--path", str(tmp_path / "work/memory")))
    return tmp_path / "work"


def test_a_note_is_a_line_of_the_day_and_is_found_at_once(run: Run, workspace: Path) -> None:
    first = answer(run("note", "--dir", str(workspace), "The", "kettle is green."))
    second = answer(run("note", "--dir", str(workspace), "The lamp is blue.\nIt is new."))
    path = workspace / f"memory/{date.today()}.md"
    assert first["path"] == second["path"] == str(path)
    heading, blank, one, two, more = path.read_text().splitlines()
    assert (heading, blank) == (f"# {date.today()}", "")
    assert one.endswith("The kettle is green.")
    assert two.startswith("- ")
    assert more == "  It is new."
    assert first["citation"] == f"memory/{date.today()}.md#L3-L3"
    assert second["citation"] == f"memory/{date.today()}.md#L4-L5"
    [hit] = answer(run("search", "kettle", "--json"))
    assert hit["doc_id"] == f"memory/{date.today()}.md"


def test_the_only_ingested_folder_of_notes_is_meant_from_anywhere(
    run: Run, workspace: Path
) -> None:
    assert answer(run("note", "Found."))["path"].startswith(str(workspace))


def test_what_does_not_end_with_a_line_is_not_joined(run: Run, workspace: Path) -> None:
    path = workspace / f"memory/{date.today()}.md"
    path.write_text("# Today\n\nNo end")
    answer(run("note", "--dir", str(workspace), "New."))
    assert path.read_text().splitlines()[2] == "No end"


def test_without_a_workspace_a_line_says_how_to_name_one(run: Run) -> None:
    done = run("note", "Lost.")
    assert done.returncode == 1
    assert "--dir" in done.stderr


def test_a_new_workspace_is_taken_in(run: Run, tmp_path: Path) -> None:
    told = answer(run("note", "--dir", str(tmp_path / "other"), "The boat is blue."))
    assert told["citation"].startswith("memory/")
