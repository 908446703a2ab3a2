"""What people see on a terminal besides results: colours, progress and tables.

MERGED Opens a file at a line in the user's editor.
"""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TextIO

from ..documents.formats import format_of
from ..errors import HybridMemoryError, SourceError, UsageError
from ..messages import Progress
from .streams import harmless

if TYPE_CHECKING:
    from ..views.doctor import Finding

LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty", "wezterm", "contour")
LINKING_PROGRAMS = ("iTerm.app", "vscode", "WezTerm", "ghostty", "zed")


class Style:
    """ANSI codes. They are empty if the stream is not a terminal, and if NO_COLOR is set
    (https://no-color.org).

    FORCE_COLOR (https://force-color.org) gives them to every stream.
    """

    def __init__(self, stream: TextIO) -> None:
        is_able = stream.isatty() and os.environ.get("TERM") != "dumb"
        on = (is_able or os.environ.get("FORCE_COLOR")) and not os.environ.get("NO_COLOR")
        self._has_links = is_able and _knows_links(os.environ)
        self.bold, self.dim, self.match, self.off = (
            ("\033[1m", "\033[2m", "\033[1;33m", "\033[0m") if on else ("",) * 4
        )

    def link(self, path: str, text: str) -> str:
        """The text as a link to a file (OSC 8), where the terminal knows such links.

        Every byte of the path but letters, digits and a few signs is escaped, so no name can end
        the link or begin another code.
        """
        if not self._has_links:
            return text
        from urllib.parse import quote

        url = f"file://{quote(os.uname().nodename)}{quote(os.fsencode(path))}"
        return f"\033]8;;{url}\033\\{text}\033]8;;\033\\"


def _knows_links(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is one that is known to show links. FORCE_HYPERLINK=1 or 0 says it for
    any other.
    """
    if forced := environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    if environ.get("TERM", "").startswith(
        ("screen", "tmux")
    ):  # they may pass nothing on to the terminal behind them
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM", "") in LINKING_TERMS
        or environ.get("TERM_PROGRAM", "") in LINKING_PROGRAMS
        or "WT_SESSION" in environ
        or (vte.isdecimal() and int(vte) >= 5000)
    )


def show_findings(findings: Sequence["Finding"], stream: TextIO) -> None:
    """A line for each finding of the doctor."""
    for finding in findings:
        print(
            "ok     " if finding.ok else "PROBLEM",
            f"{finding.check}: {harmless(finding.text)}",
            file=stream,
        )


def show_reason(answer: dict[str, Any], stream: TextIO) -> None:
    """What `why` answers, as one line."""
    name = answer["doc_id"] if answer["in_memory"] else answer["path"]
    if answer["in_memory"]:
        facts = (
            [f"{answer['chunks']:,} chunks", f"{answer['pending']:,} pending"]
            if answer["pending"]
            else [f"{answer['chunks']:,} chunks"]
        )
        facts += [f"dated {answer['date']}"] if answer["date"] else []
        origin = answer["source"] or answer["path"] or answer.get("host") or "`store`"
        facts += [f"read {answer['indexed_at']}", f"from {origin}"]
        told = (
            f"in{' and current' if answer['current'] else ', but not current'}: {', '.join(facts)}"
        )
    else:
        told = f"not in: {answer['rule']}"
    rest = [part for part in (answer["reason"], answer["way_out"]) if part]
    print(harmless("; ".join([f"{name}: {told}", *rest])), file=stream)
    if "search" in answer:
        _show_rank(answer["search"], stream)


def _show_rank(found: dict[str, Any], stream: TextIO) -> None:
    style = Style(stream)

    def ranks(of: dict[str, Any]) -> str:
        return ", ".join(f"{leg} rank {of[f'{leg}_rank'] or '-'}" for leg in ("keyword", "vector"))

    place = (
        f"rank {found['rank']} of {found['of']}"
        if found["rank"]
        else f"not among {found['of']} results"
    )
    passage = (
        f": {found['citation']}, score {found['score']:.3f}, confidence {found['confidence']:.2f}"
        if found["rank"]
        else ""
    )
    print(
        f"\n{style.bold}{place}{style.off}{harmless(passage)}  {style.dim}{ranks(found)}{style.off}",
        file=stream,
    )
    if found["left_out_by"]:
        print(
            f"  a search leaves it out, because of the setting {found['left_out_by']}", file=stream
        )
    for verb in ("has", "lacks"):
        print(
            f"  it {verb}: {harmless(', '.join(found[verb])) or 'no word of the query'}",
            file=stream,
        )
    for other in found["before"]:
        words = harmless(", ".join(other["has"])) or "no word"
        line = f"{harmless(other['citation'])}, score {other['score']:.3f}  {style.dim}{ranks(other)}; has {words}{style.off}"
        print(f"  before it, {other['rank']}: {line}", file=stream)


def show_documents(documents: Sequence[dict[str, Any]], stream: TextIO) -> None:
    """A table with a line for each document."""
    style = Style(stream)
    rows = [["DATE", "CHUNKS", "PENDING", "BYTES", "DOCUMENT"]]
    for document in documents:
        counts = [f"{document[key]:,}" for key in ("chunks", "pending", "size")]
        host = f" (a file of {document['host']})" if "host" in document else ""
        rows.append([document["date"] or "", *counts, harmless(document["doc_id"] + host)])
    day, chunks, pending, size, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for row in rows:
        line = (
            f"{row[0]:<{day}}  {row[1]:>{chunks}}  {row[2]:>{pending}}  {row[3]:>{size}}  {row[4]}"
        )
        print(f"{style.dim}{line}{style.off}" if row is rows[0] else line, file=stream)


def progress_line(quiet: bool) -> AbstractContextManager[Callable[[Progress], None]]:
    """A progress line on stderr. If stderr is not a terminal, or with `quiet`, nothing is shown."""
    if quiet or not sys.stderr.isatty():
        return nullcontext(lambda progress: None)
    return ProgressLine(sys.stderr)


class ProgressLine:
    """One line on a terminal that is drawn again and again. It shows how much is done, how fast,
    and how much time is left.
    """

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
        left = (
            ""
            if finished
            else f", {_duration((progress.total - progress.done) / max(rate, 1e-9))} left"
        )
        chunks = f", {progress.chunks:,} chunks" if progress.stage == "files" else ""
        line = f"{progress.stage} {progress.done:,}/{progress.total:,}{chunks}, {rate:,.0f}/s{left}"
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
        """End the line, so that what is printed next, perhaps an error, has a line of its own."""
        if self._open:
            with suppress(OSError):
                print(file=self._stream, flush=True)
            self._open = False


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes} min"
        if hours
        else f"{minutes} min {rest} s"
        if minutes
        else f"{rest} s"
    )


# The name of the program -> its arguments for a line. Other editors get the file alone.
PLUS_LINE = ("vi", "vim", "nvim", "gvim", "nano", "emacs", "emacsclient", "micro", "kak")
COLON_LINE = ("subl", "hx", "helix", "zed")
GOTO = ("code", "code-insiders", "codium", "cursor")


def open_result(results: Sequence[Mapping[str, Any]], number: int) -> None:
    """Open the file of a result, counted from 1, at its first line, and wait until the editor ends.

    Raises UsageError if there is no such result, SourceError for a stored text or a file that is no
    text, HybridMemoryError if no editor is known or it fails.
    """
    if number > len(results):
        found = f"{len(results)} results" if len(results) != 1 else "1 result"
        raise UsageError(f"--open {number}: the search has {found}")
    result = results[number - 1]
    if result["path"] is None:
        raise SourceError(f"{result['citation']} was stored without a file; `get` reads it")
    if not format_of(result["path"]).is_text:
        raise SourceError(
            f"{result['path']} is no text for an editor; `hybrid-memory get {shlex.quote(result['citation'])}` reads it"
        )
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise HybridMemoryError(
            "--open needs an editor; set VISUAL or EDITOR, as in `export EDITOR=nano`"
        )
    arguments = command(editor, result["path"], result["start_line"])
    try:
        status = subprocess.run(arguments, check=False).returncode
    except OSError as error:
        raise HybridMemoryError(
            f"cannot start the editor {arguments[0]!r}: {error.strerror}; see VISUAL and EDITOR"
        ) from error
    if status:
        raise HybridMemoryError(f"the editor {arguments[0]!r} ended with exit status {status}")


def command(editor: str, path: str, line: int) -> list[str]:
    """The editor with its own arguments, and the file at the line if the editor's way to say that
    is known.

    'code -w', '/a.md', 3 -> code -w --goto /a.md:3
    """
    try:
        words = shlex.split(editor)
    except ValueError:
        words = []
    if not words:
        raise HybridMemoryError(f"VISUAL or EDITOR is not a command: {editor!r}")
    name = os.path.basename(words[0]).removesuffix(".exe")
    if name in PLUS_LINE:
        return [*words, f"+{line}", path]
    if name in GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    return [*words, f"{path}:{line}" if name in COLON_LINE else path]
