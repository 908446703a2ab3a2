"""What people see in a terminal besides results: colours, progress, tables. Removes control characters from texts."""

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TextIO

from ..progress import Progress

if TYPE_CHECKING:
    from ..views.evaluation import Evaluation

_CONTROL = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A, 0x0D)}
_SPACE = re.compile(r"\s+")
_CONTROL |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), None)  # would turn the rest of the line round


def printable(text: str) -> str:
    """The text without what a terminal would obey: escape codes, and marks that change the direction of text."""
    return text.translate(_CONTROL)


def harmless(text: str) -> str:
    """The text, printable, on one line."""
    return _SPACE.sub(" ", printable(text))


class Style:
    """ANSI codes, or nothing for a stream that is no terminal or under NO_COLOR (https://no-color.org)."""

    def __init__(self, stream: TextIO) -> None:
        on = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.bold, self.dim, self.match, self.off = ("\033[1m", "\033[2m", "\033[1;33m", "\033[0m") if on else ("",) * 4


def show_evaluation(evaluation: "Evaluation", stream: TextIO) -> None:
    """A table of the modes, and what was missed under it."""
    style = Style(stream)
    for mode, figures in evaluation.modes.items():
        if mode == next(iter(evaluation.modes)):
            print(f"{'':8}" + "".join(f"{name.replace('_ms', ' ms'):>10}" for name in figures), file=stream)
        cells = (f"{value:10.1f}" if name.endswith("_ms") else f"{value:10.4f}" for name, value in figures.items())
        print(f"{mode:8}" + "".join(cells), file=stream)
    for miss in evaluation.misses:
        ranks = ", ".join(f"{leg} {miss[f'{leg}_rank'] or '-'}" for leg in ("keyword", "vector"))
        print(f"\n{style.bold}{harmless(miss['id'])}: {harmless(miss['text'])}{style.off}", file=stream)
        print(f"  wanted  {harmless(', '.join(miss['wanted']))}  {style.dim}{ranks}{style.off}", file=stream)
        print(f"  first   {harmless(', '.join(miss['first'])) or 'nothing'}", file=stream)


def show_documents(documents: Sequence[dict[str, Any]], stream: TextIO) -> None:
    """A table of documents, a line each, numbers to the right."""
    style = Style(stream)
    rows = [["DATE", "CHUNKS", "PENDING", "BYTES", "DOCUMENT"]]
    for document in documents:
        counts = [f"{document[key]:,}" for key in ("chunks", "pending", "size")]
        rows.append([document["date"] or "", *counts, harmless(document["doc_id"])])
    day, chunks, pending, size, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for row in rows:
        line = f"{row[0]:<{day}}  {row[1]:>{chunks}}  {row[2]:>{pending}}  {row[3]:>{size}}  {row[4]}"
        print(f"{style.dim}{line}{style.off}" if row is rows[0] else line, file=stream)


def progress_line(quiet: bool) -> AbstractContextManager[Callable[[Progress], None]]:
    """A progress line on stderr if that is a terminal and not `quiet`, else nothing."""
    if quiet or not sys.stderr.isatty():
        return nullcontext(lambda progress: None)
    return ProgressLine(sys.stderr)


class ProgressLine:
    """One line on a terminal that is drawn again and again: how much is done, how fast, how much time is left."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage, self._drawn, self._open = "", 0.0, False
        self._started = self._called = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._started = progress.stage, self._called
        self._called = now
        finished = progress.done >= progress.total
        if now - self._drawn < 0.1 and not finished:
            return
        self._drawn = now
        seconds = max(now - self._started, 1e-3)
        rate = progress.done / seconds
        left = "" if finished else f", {_duration((progress.total - progress.done) / max(rate, 1e-9))} left"
        chunks = f", {progress.chunks:,} chunks" if progress.stage == "files" else ""
        line = f"{progress.stage} {progress.done:,}/{progress.total:,}{chunks}, {rate:,.0f}/s{left}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width]}\033[K", end="\n" if finished else "", file=self._stream, flush=True)
        self._open = not finished

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        """End the line, so that what comes next, perhaps an error, has a line of its own."""
        if self._open:
            print(file=self._stream, flush=True)
            self._open = False


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
