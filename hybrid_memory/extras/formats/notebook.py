"""Read a Jupyter notebook as markdown: its notes as they are, its code and what that printed as
fenced code. Pictures and widgets are left out.

The form is that of nbformat 4 (nbformat.readthedocs.io). What is malformed costs its own cell, never
the notebook.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ...documents.document import Extract
from .docx import fenced
from .extracted import MAX_TEXT, ExtractError

OLDEST = 4  # nbformat; from 2015 on
LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
TERMINAL_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def extract(data: bytes) -> Extract:
    """Extract the text of the cells, and the title and authors.

    Raises ExtractError for a file that is not a notebook, or is of an older form.
    """
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ExtractError(f"it cannot be read as a notebook ({error})", "damaged") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise ExtractError("it cannot be read as a notebook (no nbformat)", "damaged")
    if notebook["nbformat"] < OLDEST:
        way_out = "`jupyter nbconvert --to notebook --inplace` brings it up to date"
        raise ExtractError(f"it is of nbformat {notebook['nbformat']}; {way_out}", "damaged")
    metadata = _object(notebook.get("metadata"))
    language = _text(_object(metadata.get("language_info")).get("name"))
    if not LANGUAGE.fullmatch(language):
        language = ""
    blocks = [block for cell in _objects(notebook.get("cells")) for block in _cell(cell, language)]
    text = "\n\n".join(blocks) + "\n"
    if len(text) > MAX_TEXT:
        raise ExtractError(f"its text has over {MAX_TEXT:,} characters", "size")
    warnings = []
    if not text.strip():
        warnings.append(("it has no text", "no text"))
    return Extract(text, [], _properties(metadata), warnings)


def _properties(metadata: dict[str, Any]) -> dict[str, Any]:
    names = [_text(author.get("name")) for author in _objects(metadata.get("authors"))]
    properties = {"title": _text(metadata.get("title")), "author": ", ".join(filter(None, names))}
    return {key: " ".join(value.split()) for key, value in properties.items() if value}


def _cell(cell: dict[str, Any], language: str) -> Iterator[str]:
    """Yield the blocks of a cell."""
    source = _text(cell.get("source")).strip("\n")
    if cell.get("cell_type") != "code":
        if source.strip():
            yield source
        return
    if source.strip():
        yield _code(source, language)
    for output in _objects(cell.get("outputs")):
        printed = _printed(output).strip("\n")
        if printed.strip():
            yield _code(printed)


def _printed(output: dict[str, Any]) -> str:
    """Return the text of an output; that of a picture only describes the picture."""
    kind = output.get("output_type")
    if kind == "stream":
        return TERMINAL_COLOUR.sub("", _text(output.get("text")))
    if kind == "error":
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    data = _object(output.get("data"))
    if any(name.startswith("image/") for name in data):
        return ""
    return _text(data.get("text/plain"))


def _code(text: str, language: str = "") -> str:
    return "\n".join(fenced(text.split("\n"), language))


def _text(value: Any) -> str:
    """Return a text that may be stored as a list of its lines."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
