"""Passages as markdown quotes: short, for the prompt of a model."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from ..search.result import also_in, day_of, match
from .streams import printable, single_line

Result = Mapping[str, Any]  # perhaps with `title`, and `more` from the same note
BULLET = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+")
FENCES = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[ \t]*(\S*)", re.MULTILINE)
FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")


def lines_of(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of each line, and whether its spaces and line breaks matter, as in code
    and tables.
    """
    start = 0
    fence = "`" if _starts_in_code(text) else ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        is_indented = line.startswith(("    ", "\t")) and not BULLET.match(line)
        is_table = line.lstrip().startswith("|")
        yield start, start + len(line), bool(fence or mark or is_indented or is_table)
        if mark:
            ticks = mark[0].strip()
            if not fence:
                fence = ticks
            elif ticks.startswith(fence):
                fence = ""
        start += len(line) + 1


def markdown(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """Print the texts as markdown quotes, each under its citation: short, for a model's prompt.

    Headings are added unless the passage shows them, the day unless the citation has it, the other
    days of the same text, and the citation of a newer version.
    """
    for result in results:
        line = f"**{single_line(result['citation'])}**"
        if result["heading"] not in result["text"]:
            line += f" ({single_line(result['heading_path'])})"
        facts = [day_of(result), single_line(also_in(result))]
        line += "".join(f", {fact}" for fact in facts if fact not in result["citation"])
        if result.get("newer"):
            line += f", revised by {single_line(result['newer'])}"
        if result.get("gone"):
            line += ", file is gone"
        print(
            f"{line}, {confidence_text(result)}\n{quoted(without_gaps(result['text']))}\n",
            file=stream,
        )


def without_gaps(text: str) -> str:
    """Make one empty line of several in a row, where noise was removed; those in code stay."""
    lines: list[str] = []
    for start, end, is_fixed in lines_of(text):
        line = text[start:end]
        if is_fixed or line.strip() or not lines or lines[-1].strip():
            lines.append(line)
    return "\n".join(lines)


def quoted(text: str) -> str:
    """Quote a text in markdown, so that none of its lines is mistaken for the answer itself."""
    return "\n".join(f"> {row}".rstrip() for row in printable(text).split("\n"))


def confidence_text(result: Result) -> str:
    """The confidence of a result as a number and a word: "confidence 0.74 (strong)"."""
    return f"confidence {result['confidence']:.2f} ({match(result['confidence'])})"


def _starts_in_code(text: str) -> bool:
    """Whether the first fence ends code that began in the previous passage.

    A fence with a language, such as ```bash, always begins code.
    """
    fences = list(FENCES.finditer(text))
    if not fences or fences[0][1]:
        return False
    if len(fences) == 1:
        return fences[0].end() > len(text) / 2
    return len(fences) % 2 == 1 and bool(fences[1][1])
