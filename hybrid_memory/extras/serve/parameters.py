"""The parameters of requests: one table that checks them and that describes them in the OpenAPI
document.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

from starlette.datastructures import QueryParams

from ...errors import meant
from ...search.request import MODES, Request, request_defaults
from ...storage.filters import Filters
from ...text.dates import first_day
from .responses import Problem

TEXT = "text"
COUNT = "count"
NUMBER = "number"
SWITCH = "switch"
DATE = "date"
PAIR = "pair"
LINES = "lines"
PATTERNS = {  # of the whole text
    TEXT: r"[^\x00]*",
    COUNT: r"0|[1-9][0-9]{0,8}",
    NUMBER: r"(0|[1-9][0-9]{0,8})(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?",
    SWITCH: "false|true",
    DATE: r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])(-(0[1-9]|1[0-9]|2[0-8]))?"
    r"|[0-9]{4}-[0-9]{2}(-[0-9]{2})?|[0-9]{1,5}[dwmy]",
    PAIR: r"[^\x00=]+=[^\x00]*",
    LINES: "[1-9][0-9]{0,8}(C[1-9][0-9]{0,8})?(-[1-9][0-9]{0,8})?",
}
MEANT = {
    TEXT: "a text without NUL characters",
    COUNT: "a whole number",
    NUMBER: "a number",
    SWITCH: "true or false",
    DATE: "a date: write 2026-01-05, 2026-01, 2026, or an age such as 7d, 3w, 6m, 1y",
    PAIR: "KEY=VALUE",
    LINES: "a range of lines, as 12-30",
}
OTHER_NAMES = {"query": "q", "tags": "tag", "inside": "in", "per_document": "per_doc"}


class Parameter(NamedTuple):
    """A parameter and what it may be. `least` and `most` are the bounds of a number; `default` None:
    the settings', or none at all.
    """

    name: str
    kind: str
    about: str
    default: Any = None
    least: int = 0
    most: int = 1000
    repeated: bool = False
    choices: Sequence[str] = ()
    required: bool = False

    def value(self, text: str) -> Any:
        """Return what the text means. Raises ValueError."""
        if self.choices and text not in self.choices:
            raise ValueError(f"{text!r} is not one of {', '.join(self.choices)}")
        if not re.fullmatch(PATTERNS[self.kind], text):
            raise ValueError(f"{text!r} is not {MEANT[self.kind]}")
        if self.kind == DATE:
            first_day(text, date.today())  # may be a day that does not exist
        elif self.kind in (COUNT, NUMBER):
            return self._number(text)
        elif self.kind == SWITCH:
            return text == "true"
        elif self.kind == PAIR:
            key, _, value = text.partition("=")
            return key, value
        return text

    def _number(self, text: str) -> int | float:
        number = int(text) if self.kind == COUNT else float(text)
        if not self.least <= number <= self.most:
            raise ValueError(f"{text} is not from {self.least} to {self.most}")
        return number

    def schema(self) -> dict[str, Any]:
        """Return the same for people and programs, as JSON Schema."""
        schema: dict[str, Any] = {"type": "string"}
        if self.choices:
            schema["enum"] = [*self.choices]
        elif self.kind in (COUNT, NUMBER):
            schema = {
                "type": "integer" if self.kind == COUNT else "number",
                "minimum": self.least,
                "maximum": self.most,
            }
        elif self.kind == SWITCH:
            schema = {"type": "boolean"}
        else:
            schema["pattern"] = f"^({PATTERNS[self.kind]})$"
        if self.default is not None:
            schema["default"] = self.default
        if self.repeated:
            return {"type": "array", "items": schema}
        return schema


FILTERS = (
    Parameter("collection", TEXT, "Only documents of this collection."),
    Parameter("in", TEXT, "Only documents with a matching id: memory/2026-*, or memory."),
    Parameter("tag", TEXT, "Only documents with this tag.", repeated=True),
    Parameter("where", PAIR, "Only documents with this metadata, as KEY=VALUE.", repeated=True),
    Parameter(
        "since",
        DATE,
        "Only documents of this date or later: 2026-01-05, 2026-01, 2026, 7d, 3w, 6m, 1y.",
    ),
    Parameter("until", DATE, "Only documents of this date or earlier."),
    Parameter("modified_since", DATE, "Only documents whose file changed then or later."),
    Parameter(
        "heading",
        TEXT,
        "Only passages below this heading, alone or with those above it: Meeting > Costs.",
    ),
    Parameter(
        "linked_to",
        TEXT,
        "Only documents that link to this one: its id, the end of it, its alias or title.",
    ),
)
SEARCH = (
    Parameter(
        "q",
        TEXT,
        "The query: a question in plain words, or exact names; -word, tag:, -tag:, in:, before: and after:.",
        required=True,
    ),
    Parameter("limit", COUNT, "How many results at most (default: the setting, 10).", least=1),
    Parameter(
        "mode",
        TEXT,
        "By words and meaning, by words alone, or by meaning alone.",
        "hybrid",
        choices=MODES,
    ),
    Parameter("context", COUNT, "Add so many chunks before and after each result.", 0, most=100),
    Parameter(
        "per_doc",
        COUNT,
        "At most so many results from one document; 0: any number (default: the setting).",
    ),
    Parameter(
        "min_score",
        NUMBER,
        "Leave out results with a lower score (default: the setting, 0).",
        most=1,
    ),
    Parameter(
        "min_confidence",
        NUMBER,
        "Leave out results with a lower confidence (default: the setting, 0).",
        most=1,
    ),
    Parameter(
        "half_life",
        NUMBER,
        "Halve the score of a dated document for every so many days of its age; 0: never.",
        most=10**6,
    ),
    Parameter(
        "rerank",
        SWITCH,
        "Let the configured reranker, if there is one, reorder the first passages.",
        True,
    ),
    Parameter("explain", SWITCH, "Say how each score was computed.", False),
    Parameter(
        "marks",
        SWITCH,
        "For people: the words of each text that match the query, as they are written, how good "
        "a match it is, and the title of its document.",
        False,
    ),
    Parameter(
        "typed",
        SWITCH,
        "The query is being typed: its last word is a beginning, and misspelt words are mended.",
        False,
    ),
    Parameter("exact", SWITCH, "Compare the query with every embedding.", False),
    Parameter("fts_syntax", SWITCH, "The query has the syntax of FTS5.", False),
    Parameter(
        "refresh",
        SWITCH,
        "First read what has changed in the ingested folders (default: the setting, false).",
    ),
    *FILTERS,
)
LISTING = (
    Parameter("limit", COUNT, "How many documents at most.", 100, least=1, most=10_000),
    *FILTERS,
)
OF_LINES = Parameter("lines", LINES, "The lines, counted from 1: 12-30, or 12.")
DOCUMENT = (
    OF_LINES,
    Parameter("max_lines", COUNT, "At most so many lines.", 200, least=1, most=10_000),
    Parameter("max_chars", COUNT, "At most so many characters.", 20_000, least=1, most=1_000_000),
)
SIMILAR = (OF_LINES, Parameter("limit", COUNT, "How many passages at most.", 5, least=1, most=100))
IMAGE = (
    Parameter("target", TEXT, "The path of the image as it stands in the document.", required=True),
)
UPDATE = (Parameter("all", SWITCH, "Also read transcripts in which little is new.", False),)
DOCTOR = (Parameter("thorough", SWITCH, "Also read the whole file.", False),)


def read(query: QueryParams, table: Sequence[Parameter]) -> dict[str, Any]:
    """Return the values by name, defaults included. Raises Problem (422) that names everything that
    is wrong.
    """
    names = [parameter.name for parameter in table]
    errors = []
    for name in query:
        if name not in names:
            other_name = OTHER_NAMES.get(name)
            if other_name in names:
                close = f"; did you mean {other_name}?"
            else:
                close = meant(name, names)
            errors.append(_wrong(name, f"there is no such parameter{close}"))
    values: dict[str, Any] = {}
    for parameter in table:
        try:
            values[parameter.name] = _value(parameter, query.getlist(parameter.name))
        except ValueError as error:
            errors.append(_wrong(parameter.name, str(error)))
    if errors:
        details = [f"{error['parameter']}: {error['detail']}" for error in errors]
        raise Problem(422, "; ".join(details), errors=errors)
    return values


def _value(parameter: Parameter, texts: Sequence[str]) -> Any:
    if parameter.repeated:
        return [parameter.value(text) for text in texts]
    if len(texts) > 1:
        raise ValueError("it is given more than once")
    if texts:
        return parameter.value(texts[0])
    if parameter.required:
        raise ValueError("it is missing")
    return parameter.default


def _wrong(name: str, detail: str) -> dict[str, str]:
    return {"parameter": name, "detail": detail}


def filters(values: dict[str, Any]) -> Filters | None:
    """Return the filters among the values; None if there are none."""
    where: dict[str, list[str]] = {}
    for key, value in values["where"]:
        where.setdefault(key, []).append(value)
    filters = Filters(
        collection=values["collection"],
        inside=values["in"],
        tags=values["tag"],
        where=where,
        since=values["since"],
        until=values["until"],
        linked_to=values["linked_to"],
        heading=values["heading"],
        modified_since=values["modified_since"],
    )
    if any(value or value == "" for value in filters):
        return filters
    return None


def search_request(values: dict[str, Any], settings: dict[str, Any]) -> Request:
    """Return the options of a search; where they are not given, the settings hold."""
    options = request_defaults(settings)
    for name in ("limit", "min_score", "min_confidence", "per_doc"):
        if values[name] is not None:
            options[name] = values[name]
    for name in ("mode", "context", "explain", "exact", "fts_syntax", "rerank", "typed"):
        options[name] = values[name]
    return Request(**options, filters=filters(values), half_life_days=values["half_life"])
