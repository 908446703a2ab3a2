"""A store with notes, and a server on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import Run
from tests.extras.serving import Client, served

MEETING = """---
tags: [ops, gpu]
project: atlas
---
# Meeting

The server needs a new power supply.

## Costs

It costs 300 euros.
"""


@pytest.fixture
def environ(environ: dict[str, str]) -> dict[str, str]:
    kept = {
        key: value
        for key, value in environ.items()
        if key not in ("HYBRID_MEMORY_OLLAMA_URL", "PYTHONWARNINGS")
    }
    return kept | {"HYBRID_MEMORY_PROVIDER": "builtin"}


@pytest.fixture
def folder(folder: Path, run: Run) -> Path:
    """Three notes, ingested."""
    (folder / "meeting.md").write_text(MEETING)
    assert run("ingest", "--path", str(folder)).returncode == 0
    return folder


@pytest.fixture
def client(folder: Path, environ: dict[str, str]) -> Iterator[Client]:
    with served(environ) as client:
        yield client
