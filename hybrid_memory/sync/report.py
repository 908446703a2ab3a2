"""What an ingest did."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..documents.files import LINK, BadFileError
from ..indexing import Embedded
from ..text.characters import plural

ELSEWHERE = "elsewhere"  # files that are documents of another source: nothing is wrong
UNCHANGED = "unchanged"
LITTLE_NEW = "little new"  # in a transcript that goes on


class Report:
    """Counts of an ingest, and what went wrong: with files, in `errors` and `warnings`, and with
    embeddings.
    """

    def __init__(self) -> None:
        self.files = self.chunks = 0  # written
        self.skipped = 0  # files with nothing or little new, and symbolic links
        # The same by reason, and what the rules of files.Wanted leave out
        self.skipped_by: Counter[str] = Counter()
        self.removed = 0  # documents whose file is gone
        self.embedded = self.pending = 0  # chunks
        self.errors: list[dict[str, str]] = []  # {"path", "reason", "kind"}
        self.warnings: list[dict[str, str]] = []
        self.embedding_problems: list[str] = []
        self.notes: list[str] = []  # what was done besides
        self.is_complete = True  # False if the database could not be read or written

    def as_dict(self) -> dict[str, Any]:
        """Return what `ingest` prints. A warning about the embeddings is of no file, so its path is None."""
        counts = {
            key: value
            for key, value in vars(self).items()
            if key not in ("embedding_problems", "notes", "is_complete")
        }
        warnings: list[dict[str, Any]] = [*self.warnings]
        warnings += [
            {"path": None, "reason": reason, "kind": "model"} for reason in self.embedding_problems
        ]
        return counts | {
            "warnings": warnings,
            "errors_by": _by_kind(self.errors),
            "warnings_by": _by_kind(warnings),
        }

    def left_out(self) -> list[str]:
        """Return what the rules left out, in a line; nothing if that is nothing."""
        counts = [
            f"{count:,} {rule}"
            for rule, count in self.skipped_by.items()
            if rule not in (UNCHANGED, LITTLE_NEW)
        ]
        if not counts:
            return []
        return [f"left out by rule: {', '.join(counts)}; `hybrid-memory doctor` names them"]

    def summary(self) -> list[str]:
        """Return what was done, in a line; nothing if nothing was."""
        deeds = []
        if self.files:
            deeds.append(f"took in {plural(self.files, 'file')} ({plural(self.chunks, 'passage')})")
        if self.removed:
            deeds.append(f"removed {plural(self.removed, 'note')}")
        if self.embedded:
            deeds.append(f"embedded {plural(self.embedded, 'passage')}")
        is_to_embed = self.embedded or self.embedding_problems  # not where keywords are enough
        if deeds and self.pending and is_to_embed:
            deeds.append(f"{self.pending:,} still to embed")
        if not deeds:
            return []
        return [", ".join(deeds)]

    def problem_lines(self) -> list[str]:
        """Return the warnings about files, a line each."""
        return _lines(warning for warning in self.warnings if warning["kind"] != ELSEWHERE)

    def advice_lines(self) -> list[str]:
        """Return what a person may want to know, and nobody has to act on, a line each."""
        elsewhere = [warning for warning in self.warnings if warning["kind"] == ELSEWHERE]
        return _lines(elsewhere) + self.left_out() + self.notes

    def error_lines(self) -> list[str]:
        """Return the errors, a line each."""
        return _lines(self.errors)

    def warning_lines(self) -> list[str]:
        """Return all warnings, a line each."""
        return self.problem_lines() + self.embedding_problems

    def embedded_by(self, embedded: Embedded) -> None:
        """Note what embedding did."""
        self.embedded += embedded.chunks
        self.embedding_problems += embedded.problems
        self.notes += embedded.notes

    def skip(self, reason: str) -> None:
        """Count a file that is not read."""
        self.skipped += 1
        self.skipped_by[reason] += 1

    def leave_out(self, by_rule: Counter[str]) -> None:
        """Count what the rules leave out. Of that, only symbolic links have always counted as
        skipped.
        """
        self.skipped += by_rule[LINK]
        self.skipped_by += by_rule

    def error(self, path: str, reason: str, kind: str = "source") -> None:
        """Note a file or folder that is not in. Programs read the `kind`, a word such as "size";
        people read the `reason`.
        """
        self.errors.append({"path": path, "reason": reason, "kind": kind})

    def warning(self, path: str, reason: str, kind: str = "source") -> None:
        """Note what else the user should know about a file or folder."""
        self.warnings.append({"path": path, "reason": reason, "kind": kind})

    @contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Note a file that vanished, or could not be read or indexed, instead of raising."""
        try:
            yield
        except FileNotFoundError:
            self.warning(path, "vanished before it was read", "vanished")
        except BadFileError as error:
            self.error(path, str(error), error.kind)
        except OSError as error:
            self.error(path, error.strerror or str(error), "unreadable")


def _lines(problems: Iterable[Mapping[str, str]]) -> list[str]:
    return [f"{problem['path']}: {problem['reason']}" for problem in problems]


def _by_kind(problems: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return dict(Counter(problem["kind"] for problem in problems))
