"""Limits of the shell, an old locale and modes of files, tried with the real command."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_memory.addresses import without_login_password

LIMITS = [
    (resource.RLIMIT_NOFILE, 7),
    (resource.RLIMIT_AS, 60 * 2**20),
]


def run(
    folder: Path, *args: str, preexec_fn: Callable[[], None] | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hybrid_memory", *args],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environ},
        cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=60, preexec_fn=preexec_fn,
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "limit"), LIMITS)
def test_a_limit_of_the_shell_is_one_line(kind: int, limit: int, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Boiler\n\nThe valve.\n")
    done = run(
        tmp_path, "ingest", "--path", "a.md", "--db", "a.db",
        preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)),
    )  # fmt: skip
    if done.returncode and "hybrid_memory" not in done.stderr:
        return  # Python itself did not start
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)


def test_ids_are_unicode_in_an_old_locale(tmp_path: Path) -> None:
    old = {"PYTHONUTF8": "0", "LC_ALL": "C"}
    done = run(tmp_path, "store", "--doc-id", "dé", "--text", "käse", "--db", "a.db", **old)
    assert done.returncode == 0, done.stderr
    assert '"dé"' in run(tmp_path, "list", "--json", "--db", "a.db").stdout


def test_a_database_file_that_existed_empty_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch(0o644)
    assert run(tmp_path, "store", "--doc-id", "a", "--text", "b", "--db", "a.db").returncode == 0
    assert (tmp_path / "a.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ann:secret@box/v1", "https://ann@box/v1"),
        ("http://ann:s@cret@box:1/x", "http://ann@box:1/x"),
        ("http://box/a@b:c", "http://box/a@b:c"),
        ("ann:secret@box", "ann:secret@box"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_login_password(url) == shown


def test_the_config_shows_no_password_of_a_server(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"base_url": "https://ann:secret@box/v1"}')
    file.chmod(0o600)
    shown = run(tmp_path, "config", "--json", HYBRID_MEMORY_CONFIG=str(file))
    assert "https://ann@box/v1" in shown.stdout
    assert "secret" not in shown.stdout + shown.stderr
