"""A `hybrid-memory serve` in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.extras.serving import variables

PATTERNS = [f"--pattern=*.{ending}" for ending in ("md", "org", "rst", "txt")]


class Server(NamedTuple):
    """A running `hybrid-memory serve`. `url` ends with a slash; `folder` has the folder `notes`."""

    url: str
    folder: Path


@contextmanager
def serving(folder: Path, files: Mapping[str, str | bytes], *options: str) -> Iterator[Server]:
    """A server for a memory of these files."""
    for name, text in files.items():
        path = folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    environ = variables(folder)
    command = [sys.executable, "-m", "hybrid_memory"]
    (folder / "notes").mkdir(exist_ok=True)
    subprocess.run(
        [*command, "--quiet", "ingest", "--path", folder / "notes", *PATTERNS],
        env=environ,
        check=True,
        capture_output=True,
    )
    started = [*command, "serve", "--port", "0", *options]
    with subprocess.Popen(
        started, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout
            said = process.stdout.readline()
            assert "http://" in said, said
            yield Server(said[said.index("http://") :].split()[0].partition("#")[0], folder)
        finally:
            process.terminate()
