"""The command `hybrid-memory`: in this process, which takes milliseconds, or as a process of its own, where that is the point."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from threading import Thread
from typing import Any, TextIO
from unittest.mock import patch

from hybrid_memory import cli

Run = Callable[..., subprocess.CompletedProcess[str]]
NO_SERVER = "http://127.0.0.1:9"  # the discard port, where a connection is refused at once


def answer(done: subprocess.CompletedProcess[str]) -> Any:
    """The JSON that a successful command printed."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_process(
    args: tuple[str, ...], environ: Mapping[str, str], cwd: Path, out: TextIO | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command here, and give what a process would, without what it writes to `out`."""
    printed, messages = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", newline="") for _ in range(2)
    )
    status = _main(args, environ, cwd, out or printed, messages)
    texts = [stream.buffer.getvalue().decode() for stream in (printed, messages)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(args, status, *texts)


def as_process(
    args: tuple[str, ...], environ: Mapping[str, str], cwd: Path, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command as users do."""
    command = [sys.executable, "-m", "hybrid_memory", *args]
    return subprocess.run(
        command, env=environ, cwd=cwd, capture_output=True, text=True, timeout=60, **options
    )


def in_terminal(
    environ: Mapping[str, str], *args: str, env: Mapping[str, str] | None = None
) -> str:
    """What a person sees: the command run here, its streams being a pseudo-terminal of 80 columns."""
    master, slave = pty.openpty()
    seen: list[bytes] = []
    reader = Thread(target=lambda: seen.extend(_blocks(master)))
    reader.start()
    with os.fdopen(slave, "w", encoding="utf-8", errors="backslashreplace") as terminal:
        _main(
            args,
            {"COLUMNS": "80", "FORCE_HYPERLINK": "0", **environ, **(env or {})},
            Path.cwd(),
            terminal,
            terminal,
        )
    reader.join()
    os.close(master)
    return b"".join(seen).decode()


def _main(
    args: tuple[str, ...], environ: Mapping[str, str], cwd: Path, out: TextIO, err: TextIO
) -> int:
    with (
        patch.dict(os.environ, environ, clear=True),
        _working_directory(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            status = cli.main(args)
        except SystemExit as exit:
            status = int(exit.code or 0)
    out.flush()
    err.flush()
    return status


@contextmanager
def _working_directory(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def _blocks(descriptor: int) -> Iterator[bytes]:
    try:
        while block := os.read(descriptor, 65536):
            yield block
    except OSError:  # Linux's way to say that the other side is closed
        return
