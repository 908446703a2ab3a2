"""The user's terminal: colours, links, tables, questions and a progress line."""

import os
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TextIO

from ..messages import Progress
from ..text.characters import plural
from .streams import single_line

if TYPE_CHECKING:
    from ..sync.report import Report

LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty", "wezterm", "contour")
LINKING_PROGRAMS = ("iTerm.app", "vscode", "WezTerm", "ghostty", "zed")


class Style:
    """ANSI codes. They are empty if the stream is not a terminal, or if NO_COLOR is set
    (https://no-color.org).

    FORCE_COLOR (https://force-color.org) enables them for every stream.
    """

    def __init__(self, stream: TextIO) -> None:
        is_able = stream.isatty() and os.environ.get("TERM") != "dumb"
        on = (is_able or os.environ.get("FORCE_COLOR")) and not os.environ.get("NO_COLOR")
        self._has_links = is_able and _supports_links(os.environ)
        self.bold = "\033[1m" if on else ""
        self.dim = "\033[2m" if on else ""
        self.match = "\033[1;33m" if on else ""
        self.off = "\033[0m" if on else ""

    def link(self, path: str, text: str) -> str:
        """The text as a link to a file (OSC 8), if the terminal supports links.

        Every byte of the path but letters, digits and a few signs is escaped, so no name can end
        the link or begin another code.
        """
        if not self._has_links:
            return text
        from urllib.parse import quote  # most output has no links

        url = f"file://{quote(os.uname().nodename)}{quote(os.fsencode(path))}"
        return f"\033]8;;{url}\033\\{text}\033]8;;\033\\"


def _supports_links(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is known to show links. FORCE_HYPERLINK=1 or 0 decides for any other."""
    forced = environ.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    terminal = environ.get("TERM", "")
    if terminal.startswith(("screen", "tmux")):  # the outer terminal may not get the links
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        terminal in LINKING_TERMS
        or environ.get("TERM_PROGRAM", "") in LINKING_PROGRAMS
        or "WT_SESSION" in environ
        or (vte.isdecimal() and int(vte) >= 5000)
    )


def show_report(report: "Report", stream: TextIO) -> None:
    """Print the results of an ingest as a sentence."""
    lines = report.summary()
    if lines:
        print(f"{lines[0].capitalize()}.", file=stream)
    elif not report.errors:
        print("Nothing has changed.", file=stream)


def show_stats(answer: Mapping[str, Any], stream: TextIO) -> None:
    """Print the contents of a memory as sentences."""
    notes = plural(answer["doc_count"], "note")
    chunks = plural(answer["chunk_count"], "chunk")
    size = f"{answer['db_size_bytes'] / 1e6:,.1f} MB"
    lines = [f"{notes} in {chunks}, {size}, in {answer['db_path']} ({answer['db_path_from']})."]
    lines += [f"Another memory is in {path}." for path in answer["other_stores"]]
    model = answer["embeddings"]
    if model:
        embedded = f"{answer['embedded_count']:,} of {chunks}"
        lines.append(f"Embedded by {model['provider']} {model['model']}: {embedded}.")
    if answer["building"]:
        done = f"{answer['building']['done']:,} of {plural(answer['building']['of'], 'chunk')}"
        lines.append(f"{answer['building']['model']} has embedded {done}.")
    if answer["pending_count"]:
        waiting = plural(answer["pending_count"], "chunk waits", "chunks wait")
        lines.append(f"{waiting} for an embedding; run `hybrid-memory update` to embed.")
    if answer["reranker"]:
        lines.append(f"{answer['reranker']} reranks.")
    if answer["advice"]:
        lines.append(f"{answer['advice']}.")
    print(*map(single_line, lines), sep="\n", file=stream)


def show_memories(memories: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Print two lines for each memory."""
    for memory in memories:
        size = f"{memory['db_size_bytes'] / 1e6:,.1f} MB"
        notes = memory["problem"] or plural(memory["doc_count"], "note")
        folders = ", ".join(memory["folders"]) or "no folders"
        print(single_line(memory["db_path"]), file=stream)
        print(single_line(f"  {notes}, {size}, {memory['updated']}: {folders}"), file=stream)


def show_stored(answer: Mapping[str, Any], stream: TextIO) -> None:
    """Print what was stored, as a sentence."""
    chunks = plural(answer["chunks"], "chunk")
    print(single_line(f"Stored {answer['doc_id']} ({chunks})."), file=stream)


def show_deleted(answer: Mapping[str, Any], stream: TextIO) -> None:
    """Print what was deleted, as a sentence. If nothing was, a warning was already printed."""
    chunks = plural(answer["chunks_deleted"], "chunk")
    if "doc_id" in answer:
        if answer["chunks_deleted"]:
            print(single_line(f"Deleted {answer['doc_id']} ({chunks})."), file=stream)
        return
    notes = plural(answer["documents_deleted"], "note")
    place = answer.get("path") or f"the collection {answer['collection']}"
    if answer["documents_deleted"]:
        print(single_line(f"Deleted {notes} of {place} ({chunks})."), file=stream)


def show_documents(documents: Sequence[dict[str, Any]], stream: TextIO) -> None:
    """Print a table with a line for each document."""
    style = Style(stream)
    rows = [["DATE", "PASSAGES", "PENDING", "BYTES", "NOTE"]]
    for document in documents:
        counts = [f"{document[key]:,}" for key in ("chunks", "pending", "size")]
        host = ""
        if "host" in document:
            host = f" (a file of {document['host']})"
        rows.append([document["date"] or "", *counts, single_line(document["doc_id"] + host)])
    day, chunks, pending, size, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for row in rows:
        line = (
            f"{row[0]:<{day}}  {row[1]:>{chunks}}  {row[2]:>{pending}}  {row[3]:>{size}}  {row[4]}"
        )
        print(f"{style.dim}{line}{style.off}" if row is rows[0] else line, file=stream)


def can_ask(args: Namespace) -> bool:
    """Whether a command may ask: on a terminal, without --json and without --yes."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not (args.json or args.yes)


def confirm(question: str, default: bool = True) -> bool:
    """Ask a question, and return `default` for an empty answer."""
    try:
        reply = input(f"{question} {'[Y/n]' if default else '[y/N]'} ").strip().lower()
    except EOFError:
        print()
        return False
    return reply in ("y", "yes") if reply else default


def progress_line(quiet: bool) -> AbstractContextManager[Callable[[Progress], None]]:
    """A progress line on stderr; nothing is shown with `quiet` or if stderr is not a terminal."""
    if quiet or not sys.stderr.isatty():
        return nullcontext(lambda progress: None)
    return ProgressLine(sys.stderr)


SURE = 2.0  # seconds until a rate is shown


class ProgressLine:
    """A terminal line that is redrawn with the progress and, after SURE seconds of a stage, its rate
    and the remaining time. Both are measured from the first report on, because it may come late.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._drawn = 0.0
        self._open = False
        self._started = time.monotonic()
        self._already = 0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage = progress.stage
            self._started = now
            self._already = progress.done
        finished = progress.done >= progress.total
        if now - self._drawn < 0.1 and not finished:
            return
        self._drawn = now
        line = f"{progress.stage} {progress.done:,}/{progress.total:,}"
        if progress.stage == "files":
            line += f", {plural(progress.chunks, 'chunk')}"
        seconds = now - self._started
        rate = (progress.done - self._already) / max(seconds, SURE)
        if seconds >= SURE and rate > 0:
            line += f", {rate:,.0f}/s"
            if not finished:
                left = round((progress.total - progress.done) / rate)
                line += f", {timedelta(seconds=left)} left"
        width = shutil.get_terminal_size().columns - 1
        with suppress(OSError):  # the terminal may have been closed
            print(
                f"\r{line[:width]}\033[K",
                end="\n" if finished else "",
                file=self._stream,
                flush=True,
            )
        self._open = not finished

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        """End the line, so that the next output, perhaps an error, begins a new one."""
        if self._open:
            with suppress(OSError):
                print(file=self._stream, flush=True)
            self._open = False
