"""The tools of the Model Context Protocol: names, descriptions, arguments and their checks.

Arguments have the same names as the command-line options and the HTTP parameters. A model reads all
descriptions before every task, so they are short and do not repeat each other.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import QueryError, suggestion
from ...options import COUNT, MCP, MOST, PAIR, SWITCH, TEXT, Option, on_surface
from ...search.request import OPTIONS
from ...search.result import AGENT_BUDGET, AGENT_STOP, FLOOR
from ...storage.filters import FILTERS
from ..agent_text import PHRASINGS

MOST_CHARACTERS = 100_000
READING_BUDGET = 6000  # characters of memory_get, about 1,500 tokens

Json = dict[str, Any]

LIMIT = {"type": "integer", "minimum": 1}


class Tool(NamedTuple):
    """The definition of a tool.

    `about` is its description. `takes` maps each argument to its option or JSON schema, and `needs`
    lists the required arguments. `hints` are the protocol's annotations; by default a tool counts
    as destructive and not idempotent.
    """

    about: str
    takes: Mapping[str, "Option | Json"]
    needs: Sequence[str]
    hints: Json

    @property
    def writes(self) -> bool:
        """Whether the tool changes the memory."""
        return "readOnlyHint" not in self.hints

    def definition(self, name: str) -> Json:
        """Return the definition in the form of the protocol."""
        properties = {argument: schema_of(option) for argument, option in self.takes.items()}
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
        schema = argument.list_schema({"type": argument.kind.json_type})
    else:
        schema = argument.schema(default=DEFAULTS.get(argument.name))
    return schema | {"description": argument.about}


# The settings give all other defaults
DEFAULTS = {"budget": AGENT_BUDGET, "floor": FLOOR, "stop": AGENT_STOP, "in_force": True}
OF_FILTERS = {option.name: option for option in FILTERS.values()}
OTHER_NAMES = {  # former names and aliases, which are still accepted
    other: option.name
    for field, option in (FILTERS | on_surface(OPTIONS, MCP)).items()
    for other in (field, *option.aliases)
}
OF_SEARCH = {option.name: option for option in on_surface(OPTIONS, MCP).values()}

READS = {"readOnlyHint": True}
TOOLS = {
    "memory_search": Tool(
        "Find passages that answer a question, best first. Use it before you answer from your own "
        f"knowledge. Give {PHRASINGS}, in `also`. Each passage has a citation; read its context "
        "with memory_get. A faint match is probably unrelated; judge by the text. If no passage "
        "reaches the floor, floor 0 shows the best ones.",
        {
            "query": {
                "type": "string",
                "description": "A question in plain words, or exact names: DEC-0054; "
                "-word excludes",
            },
            **OF_SEARCH,
            **OF_FILTERS,
        },
        ["query"],
        READS,
    ),
    "memory_get": Tool(
        "Read a document, or some of its lines, from the current file. Use it for the context of a "
        "passage.",
        {
            "target": {
                "type": "string",
                "description": "A citation (memory/a.md#L12-L30; you may change the lines), "
                "an id or a path",
            },
            "max_lines": LIMIT | {"maximum": 2000, "default": 200},
            "budget": {
                "type": "integer",
                "minimum": 200,
                "maximum": MOST_CHARACTERS,
                "default": READING_BUDGET,
            },
        },
        ["target"],
        READS,
    ),
    "memory_store": Tool(
        "Store a text that is in no file. First check with memory_search that it is not there yet. "
        "If you can, write to the note files instead: searches read changed files.",
        {
            "doc_id": {
                "type": "string",
                "minLength": 1,
                "description": "For example decisions/dec-0054. Replaces a text with the same id",
            },
            "text": {
                "type": "string",
                "description": "Markdown, with a heading for each topic",
            },
            "metadata": {
                "type": "object",
                "description": "Replaces the present metadata; omit it to keep them",
            },
            "append": {"type": "boolean", "description": "Append to the present text"},
            "replaces": {
                "type": "string",
                "description": "The id of a document that is out of date from now on",
            },
        },
        ["doc_id", "text"],
        {},
    ),
    "memory_note": Tool(
        "Append a line with the time to today's note, a file that the user also reads. When a fact "
        "changes, cite the old line in `replaces`: it is struck through, and the text follows it.",
        {
            "text": {"type": "string", "minLength": 1},
            "replaces": {
                "type": "string",
                "description": "A citation of one line: memory/a.md#L12",
            },
        },
        ["text"],
        {"destructiveHint": False},
    ),
    "memory_delete": Tool(
        "Delete a text stored with memory_store. To remove a file's document, delete the file.",
        {"doc_id": {"type": "string"}},
        ["doc_id"],
        {"idempotentHint": True},
    ),
    "memory_list": Tool(
        "List documents with date and id (a target for memory_get), newest date first. For a "
        "question, use memory_search.",
        {
            "limit": LIMIT | {"maximum": 1000, "default": 50},
            **OF_FILTERS,
        },
        [],
        READS,
    ),
    "memory_update": Tool(
        "Read the changed files of the ingested folders. Searches also do this, but only briefly; "
        "use it after many changes.",
        {},
        [],
        {"destructiveHint": False, "idempotentHint": True},
    ),
    "memory_status": Tool(
        "Count documents and passages, and list collections, tags and metadata keys. Use it if "
        "searches find too little: pending chunks are found by keyword only.",
        {},
        [],
        READS,
    ),
}


def checked(name: str, tool: Tool, arguments: Any) -> Json:
    """Return a value for each argument of the tool: the given one, else the default or None.

    Raises QueryError, which names all faults on one line. So no filter is ignored silently, and no
    call runs with other arguments than the caller meant.
    """
    if not isinstance(arguments, dict):
        raise QueryError("the arguments must be an object")
    values = _with_current_names(name, tool, arguments)
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


def _with_current_names(tool_name: str, tool: Tool, arguments: Json) -> Json:
    """Return the arguments under their current names. Raises QueryError for an unknown argument."""
    names = list(tool.takes)
    renamed: Json = {}
    for written, value in arguments.items():
        name = written if written in names else OTHER_NAMES.get(written, written)
        if name not in names:
            names_taken = "it takes no arguments"
            if names:
                names_taken = f"it takes {', '.join(names)}"
            way_out = suggestion(name, names) or f"; {names_taken}"
            raise QueryError(f"{tool_name} has no argument {written!r}{way_out}")
        if name in renamed:
            raise QueryError(f"{name} is given twice, once as {written}")
        renamed[name] = value
    return renamed


def _checked_value(argument: "Option | Json", value: Any) -> Any:
    """Check a value and convert it to the type of its option or schema. Raises TypeError or
    ValueError.
    """
    if isinstance(argument, Option):
        return _checked_option(argument, value)
    kind = argument["type"]
    if kind == "string":
        return _checked_text(argument, value)
    if kind == "integer":
        return _checked_count(argument, value)
    if kind == "boolean":
        return SWITCH.check(value)
    OF_FILTERS["where"].check(value)  # metadata; the value is stored unchanged
    return value


def _checked_option(option: Option, value: Any) -> Any:
    """Check a value; also accept a number as text and a single text for a list, as models write."""
    if isinstance(value, str) and option.repeated and option.kind is TEXT:
        value = [value]
    elif isinstance(value, str) and option.kind.json_type != "string":
        return option.served_value(option.parse(value))
    return option.served_value(option.check(value))


def _checked_text(schema: Json, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    if len(value) < schema.get("minLength", 0):
        raise ValueError("must not be empty")
    return value


def _checked_count(schema: Json, value: Any) -> Any:
    least, most = schema["minimum"], schema.get("maximum", MOST)
    return _checked_option(Option(COUNT, "", least=least, most=most), value)
