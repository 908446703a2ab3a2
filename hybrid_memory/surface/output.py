"""The formats of search results, and what an answer costs in each. To add a format, write a
function and add a row to FORMATS.

MERGED A passage as a terminal shows it: the part that answers, with its line breaks, and wrapped
where it is prose.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import StringIO
from shlex import quote
from typing import Any, TextIO

from ..search.hit import Budget, lean
from ..storage.keyword import stems
from ..text.characters import clipped, wrapped
from ..text.highlight import SNIPPET, Highlighter, Span, passage
from ..text.query import Query
from .streams import harmless, json_line, json_lines, printable
from .terminal import Style

BEFORE, AFTER = (
    "\1",
    "\2",
)  # stand for the colour codes while lines are broken; `printable` removes them from all texts

_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_FENCES = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[ \t]*(\S*)", re.MULTILINE)
_BULLET = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+")
_DEEPEST = 24  # columns of indentation that are kept when prose is wrapped


def shown(text: str, highlighter: Highlighter, width: int) -> Iterator[str]:
    """Lines of the best part of a text, each word of the query between BEFORE and AFTER.

    Prose and lists are wrapped to `width` columns, a list with its indentation. Lines of code and
    of tables are whole and as they stand, however long.
    """
    spans = highlighter.spans(text)
    start, end = passage(text, spans, SNIPPET)
    lines = list(_lines(text))
    fixed = [(first, last) for first, last, is_fixed in lines if is_fixed]
    start = next((first for first, last in fixed if first <= start <= last), start)
    end = next((last for first, last in fixed if first <= end <= last), end)
    more = "…" if text[end:].strip() else ""
    lead = "…" if text[:start].strip() else ""
    for first, last, is_fixed in lines:
        if last < start or first >= end:
            continue
        line = (
            lead
            + _marked(text, spans, max(first, start), min(last, end))
            + (more if last >= end else "")
        )
        lead = ""
        yield from [line] if is_fixed else _wrapped(line, width)


def _lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where each line starts and ends, and whether it is code or of a table, where line breaks and
    spaces mean something.
    """
    at, fence = 0, "`" if _starts_in_code(text) else ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        is_indented = line.startswith(("    ", "\t")) and not _BULLET.match(line)
        is_fixed = bool(fence or mark) or is_indented or line.lstrip()[:1] == "|"
        if mark:
            ticks = mark[0].strip()
            fence = ticks if not fence else "" if ticks.startswith(fence) else fence
        yield at, at + len(line), is_fixed
        at += len(line) + 1


def _starts_in_code(text: str) -> bool:
    """Whether the first fence ends code that began in the passage before. One with a name, as
    ```bash, always begins code.
    """
    fences = list(_FENCES.finditer(text))
    if not fences or fences[0][1]:
        return False
    if len(fences) == 1:
        return fences[0].end() > len(text) / 2
    return len(fences) % 2 == 1 and bool(fences[1][1])


def _marked(text: str, spans: list[Span], start: int, end: int) -> str:
    """text[start:end] on one line, with its words of the query marked."""
    parts, at = [], start
    for span in spans:
        if start <= span.start and span.end <= end:
            parts += [
                _plain(text[at : span.start]),
                BEFORE,
                _plain(text[span.start : span.end]),
                AFTER,
            ]
            at = span.end
    return "".join([*parts, _plain(text[at:end])]).rstrip()


def _plain(text: str) -> str:
    return printable(text).replace("\n", " ").replace("\t", "    ")


def _wrapped(line: str, width: int) -> Iterator[str]:
    bullet = _BULLET.match(line)
    lead = bullet[0] if bullet else line[: len(line) - len(line.lstrip())]
    if len(lead) > min(_DEEPEST, width // 2):
        bullet, lead = None, ""
    for number, part in enumerate(wrapped(line[len(lead) :], width - len(lead))):
        yield (lead if number == 0 else " " * len(lead)) + part


_HEADINGS = re.compile(
    r"\A(?: {0,3}#{1,6}[ \t].*\n*)+"
)  # the heading path of the result says the same
_INDENT = " " * 7
_NARROWEST, _WIDEST = 20, 113  # columns of a passage, however wide the terminal is

Result = dict[str, Any]


def text(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """Results for people, each with its score, its place, its headings, and a passage with the
    words of the query marked.
    """
    style = Style(stream)
    bodies = [_HEADINGS.sub("", result["text"]) or result["text"] for result in results]
    highlighter = Highlighter(Query(query), bodies, stems)
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns - len(_INDENT), _WIDEST))
    for result, body in zip(results, bodies, strict=True):
        place, lines = _place(result), f"lines {result['start_line']}-{result['end_line']}"
        if result["path"]:
            place = style.link(result["path"], place)
        how = f"{lines}, {result['source']}, confidence {result['confidence']:.2f}"
        print(
            f"{result['score']:.3f}  {style.bold}{place}{style.off}  {style.dim}{how}{style.off}",
            file=stream,
        )
        if result["heading_path"]:
            print(
                f"{_INDENT}{style.dim}{clipped('# ' + harmless(result['heading_path']), width)}{style.off}",
                file=stream,
            )
        for line in shown(body, highlighter, width):
            marked = line.replace(BEFORE, style.match or "[").replace(AFTER, style.off or "]")
            print((_INDENT + marked).rstrip(), file=stream)
        for line in (line for note in _notes(result) for line in wrapped(harmless(note), width)):
            print(f"{_INDENT}{style.dim}{line}{style.off}", file=stream)
        print(file=stream)


def _notes(result: Result) -> list[str]:
    """More lines of a result: the other places of the same text, and how the score was computed."""
    notes = [f"also {place}" for place in result["also"]]
    if why := result.get("explain"):
        legs = " + ".join(_leg(name, why[name]) for name in ("keyword", "vector"))
        of_date = f" + date {why['of_date']:.3f}" if "of_date" in why else ""
        aged = f" x decay {why['decay']:.3f}" if why["decay"] != 1 else ""
        rerank = f" + {_leg('rerank', why['rerank'])}" if "rerank" in why else ""
        notes.append(
            f"{legs} + neighbours {why['neighbours']:.3f} + document {why['document']:.3f}{of_date}{rerank}{aged}"
        )
        near = "" if why["nearness"] is None else f", nearness {why['nearness']:.2f}"
        tell = f", telling {why['keyword']['telling']:.2f}" if why["keyword"]["telling"] < 1 else ""
        notes.append(
            f"coverage {why['coverage']:.2f} ({', '.join(why['terms']) or 'no word'}){near}{tell}"
        )
    return notes


def _leg(name: str, why: dict[str, Any]) -> str:
    return f"{name} {why['part']:.3f} ({why['weight']:.2f} x {why['normalised']:.3f}, rank {why['rank'] or '-'})"


def _place(result: Result) -> str:
    """`path:line`, as editors and `get` take it, quoted for a shell. The path is relative if that
    is shorter.
    """
    path = result["path"] or result["doc_id"]
    with suppress(
        OSError, ValueError
    ):  # the working directory may no longer exist, or be on another drive
        path = min(path, os.path.relpath(path), key=len) if result["path"] else path
    return quote(f"{harmless(path)}:{result['start_line']}")


def json(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """A list, one result a line."""
    print(json_lines(results), file=stream)


def jsonl(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """One JSON object per line."""
    for result in results:
        print(json_line(result), file=stream)


def markdown(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """The texts as markdown quotes, each under its citation. This is for a prompt of a language
    model, so it is short.

    Headings are named where the passage does not show its own, and the date where it is not in the
    citation.
    """
    for result in results:
        under = (
            "" if result["heading"] in result["text"] else f" ({harmless(result['heading_path'])})"
        )
        when = (
            f", {result['date']}"
            if result["date"] and result["date"] not in result["citation"]
            else ""
        )
        quoted = "\n".join(f"> {line}".rstrip() for line in printable(result["text"]).split("\n"))
        print(
            f"**{harmless(result['citation'])}**{under}{when}, confidence {result['confidence']:.2f}\n{quoted}\n",
            file=stream,
        )


def paths(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """The paths of the files, best first, each once. A stored text has no file, so its id is
    printed.

    Other programs get exact paths. On a terminal, control characters are replaced.
    """
    for path in dict.fromkeys(result["path"] or result["doc_id"] for result in results):
        print(harmless(path) if stream.isatty() else path, file=stream)


FORMATS: dict[str, Callable[[Sequence[Result], str, TextIO], None]] = {
    "text": text,
    "json": json,
    "jsonl": jsonl,
    "md": markdown,
    "paths": paths,
}


def show(
    results: Sequence[Result],
    query: str,
    form: str,
    stream: TextIO,
    *,
    full: bool = False,
    opened: int | None = None,
) -> None:
    """Print the results; in JSON and without `full`, the lean ones. Then the result numbered
    `opened` is opened in the editor.
    """
    is_lean = form in ("json", "jsonl") and not full
    FORMATS[form](list(map(lean, results)) if is_lean else results, query, stream)
    if opened:
        from .terminal import open_result

        stream.flush()
        open_result(results, opened)


def budget(
    characters: int, form: str, query: str, *, is_terminal: bool = False, full: bool = False
) -> Budget:
    """A budget for everything that is printed in this form."""

    def printed(results: Sequence[Result]) -> int:
        paper = _Paper(is_terminal)
        show(results, query, form, paper, full=full)
        return len(paper.getvalue())

    nothing = printed([])
    return Budget(characters, lambda result: printed([result]) - nothing, nothing)


class _Paper(StringIO):
    """A stream to measure what is printed."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: is_terminal  # type: ignore[method-assign]
