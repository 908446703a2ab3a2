"""What Tab offers: by itself, and in real shells."""

import os
import pty
import re
import select
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_memory.extras.completion import MOST
from tests.command import Run

# The child only executes another program, so no lock of another thread can stop it.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of forkpty:DeprecationWarning")

BIN = Path(sys.executable).parent


@pytest.fixture
def memory(run: Run, tmp_path: Path) -> None:
    """Notes with tags, one of which has a name with a space."""
    for name in (
        "2026-01-05.md",
        "hosts/atlas.md",
        "hosts/my note.md",
        "people/atlas.md",
        "people/zoe.md",
    ):
        path = tmp_path / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\ntags: [ops, gpu]\n---\n# A note\n")
    assert run("ingest", "--path", str(tmp_path / "memory"), "--provider", "none").returncode == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sea"], ["search"]),
        (["--pro"], ["--provider"]),
        (["--quiet", "del"], ["delete"]),
        (["search", "--min-s"], ["--min-score"]),
        (["search", "gpu", "--mo"], ["--model", "--mode", "--modified-since"]),
        (["search", "--mode", "h"], ["hybrid"]),
        (["search", "--mode=h"], ["--mode=hybrid"]),
        (["search", "--mode", "=", "h"], ["hybrid"]),
        (["search", "--mode", "="], []),
        (["search", "gp"], []),
        (["get", "memory/h"], ["memory/hosts/atlas.md", "memory/hosts/my note.md"]),
        (["get", "zo"], ["zoe.md"]),
        (["get", "atlas"], []),  # which could be either of two
        (["get", "hosts/at"], ["hosts/atlas.md"]),
        (["get", "2026-01-05.md", "zo"], ["zoe.md"]),
        (["get", "my\\ n"], ["my note.md"]),
        (["get", "'my n"], ["my note.md"]),
        (["delete", "zo"], []),  # which takes no ends
        (["delete", "--doc-id", "memory/2"], ["memory/2026-01-05.md"]),
        (["why", "zo"], ["zoe.md"]),
        (["list", "--tag", "g"], ["gpu"]),
        (["list", "--collection", "m"], ["memory"]),
        (["config", "u"], ["unset"]),
        (["config", "set", "chunk_"], ["chunk_size", "chunk_overlap"]),
        (["completion", "f"], ["fish"]),
        (["frobnicate", "x"], []),
        (["get", "--db", "/absent.db", "zo"], []),
    ],
    ids=" ".join,
)
def test_the_last_word_is_completed(
    run: Run, memory: None, words: list[str], expected: list[str]
) -> None:
    if words[-1] == "=":
        expected = ["hybrid", "keyword", "vector"]
    done = run("completion", "bash", "--", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == expected


def test_many_documents_are_offered_as_folders_are(run: Run, tmp_path: Path) -> None:
    for number in range(MOST + 1):
        path = tmp_path / f"memory/{number % 3}/{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    run("ingest", "--path", str(tmp_path / "memory"), "--provider", "none")
    assert run("completion", "zsh", "--", "get", "").stdout == "memory/\n"
    assert run("completion", "zsh", "--", "get", "memory/").stdout.splitlines() == [
        "memory/0/",
        "memory/1/",
        "memory/2/",
    ]
    assert len(run("completion", "zsh", "--", "get", "memory/0/").stdout.splitlines()) == 34


def test_names_that_a_terminal_would_obey_are_not_offered(run: Run) -> None:
    run("store", "--doc-id", "a\033[31m", "--text", "x", "--provider", "none")
    run("store", "--doc-id", "a\nb", "--text", "x", "--provider", "none")
    run("store", "--doc-id", "ab", "--text", "x", "--provider", "none")
    assert run("completion", "bash", "--", "get", "a").stdout == "ab\n"


def test_what_is_broken_or_old_is_passed_over_in_silence_and_not_changed(
    run: Run, memory: None, environ: dict[str, str]
) -> None:
    path = Path(environ["HYBRID_MEMORY_DB_PATH"])
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("pragma user_version = 3")
        conn.commit()
    done = run("completion", "bash", "--", "get", "zo")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("pragma user_version").fetchone() == (3,)
    path.write_bytes(b"no database" * 100)
    assert run("completion", "bash", "--", "get", "zo").stderr == ""
    Path(environ["HYBRID_MEMORY_CONFIG"]).write_text("{")
    assert (
        run("completion", "bash", "--", "get", "zo").stderr,
        run("completion", "bash", "--", "sea").stdout[:6],
    ) == (
        "",
        "search",
    )


def shell(*command: str) -> list[str]:
    """The command, if this machine has that shell."""
    found = shutil.which(command[0])
    if not found:
        pytest.skip(f"{command[0]} is not installed")
    return [found, *command[1:]]


class Terminal:
    """A shell on a pseudo-terminal."""

    def __init__(self, command: list[str], environ: dict[str, str], cwd: Path) -> None:
        self._pid, self._master = pty.fork()
        if self._pid == 0:
            os.chdir(cwd)
            path = f"{BIN}:{environ['PATH']}"
            os.execve(command[0], command, environ | {"PATH": path, "TERM": "dumb", "HISTFILE": ""})

    def run(self, line: str, prints: str) -> str:
        """Type the line, and give what the pattern finds in what is printed by then."""
        os.write(self._master, line.encode() + b"\n")
        seen = ""
        while not (found := re.search(rf"\n{prints}", seen)):
            assert select.select([self._master], [], [], 30)[0], seen
            seen = re.sub(
                r"\x1b\[[?\d;]*[a-zA-Z]", "", seen + os.read(self._master, 65536).decode()
            )
        return found[1]

    def completed(self, line: str) -> str:
        """The line after Tab. Then Ctrl-A puts an echo in front of it."""
        return self.run(f"{line}\t\x01echo made: ", "made: (.*?) *\r\n")

    def close(self) -> None:
        os.write(self._master, b"exit\n")
        os.waitpid(self._pid, 0)
        os.close(self._master)


@pytest.mark.parametrize(
    ("command", "setting_up"),
    [
        (
            ("bash", "--norc", "--noprofile", "-i"),
            "bind 'set bell-style none' 2>/dev/null; source <(hybrid-memory completion bash)",
        ),
        (
            ("zsh", "-f", "-i"),
            "bindkey -e; unsetopt beep; autoload -Uz compinit; compinit -D -u; source <(hybrid-memory completion zsh)",
        ),
    ],
    ids=["bash", "zsh"],
)
def test_a_shell_completes_commands_options_values_documents_and_files(
    environ: dict[str, str], memory: None, tmp_path: Path, command: tuple[str, ...], setting_up: str
) -> None:
    (tmp_path / "some file.txt").write_text("")
    terminal = Terminal(shell(*command), environ, tmp_path)
    terminal.run(f"{setting_up}; echo is''set", "(isset)")
    for typed, expected in (
        ("hybrid-memory sea", "hybrid-memory search"),
        ("hybrid-memory search --min-s", "hybrid-memory search --min-score"),
        ("hybrid-memory search --mode h", "hybrid-memory search --mode hybrid"),
        ("hybrid-memory search --mode=h", "hybrid-memory search --mode=hybrid"),
        ("hybrid-memory get zo", "hybrid-memory get zoe.md"),
        ("hybrid-memory get memory/2", "hybrid-memory get memory/2026-01-05.md"),
        ("hybrid-memory get my", "hybrid-memory get my note.md"),
        ("hybrid-memory list --tag g", "hybrid-memory list --tag gpu"),
        ("hybrid-memory store --file some", "hybrid-memory store --file some file.txt"),
    ):
        assert terminal.completed(typed) == expected
    terminal.close()


def test_fish_completes_commands_options_values_documents_and_files(
    environ: dict[str, str], memory: None, tmp_path: Path
) -> None:
    (tmp_path / "some file.txt").write_text("")
    (tmp_path / "hybrid-memory.fish").write_text(
        subprocess.run(
            [BIN / "hybrid-memory", "completion", "fish"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    fish = shell("fish", "--no-config")
    for typed, expected in (
        ("sea", ["search"]),
        ("search --min-s", ["--min-score"]),
        ("search --mode h", ["hybrid"]),
        ("search --mode=h", ["--mode=hybrid"]),
        ("get zo", ["zoe.md"]),
        ("get 'my ", ["my note.md"]),
        ("list --tag g", ["gpu"]),
        ("store --file some", ["some file.txt"]),
    ):
        code = f"source hybrid-memory.fish; complete -C {json_quoted('hybrid-memory ' + typed)}"
        done = subprocess.run(
            [*fish, "-c", code],
            cwd=tmp_path,
            env=environ | {"PATH": f"{BIN}:{environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == expected, (
            typed,
            done.stderr,
        )


def json_quoted(text: str) -> str:
    """As fish takes it, between double quotes."""
    return '"' + text.replace('"', '\\"') + '"'
