"""The parameters of requests, derived from the options that all interfaces share.

A table maps fields to options. It is used to check query strings and to write the OpenAPI document.
"""

import re
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import QueryParams

from ...errors import suggestion
from ...options import COUNT, HTTP, SWITCH, TEXT, Kind, Option, on_surface
from ...search.request import OPTIONS
from ...storage.filters import FILTERS
from .responses import Problem

Table = Mapping[str, Option]

LINES_PATTERN = "[1-9][0-9]{0,8}(C[1-9][0-9]{0,8})?(-[1-9][0-9]{0,8})?"


def _lines(text: str) -> str:
    if not re.fullmatch(LINES_PATTERN, text):
        raise ValueError(f"{text!r} is not a range of lines, such as 12-30")
    return text


LINES = Kind("string", _lines, pattern=LINES_PATTERN)

REFRESH = Option(SWITCH, "index changed files of the ingested folders first", name="refresh")
MARKS = Option(
    SWITCH,
    "for display: add the matching words as they appear in each text, an excerpt, the quality of "
    "the match, and the document's title",
    name="marks",
    default=False,
)
QUERY = Option(
    TEXT,
    "a question in plain words, or exact names; -word, tag:, -tag:, in:, before: and after:",
    name="query",
    aliases=("q",),
    required=True,
)
OPTIONS_AND_FILTERS: Table = {**on_surface(OPTIONS, HTTP), **FILTERS}
SEARCH: Table = {
    "query": QUERY,
    **OPTIONS_AND_FILTERS,
    "marks": MARKS,
    "refresh": REFRESH,
}
LISTING: Table = {
    "limit": Option(COUNT, "how many documents", name="limit", default=100, least=1, served=10_000),
    **FILTERS,
}
OF_LINES = Option(LINES, "the lines, counted from 1: 12-30, or 12", name="lines")
DOCUMENT: Table = {
    "lines": OF_LINES,
    "max_lines": Option(
        COUNT, "at most N lines", name="max_lines", default=200, least=1, served=10_000
    ),
    "max_chars": Option(
        COUNT, "at most N characters", name="max_chars", default=20_000, least=1, served=1_000_000
    ),
}
SIMILAR: Table = {
    "lines": OF_LINES,
    "limit": Option(COUNT, "how many passages", name="limit", default=5, least=1, served=100),
}
IMAGE: Table = {
    "target": Option(
        TEXT, "the path of the image as written in the document", name="target", required=True
    )
}
UPDATE: Table = {
    "all": Option(SWITCH, "also read transcripts with few new lines", name="all", default=False)
}
DOCTOR: Table = {
    "thorough": Option(SWITCH, "also read the whole file", name="thorough", default=False)
}
NOTHING: Table = {}


def schema_of(option: Option) -> dict[str, Any]:
    """Return the JSON Schema of a parameter."""
    # If an option has a setting, the setting is the default
    default = None if option.setting or option.repeated else option.default
    schema = option.schema(default=default)
    if option.kind.pattern and not option.choices:
        schema["pattern"] = f"^({option.kind.pattern})$"
    return option.list_schema(schema) if option.repeated else schema


def read(query: QueryParams, table: Table) -> dict[str, Any]:
    """Parse a query string; return a value for every field of a table, by default its default.

    Raises Problem (422), which lists all errors.
    """
    given: dict[str, list[str]] = {field: [] for field in table}
    fields = {
        name: field for field, option in table.items() for name in (option.name, *option.aliases)
    }
    errors: list[dict[str, str]] = []
    for name, text in query.multi_items():
        if name in fields:
            given[fields[name]].append(text)
        else:
            names = [option.name for option in table.values()]
            problem = f"unknown parameter{suggestion(name, names)}"
            errors.append({"parameter": name, "detail": problem})
    values: dict[str, Any] = {}
    for field, option in table.items():
        try:
            values[field] = _value(option, given[field])
        except (TypeError, ValueError) as error:
            errors.append({"parameter": option.name, "detail": str(error)})
    if errors:
        details = [f"{error['parameter']}: {error['detail']}" for error in errors]
        raise Problem(422, "; ".join(details), errors=errors)
    return values


def _value(option: Option, texts: list[str]) -> Any:
    if option.repeated:
        return option.read(texts) or option.default
    texts = [text for text in texts if text or option.required]
    if len(texts) > 1:
        raise ValueError("given more than once")
    if not texts:
        if option.required:
            raise ValueError("missing")
        return None if option.setting else option.default
    return option.read(texts[0])
