"""What Tab offers: as argcomplete's script for a shell asks for it, and in real shells."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# The child only executes another program, so no lock of another thread can stop it.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of forkpty:DeprecationWarning")

BIN = Path(sys.executable).parent


class Shell:
    """Asks the command as argcomplete's script does."""

    def __init__(self, environ: dict[str, str], folder: Path) -> None:
        self._environ = environ
        self._folder = folder

    def asked(self, line: str, *python: str) -> "subprocess.CompletedProcess[str]":
        line = f"hybrid-memory {line}"
        variables = {
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
            "_ARGCOMPLETE_STDOUT_FILENAME": "offered",
            "_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'><=;|&(:",
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
        }
        return subprocess.run(
            [sys.executable, *(python or ("-m", "hybrid_memory"))],
            env=self._environ | variables,
            cwd=self._folder,
            capture_output=True,
            text=True,
        )

    def offered(self, line: str) -> list[str]:
        done = self.asked(line)
        assert (done.returncode, done.stdout, done.stderr.strip()) == (0, "", ""), line
        return (self._folder / "offered").read_text().splitlines()


@pytest.fixture
def tab(environ: dict[str, str], tmp_path: Path) -> Shell:
    return Shell(environ, tmp_path)


def test_commands_options_and_values_are_completed(tab: Shell) -> None:
    table = {
        "sea": ["search"],
        "--quiet del": ["delete"],
        "search gpu --mo": ["--model", "--mode", "--modified-since"],
        "search --mode h": ["hybrid"],
        "search --mode=h": ["hybrid"],  # bash cuts words at =
        "config u": ["unset"],
        "config set chunk_": ["chunk_size", "chunk_overlap"],
    }
    assert {line: tab.offered(line) for line in table} == table


def test_without_the_package_a_line_says_so_and_no_command_runs(tab: Shell) -> None:
    code = "import sys; sys.modules['argcomplete'] = None; from hybrid_memory.cli import entry_point; entry_point()"
    done = tab.asked("delete memory/2026-01-05.md", "-c", code)
    assert (done.returncode, done.stdout) == (1, "")
    assert "completion needs the Python package argcomplete" in done.stderr


def test_no_other_call_imports_it(environ: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "hybrid_memory", "config"],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "hybrid_memory.cli" in done.stderr
    assert "argcomplete" not in done.stderr
    assert "hybrid_memory.extras.completion" not in done.stderr


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
        (("bash", "--norc", "--noprofile", "-i"), "bind 'set bell-style none' 2>/dev/null"),
        (
            ("zsh", "-f", "-i"),
            "bindkey -e; unsetopt beep; autoload -Uz compinit; compinit -D -u",
        ),
    ],
    ids=["bash", "zsh"],
)
def test_a_shell_completes_commands_options_values_and_files(
    environ: dict[str, str], tmp_path: Path, command: tuple[str, ...], setting_up: str
) -> None:
    (tmp_path / "some file.txt").write_text("")
    terminal = Terminal(shell(*command), environ, tmp_path)
    register = 'eval "$(register-python-argcomplete hybrid-memory)"'
    terminal.run(f"{setting_up}; {register}; echo is''set", "(isset)")
    for typed, expected in (
        ("hybrid-memory sea", "hybrid-memory search"),
        ("hybrid-memory search --mode=h", "hybrid-memory search --mode=hybrid"),
        ("hybrid-memory store --file some", "hybrid-memory store --file some file.txt"),
    ):
        assert terminal.completed(typed) == expected
    terminal.close()
