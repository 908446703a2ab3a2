"""The picker: driven on a real pseudo-terminal of 80 x 24, whose screen pyte keeps; and its thread by itself."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pyte
import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.picker.app import Found, Worker, preview, with_next
from hybrid_memory.search.answer import Answer
from hybrid_memory.surface.output import AFTER, BEFORE
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run

# The child only executes another program, so no lock of another thread can stop it.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of forkpty:DeprecationWarning")

SECONDS = 60  # after which a screen that does not come is a failure
CURSOR = b"\x1b[6n"  # the question where the cursor is
DOWN, CTRL_Y, ENTER, ESC = "\x1b[B", "\x19", "\r", "\x1b"
TAB, PAGE_DOWN, PAGE_UP, CTRL_F, CTRL_T, CTRL_R = "\t", "\x1b[6~", "\x1b[5~", "\x06", "\x14", "\x12"


class Screen:
    """The command on a terminal. `raw` has every byte that it wrote."""

    def __init__(
        self,
        args: tuple[str, ...],
        environ: dict[str, str],
        rows: int,
        columns: int,
        out: Path | None = None,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self._pid, self._master = pty.fork()
        if self._pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            if out:  # as in $(...)
                os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT, 0o600), 1)
            code = "from hybrid_memory.cli import entry_point; entry_point()"
            os.execve(
                sys.executable,
                [sys.executable, "-c", code, *args],
                environ | {"TERM": "xterm-256color"},
            )

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    def chosen(self) -> list[str]:
        """The text in reverse video, by line."""
        rows = (
            "".join(cell.data for _, cell in sorted(row.items()) if cell.reverse)
            for row in self._screen.buffer.values()
        )
        return [row.strip() for row in rows if row.strip()]

    def has_found(self, query: str) -> bool:
        """Return whether results of this query are shown."""
        return self.lines[0] == f"> {query}" and bool(self.chosen())

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def until(self, condition: Callable[[], Any]) -> None:
        while not condition():
            assert select.select([self._master], [], [], SECONDS)[0], "\n".join(self.lines)
            self._read()

    def _read(self) -> None:
        block = os.read(self._master, 65536)
        if CURSOR in block:
            self.type("\x1b[1;1R")
        self.raw += block
        self._stream.feed(block)

    def end(self) -> int:
        """Read all that is still written, and give the exit status."""
        try:
            while True:
                self._read()
        except OSError:  # the other side is closed
            os.close(self._master)
            return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


@pytest.fixture
def started(environ: dict[str, str], run: Run, tmp_path: Path) -> Callable[..., Screen]:
    """Start the picker on a memory of twelve notes."""
    for number in range(12):
        text = (
            f"# Server {number}\n\nThe kettle of server {number} is green.\n"
            + "Atlas is the gpu server.\n" * (number == 7)
        )
        path = tmp_path / f"memory/note-{number:02}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert run("ingest", "--path", str(tmp_path / "memory"), "--provider", "none").returncode == 0
    unset = {
        "EDITOR": "",
        "VISUAL": "",
        "PAGER": "cat",
        "NO_COLOR": "",
        "HYBRID_MEMORY_PROVIDER": "none",
    }

    def start(
        *args: str, rows: int = 24, columns: int = 80, out: Path | None = None, **env: str
    ) -> Screen:
        screen = Screen(("search", *args), environ | unset | env, rows, columns, out)
        screen.until(lambda: screen.lines[0].startswith(">") and screen.lines[-1])
        return screen

    return start


def test_results_and_the_passage_of_the_first_follow_what_is_typed(
    started: Callable[..., Screen],
) -> None:
    screen = started()
    assert screen.lines[0] == ">"
    screen.type("kettle atlas")
    screen.until(lambda: screen.chosen() and "note-07" in screen.chosen()[0])
    assert screen.lines[0] == "> kettle atlas"
    screen.until(lambda: re.fullmatch(r" 1\.00  Server 7 +note-07", screen.lines[1]))
    place = r"── memory/note-07\.md#L1-L4 ─+ 1/12 ──"
    screen.until(lambda: re.fullmatch(place, screen.lines[11]))
    screen.until(lambda: "▌ Atlas is the gpu server." in screen.lines)
    screen.type("\x15note-03")  # Ctrl-U empties the line
    screen.until(lambda: screen.chosen() and "note-03" in screen.chosen()[0])
    screen.type("\x15xyzzy")
    screen.until(lambda: screen.lines[-1] == "nothing found")
    screen.type(ESC)
    assert screen.end() == 0
    assert b"\x1b[?1049l" in screen.raw  # the screen that was there before is back


def test_another_result_is_chosen_and_its_citation_copied(started: Callable[..., Screen]) -> None:
    screen = started()
    screen.type("kettle")
    screen.until(lambda: screen.has_found("kettle") and screen.lines[10])
    first = screen.chosen()
    screen.type(DOWN)
    screen.until(lambda: screen.chosen() not in ([], first) and "2/12" in screen.lines[11])
    rule = screen.lines[11]
    screen.type(CTRL_Y)
    screen.until(lambda: screen.lines[-1].startswith("copied "))
    [copied] = re.findall(rb"\x1b\]52;c;(.*?)\x07", screen.raw)
    citation = b64decode(copied).decode()
    assert citation in rule
    assert screen.lines[-1] == f"copied {citation}"
    screen.type("\x03")
    assert screen.end() == 0


def editor_in(tmp_path: Path) -> str:
    """An editor that adds its arguments to the file `opened`."""
    editor = tmp_path / "vim"
    editor.write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path}/opened"\n')
    editor.chmod(0o700)
    return str(editor)


def test_enter_opens_the_file_at_the_line_in_the_editor_and_comes_back(
    started: Callable[..., Screen], tmp_path: Path
) -> None:
    screen = started(EDITOR=editor_in(tmp_path))
    screen.type("atlas")
    screen.until(lambda: screen.has_found("atlas"))
    screen.type(ENTER)
    screen.until(lambda: (tmp_path / "opened").exists() and screen.raw.count(b"\x1b[?1049h") == 2)
    screen.until(lambda: screen.has_found("atlas"))
    screen.type("\x15note-03")
    screen.until(lambda: screen.chosen() and "note-03" in screen.chosen()[0])
    screen.type(ESC)
    assert screen.end() == 0
    assert (tmp_path / "opened").read_text() == f"+1 {tmp_path}/memory/note-07.md\n"


def test_an_editor_that_fails_is_told_on_the_screen(
    started: Callable[..., Screen], tmp_path: Path
) -> None:
    screen = started(EDITOR="false")
    screen.type("atlas")
    screen.until(lambda: screen.has_found("atlas"))
    screen.type(ENTER)
    screen.until(lambda: screen.lines[-1] == "the editor 'false' failed with exit status 1")
    screen.type(ESC)
    assert screen.end() == 0


def test_several_notes_are_chosen_and_opened_one_after_another(
    started: Callable[..., Screen], tmp_path: Path
) -> None:
    screen = started(EDITOR=editor_in(tmp_path))
    screen.type("kettle")
    screen.until(lambda: screen.has_found("kettle") and screen.lines[10])
    screen.type(TAB)
    screen.until(lambda: screen.lines[-1] == "1 note marked" and screen.lines[1].startswith("*"))
    screen.type(TAB)
    screen.until(lambda: screen.lines[-1] == "2 notes marked")
    names = [re.findall(r"note-\d\d", line)[0] for line in screen.lines[1:3]]
    screen.type(ENTER)
    screen.until(lambda: screen.lines[-1].startswith("Enter opens"))
    screen.type(ESC)
    assert screen.end() == 0
    opened = (tmp_path / "opened").read_text().splitlines()
    assert [re.findall(r"note-\d\d", line)[0] for line in opened] == names


def test_what_is_chosen_is_printed_for_another_command(
    started: Callable[..., Screen], tmp_path: Path
) -> None:
    for form, text in (
        ((), f"{tmp_path}/memory/note-07.md\n"),
        (
            ("--format", "md"),
            "**memory/note-07.md#L1-L4**, confidence 1.00 (strong)\n> # Server 7\n",
        ),
    ):
        out = tmp_path / "out"
        out.unlink(missing_ok=True)
        screen = started("--print", "atlas", *form, out=out)
        screen.until(partial(screen.has_found, "atlas"))
        screen.type(ENTER)
        assert screen.end() == 0
        assert out.read_text().startswith(text)
        assert "\x1b" not in out.read_text()
    out.unlink()
    screen = started("--print", out=out)
    screen.type(ESC)
    assert screen.end() == 0
    assert out.read_text() == ""


def test_print_needs_a_terminal(run: Run) -> None:
    done = run("search", "--print", "kettle")
    assert done.returncode == 2
    assert "--print needs a terminal" in done.stderr


LONG = "# Long\n\n" + "".join(f"Line {number} of it.\n\n" for number in range(100)) + "zebra here\n"


def test_the_whole_note_is_shown_at_its_passage_and_scrolls(
    started: Callable[..., Screen], tmp_path: Path, run: Run
) -> None:
    (tmp_path / "memory/long.md").write_text(LONG)
    assert run("update", "--provider", "none").returncode == 0
    screen = started()
    screen.type("zebra")
    screen.until(lambda: "▌ zebra here" in screen.lines)
    screen.until(lambda: screen.lines[2].startswith("── memory/long.md#L"))
    screen.until(lambda: any(line.startswith("▌ Line") for line in screen.lines[3:]))
    for _ in range(20):
        screen.type(PAGE_UP)
    screen.until(lambda: "  # Long" in screen.lines[3])
    screen.type(PAGE_DOWN)
    screen.until(lambda: "  # Long" not in screen.lines[3])
    for _ in range(20):
        screen.type(PAGE_DOWN)
    screen.until(lambda: "▌ zebra here" in screen.lines[-4:])
    screen.type(ESC)
    assert screen.end() == 0


def test_keys_put_filters_into_the_query_and_take_them_out(
    started: Callable[..., Screen], tmp_path: Path, run: Run
) -> None:
    (tmp_path / "memory/deep er").mkdir()
    (tmp_path / "memory/deep er/zebra.md").write_text(
        "---\ntags: [animals]\n---\nA zebra kettle.\n"
    )
    assert run("update", "--provider", "none").returncode == 0
    screen = started()
    screen.type("zebra kettle")
    screen.until(lambda: screen.chosen() and "zebra" in screen.chosen()[0])
    screen.type(CTRL_F)
    screen.until(lambda: screen.lines[0] == '> zebra kettle in:"memory/deep er"')
    screen.until(lambda: screen.lines[2].endswith(" 1/1 ──"))
    screen.type(CTRL_F)
    screen.until(lambda: screen.lines[0] == "> zebra kettle in:memory")
    screen.until(lambda: any(line.endswith("/13 ──") for line in screen.lines) and screen.chosen())
    screen.type(CTRL_F)
    screen.until(lambda: screen.has_found("zebra kettle"))
    screen.type(CTRL_T)
    screen.until(lambda: screen.has_found("zebra kettle tag:animals"))
    screen.type(CTRL_T + CTRL_R)
    screen.until(lambda: screen.has_found("zebra kettle modified:7d"))
    screen.type(CTRL_R + CTRL_R + CTRL_R)
    screen.until(lambda: screen.lines[0] == "> zebra kettle")
    screen.type("\x15in:memory modified:1y xyzzy")
    screen.until(lambda: screen.lines[-1] == "nothing found; filtered by in:memory, modified:1y")
    screen.type("\x15zebra tag:nosuch")
    reason = "no document has the tag 'nosuch' (there are"
    screen.until(lambda: screen.has_found("zebra tag:nosuch") and reason in screen.lines[-1])
    screen.type(ESC)
    assert screen.end() == 0


def test_the_newest_notes_are_listed_before_a_word_is_typed(
    started: Callable[..., Screen], tmp_path: Path, run: Run
) -> None:
    now = time.time()
    for number in range(12):
        path = tmp_path / f"memory/note-{number:02}.md"
        os.utime(path, (now - number * 86400, now - number * 86400))
    assert run("update", "--provider", "none").returncode == 0
    screen = started(rows=40)
    screen.until(lambda: "Server 11" in screen.lines[12])
    days = [screen.lines[number].split()[0] for number in range(1, 13)]
    assert days == sorted(days, reverse=True)
    assert [screen.lines[number].split()[2] for number in (1, 2, 3)] == ["0", "1", "2"]
    screen.type(CTRL_R)
    screen.until(lambda: screen.lines[0] == "> modified:7d")
    screen.until(lambda: any(re.search(r" 1/[78] ──", line) for line in screen.lines))
    screen.type("atlas")
    screen.until(lambda: screen.lines[0] == "> modified:7d atlas")
    screen.type(ESC)
    assert screen.end() == 0


def test_passages_of_a_note_are_one_result_and_the_list_takes_half_of_the_rows(
    started: Callable[..., Screen], tmp_path: Path, run: Run
) -> None:
    (tmp_path / "memory/note-07.md").write_text(
        "# Server 7\n\nkettle atlas\n\n## Two\n\natlas kettle\n\n## Three\n\nthe atlas of kettles\n"
    )
    assert run("update", "--provider", "none").returncode == 0
    screen = started(rows=50)
    screen.type("kettle atlas")
    screen.until(lambda: screen.has_found("kettle atlas") and screen.chosen()[0].endswith("+2"))
    screen.until(lambda: sum("note-07" in line for line in screen.lines[1:13]) == 1)
    screen.until(
        lambda: screen.lines[13].startswith("── ")
    )  # twelve notes, of which all are on the screen
    screen.type(ESC)
    assert screen.end() == 0


@pytest.mark.parametrize(
    ("query", "operator", "values", "following"),
    [
        ("gpu", "in", ["a/b", "a"], "gpu in:a/b "),
        ("gpu in:a/b", "in", ["a/b", "a"], "gpu in:a "),
        ("gpu in:a x", "in", ["a/b", "a"], "gpu x"),
        ('in:"a b" gpu', "in", ["c d"], 'gpu in:"c d" '),
        ("", "after", ["7d"], "after:7d "),
        ("gpu", "tag", [], "gpu"),
        ("begin:a", "in", ["b"], "begin:a in:b "),
    ],
)
def test_the_next_value_of_a_filter(
    query: str, operator: str, values: list[str], following: str
) -> None:
    assert with_next(query, operator, values) == following


def test_enter_shows_the_text_where_there_is_no_editor(started: Callable[..., Screen]) -> None:
    screen = started()
    screen.type("atlas")
    screen.until(lambda: screen.has_found("atlas"))
    screen.type(ENTER)
    screen.until(lambda: screen.raw.count(b"\x1b[?1049h") == 2)
    screen.type(ESC)
    assert screen.end() == 0
    between = screen.raw.split(b"\x1b[?1049l")[1].split(b"\x1b[?1049h")[0]
    assert b"Atlas is the gpu server." in between


def test_filters_hold_and_a_small_terminal_is_enough(started: Callable[..., Screen]) -> None:
    screen = started("--in", "*/note-1*", rows=8, columns=30)
    screen.type("kettle")
    screen.until(lambda: screen.has_found("kettle") and screen.lines[3].startswith("── "))
    screen.until(lambda: all("note-1" in line for line in screen.lines[1:3]))
    screen.type(DOWN + DOWN + DOWN + ESC)
    assert screen.end() == 0


def test_nothing_in_a_note_is_obeyed_by_the_terminal(
    started: Callable[..., Screen], run: Run
) -> None:
    run(
        "store",
        "--doc-id",
        "bad\033[31m",
        "--text",
        "# T\033]0;x\007\n\nzebra \033[5m\u202e blinks",
        "--provider",
        "none",
    )
    screen = started()
    screen.type("zebra")
    screen.until(lambda: screen.has_found("zebra"))
    assert [
        mark for mark in (b"\x1b]0;x", b"\x1b[5m", "\u202e".encode()) if mark in screen.raw
    ] == []
    screen.type(ESC)
    assert screen.end() == 0


def test_without_a_terminal_or_with_a_format_a_query_is_wanted(run: Run) -> None:
    assert run("search").returncode == run("search", "--json").returncode == 2


def test_without_the_package_it_says_how_to_add_it(environ: dict[str, str], run: Run) -> None:
    run("store", "--doc-id", "n", "--text", "gpu")
    code = (
        "import sys, pty; sys.modules['prompt_toolkit'] = None\n"
        "from hybrid_memory.cli import entry_point; sys.argv[1:] = ['search']; entry_point()"
    )
    driver = f"import pty, sys; sys.exit(pty.spawn([sys.executable, '-c', {code!r}]) >> 8)"
    done = subprocess.run(
        [sys.executable, "-c", driver], env=environ, capture_output=True, text=True
    )
    assert done.returncode == 1
    message = " ".join(done.stdout.split())  # wrapped to the width of the terminal
    assert (
        "`hybrid-memory search` without a query needs the Python package prompt_toolkit" in message
    )
    assert "add it with `" in message


class Searches:
    """Searches for words that end when they are told to, and what was found."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, str | None]] = []
        self.found: list[Found] = []
        self.going_on, self.has_begun, self.has_found = Event(), Event(), Event()
        self.going_on.set()

    def search(self, store: HybridStore, query: str, mode: str | None) -> Answer:
        if not query:  # the newest notes
            return Answer([], [])
        self.begun.append((query, mode))
        self.has_begun.set()
        assert self.going_on.wait(SECONDS)
        return Answer([], [])

    def on_found(self, found: Found) -> None:
        if found.query:
            self.found.append(found)
            self.has_found.set()


@pytest.fixture
def searches() -> Iterator[tuple[Searches, Worker]]:
    searches = Searches()
    before = sys.getswitchinterval()
    with Worker(lambda: HybridStore(":memory:"), searches.search, searches.on_found) as worker:
        assert searches.has_begun.wait(SECONDS)  # the one that warms up
        searches.has_begun.clear()
        yield searches, worker
        searches.going_on.set()
    sys.setswitchinterval(before)


def test_what_is_typed_while_a_search_runs_waits_for_nothing_and_makes_its_answer_stale(
    searches: tuple[Searches, Worker],
) -> None:
    made, worker = searches
    made.going_on.clear()
    worker.ask("k")
    assert made.has_begun.wait(SECONDS)
    worker.ask("ke")  # the search for k is still going on
    worker.ask("ket")
    made.going_on.set()
    assert made.has_found.wait(SECONDS)
    assert {found.query for found in made.found} == {"ket"}
    assert [query for query, _ in made.begun[1:3]] == ["k", "ket"]


def test_keywords_answer_first_and_the_meaning_follows_in_a_pause(
    searches: tuple[Searches, Worker],
) -> None:
    made, worker = searches
    for _ in range(2):
        worker.ask("kettle")
        assert made.has_found.wait(SECONDS)
        made.has_found.clear()
    assert made.begun[1:] == [("kettle", "keyword"), ("kettle", None)]


def test_the_preview_keeps_indentation(store: HybridStore, notes: Any) -> None:
    folder = notes(
        {"a.md": "# A\n\n- gpu\n  - nested item of many words\n\n```\nif x:\n    y = 1\n```\n"}
    )
    Ingest(store).run([str(folder)])
    (result, *_) = store.search("gpu")
    rows = [
        row.replace(BEFORE, "").replace(AFTER, "") for row in preview(store, result, "gpu", 24).rows
    ]
    assert rows[2:] == [
        "- gpu",
        "  - nested item of many",
        "    words",
        "",
        "```",
        "if x:",
        "    y = 1",
        "```",
    ]
