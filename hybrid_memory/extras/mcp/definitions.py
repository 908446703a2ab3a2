"""What the tools of the Model Context Protocol are called, what they take, and what is said of wrong
arguments.

An argument has the name of the option of the command line and of the parameter over HTTP. An agent
reads all of this before every task, so each thing is said once.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import QueryError, meant
from ...options import COUNT, MCP, MOST, PAIR, SWITCH, TEXT, Option, on_surface
from ...search.request import OPTIONS
from ...search.result import FLOOR
from ...storage.filters import FILTERS

MOST_CHARACTERS = 100_000
BUDGET = 6000  # characters of an answer, some 1,500 tokens

Json = dict[str, Any]

LIMIT = {"type": "integer", "minimum": 1}


class Tool(NamedTuple):
    """A tool as a model reads of it. `takes` has the option or the JSON schema of each argument;
    those of `needs` must be given. `hints` are the protocol's annotations, which call a tool
    destructive, and not idempotent, unless they say otherwise.
    """

    about: str
    takes: Mapping[str, "Option | Json"]
    needs: Sequence[str]
    hints: Json

    @property
    def writes(self) -> bool:
        """Whether it changes what is in the memory."""
        return "readOnlyHint" not in self.hints

    def definition(self, name: str) -> Json:
        """Return it as the protocol has it."""
        properties = {argument: schema_of(of) for argument, of in self.takes.items()}
        if name == "memory_list":  # memory_search describes the filters
            for filter_name in OF_FILTERS:
                del properties[filter_name]["description"]
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if self.needs:
            schema["required"] = list(self.needs)
        return {
            "name": name,
            "description": self.about,
            "inputSchema": schema,
            "annotations": self.hints | {"openWorldHint": False},
        }


def schema_of(argument: "Option | Json") -> Json:
    """Return the JSON Schema of an argument."""
    if not isinstance(argument, Option):
        return argument
    if argument.kind is PAIR:
        schema: Json = {"type": "object"}
    elif argument.repeated:
        schema = {"type": "array", "items": {"type": argument.kind.json_type}}
    else:
        schema = argument.schema(default=DEFAULTS.get(argument.name))
    return schema | {"description": argument.about}


DEFAULTS = {"budget": BUDGET, "floor": FLOOR}  # the other defaults are the settings
OF_FILTERS = {option.name: option for option in FILTERS.values()}
OTHER_NAMES = {  # that are still understood
    other: option.name
    for field, option in (FILTERS | on_surface(OPTIONS, MCP)).items()
    for other in (field, *option.aliases)
}
OF_SEARCH = {option.name: option for option in on_surface(OPTIONS, MCP).values()}

READS = {"readOnlyHint": True}
TOOLS = {
    "memory_search": Tool(
        "Find the passages that answer a question, best first. Use it before you answer from what you "
        "believe. Each stands under its citation, which memory_get reads on from. A faint match is "
        "hardly ever about the question; judge by the text. Where none reaches the floor, floor 0 "
        "shows them.",
        {
            "query": {
                "type": "string",
                "description": "A question in plain words, or exact names: DEC-0054; -word leaves out",
            },
            **OF_SEARCH,
            **OF_FILTERS,
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
            **OF_FILTERS,
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
            values[argument] = schema.get("default") if isinstance(schema, dict) else None
            if argument in tool.needs:
                faults.append(f"{argument}: is missing")
            continue
        try:
            values[argument] = _checked_value(schema, value)
        except (TypeError, ValueError) as error:
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
        name = written if written in names else OTHER_NAMES.get(written, written)
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


def _checked_value(argument: "Option | Json", value: Any) -> Any:
    """Return the value in the type of its option or schema. Raises TypeError or ValueError."""
    if isinstance(argument, Option):
        return _checked_option(argument, value)
    kind = argument["type"]
    if kind == "string":
        return _checked_text(argument, value)
    if kind == "integer":
        return _checked_count(argument, value)
    if kind == "boolean":
        return SWITCH.check(value)
    OF_FILTERS["where"].check(value)  # metadata, which is stored as it is
    return value


def _checked_option(option: Option, value: Any) -> Any:
    """Models write numbers as text, and one text for a list of texts."""
    if isinstance(value, str) and option.repeated and option.kind is TEXT:
        value = [value]
    elif isinstance(value, str) and option.kind.json_type != "string":
        return option.parse(value)
    checked = option.check(value)
    if isinstance(checked, int | float) and checked > option.served:
        raise ValueError(f"{checked} is more than {option.served:,g}")
    return checked


def _checked_text(schema: Json, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    if len(value) < schema.get("minLength", 0):
        raise ValueError("must not be empty")
    return value


def _checked_count(schema: Json, value: Any) -> Any:
    least, most = schema["minimum"], schema.get("maximum", MOST)
    return _checked_option(Option(COUNT, "", least=least, most=most), value)
