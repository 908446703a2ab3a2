"""Modes of files and passwords in addresses, tried with the real command."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_memory.addresses import without_login_password


def run(
    folder: Path, *args: str, preexec_fn: Callable[[], None] | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hybrid_memory", *args],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environ},
        cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=60, preexec_fn=preexec_fn,
    )  # fmt: skip


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
