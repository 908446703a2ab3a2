"""The memory as tools of the Model Context Protocol. Each tool answers as the command of its name
does, in text for a model.

Needs the Python package mcp, https://py.sdk.modelcontextprotocol.io. Each call runs in a thread and
opens its own store.

MERGED The filters of a search as arguments of a tool.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date
from functools import wraps
from inspect import Signature, getdoc, signature
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import Tool, ToolAnnotations
from pydantic import AfterValidator, BeforeValidator, Field

from ... import __version__, config
from ...errors import HybridMemoryError, QueryError, SourceError
from ...search.hit import POOL, Request, configured
from ...storage.filters import Filters
from ...store import HybridStore
from ...surface.commands.upkeep import delete_by_id
from ...surface.output import budget as budget_of
from ...sync.refresh import problems, refresh, search
from ...text.characters import storable, storable_name
from ...text.dates import first_day
from ...views.get import read
from ...views.links import documents
from . import replies

INSTRUCTIONS = """\
The user's own markdown memory. Before answering anything about past work, decisions, people, hosts, dates or preferences: \
memory_search, then memory_get with a citation where the passage alone is not enough. Cite what you rely on."""

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(open_world_hint=False)

BUDGET = 6000  # characters of an answer, some 1,500 tokens
UPDATE_SECONDS = 30.0  # for embeddings; clients wait about a minute for a tool

MOST_PASSAGES = 100
OpenStore = Callable[[], AbstractContextManager[HybridStore]]


class Server(MCPServer[Any]):
    """Lists its tools in as few characters as their meaning takes, since an agent reads the list
    before every task.
    """

    async def list_tools(self) -> list[Tool]:
        told: set[str] = set()
        return [
            tool.model_copy(update={"input_schema": _short(tool.input_schema, told)})
            for tool in await super().list_tools()
        ]


def build(
    open_store: OpenStore,
    create_store: OpenStore,
    settings: config.Settings,
    place: Callable[[str], dict[str, Any]],
) -> MCPServer[Any]:
    """The server. If there is no database, `create_store` makes one and `open_store` raises
    StoreError.

    `settings` give the defaults of memory_search; without a configured limit, the budget alone
    bounds it. `place` tells of a path why it is used.
    """
    usual = configured(settings)
    usual_limit = min(usual["limit"], MOST_PASSAGES) if "limit" in settings.chosen else POOL
    least_sure: float = usual["min_confidence"]
    server = Server(
        "hybrid-memory", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )

    def tool(annotations: ToolAnnotations) -> Callable[[Callable[..., str]], Any]:
        return lambda function: server.tool(annotations=annotations, structured_output=False)(
            _answering(function)
        )

    @tool(READS)
    @filtered
    def memory_search(
        query: Annotated[
            str,
            Field(description="A question in plain words, or exact names: DEC-0054, src/store.ts"),
        ],
        budget: Annotated[
            int, Field(ge=200, le=100_000, description="Characters of the answer")
        ] = BUDGET,
        limit: Annotated[
            int, Field(ge=1, le=MOST_PASSAGES, description="Passages at most")
        ] = usual_limit,
        per_document: Annotated[
            int | None, Field(ge=1, description="Passages of one document at most")
        ] = usual["per_doc"],
        mode: Literal["hybrid", "keyword", "vector"] = "hybrid",
        min_confidence: Annotated[
            float, Field(ge=0, le=1, description="Leave out what is less sure")
        ] = least_sure,
        *,
        filters: Filters,
    ) -> str:
        """Find the passages that answer a question, best first. Use it before you answer from what
        you believe.

        Each stands under its citation, which memory_get reads on from. Confidence, 0 to 1, tells
        how likely it is about the question: below 0.2 hardly; judge by the text.
        """
        request = Request(
            limit,
            mode,
            filters=filters,
            min_score=usual["min_score"],
            min_confidence=min_confidence,
            per_doc=per_document,
            budget=budget_of(budget, "md", query),
        )
        with open_store() as store:
            return replies.search(search(store, query, request, refreshed=True))

    @tool(READS)
    def memory_get(
        target: Annotated[
            str,
            Field(
                description="A citation (memory/a.md#L12-L30), with more lines if you like, an id or path"
            ),
        ],
        max_lines: Annotated[int, Field(ge=1, le=2000)] = 200,
    ) -> str:
        """Read a document, or some of its lines, as its file is now. Use it for what is around a
        passage found.
        """
        with open_store() as store:
            return replies.get(read(store, target, max_lines=max_lines))

    @tool(WRITES)
    def memory_store(
        doc_id: Annotated[
            str,
            Field(min_length=1, description="decisions/dec-0054. The same id replaces the text"),
        ],
        text: Annotated[str, Field(description="Markdown, with a heading for each topic")],
        metadata: Annotated[
            dict[str, str] | None, Field(description="Such as project or author")
        ] = None,
    ) -> str:
        """Remember a text that is in no file. Look with memory_search first whether it is there.
        Where you can, write to the notes' own files instead: a search takes them in.
        """
        with create_store() as store:
            return replies.stored(
                {
                    "doc_id": doc_id,
                    "chunks": store.store(doc_id, text, metadata),
                    "warnings": store.warnings,
                }
            )

    @tool(WRITES)
    def memory_delete(doc_id: Annotated[str, Field(min_length=1)]) -> str:
        """Forget a text that memory_store kept. What came from a file goes when the file does."""
        with open_store() as store:
            return replies.deleted(delete_text(store, doc_id))

    @tool(READS)
    @filtered
    def memory_list(limit: Annotated[int, Field(ge=1, le=1000)] = 50, *, filters: Filters) -> str:
        """List documents, newest date first, by date and id (a target of memory_get). For a
        question, use memory_search.
        """
        with open_store() as store:
            return replies.listing(documents(store, filters=filters, limit=limit))

    @tool(WRITES)
    def memory_update() -> str:
        """Take in what changed in the ingested folders. A search does this for a moment; use it
        after many changes.
        """
        with open_store() as store:
            report = refresh(store, embed_seconds=UPDATE_SECONDS, extract_seconds=UPDATE_SECONDS)
            return replies.updated(report, problems(report) + report.embedding_problems)

    @tool(READS)
    def memory_status() -> str:
        """Count what the memory holds. Use it if searches find less than they should: what is
        pending is found by words alone.
        """
        with open_store() as store:
            return replies.status(store.stats() | place(store.path))

    return server


def delete_text(store: HybridStore, doc_id: str) -> dict[str, Any]:
    """Remove a stored text. Raises QueryError if there is no such document, SourceError for one
    that came from a file.
    """
    document = store.storage.documents.get(storable(doc_id))
    if document is None:
        raise QueryError(
            f"there is no document {doc_id!r}; `hybrid-memory list` names all documents"
        )
    if document.path:
        raise SourceError(
            f"{doc_id!r} is the document of {document.path}, not a stored text; it goes when its file is deleted"
        )
    return delete_by_id(store, doc_id)


def _answering(function: Callable[..., str]) -> Callable[..., str]:
    """Turns known failures into messages for the model, and names that are not Unicode into text."""

    @wraps(function)
    def run(**arguments: Any) -> str:
        try:
            return storable_name(function(**arguments))
        except HybridMemoryError as error:
            raise ToolError(storable_name(replies.for_agent(str(error)))) from error

    run.__doc__ = " ".join((getdoc(function) or "").split())
    return run


def _short(schema: Any, told: set[str]) -> Any:
    """A JSON schema without titles, which say what the names say, without `null` and empty lists
    where leaving out means the same, and with each description once.
    """
    if not isinstance(schema, dict):
        return schema
    found = {
        key: _short(value, told)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
    if found.get("default") == []:
        del found["default"]
    if "anyOf" in found and found.get("default", "") is None:
        [kind] = [each for each in found.pop("anyOf") if each != {"type": "null"}]
        found = {**kind, **{key: value for key, value in found.items() if key != "default"}}
    if isinstance(description := found.get("description"), str):
        if description in told:
            del found["description"]
        told.add(description)
    return found


def _checked_date(text: str) -> str:
    first_day(text, date.today())
    return text


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Date = Annotated[str, AfterValidator(_checked_date)]


def _filters(
    collection: Annotated[
        str | None, Field(description="Only ids beginning with this: memory")
    ] = None,
    inside: Annotated[
        str | None, Field(description="Only ids like this glob: memory/2026-*")
    ] = None,
    tags: Annotated[
        list[str], BeforeValidator(_listed), Field(description="With all of these tags")
    ] = [],  # noqa: B006
    where: Annotated[
        dict[str, str] | None, Field(description='Only with this metadata: {"project": "boss-api"}')
    ] = None,
    since: Annotated[
        _Date | None,
        Field(description="From this date: 2026-01-05, 2026-01, or an age: 7d, 3w, 6m, 1y"),
    ] = None,
    until: Annotated[_Date | None, Field(description="Up to this date")] = None,
    heading: Annotated[
        str | None, Field(description="Only below this heading: Meeting > Costs")
    ] = None,
    linked_to: Annotated[str | None, Field(description="Only what links to this document")] = None,
) -> Filters:
    return Filters(collection, inside, tags, where or {}, since, until, linked_to, heading)


_PARAMETERS = signature(_filters).parameters


def filtered(function: Callable[..., str]) -> Callable[..., str]:
    """The function with an argument for each filter in place of its last one, `filters`."""

    @wraps(function)
    def run(**arguments: Any) -> str:
        filters = _filters(
            **{name: arguments.pop(name) for name in _PARAMETERS if name in arguments}
        )
        return function(**arguments, filters=filters)

    own = [*signature(function).parameters.values()][:-1]
    run.__signature__ = Signature([*own, *_PARAMETERS.values()])  # type: ignore[attr-defined]
    return run
