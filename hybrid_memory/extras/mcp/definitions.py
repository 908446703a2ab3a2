"""What the tools of the Model Context Protocol are called, what they take, and what is said of wrong
arguments.

An argument has the name of the option of the command line and of the parameter over HTTP. An agent
reads all of this before every task, so each thing is said once.
"""

import math
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

from ...errors import QueryError, meant
from ...text.dates import first_day

MOST_PASSAGES = 100
MOST_CHARACTERS = 100_000
BUDGET = 6000  # characters of an answer, some 1,500 tokens

Json = dict[str, Any]

LIMIT = {"type": "integer", "minimum": 1}
FILTERS: Json = {
    "collection": {"type": "string", "description": "Of this collection: memory"},
    "in": {"type": "string", "description": "Ids like this glob: memory/2026-*"},
    "tag": {
        "type": "array",
        "items": {"type": "string"},
        "description": "With all of these tags",
    },
    "where": {"type": "object", "description": 'With this metadata: {"project": "boss-api"}'},
    "since": {
        "type": "string",
        "description": "From this date: 2026-01-05, 2026-01, 2026 or an age: 7d, 3w, 6m",
    },
    "until": {"type": "string", "description": "Up to this date"},
    "heading": {"type": "string", "description": "Below this heading: Meeting > Costs"},
    "linked_to": {"type": "string", "description": "With a link to this document"},
}
DATES = ("since", "until")
FORMER_NAMES = {"inside": "in", "tags": "tag", "per_document": "per_doc"}  # still accepted


class Tool(NamedTuple):
    """A tool as a model reads of it. `takes` has the JSON schema of each argument; those of `needs`
    must be given. `hints` are the protocol's annotations, which call a tool destructive, and not
    idempotent, unless they say otherwise.
    """

    about: str
    takes: Json
    needs: Sequence[str]
    hints: Json

    @property
    def writes(self) -> bool:
        """Whether it changes what is in the memory."""
        return "readOnlyHint" not in self.hints

    def definition(self, name: str) -> Json:
        """Return it as the protocol has it."""
        schema = {"type": "object", "properties": self.takes, "additionalProperties": False}
        if self.needs:
            schema["required"] = list(self.needs)
        return {
            "name": name,
            "description": self.about,
            "inputSchema": schema,
            "annotations": self.hints | {"openWorldHint": False},
        }


READS = {"readOnlyHint": True}
TOOLS = {
    "memory_search": Tool(
        "Find the passages that answer a question, best first. Use it before you answer from what you "
        "believe. Each stands under its citation, which memory_get reads on from. A faint match is "
        "hardly ever about the question; judge by the text. Where all are below 0.25, min_confidence "
        "0 shows them.",
        {
            "query": {
                "type": "string",
                "description": "A question in plain words, or exact names: DEC-0054; -word leaves out",
            },
            "budget": {
                "type": "integer",
                "minimum": 200,
                "maximum": MOST_CHARACTERS,
                "default": BUDGET,
                "description": "Characters of the answer",
            },
            "limit": LIMIT | {"maximum": MOST_PASSAGES, "description": "Passages at most"},
            "per_doc": {
                "type": "integer",
                "minimum": 0,
                "description": "Passages of one document at most",
            },
            "mode": {
                "type": "string",
                "enum": ["hybrid", "keyword", "vector"],
                "default": "hybrid",
            },
            "min_confidence": {
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "description": "Leave out what is less sure",
            },
            "half_life": {
                "type": "number",
                "minimum": 0,
                "description": "Newer first: days that halve a score",
            },
            **FILTERS,
        },
        ["query"],
        READS,
    ),
    "memory_get": Tool(
        "Read a document, or some of its lines, as its file is now. Use it for what is around a "
        "passage found.",
        {
            "target": {
                "type": "string",
                "description": "A citation (memory/a.md#L12-L30), perhaps with more lines, "
                "an id or path",
            },
            "max_lines": LIMIT | {"maximum": 2000, "default": 200},
            "budget": {
                "type": "integer",
                "minimum": 200,
                "maximum": MOST_CHARACTERS,
                "default": BUDGET,
            },
        },
        ["target"],
        READS,
    ),
    "memory_store": Tool(
        "Remember a text that is in no file. Look with memory_search first whether it is there. Where "
        "you can, write to the notes' own files instead: a search takes them in.",
        {
            "doc_id": {
                "type": "string",
                "minLength": 1,
                "description": "decisions/dec-0054. The same id replaces the text",
            },
            "text": {
                "type": "string",
                "description": "Markdown, with a heading for each topic",
            },
            "metadata": {
                "type": "object",
                "description": "Replaces what is there; left out, that stays",
            },
            "append": {"type": "boolean", "description": "Add to the text that is there"},
        },
        ["doc_id", "text"],
        {},
    ),
    "memory_note": Tool(
        "Add a dated line to today's note, a file that the user reads, too.",
        {"text": {"type": "string", "minLength": 1}},
        ["text"],
        {"destructiveHint": False},
    ),
    "memory_delete": Tool(
        "Forget a text that memory_store kept. What came from a file goes when the file does.",
        {"doc_id": {"type": "string"}},
        ["doc_id"],
        {"idempotentHint": True},
    ),
    "memory_list": Tool(
        "List documents, newest date first, by date and id (a target of memory_get). For a question, "
        "use memory_search.",
        {
            "limit": LIMIT | {"maximum": 1000, "default": 50},
            **{  # the search says what they are
                name: {key: value for key, value in schema.items() if key != "description"}
                for name, schema in FILTERS.items()
            },
        },
        [],
        READS,
    ),
    "memory_update": Tool(
        "Take in what changed in the ingested folders. A search does this for a moment; use it after "
        "many changes.",
        {},
        [],
        {"destructiveHint": False, "idempotentHint": True},
    ),
    "memory_status": Tool(
        "Count what the memory holds, and list its collections, tags and metadata keys. Use it if "
        "searches find less than they should: what is pending is found by words alone.",
        {},
        [],
        READS,
    ),
}


def checked(name: str, tool: Tool, arguments: Any) -> Json:
    """Return a value for each argument that the tool has: what is given, else its default or None.

    Raises QueryError, which names every fault on one line, so that no filter is lost and nothing is
    done that a caller wanted to try only.
    """
    if not isinstance(arguments, dict):
        raise QueryError("the arguments must be an object")
    values = _with_present_names(name, tool, arguments)
    faults = []
    for argument, schema in tool.takes.items():
        value = values.get(argument)
        if value is None:
            values[argument] = schema.get("default")
            if argument in tool.needs:
                faults.append(f"{argument}: is missing")
            continue
        try:
            values[argument] = _checked_value(argument, schema, value)
        except ValueError as error:
            faults.append(f"{argument}: {error}")
    if faults:
        raise QueryError("; ".join(faults))
    return values


def _with_present_names(tool_name: str, tool: Tool, arguments: Json) -> Json:
    """Return the arguments under their present names. Raises QueryError for one that the tool does
    not have.
    """
    names = list(tool.takes)
    renamed: Json = {}
    for written, value in arguments.items():
        name = written
        if name not in names:
            name = FORMER_NAMES.get(written, written)
        if name not in names:
            names_taken = "it takes none"
            if names:
                names_taken = f"it takes {', '.join(names)}"
            way_out = meant(name, names) or f"; {names_taken}"
            raise QueryError(f"{tool_name} has no argument {written!r}{way_out}")
        if name in renamed:
            raise QueryError(f"{name} is given twice, once as {written}")
        renamed[name] = value
    return renamed


def _checked_value(name: str, schema: Json, value: Any) -> Any:
    """Return the value in the type of its schema. Raises ValueError with what it must be."""
    kind = schema["type"]
    if kind == "string":
        return _checked_text(name, schema, value)
    if kind in ("integer", "number"):
        return _checked_number(schema, value)
    if kind == "boolean":
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value
    if kind == "array":
        if isinstance(value, str):
            values = [value]
        else:
            values = value
        if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
            raise ValueError("must be a list of texts")
        return values
    if not isinstance(value, dict):
        raise ValueError("must be an object")  # noqa: TRY004
    for key, item in value.items():
        if isinstance(item, list):
            items = item
        else:
            items = [item]
        if not all(map(_is_plain, items)):
            raise ValueError(f"the value of {key!r} must be a text, a number or a list of these")
    return value


def _checked_text(name: str, schema: Json, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")  # noqa: TRY004
    if len(value) < schema.get("minLength", 0):
        raise ValueError("must not be empty")
    if "enum" in schema and value not in schema["enum"]:
        *others, last = map(repr, schema["enum"])
        raise ValueError(f"must be {', '.join(others)} or {last}")
    if name in DATES:
        first_day(value, date.today())
    return value


def _checked_number(schema: Json, value: Any) -> int | float:
    is_whole = schema["type"] == "integer"
    try:
        if isinstance(value, bool):
            number = math.nan
        else:
            number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or (is_whole and not number.is_integer()):
        raise ValueError("must be a whole number" if is_whole else "must be a number")
    if number < schema["minimum"]:
        raise ValueError(f"must be {schema['minimum']} or more")
    if number > schema.get("maximum", math.inf):
        raise ValueError(f"must be {schema['maximum']} or less")
    if is_whole:
        return int(number)
    return number


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
