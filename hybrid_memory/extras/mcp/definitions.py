"""The tools of the Model Context Protocol: names, descriptions, arguments and their checks.

Arguments have the same names as the command-line options and the HTTP parameters. A model reads all
descriptions before every task, so they are short and do not repeat each other.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import QueryError, suggestion
from ...options import CHARACTERS, CONTENT, COUNT, MCP, TEXT, Option, on_surface
from ...search.request import OPTIONS
from ...search.result import AGENT_BUDGET, AGENT_STOP, FLOOR
from ...storage.filters import FILTERS
from ...surface.commands.upkeep import APPEND, METADATA, SUPERSEDED
from ..agent_text import PHRASINGS

MOST_CHARACTERS = 100_000
READING_BUDGET = 6000  # characters of memory_get, about 1,500 tokens

Json = dict[str, Any]


class Tool(NamedTuple):
    """The definition of a tool.

    `about` is its description, `takes` maps each argument to its option. `hints` are the protocol's
    annotations; by default a tool counts as destructive and not idempotent.
    """

    about: str
    takes: Mapping[str, Option]
    hints: Json

    @property
    def writes(self) -> bool:
        """Whether the tool changes the memory."""
        return "readOnlyHint" not in self.hints

    def definition(self, name: str) -> Json:
        """Return the definition in the form of the protocol. The schema has only keywords that all
        hosts accept, and no object without properties.
        """
        properties = {argument: schema_of(option) for argument, option in self.takes.items()}
        if name == "memory_list":  # memory_search describes the filters
            for filter_name in OF_FILTERS:
                properties[filter_name].pop("description", None)
        schema: Json = {"type": "object"}
        if properties:
            schema["properties"] = properties
        required = [argument for argument, option in self.takes.items() if option.required]
        if required:
            schema["required"] = required
        return {
            "name": name,
            "description": self.about,
            "inputSchema": schema,
            "annotations": self.hints | {"openWorldHint": False},
        }


def schema_of(option: Option) -> Json:
    """Return the JSON Schema of an argument. Values by key are a list of KEY=VALUE."""
    schema = option.schema()
    about = option.about
    if option.repeated:
        schema = option.list_schema(schema)
    if option.kind.of_pairs:
        about += f": {option.metavar}"
    default = DEFAULTS.get(option.name) if option in OF_REQUEST else option.default
    if default:
        about = f"{about} (default {default:g})".lstrip()
    return schema | {"description": about} if about else schema


# The settings give all other defaults
DEFAULTS = {"budget": AGENT_BUDGET, "floor": FLOOR, "stop": AGENT_STOP, "in_force": True}
OF_FILTERS = {option.name: option for option in FILTERS.values()}
OTHER_NAMES = {  # former names and aliases, which are still accepted
    other: option.name
    for field, option in (FILTERS | on_surface(OPTIONS, MCP)).items()
    for other in (field, *option.aliases)
}
OF_SEARCH = {option.name: option for option in on_surface(OPTIONS, MCP).values()}
OF_REQUEST = {*OF_SEARCH.values(), *OF_FILTERS.values()}  # request_of has their defaults

READS = {"readOnlyHint": True}
TOOLS = {
    "memory_search": Tool(
        "Find passages that answer a question, best first. Use it before you answer from your own "
        f"knowledge. Give {PHRASINGS}, in `also`. Each passage has a citation; read its context "
        "with memory_get. A strong match is about the subject, and perhaps not the answer; a faint "
        "one is probably unrelated: judge by the text. For all evidence, stop 0.25. If no passage "
        "reaches the floor, floor 0 shows the best ones.",
        {
            "query": Option(
                TEXT,
                "A question in plain words, or exact names: DEC-0054; -word excludes",
                required=True,
            ),
            **OF_SEARCH,
            **OF_FILTERS,
        },
        READS,
    ),
    "memory_get": Tool(
        "Read a document, or some of its lines, from the current file. Use it for the context of a "
        "passage.",
        {
            "target": Option(
                TEXT,
                "A citation (memory/a.md#L12-L30; you may change the lines), an id or a path",
                required=True,
            ),
            "max_lines": Option(COUNT, "", default=200, least=1, most=2000),
            "budget": Option(
                CHARACTERS, "", default=READING_BUDGET, least=200, most=MOST_CHARACTERS
            ),
        },
        READS,
    ),
    "memory_store": Tool(
        "Store a text that is in no file. First check with memory_search that it is not there yet. "
        "If you can, write to the note files instead: searches read changed files.",
        {
            "doc_id": Option(
                TEXT,
                "For example decisions/dec-0054. Replaces a text with the same id",
                required=True,
            ),
            "text": Option(CONTENT, "Markdown, with a heading for each topic", required=True),
            "metadata": METADATA,
            "append": APPEND,
            "replaces": SUPERSEDED,
        },
        {},
    ),
    "memory_note": Tool(
        "Append a line with the time to today's note, a file that the user also reads. When a fact "
        "changes, cite the old line in `replaces`: it is struck through, and the text follows it.",
        {
            "text": Option(CONTENT, "", required=True),
            "replaces": Option(TEXT, "A citation of one line: memory/a.md#L12"),
        },
        {"destructiveHint": False},
    ),
    "memory_delete": Tool(
        "Delete a text stored with memory_store. To remove a file's document, delete the file.",
        {"doc_id": Option(TEXT, "", required=True)},
        {"idempotentHint": True},
    ),
    "memory_list": Tool(
        "List documents with date and id (a target for memory_get), newest date first. For a "
        "question, use memory_search.",
        {
            "limit": Option(COUNT, "", default=50, least=1, most=1000),
            **OF_FILTERS,
        },
        READS,
    ),
    "memory_update": Tool(
        "Read the changed files of the ingested folders. Searches also do this, but only briefly; "
        "use it after many changes.",
        {},
        {"destructiveHint": False, "idempotentHint": True},
    ),
    "memory_status": Tool(
        "Count documents and passages, and list collections, tags and metadata keys. Use it if "
        "searches find too little: pending chunks are found by keyword only.",
        {},
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
    given = _with_current_names(name, tool, arguments)
    values = {}
    faults = []
    for argument, option in tool.takes.items():
        try:
            values[argument] = option.read(given.get(argument))
        except (TypeError, ValueError) as error:
            faults.append(f"{argument}: {error}")
            continue
        if values[argument] is None:
            if option.required:
                faults.append(f"{argument}: is missing")
            if option not in OF_REQUEST:
                values[argument] = option.default
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
