"""Files whose text is extracted; implements `formats.Format`. Lines are those of the extracted
text, which is markdown.

MERGED Extract the text of a document in a process of its own, with the limits of worker.py.

MERGED The process that extracts a text: a document on standard input, its format as the argument,
JSON on standard output.

Documents come from anywhere, and what reads a PDF is a large library in C++. So it has a process of
its own, with little memory and time, and no more than that is lost to a document that breaks it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO

from ...documents.document import Extract, ExtractError
from ...documents.files import BadFileError, FileBytes, patience, read
from ...documents.markdown import Parsed, chunks
from ...environment import CHECKOUT, missing_package
from ...text.characters import digest, storable, with_plain_newlines
from ...text.dates import DATE_KEYS, document_date
from ...text.lines import Lines

if TYPE_CHECKING:
    from ...documents.chunker import Chunk
    from ...documents.document import Extract
    from ...documents.links import DocumentLinks


class ExtractedReading:
    """A file that has been read. Its text is extracted when something of it is first asked for,
    which may raise BadFileError.
    """

    def __init__(self, file: FileBytes, metadata: Mapping[str, Any], format: "Extracted") -> None:
        self.mtime, self.size = file.mtime, file.size
        self.digest = digest(file.data)
        self._data, self._given, self._format = file.data, metadata, format
        self._extract: Extract | None = None

    @property
    def extract(self) -> "Extract":
        self._extract = self._extract or self._format.extracted(self._data)
        return self._extract

    @property
    def metadata(self) -> Mapping[str, Any]:
        return {**self.extract.metadata, **self._given}

    @cached_property
    def links(self) -> "DocumentLinks":
        """Titles and links; a `#word` is no tag where nobody writes tags."""
        from ...documents.links import document_links

        return document_links(self.extract.text, 0, self.metadata)._replace(tags=())

    @property
    def warnings(self) -> list[tuple[str, str]]:
        return [(self.extract.warning, "no text")] if self.extract.warning else []

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        return document_date(doc_id, self.metadata, self.links.titles, keys)

    def chunks(self, chunk_size: int, overlap: int) -> "list[Chunk]":
        return chunks(Parsed(self.extract.text, 0, self.metadata, 0), chunk_size, overlap)

    def close(self) -> None:
        """Nothing is open."""


class Extracted:
    """A format of files that are not text. `package` is what reading it needs, of the extra
    `documents`.
    """

    collection = None
    grows = False
    is_text = False

    def __init__(self, kind: str, package: str | None = None) -> None:
        self._kind, self._package = kind, package

    def is_due(
        self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
    ) -> bool:
        """A file that has changed is always due."""
        return True

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> ExtractedReading:
        return ExtractedReading(read(path, max_bytes, follow_symlinks, binary=True), metadata, self)

    def extracted(self, data: bytes) -> "Extract":
        """The text of a file with these bytes. Raises BadFileError."""

        found = extracted(data, self._kind, self._package)
        return found._replace(text=with_plain_newlines(storable(found.text)))

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        data = stream.read(min(max_bytes, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})", "size")
        return Lines(self.extracted(data).text), digest(data)

    def joined(self, lines: Sequence[str]) -> str:
        return "\n".join(lines)


PDF = Extracted("pdf", "pypdfium2")
DOCX = Extracted("docx")


# Without the working directory on the path, where a module may lie that is none of ours.
RUN = "import sys; sys.path.insert(0, sys.argv[1]); from hybrid_memory.extras.formats.extracted import main; main()"
OUT_OF_TIME = getattr(signal, "SIGXCPU", 0)
PATIENCE = 3  # times the limit of CPU time, on a busy machine


def extracted(data: bytes, kind: str, package: str | None) -> Extract:
    """The text of a document of the kind "pdf" or "docx". Raises BadFileError if it cannot be had,
    or the package is missing.
    """
    from importlib.util import find_spec

    if package and find_spec(package) is None:
        raise BadFileError(missing_package(f"a .{kind} file", "documents"), "package")
    command = [sys.executable, "-P", "-c", RUN, CHECKOUT, kind]
    hurry = patience.get()
    if hurry and hurry.left <= 0:
        raise BadFileError("there was no time to read it; `hybrid-memory update` does", "late")
    timeout = min(PATIENCE * SECONDS, hurry.left) if hurry else PATIENCE * SECONDS
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=timeout, check=False
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        if timeout < PATIENCE * SECONDS:
            raise BadFileError(
                "it takes too long to be read now; `hybrid-memory update` reads it", "late"
            ) from error
        raise BadFileError(
            f"reading it takes more than {PATIENCE * SECONDS} seconds", "size"
        ) from error
    except ValueError as error:  # no answer
        if done.returncode == -OUT_OF_TIME:
            raise BadFileError(
                f"reading it takes more than {SECONDS} seconds of computing", "size"
            ) from error
        raise BadFileError(
            f"it breaks the program that reads it (status {done.returncode})", "damaged"
        ) from error
    finally:
        if hurry:
            hurry.left -= time.monotonic() - started
    if "error" in answer:
        raise BadFileError(answer["error"], answer["kind"])
    return Extract(**answer)


MEMORY = 1 << 29  # bytes of address space
SECONDS = 60  # of CPU time


def main() -> None:
    """Print {"text", "pages", "metadata", "warning"}, or {"error", "kind"}."""
    with suppress(
        ImportError, ValueError, OSError
    ):  # there is no such module, or no such limit, on this system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answer = {"error": f"reading it takes more than {MEMORY >> 20:,} MB of memory", "kind": "size"}
    try:
        extracted = import_module(f"{__package__}.{sys.argv[-1]}").extract(sys.stdin.buffer.read())
        answer = extracted._asdict()
    except ExtractError as error:
        answer = {"error": str(error), "kind": error.kind}
    except MemoryError:
        pass  # only behind this block, what was read is let go
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
