"""A memory of three notes, and a server on it."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.command import in_process
from tests.extras.serving import Client, served, variables

NOTES = {
    "2026-01-05.md": "# GPU server\n\n## SSH\n\nThe SSH password of the GPU server is hunter2.\n",
    "pi.md": "# Raspberry Pi\n\nIts IP address is 192.168.1.5.\n",
    "meeting.md": """---
tags: [ops, gpu]
project: atlas
---
# Meeting

The server needs a new power supply.

## Costs

It costs 300 euros.
""",
}


def ingested(top: Path, environ: Mapping[str, str]) -> Path:
    """The folder of the notes."""
    folder = top / "memory"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    assert in_process(("ingest", "--path", str(folder)), environ, top).returncode == 0
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return variables(tmp_path)


@pytest.fixture
def folder(tmp_path: Path, environ: dict[str, str]) -> Path:
    return ingested(tmp_path, environ)


@pytest.fixture
def client(folder: Path, environ: dict[str, str]) -> Iterator[Client]:
    with served(environ) as client:
        yield client


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client for the tests of a module that leave the notes as they are, with one server for all of them."""
    top = tmp_path_factory.mktemp("served")
    environ = variables(top)
    ingested(top, environ)
    with served(environ) as client:
        yield client
