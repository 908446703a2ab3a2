"""Read a Jupyter notebook as markdown: notes unchanged, code and its printed output as fenced code.
Pictures and widgets are left out.

The format is nbformat 4 (nbformat.readthedocs.io). Malformed cells are left out.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ...documents.document import Extract
from .blocks import Block, extract_of, fenced
from .extracted import ExtractError

OLDEST = 4  # nbformat; from 2015 on
LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
TERMINAL_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def extract(data: bytes) -> Extract:
    """Extract the text of the cells, and the title and authors.

    Raises ExtractError for a file that is not a notebook, or has an older format.
    """
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ExtractError(f"it cannot be read as a notebook ({error})", "damaged") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise ExtractError("it cannot be read as a notebook (no nbformat)", "damaged")
    if notebook["nbformat"] < OLDEST:
        way_out = "`jupyter nbconvert --to notebook --inplace` upgrades it"
        raise ExtractError(f"it has nbformat {notebook['nbformat']}; {way_out}", "damaged")
    metadata = _object(notebook.get("metadata"))
    language = _text(_object(metadata.get("language_info")).get("name"))
    if not LANGUAGE.fullmatch(language):
        language = ""
    blocks = [block for cell in _objects(notebook.get("cells")) for block in _cell(cell, language)]
    return extract_of(blocks, _properties(metadata))


def _properties(metadata: dict[str, Any]) -> dict[str, Any]:
    names = [_text(author.get("name")) for author in _objects(metadata.get("authors"))]
    properties = {"title": _text(metadata.get("title")), "author": ", ".join(filter(None, names))}
    return {key: " ".join(value.split()) for key, value in properties.items()}


def _cell(cell: dict[str, Any], language: str) -> Iterator[Block]:
    source = _text(cell.get("source")).strip("\n")
    if cell.get("cell_type") != "code":
        if source.strip():
            yield "text", source.split("\n")
        return
    if source.strip():
        yield "text", fenced(source.split("\n"), language)
    for output in _objects(cell.get("outputs")):
        printed = _printed(output).strip("\n")
        if printed.strip():
            yield "text", fenced(printed.split("\n"))


def _printed(output: dict[str, Any]) -> str:
    """The text of an output. Text that accompanies a picture is left out, because it only describes
    it.
    """
    kind = output.get("output_type")
    if kind == "stream":
        return TERMINAL_COLOUR.sub("", _text(output.get("text")))
    if kind == "error":
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    data = _object(output.get("data"))
    if any(name.startswith("image/") for name in data):
        return ""
    return _text(data.get("text/plain"))


def _text(value: Any) -> str:
    """A text, which notebooks may store as a list of lines."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
