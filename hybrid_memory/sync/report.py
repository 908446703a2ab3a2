"""The results of an ingest."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..documents.files import LINK, BadFileError
from ..documents.ignores import LISTS
from ..indexing.pending import Embedded
from ..text.characters import plural

UNCHANGED = "unchanged"
# What the rules that leave out a text leave out
WITHOUT_TEXT = {
    "subagent": ("transcript of a subagent", "transcripts of subagents"),
    "Joplin item": ("item of Joplin that is no note", "items of Joplin that are no notes"),
}
LITTLE_NEW = "little new"  # in a growing transcript


class Report:
    """Counts of an ingest, and its problems: with files in `errors` and `warnings`, with embeddings
    in `embedding_problems`.
    """

    def __init__(self) -> None:
        self.files = self.chunks = 0  # written
        self.skipped = 0  # files with nothing or little new, and symbolic links
        # The same by reason, and what the rules of files.Wanted left out
        self.skipped_by: Counter[str] = Counter()
        self.removed = 0  # documents whose file is gone
        self.embedded = self.pending = 0  # chunks
        self.errors: list[dict[str, str]] = []  # {"path", "reason", "kind"}
        self.warnings: list[dict[str, str]] = []
        self.embedding_problems: list[str] = []
        self.notes: list[str] = []  # other things that were done
        self.is_complete = True  # False if the database could not be read or written

    def __repr__(self) -> str:
        """The counts and lists that are not empty: Report(files=3, chunks=10)."""
        fields = [f"{key}={value!r}" for key, value in vars(self).items() if value]
        return f"Report({', '.join(fields)})"

    def as_dict(self) -> dict[str, Any]:
        """The output of `ingest`. A warning about embeddings concerns no file, so its path is None."""
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
        """What the rules left out, as up to two lines."""
        counts = [
            f"{count:,} {rule}"
            for rule, count in self.skipped_by.items()
            if rule not in (UNCHANGED, LITTLE_NEW, *WITHOUT_TEXT)
        ]
        lines = [
            f"without text: {plural(self.skipped_by[rule], *names)}"
            for rule, names in WITHOUT_TEXT.items()
            if self.skipped_by[rule]
        ]
        if not counts:
            return lines
        ways_out = ["`hybrid-memory doctor` lists them"]
        if any(self.skipped_by[rule] for rule in LISTS):
            ways_out.append("`ingest --no-ignore` reads what a list such as .gitignore leaves out")
        return [*lines, "; ".join([f"left out by rule: {', '.join(counts)}", *ways_out])]

    def summary(self) -> list[str]:
        """What was done, as one line; [] if nothing was."""
        deeds = []
        if self.files:
            deeds.append(f"indexed {plural(self.files, 'file')} ({plural(self.chunks, 'chunk')})")
        if self.removed:
            deeds.append(f"removed {plural(self.removed, 'note')}")
        if self.embedded:
            deeds.append(f"embedded {plural(self.embedded, 'chunk')}")
        is_to_embed = self.embedded or self.embedding_problems  # False for keywords alone
        if deeds and self.pending and is_to_embed:
            deeds.append(f"{self.pending:,} still to embed")
        if not deeds:
            return []
        return [", ".join(deeds)]

    def problem_lines(self) -> list[str]:
        """The warnings about files, as lines."""
        return _lines(self.warnings)

    def advice_lines(self) -> list[str]:
        """Information that requires no action, as lines."""
        return self.left_out() + self.notes

    def error_lines(self) -> list[str]:
        return _lines(self.errors)

    def warning_lines(self) -> list[str]:
        """The warnings about files and embeddings, as lines."""
        return self.problem_lines() + self.embedding_problems

    def embedded_by(self, embedded: Embedded) -> None:
        """Add the results of embedding."""
        self.embedded += embedded.chunks
        self.embedding_problems += embedded.problems
        self.notes += embedded.notes

    def skip(self, reason: str, files: int = 1) -> None:
        """Count files that are not read."""
        self.skipped += files
        self.skipped_by[reason] += files

    def leave_out(self, by_rule: Counter[str]) -> None:
        """Count what the rules left out; of that, only symbolic links also count as skipped."""
        self.skipped += by_rule[LINK]
        self.skipped_by += by_rule

    def error(self, path: str, reason: str, kind: str = "source") -> None:
        """Record a file or folder that is not indexed.

        Programs read the `kind`, a word such as "size"; people read the `reason`.
        """
        self.errors.append({"path": path, "reason": reason, "kind": kind})

    def warning(self, path: str, reason: str, kind: str = "source") -> None:
        """Record any other problem with a file or folder."""
        self.warnings.append({"path": path, "reason": reason, "kind": kind})

    @contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Record an error for a file that vanished, or that cannot be read or indexed, instead of
        raising.
        """
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
