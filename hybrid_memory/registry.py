"""Tables of the optional parts of the program. Each part is imported on first use.

A row has a name that users write and a place, "module:name". The core names its extras only here.
"""

from functools import cache
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@cache
def load(place: str) -> "Any":
    """Import the object at a place: "embedding.ollama:OllamaEmbedder" is that class of
    hybrid_memory/embedding/ollama.py.
    """
    module, _, name = place.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)


class Command:
    """A command: its group and its line in --help, the function that adds its options to a parser,
    and the function that runs it and returns the exit status.
    """

    __slots__ = ("about", "group", "options", "run")

    def __init__(self, group: str, options: str, run: str, about: str) -> None:
        self.group = group
        self.options = options
        self.run = run
        self.about = about


GROUPS = ("search", "notes", "upkeep", "agents")  # in the order of --help
COMMANDS = {
    "search": Command(
        "search",
        "surface.commands.search:search_options",
        "surface.commands.search:run_search",
        "Search the memory; the best passages come first.",
    ),
    "get": Command(
        "search",
        "surface.commands.reading:get_options",
        "surface.commands.reading:run_get",
        "Print a document, or some of its lines, as the file is now.",
    ),
    "why": Command(
        "search",
        "extras.why.command:why_options",
        "extras.why.command:run_why",
        "Explain why a note is or is not found; exit status 1 if it is not in the memory or not current.",
    ),
    "list": Command(
        "search",
        "surface.commands.reading:list_options",
        "surface.commands.reading:run_list",
        "List the documents, newest first.",
    ),
    "links": Command(
        "search",
        "surface.commands.reading:links_options",
        "surface.commands.reading:run_links",
        "Show the links from and to a document, or all broken links.",
    ),
    "tags": Command(
        "search",
        "surface.commands.reading:tags_options",
        "surface.commands.reading:run_tags",
        "List the tags, and how many documents `--tag` finds for each.",
    ),
    "demo": Command(
        "notes",
        "extras.demo:demo_options",
        "extras.demo:run_demo",
        "Make a memory of example notes in a temporary folder, search it, and show what recall adds.",
    ),
    "init": Command(
        "notes",
        "extras.init:init_options",
        "extras.init:run_init",
        "Find the notes of a workspace and ingest them; asks before it changes anything.",
    ),
    "ingest": Command(
        "notes",
        "surface.commands.syncing:ingest_options",
        "surface.commands.syncing:run_ingest",
        "Make the memory a mirror of a folder: read new and changed files, remove deleted ones.",
    ),
    "update": Command(
        "notes",
        "surface.commands.syncing:update_options",
        "surface.commands.syncing:run_ingest",
        "Update all ingested folders and embed new text.",
    ),
    "watch": Command(
        "notes",
        "extras.watch:watch_options",
        "extras.watch:run_watch",
        "Update the memory whenever files change, until Ctrl-C.",
    ),
    "store": Command(
        "notes",
        "surface.commands.upkeep:store_options",
        "surface.commands.upkeep:run_store",
        "Store a text or a file under an id, replacing any document with that id.",
    ),
    "note": Command(
        "notes",
        "extras.note:note_options",
        "extras.note:run_note",
        "Add a line to today's note, memory/YYYY-MM-DD.md or the daily note of a vault, and ingest it.",
    ),
    "delete": Command(
        "notes",
        "surface.commands.upkeep:delete_options",
        "surface.commands.upkeep:run_delete",
        "Remove a document, or all documents of a collection or a path.",
    ),
    "config": Command(
        "upkeep",
        "extras.settings:config_options",
        "extras.settings:run_config",
        "Show every setting and where it comes from, or change the config file.",
    ),
    "stats": Command(
        "upkeep",
        "surface.commands.upkeep:stats_options",
        "surface.commands.upkeep:run_stats",
        "Count documents, chunks and embeddings.",
    ),
    "doctor": Command(
        "upkeep",
        "extras.doctor:doctor_options",
        "extras.doctor:run_doctor",
        "Check the memory, its files and the embedding server; exit status 1 if something needs repair.",
    ),
    "reindex": Command(
        "upkeep",
        "surface.commands.upkeep:reindex_options",
        "surface.commands.upkeep:run_reindex",
        "Cut stored texts as the settings say, build the indexes again, and compact the file.",
    ),
    "copy": Command(
        "upkeep",
        "extras.copy:copy_options",
        "extras.copy:run_copy",
        "Copy a memory with its embeddings to another file, or to PostgreSQL.",
    ),
    "eval": Command(
        "upkeep",
        "extras.evaluation.evaluation:eval_options",
        "extras.evaluation.evaluation:run_eval",
        "Measure search quality with your own questions and judgements.",
    ),
    "recall": Command(
        "agents",
        "extras.recall.command:recall_options",
        "extras.recall.command:run_recall",
        "Print passages relevant to a prompt, for the hooks of agents.",
    ),
    "connect": Command(
        "agents",
        "extras.connect:connect_options",
        "extras.connect:run_connect",
        "Connect this memory to agents such as Claude Code: hooks, MCP tools and skill.",
    ),
    "disconnect": Command(
        "agents",
        "extras.connect:disconnect_options",
        "extras.connect:run_disconnect",
        "Undo `connect`.",
    ),
    "mcp": Command(
        "agents",
        "extras.mcp.command:mcp_options",
        "extras.mcp.command:run_mcp",
        "Serve the memory to an agent as MCP tools, over standard input and output.",
    ),
    "tools": Command(
        "agents",
        "extras.mcp.command:tools_options",
        "extras.mcp.command:run_tools",
        "Print the definitions of the MCP tools, for programs that call a model themselves.",
    ),
    "serve": Command(
        "agents",
        "extras.serve.bounds:serve_options",
        "extras.serve.command:run_serve",
        "Serve a page for people, an HTTP API for programs and MCP for agents, on this machine.",
    ),
}

# The ending of a file name, in lower case -> its `documents.formats.Format`; all other names are
# markdown.
FORMATS = {
    ".jsonl": "extras.formats.transcripts:FORMAT",
    ".org": "extras.formats.org:FORMAT",
    ".rst": "extras.formats.rst:FORMAT",
    ".txt": "extras.formats.rst:PLAIN",
    ".text": "extras.formats.rst:PLAIN",
    ".pdf": "extras.formats.extracted:PDF",
    ".docx": "extras.formats.extracted:DOCX",
    ".odt": "extras.formats.extracted:ODT",
    ".epub": "extras.formats.extracted:EPUB",
    ".html": "extras.formats.extracted:HTML",
    ".htm": "extras.formats.extracted:HTML",
    ".xhtml": "extras.formats.extracted:HTML",
    ".canvas": "extras.formats.extracted:CANVAS",
    ".excalidraw": "extras.formats.extracted:EXCALIDRAW",
}
GROWING = frozenset({".jsonl"})  # files that grow at their end; their format gives a GrowingReading
MARKDOWN = "documents.markdown:FORMAT"
# A key in the front matter of a note that a plugin of Obsidian keeps -> a function that removes the
# plugin's own data from the text, and keeps every line
PLUGINS = {
    "excalidraw-plugin": "extras.formats.drawings:without_drawing",
    "kanban-plugin": "extras.formats.drawings:without_settings",
}
# A file or folder in the top folder of a vault -> the format of the markdown below the top folder
VAULTS = {
    "logseq/config.edn": "extras.formats.logseq:FORMAT",
    "logseq/bak": "extras.formats.logseq:FORMAT",
}

# The config key `provider` -> the class of the embedder, with the arguments in `embedding.choice`
PROVIDERS = {
    "ollama": "embedding.ollama:OllamaEmbedder",
    "builtin": "embedding.builtin:BuiltinEmbedder",
    "builtin-english": "embedding.builtin:BuiltinEmbedder",
    "builtin-multilingual": "embedding.multilingual:MultilingualEmbedder",
    "openai": "extras.providers.apis:OpenAIEmbedder",
    "gemini": "extras.providers.apis:GeminiEmbedder",
    "voyage": "extras.providers.apis:VoyageEmbedder",
    "local": "extras.providers.fastembed:LocalEmbedder",
}

# The config key `rerank` -> the class of the reranker, built from its name and the settings
RERANKERS = {
    "local": "extras.rerankers.fastembed:LocalReranker",
    **dict.fromkeys(
        ("tei", "llamacpp", "vllm", "jina", "cohere", "voyage"),
        "extras.rerankers.servers:ServerReranker",
    ),
}
RERANKED = "extras.rerankers.base:reranked"  # the search stage that calls it

# The scheme of an address -> the class of the storage engine; everything else is a SQLite file
ENGINES = {
    "postgresql": "extras.postgres.engine:PostgresStorage",
    "postgres": "extras.postgres.engine:PostgresStorage",
}

COMPLETION = "extras.completion:complete"  # completes a command line for a shell
EDITOR = "extras.editor:open_result"  # opens the file of a result
# HTTP by `requests`; importing it takes as long as three searches
REMOTE_SESSION = "extras.providers.remote:RemoteSession"
