"""Read the texts in drawings: Excalidraw files and Obsidian canvases. The JSON of their shapes is
left out, and so are the settings of boards.

The formats are those of Excalidraw (docs.excalidraw.com, "JSON schema"), of its plugin for
Obsidian, which keeps a drawing in a note, of Obsidian's plugin Kanban, and of JSON Canvas 1.0
(jsoncanvas.org). Malformed elements are left out; the rest of the drawing is read.
"""

import json
import re
from typing import Any

from ...storage.prepared import Extract
from .blocks import LIKE_MARKDOWN_MARK
from .extracted import ExtractError

# The plugin's data: a warning, headings, the ids of texts and files, and at the end the drawing.
PLUGIN_DATA = re.compile(
    r"(?<=\n)(?:==⚠[^\n]*|#{1,2} (?:Excalidraw Data|Text Elements|Element Links|Embedded Files)[ \t]*"
    r"|%%[ \t]*)(?=\n|\Z)",
    re.IGNORECASE,
)
TEXT_ID = re.compile(r"[ \t]\^[\w-]{8}(?=[ \t]*(?:\n|\Z))")
FILE_ID = re.compile(r"(?<=\n)(?:[0-9a-f]{40}|[\w-]{21}|[\w-]{8}): (?=\[\[|https?:|\$\$)")
DRAWING = re.compile(r"\n#{1,2} Drawing[ \t]*\n[ \t]*(?:\n|```|\{)")
# Kanban's settings at the end of a board, and its mark of a list whose cards are done
BOARD_SETTINGS = re.compile(r"\n%% kanban:settings\b(?:[^%]|%(?!%))*+(?:%%)?")
BOARD_MARK = re.compile(r"(?<=\n)\*\*Complete\*\*[ \t]*(?=\n|\Z)")


def without_drawing(text: str) -> str:
    """Remove the drawing and the plugin's data from a note, but keep every line."""
    drawing = DRAWING.search(text)
    if drawing:
        text = text[: drawing.start()] + "\n" * text.count("\n", drawing.start())
    return FILE_ID.sub("", TEXT_ID.sub("", PLUGIN_DATA.sub("", text)))


def without_settings(text: str) -> str:
    """Remove Kanban's own data from a board, but keep every line."""
    return BOARD_MARK.sub("", BOARD_SETTINGS.sub(lambda data: "\n" * data[0].count("\n"), text))


Shape = dict[str, Any]


def excalidraw(data: bytes) -> Extract:
    """Extract the texts of an Excalidraw file, from top to bottom, each with its link.

    Raises ExtractError for any other file.
    """
    texts = []
    for element in sorted(_shapes(data, "elements"), key=_place):
        if element.get("isDeleted") is True:
            continue
        kind = element.get("type")
        if kind == "text":
            texts.append(_text(element, "originalText") or _text(element, "text"))
        elif kind in ("frame", "magicframe"):
            texts.append(_text(element, "name"))
        texts.append(_text(element, "link"))
    paragraphs = [_without_markdown(text) for text in texts if text]
    return _extract(paragraphs)


def canvas(data: bytes) -> Extract:
    """Extract the texts of a canvas and links to its files, below the names of their groups, and
    finally the labels of the lines between them.

    Raises ExtractError for any other file.
    """
    nodes = sorted(_shapes(data, "nodes"), key=_place)
    groups = [node for node in nodes if node.get("type") == "group"]
    by_size = sorted(groups, key=_area)
    texts_by_group: dict[int, list[str]] = {id(group): [] for group in groups}
    paragraphs: list[str] = []
    for node in nodes:
        text = _node_text(node)
        if text:
            left, top, right, bottom = _bounds(node)
            x, y = (left + right) / 2, (top + bottom) / 2
            around = (texts_by_group[id(group)] for group in by_size if _is_in(group, x, y))
            next(around, paragraphs).append(text)  # the smallest group comes first
    for group in groups:
        label = " ".join(_text(group, "label").split())
        if label:
            paragraphs.append(f"# {label}")
        paragraphs += texts_by_group[id(group)]
    paragraphs += filter(None, (_text(edge, "label") for edge in _shapes(data, "edges")))
    return _extract(paragraphs)


def _node_text(node: Shape) -> str:
    """The text of a node other than a group: its markdown, or a link to its file or page."""
    kind = node.get("type")
    if kind == "text":
        return _text(node, "text")
    if kind == "file":
        path = " ".join((_text(node, "file") + _text(node, "subpath")).split())
        if path:
            return f"[[{path}]]"
        return ""
    if kind == "link" and _text(node, "url"):
        return f"<{_text(node, 'url')}>"
    return ""


def _shapes(data: bytes, key: str) -> list[Shape]:
    """The objects in a list of the drawing."""
    try:
        drawing = json.loads(data or b"{}")
    except (ValueError, RecursionError) as error:
        raise ExtractError(f"it cannot be read as a drawing ({error})", "damaged") from error
    if not isinstance(drawing, dict):
        raise ExtractError("it cannot be read as a drawing (no JSON object)", "damaged")
    shapes = drawing.get(key)
    if not isinstance(shapes, list):
        return []
    return [shape for shape in shapes if isinstance(shape, dict)]


def _text(shape: Shape, key: str) -> str:
    value = shape.get(key)
    if isinstance(value, str):
        return value.strip()
    return ""


def _number(shape: Shape, key: str) -> float:
    value = shape.get(key)
    return value if isinstance(value, (int, float)) else 0.0


def _place(shape: Shape) -> tuple[float, float]:
    return _number(shape, "y"), _number(shape, "x")


def _area(group: Shape) -> float:
    return _number(group, "width") * _number(group, "height")


def _is_in(group: Shape, x: float, y: float) -> bool:
    left, top, right, bottom = _bounds(group)
    return left <= x <= right and top <= y <= bottom


def _bounds(node: Shape) -> tuple[float, float, float, float]:
    """The left, top, right and bottom side of a node."""
    x, y = _number(node, "x"), _number(node, "y")
    return x, y, x + _number(node, "width"), y + _number(node, "height")


def _without_markdown(text: str) -> str:
    """Indent all lines that look like a heading or a fence."""
    return "\n".join(
        f"    {line}" if LIKE_MARKDOWN_MARK.match(line.lstrip()) else line
        for line in text.split("\n")
    )


def _extract(paragraphs: list[str]) -> Extract:
    return Extract("\n\n".join(paragraphs) + "\n", [], {})
