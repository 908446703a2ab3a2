"""What an ingest did."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..documents.files import BadFileError
from ..indexing.embedding import Embedded


class Report:
    """Counts of an ingest, and what went wrong: with files, in `errors` and `warnings`, and with embeddings."""

    def __init__(self) -> None:
        self.files = self.chunks = 0  # written
        self.skipped = 0  # files that are as they were
        self.removed = 0  # documents whose file is gone
        self.embedded = self.pending = 0  # chunks
        self.errors: list[dict[str, str]] = []  # {"path", "reason"}
        self.warnings: list[dict[str, str]] = []
        self.embedding_problems: list[str] = []

    def as_dict(self) -> dict[str, Any]:
        """What `ingest` prints."""
        return {key: value for key, value in vars(self).items() if key != "embedding_problems"}

    def summary(self) -> list[str]:
        """What was done, in a line; nothing if nothing was."""
        if not (self.files or self.removed or self.embedded):
            return []
        counts = f"{self.files} files, {self.chunks} chunks, {self.removed} removed, {self.embedded} embedded"
        return [counts + (f", {self.pending} pending" if self.pending else "")]

    def problem_lines(self) -> list[str]:
        """The warnings about files, a line each."""
        return [f"{problem['path']}: {problem['reason']}" for problem in self.warnings]

    def embedded_by(self, embedded: Embedded) -> None:
        """Note what embedding did."""
        self.embedded = embedded.chunks
        self.embedding_problems += embedded.problems

    def error(self, path: str, reason: str) -> None:
        self.errors.append({"path": path, "reason": reason})

    def warning(self, path: str, reason: str) -> None:
        self.warnings.append({"path": path, "reason": reason})

    @contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Notes a file that vanished, or could not be read or indexed, instead of raising."""
        try:
            yield
        except FileNotFoundError:
            self.warning(path, "vanished before it was read")
        except (OSError, BadFileError) as error:
            self.error(path, getattr(error, "strerror", None) or str(error))
