"""`--open`, with a script in place of the editor that writes down what it was called with."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_memory.extras.editor import command
from tests.command import Run


@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        ("vim", ["vim", "+7", "/a b.md"]),
        ("/usr/bin/nvim -R", ["/usr/bin/nvim", "-R", "+7", "/a b.md"]),
        ("'/opt/My Editor/nano'", ["/opt/My Editor/nano", "+7", "/a b.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/a b.md:7"]),
        ("subl -w", ["subl", "-w", "/a b.md:7"]),
        ("gedit", ["gedit", "/a b.md"]),
    ],
)
def test_an_editor_gets_the_line_in_its_own_way(editor: str, expected: list[str]) -> None:
    assert command(editor, "/a b.md", 7) == expected


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    script = tmp_path / "bin" / "vim"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >"{tmp_path}/called"\ntest -t 1 && echo on a terminal\nexit 0\n'
    )
    script.chmod(0o755)
    return script


@pytest.fixture
def search(run: Run, folder: Path) -> Run:
    (folder / "pi.md").write_text("# Pi\n\nNothing.\n\n# GPU\n\nA gpu password.\n")
    run("ingest", "--path", str(folder), "--provider", "none")
    run("store", "--doc-id", "kept", "--text", "zebra", "--provider", "none")
    return lambda *args, **options: run("search", "--provider", "none", *args, **options)


def test_open_starts_the_editor_at_the_line_of_the_result(
    search: Run, editor: Path, tmp_path: Path, folder: Path
) -> None:
    found = search("A gpu password", "--open", env={"EDITOR": str(editor)})
    assert (found.returncode, found.stderr) == (0, "")
    assert (tmp_path / "called").read_text() == f"+5\n{folder}/pi.md\n"
    both = {"EDITOR": "false", "VISUAL": f"{editor} -R"}
    search("A gpu password", "--open=2", env=both)
    assert (tmp_path / "called").read_text() == f"-R\n+1\n{folder}/2026-01-05.md\n"


def test_the_editor_has_the_terminal(
    search: Run, editor: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    master, slave = pty.openpty()
    words = ("search", "A gpu password", "--provider", "none", "--open")
    with subprocess.Popen(
        [sys.executable, "-m", "hybrid_memory", *words],
        env=environ | {"EDITOR": str(editor)},
        cwd=tmp_path,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    ) as process:
        os.close(slave)
        seen = b""
        try:
            while block := os.read(master, 65536):
                seen += block
        except OSError:  # Linux's way to say that the other side is closed
            pass
    os.close(master)
    assert process.returncode == 0
    assert seen.decode().rstrip().endswith("on a terminal")


def test_what_cannot_be_opened_is_told(search: Run, environ: dict[str, str]) -> None:
    for key in ("VISUAL", "EDITOR"):
        environ.pop(key, None)
    none = {"VISUAL": "", "EDITOR": ""}
    for arguments, env, status, told in (
        (("gpu", "--open"), none, 1, "set VISUAL or EDITOR"),
        (("gpu", "--open", "3"), none, 2, "--open 3: the search has 2 results"),
        (("zebra", "--open"), none, 1, "kept#L1-L1 was stored without a file"),
        (
            ("gpu", "--open"),
            {"EDITOR": "/no/such/editor"},
            1,
            "cannot start the editor '/no/such/editor'",
        ),
        (("gpu", "--open"), {"EDITOR": "false"}, 1, "failed with exit status 1"),
        (("gpu", "--open"), {"EDITOR": "'"}, 1, "VISUAL or EDITOR is not a command"),
        (("--open", "gpu"), none, 2, "write --open=1, or put it after the query"),
    ):
        done = search(*arguments, env=none | env)
        assert (done.returncode, len(done.stderr.splitlines())) == (status, 1), arguments
        assert told in done.stderr
