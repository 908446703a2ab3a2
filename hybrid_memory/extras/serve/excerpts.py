"""The fields of a result that only the page shows: its matching words, and an excerpt."""

import re
from collections.abc import Sequence
from typing import Any

from ...surface.output import AFTER, BEFORE, body_of, highlighters_of, shown
from ...text.highlight import Highlighter

QUOTE = re.compile(r"^[ \t]*>[> \t]*")
DASHES = re.compile(r":?-+:?")
SIGNS = {r"[-*+] \[ \]": "☐", r"[-*+] \[[xX]\]": "☑", r"[-*+]": "•"}
UNBOUNDED = 1_000_000  # columns


def add_marks(results: Sequence[dict[str, Any]], query: str, *, is_typed: bool = False) -> None:
    """Add `marks` and `excerpt` to each result, so that clients need no stemming or markdown.

    `marks` are the distinct words of the text and headings that match the query, as written there.
    `excerpt` is the best part of the text, as shown in the terminal.
    """
    texts = [f"{result['heading_path']}\n{result['text']}" for result in results]
    bodies = [body_of(result["text"]) for result in results]
    highlighters = highlighters_of(results, query, [*texts, *bodies], is_typed=is_typed)
    for result, text, body, highlighter in zip(results, texts, bodies, highlighters, strict=True):
        words = [text[span.start : span.end] for span in highlighter.spans(text)]
        result["marks"] = list(dict.fromkeys(words))
        result["excerpt"] = excerpt(body, highlighter)


def excerpt(text: str, highlighter: Highlighter) -> list[str]:
    """Return the excerpt `shown` of a body for the page: pieces of text, every second one a word of
    the query. Table cells are separated by dots; list items and tasks start with a symbol.
    """
    lines = map(_for_page, shown(text, highlighter, UNBOUNDED))
    joined = "\n".join(line for line in lines if line)
    return [piece for part in joined.split(BEFORE) for piece in part.split(AFTER)]


def _for_page(line: str) -> str:
    """Convert markdown at the start of a line to symbols; "" for the rule below a table head."""
    line = QUOTE.sub("", line)
    if line.lstrip().startswith("|"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        return "" if all(DASHES.fullmatch(cell) for cell in cells) else " · ".join(cells)
    for sign, shown_as in SIGNS.items():
        line = re.sub(rf"^([ \t]*){sign}[ \t]+", rf"\1{shown_as} ", line)
    return line
