"""The command `note`, which writes to a file that people read, too."""

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.errors import SourceError
from hybrid_memory.extras.note import Vault, formatted
from tests.command import Run, answer

Note = Callable[..., dict[str, Any]]


@pytest.fixture
def workspace(tmp_path: Path, run: Run) -> Path:
    (tmp_path / "work/memory").mkdir(parents=True)
    (tmp_path / "work/memory/2026-01-05.md").write_text("# Monday\n\nRain.\n")
    answer(run("ingest", "--path", str(tmp_path / "work/memory")))
    return tmp_path / "work"


@pytest.fixture
def note(run: Run, workspace: Path) -> Note:
    """Write a note in the workspace."""
    return lambda *words: answer(run("note", "--dir", str(workspace), *words))


@pytest.fixture
def today(workspace: Path) -> Path:
    return workspace / f"memory/{date.today()}.md"


def test_a_note_is_a_line_of_the_day_and_is_found_at_once(
    run: Run, note: Note, today: Path
) -> None:
    first = note("The", "kettle is green.")
    second = note("The lamp is blue.\nIt is new.")
    assert first["path"] == second["path"] == str(today)
    heading, blank, one, two, more = today.read_text().splitlines()
    assert (heading, blank) == (f"# {date.today()}", "")
    assert one.endswith("The kettle is green.")
    assert two.startswith("- ")
    assert more == "  It is new."
    assert first["citation"] == f"memory/{date.today()}.md#L3-L3"
    assert second["citation"] == f"memory/{date.today()}.md#L4-L5"
    [hit] = answer(run("search", "kettle", "--json"))
    assert hit["doc_id"] == f"memory/{date.today()}.md"
    assert answer(run("note", "From anywhere."))["path"] == str(today)  # the only such folder


def test_a_note_that_fails_says_how_to_name_a_workspace_and_makes_no_database(
    run: Run, environ: dict[str, str]
) -> None:
    for words, told in (
        (("Lost.",), "--dir"),
        (("--dir", "none", "Lost."), "none is not a folder"),
        (("--dir", ".", " "), "the note is empty"),
    ):
        done = run("note", *words)
        assert done.returncode == 1
        assert told in done.stderr
    assert not os.path.exists(environ["HYBRID_MEMORY_DB_PATH"])


def test_a_new_workspace_is_taken_in(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    told = answer(run("note", "--dir", str(tmp_path / "other"), "The boat is blue."))
    assert told["citation"].startswith("memory/")


def test_what_was_written_but_not_taken_in_is_told_and_not_lost(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"  # its notes would have the ids of the workspace
    other.mkdir()
    done = run("note", "--dir", str(other), "The boat is blue.")
    told = answer(done)
    assert told["citation"] is None
    assert Path(told["path"]).read_text().endswith("The boat is blue.\n")
    assert f"the note was written to {told['path']}, but could not be ingested: " in done.stderr


def test_a_line_is_not_written_twice_in_a_row(
    run: Run, note: Note, workspace: Path, today: Path
) -> None:
    text = "The boat is blue.\nAll of it."
    first = note(text)
    again = run("note", "--dir", str(workspace), text)
    assert answer(again)["citation"] == first["citation"]
    assert "is there already" in again.stderr
    note("The boat is red.")
    note(text)
    assert today.read_text().count("The boat is blue.") == 2


@pytest.mark.parametrize("name", ["note", "folder"])
def test_a_link_that_leads_out_of_the_folder_is_refused(
    run: Run, today: Path, vault: Path, tmp_path: Path, name: str
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "profile").write_text("alias ll=ls\n")
    if name == "note":
        today.symlink_to(other / "profile")
        target = today.parent.parent
    else:
        set_daily_notes(vault, folder="days")
        (vault / "days").symlink_to(other)
        target = vault
    done = run("note", "--dir", str(target), "Rain.")
    assert done.returncode == 1
    assert "leads out of" in done.stderr
    assert [path.read_text() for path in other.iterdir()] == ["alias ll=ls\n"]


def test_a_busy_memory_is_no_reason_to_write_the_line_again(
    run: Run, workspace: Path, environ: dict[str, str]
) -> None:
    path = environ["HYBRID_MEMORY_DB_PATH"]
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("begin immediate")
        done = run("note", "--dir", str(workspace), "The boat is blue.")
    assert done.returncode == 0
    assert "in the memory after the next update" in done.stderr
    assert "try again" not in done.stderr
    answer(run("update"))
    assert answer(run("search", "boat", "--json"))


MEMORY = """---
host: atlas
---
# Facts

The launch is planned for 1 June.
- Alarm code: 1180
  and the back door
* [ ] Port: ~~22~~ 2222

| host | port |
|---|---|
| heron | 22 |
"""


@pytest.fixture
def facts(run: Run, workspace: Path) -> Path:
    """A file of the workspace with one statement of each kind, and the line endings of Windows."""
    path = workspace / "MEMORY.md"
    path.write_text(MEMORY, newline="\r\n")
    answer(run("ingest", "--path", str(path)))
    return path


@pytest.mark.parametrize(
    ("lines", "text", "struck", "at"),
    [
        ("L6", "It is on 12 July.", ["~~The launch is planned for 1 June.~~ It is on 12 July."], 6),
        (
            "L7-L8",
            "Alarm code: 9043\nfor both",
            ["- ~~Alarm code: 1180~~", "  ~~and the back door~~ Alarm code: 9043", "  for both"],
            7,
        ),
        ("L9", "Port: 3333", ["* [ ] ~~Port:~~ ~~22~~ ~~2222~~ Port: 3333"], 9),
        # With the heading above it, as a search cites it
        ("L4-L6", "It is on 12 July.", ["~~The launch is planned for 1 June.~~ It is on 12 July."], 6),
    ],
)  # fmt: skip
def test_the_old_line_is_struck_where_it_stands(
    run: Run,
    note: Note,
    facts: Path,
    today: Path,
    lines: str,
    text: str,
    struck: list[str],
    at: int,
) -> None:
    told = note("--replaces", f"MEMORY.md#{lines}", text)
    rows = MEMORY.split("\n")
    rows[at - 1 : int(lines.rpartition("L")[2])] = struck
    assert facts.read_bytes().decode() == "\r\n".join(rows)
    assert told["path"] == str(facts)
    assert told["citation"] == f"MEMORY.md#L{at}-L{at + len(struck) - 1}"
    assert told["replaced"].startswith(f"MEMORY.md#{lines.partition('-')[0]}-")
    assert not today.exists()
    assert answer(run("search", text, "--json"))[0]["doc_id"] == "MEMORY.md"


@pytest.mark.parametrize(
    ("lines", "text", "likely"),
    [("L4-L9", "The launch is planned for 12 July.", "L6-L6"), ("L1-L9", "The port is 3333", "L9-L9")],
)  # fmt: skip
def test_of_several_statements_the_likely_one_is_named(
    run: Run, workspace: Path, facts: Path, lines: str, text: str, likely: str
) -> None:
    done = run("note", "--dir", str(workspace), "--replaces", f"MEMORY.md#{lines}", text)
    assert done.returncode == 1
    assert f"such as MEMORY.md#{likely}: " in done.stderr
    assert facts.read_text() == MEMORY


@pytest.mark.parametrize(
    ("place", "struck"),
    [
        ("MEMORY.md#L2", "host: atlas"),  # front matter
        ("MEMORY.md#L13", "| heron | 22 |"),
        ("texts/a#L3", "The stored launch is on Monday."),
        ("other/a.md#L3", "The launch is on Monday."),
        ("work/s.jsonl#L1", "User: The said launch is on Monday."),
    ],
)
def test_what_cannot_be_edited_is_corrected_in_the_note_of_the_day(
    run: Run, note: Note, workspace: Path, facts: Path, today: Path, place: str, struck: str
) -> None:
    other = workspace.parent / "other"
    other.mkdir()
    old = "# Plans\n\nThe launch is on Monday.\n"
    (other / "a.md").write_text(old)
    turn = {"type": "user", "message": {"role": "user", "content": "The said launch is on Monday."}}
    (workspace / "s.jsonl").write_text(json.dumps(turn) + "\n")
    answer(run("ingest", "--path", str(other)))
    answer(run("ingest", "--path", str(workspace), "--pattern", "*.jsonl", "--collection", "work"))
    answer(run("store", "--doc-id", "texts/a", "--text", old.replace("The", "The stored")))
    told = note("--replaces", place, "It is on Friday.")
    assert (facts.read_text(), (other / "a.md").read_text()) == (MEMORY, old)
    assert told["citation"] == f"memory/{date.today()}.md#L3-L3"
    assert told["replaced"].startswith(place)
    last = today.read_text().splitlines()[-1]
    assert last.partition(" ~~")[2] == f"{struck}~~ It is on Friday."
    if "launch" in struck:
        hits = answer(run("search", "launch Monday", "--json", "--full"))
        former = {hit["doc_id"]: hit["newer"] for hit in hits}
        assert former[place.partition("#")[0]].startswith(f"memory/{date.today()}.md#")


def test_a_note_that_has_changed_since_is_not_edited(
    note: Note, workspace: Path, today: Path
) -> None:
    path = workspace / "memory/2026-01-05.md"
    path.write_text("# Monday\n\nSnow.\n")
    note("--replaces", f"{path}#L3", "Sun.")
    assert path.read_text() == "# Monday\n\nSnow.\n"
    assert today.read_text().endswith("~~Snow.~~ Sun.\n")


def test_a_correction_is_not_made_twice(note: Note, workspace: Path) -> None:
    for _ in range(2):
        note("--replaces", "memory/2026-01-05.md#L3", "Snow fell.")
    text = (workspace / "memory/2026-01-05.md").read_text()
    assert text == "# Monday\n\n~~Rain.~~ Snow fell.\n"


@pytest.mark.parametrize("place", ["memory/2026-01-05.md", "memory/2026-01-05.md#L1"])
def test_what_is_not_one_line_of_a_note_replaces_nothing(
    run: Run, workspace: Path, today: Path, place: str
) -> None:
    done = run("note", "--dir", str(workspace), "--replaces", place, "Snow.")
    assert done.returncode == 1
    assert not today.exists()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "a.md").write_text("A note.\n")
    return folder


def set_daily_notes(vault: Path, **settings: str) -> None:
    (vault / ".obsidian/daily-notes.json").write_text(json.dumps(settings))


def test_in_a_vault_it_is_the_note_that_obsidian_would_open(run: Run, vault: Path) -> None:
    set_daily_notes(vault, folder="Journal/", format="YYYY/[KW]WW/DD.MM.YYYY")
    answer(run("ingest", "--path", str(vault)))
    told = answer(run("note", "--dir", str(vault), "The kettle", "is green."))
    today = date.today()
    week = today.isocalendar().week
    path = vault / f"Journal/{today:%Y}/KW{week:02}/{today:%d.%m.%Y}.md"
    assert told["path"] == str(path)
    assert told["citation"] == f"vault/{path.relative_to(vault)}#L1-L1"
    [item] = path.read_text().splitlines()
    assert item.endswith("The kettle is green.")
    assert answer(run("note", "From anywhere."))["line"] == 2  # the only vault


@pytest.mark.parametrize(("settings", "folder"), [({}, ""), (None, "memory/")])
def test_a_vault_without_a_format_or_without_settings(
    run: Run, vault: Path, settings: dict[str, str] | None, folder: str
) -> None:
    if settings is not None:
        set_daily_notes(vault, **settings)
    told = answer(run("note", "--dir", str(vault), "Rain."))
    assert told["path"] == f"{vault}/{folder}{date.today()}.md"


def test_the_names_of_days_are_in_the_language_of_the_notes_that_are_there(tmp_path: Path) -> None:
    vault = Vault(str(tmp_path), str(tmp_path), "dddd, D. MMMM YYYY")
    assert vault.note(datetime(2026, 11, 24)) == f"{tmp_path}/Tuesday, 24. November 2026.md"
    (tmp_path / "Freitag, 20. November 2026.md").write_text("x")
    assert vault.note(datetime(2026, 12, 1)) == f"{tmp_path}/Dienstag, 1. Dezember 2026.md"
    (tmp_path / "Montag, 23. November 2026.md").write_text("x")
    assert vault.note(datetime(2026, 11, 23)) == f"{tmp_path}/Montag, 23. November 2026.md"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("YYYY-MM-DD", "2026-03-01"),
        ("dddd ddd", "Sunday Sun"),
        ("MMMM MMM", "March Mar"),
        ("GGGG-[W]WW W", "2026-W09 9"),
        ("[Notes of] D, [] [x] é", "Notes of 1,  x é"),
    ],
)
def test_a_format_of_moment_is_a_name(form: str, text: str) -> None:
    assert formatted(form, datetime(2026, 3, 1, 15, 4, 5)) == text


def test_a_format_with_the_time_of_day_is_an_error() -> None:
    with pytest.raises(SourceError, match="'HH' in their format .* known are YYYY, YY, M, MM"):
        formatted("YYYY-MM-DD HHmm", datetime(2026, 3, 1))


@pytest.mark.parametrize("settings", [{"folder": "../out"}, {"format": "[../../]YYYY"}])
def test_nothing_is_written_out_of_the_vault(
    run: Run, vault: Path, settings: dict[str, str]
) -> None:
    set_daily_notes(vault, **settings)
    done = run("note", "--dir", str(vault), "Rain.")
    assert done.returncode == 1
    assert "the daily notes of" in done.stderr
    assert sorted(path.name for path in vault.parent.iterdir() if path.is_dir()) == ["vault"]


def test_from_anywhere_a_workspace_is_meant_before_a_vault(
    run: Run, vault: Path, today: Path
) -> None:
    set_daily_notes(vault)
    answer(run("ingest", "--path", str(vault)))
    assert answer(run("note", "Rain."))["path"] == str(today)


@pytest.mark.parametrize(
    ("before", "added"),
    [
        ("# Day\n\n## Till\n\n- closed", "\n\n## Notes\n\n- * Rain.\n"),
        ("# Day\n\n## Till\n\n", "## Notes\n\n- * Rain.\n"),
        ("## Till\n", "\n## Notes\n\n- * Rain.\n"),
        ("# Day\n\n## Till\n\n# Notes\n- one\n", "- * Rain.\n"),
        ("# Day\n\n```sh\n## no heading\n```\n", "- * Rain.\n"),
        ("A text.\n", "- * Rain.\n"),
        ("", f"# {date.today()}\n\n- * Rain.\n"),
    ],
)
def test_a_line_is_below_the_title_or_a_heading_of_its_own(
    note: Note, today: Path, before: str, added: str
) -> None:
    today.write_text(before)
    told = note("Rain.")
    text = today.read_text()
    start, end = added.split("*")
    assert text.startswith(before + start)
    assert text.endswith(end)
    assert len(text) == len(before + start + "hh:mm" + end)
    assert text.splitlines()[told["line"] - 1].endswith("Rain.")


def test_notes_at_the_same_time_are_all_written_and_name_their_lines(
    environ: dict[str, str], workspace: Path, today: Path
) -> None:
    today.write_text("# Day\n\n## Till\n\n- closed\n")
    command = [sys.executable, "-m", "hybrid_memory", "note"]
    running = [
        subprocess.Popen(
            [*command, f"Number {n}."], env=environ, cwd=workspace, stdout=subprocess.PIPE
        )
        for n in range(4)
    ]
    told = [json.loads(process.communicate()[0]) for process in running]
    lines = today.read_text().splitlines()
    assert [lines[each["line"] - 1].split()[-1] for each in told] == [f"{n}." for n in range(4)]
    assert lines.count("## Notes") == 1


def test_on_a_full_disk_nothing_is_half_written(environ: dict[str, str], tmp_path: Path) -> None:
    before = "# Day\n\n## Till\n"
    path = tmp_path / f"memory/{date.today()}.md"
    path.parent.mkdir()
    path.write_text(before)
    done = subprocess.run(
        [sys.executable, "-m", "hybrid_memory", "note", "--dir", ".", "x" * 2000],
        cwd=tmp_path,
        # Without coverage, which would report that it cannot write its own file
        env={name: value for name, value in environ.items() if not name.startswith("COVERAGE")},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"hybrid-memory: cannot write {path}: File too large; nothing was changed\n"
    )
    assert path.read_text() == before
    assert not os.path.exists(environ["HYBRID_MEMORY_DB_PATH"])
