"""Read files whose text must be extracted, such as PDF and HTML. Implements `formats.Format`; lines
are those of the extracted text, which is markdown.

Documents may come from anywhere, and the reader of PDFs is a large C++ library. Each document is
therefore extracted in a separate process with limits for memory and time, so that a harmful
document cannot break more than that process. This module is both sides: the process receives a
document on standard input and its kind as the argument, and prints JSON.
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
from importlib.util import find_spec
from typing import Any, BinaryIO

from ...documents.chunker import Chunk
from ...documents.files import BadFileError, FileBytes, read, time_left
from ...documents.links import document_links
from ...documents.markdown import Parsed, chunks, headings_below
from ...documents.structure import markdown_structure
from ...paths import CHECKOUT
from ...storage.prepared import Extract
from ...text.characters import Lines, digest, storable, with_plain_newlines
from ...text.dates import DATE_KEYS, Dated, dated
from ...text.links import DocumentLinks
from ..environment import missing_package

MAX_TEXT = 10_000_000  # characters
MEMORY = 1 << 29  # bytes of address space
SECONDS = 60  # of CPU time
PATIENCE = 3  # wall time as a multiple of the CPU time, for a busy machine
# Limits for metadata: properties are short lines, but files may contain anything.
LONGEST_PROPERTY = 4_000  # characters
MOST_TAGS = 500
# The working directory is not on the path, because it may contain unrelated modules.
RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from hybrid_memory.extras.formats.extracted import main; main()"
)


class ExtractError(Exception):
    """The reason why a text cannot be extracted. `kind` names it in a word or two, as in the report
    of an ingest.
    """

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.kind = kind


class ExtractedReading:
    """A file that has been read. Its text is extracted when first needed, which may raise
    BadFileError.
    """

    left_out = None

    def __init__(self, file: FileBytes, metadata: Mapping[str, Any], format: "Extracted") -> None:
        self.mtime = file.mtime
        self.size = file.size
        self.digest = digest(file.data)
        self._data = file.data
        self._given = metadata
        self._format = format

    @cached_property
    def extract(self) -> Extract:
        return self._format.extracted(self._data)

    @property
    def metadata(self) -> Mapping[str, Any]:
        return {**self.extract.metadata, **self._given}

    @cached_property
    def links(self) -> DocumentLinks:
        """The titles and links. These formats have no tags, so a `#word` is not a tag."""
        return document_links(self.extract.text, 0, self.metadata)._replace(tags=())

    @property
    def warnings(self) -> list[tuple[str, str]]:
        return [(reason, kind) for reason, kind in self.extract.warnings]

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS, order: str = "") -> Dated:
        return dated(doc_id, self.metadata, self.links.titles, keys, self.extract.text, order)

    def chunks(self, chunk_size: int, overlap: int) -> list[Chunk]:
        return chunks(Parsed(self.extract.text, 0, self.metadata), chunk_size, overlap)

    def close(self) -> None:
        """Do nothing: no file is open."""


class Extracted:
    """A format of files that are not text. `kind` is the module and function that read it,
    `package` a package of the extra `documents` that they need.
    """

    collection = None
    is_text = False

    def __init__(self, kind: str, package: str | None = None) -> None:
        self._kind = kind
        self._package = package

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> ExtractedReading:
        return ExtractedReading(read(path, max_bytes, follow_symlinks, binary=True), metadata, self)

    def extracted(self, data: bytes) -> Extract:
        """Extract the text of a file with these bytes. Raises BadFileError."""
        extract = extracted(data, self._kind, self._package)
        return extract._replace(text=with_plain_newlines(storable(extract.text)))

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[Sequence[str], bytes]:
        data = stream.read(min(max_bytes, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) > max_bytes:
            raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})", "size")
        return Lines(self.extracted(data).text), digest(data)

    def headings(self, lines: Sequence[str]) -> list[tuple[int, int, str]]:
        """As in `formats.Format`."""
        return headings_below("\n".join(lines), 0, markdown_structure)

    def joined(self, lines: Sequence[str]) -> str:
        return "\n".join(lines)


PDF = Extracted("pdf:extract", "pypdfium2")
DOCX = Extracted("docx:extract")
HTML = Extracted("html:extract")
EPUB = Extracted("epub:extract")
ODT = Extracted("odt:extract")
EXCALIDRAW = Extracted("drawings:excalidraw")
CANVAS = Extracted("drawings:canvas")


def extracted(data: bytes, kind: str, package: str | None) -> Extract:
    """Extract the text of a document; `kind` is the module and function that read it.

    Raises BadFileError if the text cannot be extracted, the package is missing, or the command has
    no time left.
    """
    if package and find_spec(package) is None:
        raise BadFileError(
            missing_package(f"a .{kind.partition(':')[0]} file", "documents"), "package"
        )
    hurry = time_left.get()
    timeout: float = PATIENCE * SECONDS
    if hurry:
        if hurry.left <= 0:
            raise BadFileError(
                "there was no time to read it; `hybrid-memory update` reads it", "late"
            )
        timeout = min(timeout, hurry.left)
    started = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", RUN, CHECKOUT, kind],
            input=data,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        if timeout < PATIENCE * SECONDS:
            late = "reading it takes too long now; `hybrid-memory update` reads it"
            raise BadFileError(late, "late") from error
        slow = f"reading it takes more than {PATIENCE * SECONDS} seconds"
        raise BadFileError(slow, "size") from error
    finally:
        if hurry:
            hurry.left -= time.monotonic() - started
    return _answer(done)


def _answer(done: "subprocess.CompletedProcess[bytes]") -> Extract:
    """Parse the output of the process. Raises BadFileError if it is an error, or not JSON."""
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        if done.returncode == -signal.SIGXCPU:
            slow = f"reading it takes more than {SECONDS} seconds of computing"
            raise BadFileError(slow, "size") from error
        broken = f"the program that reads it crashed (status {done.returncode})"
        raise BadFileError(broken, "damaged") from error
    if "error" in answer:
        raise BadFileError(answer["error"], answer["kind"])
    return Extract(**answer)


def main() -> None:
    """Print the fields of an Extract, or {"error", "kind"}."""
    _limit()
    answer = {"error": f"reading it takes more than {MEMORY >> 20:,} MB of memory", "kind": "size"}
    try:
        module, _, function = sys.argv[-1].partition(":")
        read_text = getattr(import_module(f"{__package__}.{module}"), function)
        extract: Extract = read_text(sys.stdin.buffer.read())
        answer = extract._replace(metadata=_shortened(extract.metadata))._asdict()
    except ExtractError as error:
        answer = {"error": str(error), "kind": error.kind}
    except MemoryError:
        pass  # the memory is freed only after this block
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()


def _limit() -> None:
    """Limit the memory and time of this process, if the system supports limits."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # not available on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _shortened(metadata: Mapping[str, Any]) -> dict[str, Any]:
    shortened: dict[str, Any] = {}
    for key, value in metadata.items():
        if isinstance(value, list):
            shortened[key] = [text[:LONGEST_PROPERTY] for text in value[:MOST_TAGS]]
        else:
            shortened[key] = value[:LONGEST_PROPERTY]
    return shortened
