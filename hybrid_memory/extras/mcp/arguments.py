"""The arguments of the tools: what they may be, what they are called, and what is said of wrong ones.

An argument has the name of the option of the command line and of the parameter over HTTP.
"""

import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from ...errors import meant
from ...text.dates import first_day

MOST_PASSAGES = 100

FORMER_NAMES = {"inside": "in", "tags": "tag", "per_document": "per_doc"}  # still accepted

# What is wrong with an argument, by pydantic's name for the fault, with pydantic's figures.
FAULTS = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "literal_error": "must be {expected}",
    "list_type": "must be a list of texts",
    "dict_type": "must be an object",
    "value_error": "{error}",
}


def named(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments under their present names. Raises ToolError for one that the tool does
    not have, so that no filter is lost and nothing is done that a caller wanted to try only.
    """
    names = list(schema["properties"])
    renamed: dict[str, Any] = {}
    for given_name, value in arguments.items():
        name = given_name
        if name not in names:
            name = FORMER_NAMES.get(given_name, given_name)
        if name not in names:
            raise ToolError(f"{tool} has no argument {given_name!r}{_way_out(given_name, names)}")
        if name in renamed:
            raise ToolError(f"{name} is given twice, once as {given_name}")
        renamed[name] = value
    return renamed


def _way_out(name: str, names: list[str]) -> str:
    names_taken = f"it takes {', '.join(names)}" if names else "it takes none"
    return meant(name, names) or f"; {names_taken}"


def refusal(error: ValidationError) -> str:
    """Return what is wrong with each argument, on one line."""
    faults = []
    for fault in error.errors():
        place = ".".join(map(str, fault["loc"]))
        words = FAULTS.get(fault["type"], "is not what the tool's schema asks for")
        figures = fault.get("ctx", {})
        faults.append(f"{place}: {words.format(**figures)}")
    return "; ".join(faults)


def _checked_date(text: str) -> str:
    first_day(text, date.today())
    return text


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_texts(values: dict[str, Any] | None) -> dict[str, list[str]]:
    """Return the texts to be looked for under each key: true is "true" and 3 is "3"."""
    texts = {}
    for key, value in _flat(values or {}).items():
        items = value if isinstance(value, list) else [value]
        texts[key] = [item if isinstance(item, str) else json.dumps(item) for item in items]
    return texts


def _flat(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata. Raises ValueError where a value is more than a list of plain values."""
    for key, value in metadata.items():
        items = value if isinstance(value, list) else [value]
        if not all(_is_plain(item) for item in items):
            raise ValueError(f"the value of {key!r} must be a text, a number or a list of these")
    return metadata


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


Query = Annotated[
    str, Field(description="A question in plain words, or exact names: DEC-0054; -word leaves out")
]
Budget = Annotated[int, Field(ge=200, le=100_000, description="Characters of the answer")]
Passages = Annotated[int | None, Field(ge=1, le=MOST_PASSAGES, description="Passages at most")]
PerDocument = Annotated[int | None, Field(ge=0, description="Passages of one document at most")]
Mode = Literal["hybrid", "keyword", "vector"]
Confidence = Annotated[float | None, Field(ge=0, le=1, description="Leave out what is less sure")]
HalfLife = Annotated[float | None, Field(ge=0, description="Newer first: days that halve a score")]

Target = Annotated[
    str,
    Field(description="A citation (memory/a.md#L12-L30), perhaps with more lines, an id or path"),
]
Lines = Annotated[int, Field(ge=1, le=2000)]
Documents = Annotated[int, Field(ge=1, le=1000)]

NewId = Annotated[
    str, Field(min_length=1, description="decisions/dec-0054. The same id replaces the text")
]
Text = Annotated[str, Field(description="Markdown, with a heading for each topic")]
Metadata = Annotated[
    dict[str, Any] | None,
    AfterValidator(lambda metadata: _flat(metadata or {})),
    Field(description="Such as project or author"),
]

Collection = Annotated[str | None, Field(description="Of this collection: memory")]
Inside = Annotated[
    str | None, Field(validation_alias="in", description="Ids like this glob: memory/2026-*")
]
Tags = Annotated[
    list[str] | None, BeforeValidator(_as_list), Field(description="With all of these tags")
]
Where = Annotated[
    dict[str, Any] | None,
    AfterValidator(_as_texts),
    Field(description='With this metadata: {"project": "boss-api"}'),
]
_Date = Annotated[str, AfterValidator(_checked_date)]
Since = Annotated[
    _Date | None,
    Field(description="From this date: 2026-01-05, 2026-01, or an age: 7d, 3w, 6m, 1y"),
]
Until = Annotated[_Date | None, Field(description="Up to this date")]
Heading = Annotated[str | None, Field(description="Below this heading: Meeting > Costs")]
LinkedTo = Annotated[str | None, Field(description="With a link to this document")]
