"""Search results in formats other than JSON. To add a format, write a function and add a row to FORMATS."""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from ..storage.stems import stems
from ..text.highlight import Highlighter
from ..text.query import Query
from ..text.width import clipped, wrapped
from .printable import harmless, json_text, printable
from .terminal import Style

_HEADINGS = re.compile(r"\A(?: {0,3}#{1,6}[ \t].*\n*)+")  # the heading path of the result says the same
_INDENT = " " * 7
_NARROWEST, _WIDEST = 20, 113  # columns of a passage, however wide the terminal is
_BEFORE, _AFTER = "\1", "\2"  # stand for the colour codes while lines are broken; `harmless` removes them from all texts

Result = dict[str, Any]


def text(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """Results for people, each with its score, its place, its headings, and a passage with the words of the query marked."""
    style = Style(stream)
    bodies = [_HEADINGS.sub("", result["text"]) or result["text"] for result in results]
    highlighter = Highlighter(Query(query), bodies, stems)
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns - len(_INDENT), _WIDEST))
    for result, body in zip(results, bodies, strict=True):
        how = f"{result['source']}, confidence {result['confidence']:.2f}"
        print(f"{result['score']:.3f}  {style.bold}{_place(result)}{style.off}  {style.dim}{how}{style.off}", file=stream)
        if result["heading_path"]:
            print(f"{_INDENT}{style.dim}{clipped('# ' + harmless(result['heading_path']), width)}{style.off}", file=stream)
        for line in wrapped(highlighter.snippet(body, _BEFORE, _AFTER, plain=harmless), width):
            print(_INDENT + line.replace(_BEFORE, style.match or "[").replace(_AFTER, style.off or "]"), file=stream)
        for line in (line for note in _notes(result) for line in wrapped(harmless(note), width)):
            print(f"{_INDENT}{style.dim}{line}{style.off}", file=stream)
        print(file=stream)


def _notes(result: Result) -> list[str]:
    """More lines of a result: the other places of the same text, and how the score was computed."""
    notes = [f"also {place}" for place in result["also"]]
    if why := result.get("explain"):
        legs = " + ".join(_leg(name, why[name]) for name in ("keyword", "vector"))
        aged = f" x decay {why['decay']:.3f}" if why["decay"] != 1 else ""
        notes.append(f"{legs} + neighbours {why['neighbours']:.3f} + document {why['document']:.3f}{aged}")
        near = "" if why["nearness"] is None else f", nearness {why['nearness']:.2f}"
        notes.append(f"coverage {why['coverage']:.2f} ({', '.join(why['terms']) or 'no word'}){near}")
    return notes


def _leg(name: str, why: dict[str, Any]) -> str:
    return f"{name} {why['part']:.3f} ({why['weight']:.2f} x {why['normalised']:.3f}, rank {why['rank'] or '-'})"


def _place(result: Result) -> str:
    """`path:lines`, which many terminals make clickable. The path is relative if that is shorter."""
    path = result["path"] or result["doc_id"]
    with suppress(OSError, ValueError):  # the working directory may no longer exist, or be on another drive
        path = min(path, os.path.relpath(path), key=len) if result["path"] else path
    return f"{harmless(path)}:{result['start_line']}-{result['end_line']}"


def jsonl(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """One JSON object per line."""
    for result in results:
        print(json_text(result), file=stream)


def markdown(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """The texts as markdown quotes, each under its citation. This is for a prompt of a language model."""
    for result in results:
        under = f" ({harmless(result['heading_path'])})" if result["heading_path"] else ""
        quoted = "\n".join(f"> {line}".rstrip() for line in printable(result["text"]).split("\n"))
        print(f"**{harmless(result['citation'])}**{under}, score {result['score']:.3f}\n\n{quoted}\n", file=stream)


def paths(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """The paths of the files, best first, each once. A stored text has no file, so its id is printed.

    Other programs get exact paths. On a terminal, control characters are replaced.
    """
    for path in dict.fromkeys(result["path"] or result["doc_id"] for result in results):
        print(harmless(path) if stream.isatty() else path, file=stream)


FORMATS: dict[str, Callable[[Sequence[Result], str, TextIO], None]] = {
    "text": text,
    "jsonl": jsonl,
    "md": markdown,
    "paths": paths,
}
