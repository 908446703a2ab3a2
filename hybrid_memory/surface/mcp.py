"""The memory as tools of the Model Context Protocol. Each tool gives the same answer as the command of its name.

Needs the Python package mcp, https://py.sdk.modelcontextprotocol.io. Each call runs in a thread and opens its own store.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date
from functools import wraps
from inspect import getdoc
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import AfterValidator, Field

from .. import __version__
from ..errors import HybridMemoryError
from ..search.hit import Request
from ..storage.filters import Filters
from ..store import HybridStore
from ..text.characters import storable_name
from ..text.dates import first_day
from . import requests

INSTRUCTIONS = """\
The user's own markdown memory. Before answering anything about past work, decisions, people, hosts, dates or preferences: \
memory_search, then memory_get with a result's citation where the passage alone is not enough. Cite what you rely on by its \
citation. memory_store is for what belongs in no file."""

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

Answer = dict[str, Any]
OpenStore = Callable[[], AbstractContextManager[HybridStore]]


def _checked_date(text: str) -> str:
    first_day(text, date.today())
    return text


Date = Annotated[str, AfterValidator(_checked_date)]
Collection = Annotated[str | None, Field(description="Only this collection: what ids begin with, as memory.")]
Inside = Annotated[str | None, Field(description="Only documents whose id matches this glob: memory/2026-*, or memory/people/.")]
Tags = Annotated[Sequence[str], Field(description="Only documents with all of these tags in their front matter.")]
Where = Annotated[dict[str, str] | None, Field(description='Only documents with this metadata, as {"project": "boss-api"}.')]
Since = Annotated[
    Date | None, Field(description="Only documents dated then or later: 2026-01-05, 2026-01, or an age: 7d, 3w, 6m, 1y.")
]
Until = Annotated[Date | None, Field(description="Only documents dated then or earlier.")]


def build(open_store: OpenStore, create_store: OpenStore) -> MCPServer[Any]:
    """The server. If there is no database, `create_store` makes one and `open_store` raises StoreError."""
    server = MCPServer("hybrid-memory", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")

    @server.tool(title="Search the memory", annotations=READS)
    @_answering
    def memory_search(
        query: Annotated[
            str, Field(description="A question in plain words, or exact names: DEC-0054, src/store.ts, 192.168.1.5.")
        ],
        limit: Annotated[int, Field(ge=1, le=100, description="How many passages at most.")] = 5,
        mode: Annotated[
            Literal["hybrid", "keyword", "vector"], Field(description="By words and meaning, by words alone, by meaning alone.")
        ] = "hybrid",
        min_confidence: Annotated[float, Field(ge=0, le=1, description="Leave out what is less sure to answer.")] = 0.0,
        collection: Collection = None,
        inside: Inside = None,
        tags: Tags = (),
        where: Where = None,
        since: Since = None,
        until: Until = None,
    ) -> Answer:
        """Find the passages of the memory that answer a question. Use it first, before you answer from what you believe.

        `results`, best first, each with `text`, `citation` (file and lines: quote it, or give it to memory_get to read on),
        `date`, `heading_path`, `metadata`. `score` compares results of this one answer only; `confidence`, 0 to 1, also tells
        whether any of them is one: where it is low, judge by the text. No results: ask in other words, those that the
        notes would use, or with fewer filters. `warnings` tell what was left out, such as search by meaning.
        """
        filters = Filters(collection, inside, tags, where or {}, since, until)
        request = Request(limit, mode, filters=filters, min_confidence=min_confidence)
        with open_store() as store:
            answer = requests.search(store, query, request, refresh=True)
            return {"results": answer["results"], "warnings": answer["warnings"]}

    @server.tool(title="Read from the memory", annotations=READS)
    @_answering
    def memory_get(
        target: Annotated[
            str,
            Field(description="A citation (memory/2026-01-05.md#L12-L30), more lines (…#L1-L60), a document's id or path."),
        ],
        max_lines: Annotated[int, Field(ge=1, le=2000, description="How many lines at most.")] = 200,
    ) -> Answer:
        """Read a document of the memory, or some lines of it, as its file is now. Use it for what is around a passage found.

        `text` holds lines `start_line` to `end_line` of `total_lines`. If `next` is not null, call again with it as the
        target to read on. `changed`: the file is not what was indexed, so lines cited before may have moved.
        """
        with open_store() as store:
            return requests.get(store, target, max_lines=max_lines)

    @server.tool(title="Store a text in the memory", annotations=WRITES)
    @_answering
    def memory_store(
        doc_id: Annotated[
            str, Field(min_length=1, description="Its id, as decisions/dec-0054. The same id replaces the text, but no file's.")
        ],
        text: Annotated[str, Field(description="Markdown. A heading for each topic makes it findable.")],
        metadata: Annotated[dict[str, str] | None, Field(description="What else to note, such as project or author.")] = None,
    ) -> Answer:
        """Remember a text that is in no file. Where you can, write to the notes' own files instead, and they will be indexed.

        First look with memory_search whether it is there already. `chunks` is the number of passages that can now be found.
        """
        with create_store() as store:
            return requests.store_text(store, doc_id, text, metadata)

    @server.tool(title="List the memory's documents", annotations=READS)
    @_answering
    def memory_list(
        limit: Annotated[int, Field(ge=1, le=1000, description="How many at most.")] = 50,
        collection: Collection = None,
        inside: Inside = None,
        tags: Tags = (),
        where: Where = None,
        since: Since = None,
        until: Until = None,
    ) -> Answer:
        """List the documents of the memory, newest date first: what there is, and from when. For a question, use memory_search.

        `documents`, each with `doc_id` (a target for memory_get), `date`, `size` in bytes and `path`; `total` is how many
        there are.
        """
        with open_store() as store:
            filters = Filters(collection, inside, tags, where or {}, since, until)
            return requests.list_documents(store, filters=filters, limit=limit)

    @server.tool(title="State of the memory", annotations=READS)
    @_answering
    def memory_status() -> Answer:
        """Tell how much the memory holds and which model embeds it. Use it if searches find less than they should.

        `pending_count` passages have no embedding yet and are found by their words alone; `advice` says what would help.
        """
        with open_store() as store:
            return requests.status(store)

    return server


def _answering(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Turns known failures into messages for the model, and names that are not Unicode into text."""

    @wraps(function)
    def run(**arguments: Any) -> Answer:
        try:
            return {key: _as_text(value) for key, value in function(**arguments).items()}
        except HybridMemoryError as error:
            raise ToolError(storable_name(" ".join(str(error).split()))) from error

    run.__doc__ = getdoc(function)
    return run


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return storable_name(value) if isinstance(value, str) else value
