"""The command `note`, which writes to a file that people read, too."""

import json
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import pytest

from hybrid_memory.errors import SourceError
from hybrid_memory.extras.note import Vault, formatted
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


def test_without_a_workspace_a_line_says_how_to_name_one(run: Run) -> None:
    done = run("note", "Lost.")
    assert done.returncode == 1
    assert "--dir" in done.stderr


def test_a_new_workspace_is_taken_in(run: Run, tmp_path: Path) -> None:
    done = run("note", "--dir", str(tmp_path / "other"), "The boat is blue.")
    assert done.returncode == 1
    assert f"{tmp_path}/other is not a folder" in done.stderr
    (tmp_path / "other").mkdir()
    told = answer(run("note", "--dir", str(tmp_path / "other"), "The boat is blue."))
    assert told["citation"].startswith("memory/")


def test_what_was_written_but_not_taken_in_is_told_and_not_lost(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    done = run("note", "--dir", str(other), "The boat is blue.")
    told = answer(done)
    assert told["citation"] is None
    assert Path(told["path"]).read_text().endswith("The boat is blue.\n")
    assert f"the note was written to {told['path']}, but could not be ingested: " in done.stderr


def test_a_line_is_not_written_twice_in_a_row(run: Run, workspace: Path) -> None:
    first = answer(run("note", "--dir", str(workspace), "The boat is blue.\nAll of it."))
    again = run("note", "--dir", str(workspace), "The boat is blue.\nAll of it.")
    assert answer(again)["citation"] == first["citation"]
    assert "is there already" in again.stderr
    text = Path(first["path"]).read_text()
    assert text.count("The boat is blue.") == 1
    answer(run("note", "--dir", str(workspace), "The boat is red."))
    answer(run("note", "--dir", str(workspace), "The boat is blue.\nAll of it."))
    assert Path(first["path"]).read_text().count("The boat is blue.") == 2


@pytest.mark.parametrize("name", ["note", "folder"])
def test_a_link_that_leads_out_of_the_folder_is_refused(
    run: Run, workspace: Path, tmp_path: Path, name: str
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "profile").write_text("alias ll=ls\n")
    if name == "note":
        (workspace / f"memory/{date.today()}.md").symlink_to(other / "profile")
        target = workspace
    else:
        target = tmp_path / "vault"
        (target / ".obsidian").mkdir(parents=True)
        (target / ".obsidian/daily-notes.json").write_text('{"folder": "days"}')
        (target / "days").symlink_to(other)
    done = run("note", "--dir", str(target), "Rain.")
    assert done.returncode == 1
    assert "leads out of" in done.stderr
    assert [path.read_text() for path in other.iterdir()] == ["alias ll=ls\n"]


def test_a_busy_memory_is_no_reason_to_write_the_line_again(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
    path = json.loads(run("stats", "--json").stdout)["db_path"]
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


@pytest.mark.parametrize(
    ("lines", "text", "expected", "line_break"),
    [
        (
            "L6",
            "It is on 12 July.",
            ["~~The launch is planned for 1 June.~~ It is on 12 July."],
            "\n",
        ),
        (
            "L7-L8",
            "Alarm code: 9043\nfor both",
            ["- ~~Alarm code: 1180~~", "  ~~and the back door~~ Alarm code: 9043", "  for both"],
            "\r\n",
        ),
        ("L9", "Port: 3333", ["* [ ] ~~Port:~~ ~~22~~ ~~2222~~ Port: 3333"], "\n"),
        (
            "L4-L6",  # with the heading above it, as a search cites it
            "It is on 12 July.",
            ["# Facts", "", "~~The launch is planned for 1 June.~~ It is on 12 July."],
            "\n",
        ),
    ],
)
def test_the_old_line_is_struck_where_it_stands(
    run: Run, workspace: Path, lines: str, text: str, expected: list[str], line_break: str
) -> None:
    note = workspace / "MEMORY.md"
    note.write_bytes(MEMORY.replace("\n", line_break).encode())
    answer(run("ingest", "--path", str(note)))
    told = answer(run("note", "--dir", str(workspace), "--replaces", f"MEMORY.md#{lines}", text))
    first, _, last = lines.removeprefix("L").partition("-L")
    before = MEMORY.split("\n")
    before[int(first) - 1 : int(last or first)] = expected
    if expected[0] == "# Facts":
        first, expected = last, expected[2:]
    assert note.read_bytes().decode() == line_break.join(before)
    assert told["path"] == str(note)
    assert told["citation"] == f"MEMORY.md#L{first}-L{int(first) + len(expected) - 1}"
    assert told["replaced"].startswith(f"MEMORY.md#{lines.partition('-')[0]}-")
    assert not (workspace / f"memory/{date.today()}.md").exists()
    assert answer(run("search", text, "--json"))[0]["doc_id"] == "MEMORY.md"


@pytest.mark.parametrize(
    ("lines", "text", "likely"),
    [
        ("L4-L9", "The launch is planned for 12 July.", "L6-L6"),
        ("L1-L9", "The port is 3333", "L9-L9"),
    ],
)
def test_of_several_statements_the_likely_one_is_named(
    run: Run, workspace: Path, lines: str, text: str, likely: str
) -> None:
    note = workspace / "MEMORY.md"
    note.write_text(MEMORY)
    answer(run("ingest", "--path", str(note)))
    done = run("note", "--dir", str(workspace), "--replaces", f"MEMORY.md#{lines}", text)
    assert done.returncode == 1
    assert f"such as MEMORY.md#{likely}: " in done.stderr
    assert note.read_text() == MEMORY


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
    run: Run, workspace: Path, tmp_path: Path, place: str, struck: str
) -> None:
    (workspace / "MEMORY.md").write_text(MEMORY)
    (tmp_path / "other").mkdir()
    old = "# Plans\n\nThe launch is on Monday.\n"
    (tmp_path / "other/a.md").write_text(old)
    turn = {"type": "user", "message": {"role": "user", "content": "The said launch is on Monday."}}
    (workspace / "s.jsonl").write_text(json.dumps(turn) + "\n")
    answer(run("ingest", "--path", str(workspace / "MEMORY.md"), "--path", str(tmp_path / "other")))
    answer(run("ingest", "--path", str(workspace), "--pattern", "*.jsonl", "--collection", "work"))
    answer(run("store", "--doc-id", "texts/a", "--text", old.replace("The", "The stored")))
    told = answer(run("note", "--dir", str(workspace), "--replaces", place, "It is on Friday."))
    assert (workspace / "MEMORY.md").read_text() == MEMORY
    assert (tmp_path / "other/a.md").read_text() == old
    assert told["citation"] == f"memory/{date.today()}.md#L3-L3"
    assert told["replaced"].startswith(place)
    last = Path(told["path"]).read_text().splitlines()[-1]
    assert last.partition(" ~~")[2] == f"{struck}~~ It is on Friday."
    if "launch" in struck:
        former = {
            hit["doc_id"]: hit["newer"]
            for hit in answer(run("search", "launch Monday", "--json", "--full"))
        }
        assert former[place.partition("#")[0]].startswith(f"memory/{date.today()}.md#")


def test_a_note_that_has_changed_since_is_not_edited(run: Run, workspace: Path) -> None:
    note = workspace / "memory/2026-01-05.md"
    note.write_text("# Monday\n\nSnow.\n")
    told = answer(run("note", "--dir", str(workspace), "--replaces", f"{note}#L3", "Sun."))
    assert note.read_text() == "# Monday\n\nSnow.\n"
    assert Path(told["path"]).read_text().endswith("~~Snow.~~ Sun.\n")


def test_a_correction_is_not_made_twice(run: Run, workspace: Path) -> None:
    command = "note", "--dir", str(workspace), "--replaces", "memory/2026-01-05.md#L3", "Snow fell."
    answer(run(*command))
    answer(run(*command))
    text = (workspace / "memory/2026-01-05.md").read_text()
    assert text == "# Monday\n\n~~Rain.~~ Snow fell.\n"


@pytest.mark.parametrize("place", ["memory/2026-01-05.md", "memory/2026-01-05.md#L1"])
def test_what_is_not_one_line_of_a_note_replaces_nothing(
    run: Run, workspace: Path, place: str
) -> None:
    done = run("note", "--dir", str(workspace), "--replaces", place, "Snow.")
    assert done.returncode == 1
    assert not (workspace / f"memory/{date.today()}.md").exists()


@pytest.fixture
def vault(tmp_path: Path, run: Run) -> Path:
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


def test_a_vault_without_a_format_has_that_of_obsidian(run: Run, vault: Path) -> None:
    set_daily_notes(vault)
    told = answer(run("note", "--dir", str(vault), "Rain."))
    assert told["path"] == f"{vault}/{date.today()}.md"
    assert told["line"] == 1
    assert told["citation"].endswith(f"{date.today()}.md#L1-L1")


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
        ("YYYY-MM-DD HHmm", None),
    ],
)
def test_a_format_of_moment_is_a_name_or_an_error(form: str, text: str | None) -> None:
    day = datetime(2026, 3, 1, 15, 4, 5)
    if text is not None:
        assert formatted(form, day) == text
        return
    with pytest.raises(SourceError, match="known are YYYY, YY, M, MM"):
        formatted(form, day)


@pytest.mark.parametrize("settings", [{"folder": "../out"}, {"format": "[../../]YYYY"}])
def test_nothing_is_written_out_of_the_vault(
    run: Run, vault: Path, settings: dict[str, str]
) -> None:
    set_daily_notes(vault, **settings)
    done = run("note", "--dir", str(vault), "Rain.")
    assert done.returncode == 1
    assert "the daily notes of" in done.stderr
    assert sorted(path.name for path in vault.parent.iterdir() if path.is_dir()) == ["vault"]


def test_a_vault_without_these_settings_has_the_folder_of_any_workspace(
    run: Run, vault: Path
) -> None:
    told = answer(run("note", "--dir", str(vault), "Rain."))
    assert told["path"] == f"{vault}/memory/{date.today()}.md"


def test_from_anywhere_a_workspace_is_meant_before_a_vault(
    run: Run, workspace: Path, vault: Path
) -> None:
    set_daily_notes(vault)
    answer(run("ingest", "--path", str(vault)))
    assert answer(run("note", "Rain."))["path"] == f"{workspace}/memory/{date.today()}.md"


@pytest.mark.parametrize(
    ("before", "added"),
    [
        ("# Day\n\n## Till\n\n- closed", "\n\n## Notes\n\n- * Rain.\n"),
        ("# Day\n\n## Till\n\n", "## Notes\n\n- * Rain.\n"),
        ("## Till\n", "\n## Notes\n\n- * Rain.\n"),
        ("# Day\n\n## Till\n\n# Notes\n- one\n", "- * Rain.\n"),
        ("# Day\n\n## Notes\n\n- one\n", "- * Rain.\n"),
        ("# Day\n\n```sh\n## no heading\n```\n", "- * Rain.\n"),
        ("A text.\n", "- * Rain.\n"),
        ("", f"# {date.today()}\n\n- * Rain.\n"),
    ],
)
def test_a_line_is_below_the_title_or_a_heading_of_its_own(
    run: Run, workspace: Path, before: str, added: str
) -> None:
    path = workspace / f"memory/{date.today()}.md"
    path.write_text(before)
    told = answer(run("note", "--dir", str(workspace), "Rain."))
    text = path.read_text()
    start, end = added.split("*")
    assert text.startswith(before + start)
    assert text.endswith(end)
    assert len(text) == len(before + start + "hh:mm" + end)
    assert text.splitlines()[told["line"] - 1].endswith("Rain.")
    again = answer(run("note", "--dir", str(workspace), "Hail."))
    assert again["line"] == told["line"] + 1


def test_notes_at_the_same_time_are_all_written_and_name_their_lines(
    environ: dict[str, str], workspace: Path
) -> None:
    path = workspace / f"memory/{date.today()}.md"
    path.write_text("# Day\n\n## Till\n\n- closed\n")
    command = [sys.executable, "-m", "hybrid_memory", "note"]
    running = [
        subprocess.Popen(
            [*command, f"Number {n}."], env=environ, cwd=workspace, stdout=subprocess.PIPE
        )
        for n in range(4)
    ]
    told = [json.loads(process.communicate()[0]) for process in running]
    lines = path.read_text().splitlines()
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


def test_a_note_that_fails_makes_no_database(run: Run, environ: dict[str, str]) -> None:
    for arguments in (("Lost.",), ("--dir", "none", "Lost."), ("--dir", ".", " ")):
        assert run("note", *arguments).returncode == 1
    assert not os.path.exists(environ["HYBRID_MEMORY_DB_PATH"])
