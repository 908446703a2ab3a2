"""Search results in formats other than JSON. A new format is a function and a row in FORMATS."""

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from ..storage.stems import stems
from ..text.highlight import Highlighter
from ..text.query import Query
from ..text.width import clipped, wrapped
from .terminal import Style, harmless, printable

_HEADINGS = re.compile(r"\A(?: {0,3}#{1,6}[ \t].*\n*)+")  # the result's heading path says the same
_INDENT = " " * 7
_BEFORE, _AFTER = "\1", "\2"  # in place of the colour codes while lines are broken; no text contains them, see `harmless`

Result = dict[str, Any]


def text(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """Results as lines for a terminal: where, how well, under which headings, and the passage with its matched words marked."""
    style = Style(stream)
    bodies = [_HEADINGS.sub("", result["text"]) or result["text"] for result in results]
    highlighter = Highlighter(Query(query), bodies, stems)
    width = min(shutil.get_terminal_size().columns, 120) - len(_INDENT)
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
    """Further lines of a result: where else the same text stands, and what the score is made of."""
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
    """`path:lines`, which terminals make clickable; relative where that is shorter."""
    path = min(result["path"], os.path.relpath(result["path"]), key=len) if result["path"] else result["doc_id"]
    return f"{harmless(path)}:{result['start_line']}-{result['end_line']}"


def jsonl(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """One JSON object a line."""
    for result in results:
        print(json.dumps(result, ensure_ascii=False), file=stream)


def markdown(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """The texts as quotes, each under its citation: to put in front of a model."""
    for result in results:
        under = f" ({harmless(result['heading_path'])})" if result["heading_path"] else ""
        quoted = "\n".join(f"> {line}".rstrip() for line in printable(result["text"]).split("\n"))
        print(f"**{harmless(result['citation'])}**{under}, score {result['score']:.3f}\n\n{quoted}\n", file=stream)


def paths(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """The paths of the files, best first, each once; for a stored text its id."""
    for path in dict.fromkeys(result["path"] or result["doc_id"] for result in results):
        print(path, file=stream)


FORMATS: dict[str, Callable[[Sequence[Result], str, TextIO], None]] = {
    "text": text,
    "jsonl": jsonl,
    "md": markdown,
    "paths": paths,
}
