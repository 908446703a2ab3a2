"""The table of commands. Only the module of the command that is named is imported."""

from collections.abc import Callable
from importlib import import_module

from ...typed.names import Any

TABLE = {  # command -> its module in this folder, and its line in --help
    "init": ("first_run", "Find the notes of a workspace, take them in, and say how to go on. Asks before it changes anything."),
    "search": ("search", "Find the chunks that answer a query, best first."),
    "get": ("reading", "Read an indexed document, or some of its lines, as its file is now."),
    "why": ("reading", "Tell whether a note is in the memory and current, else by which rule not. Exit status 1 if not."),
    "list": ("reading", "List the documents, those with the newest date first."),
    "links": ("notes", "Show where a document links to and what links to it, or all links that lead nowhere."),
    "tags": ("notes", "List the tags, each with the number of documents that `--tag` finds."),
    "ingest": ("syncing", "Make the memory a mirror of a folder of files."),
    "update": ("syncing", "Take in what has changed in everything that was ingested before, and embed what is pending."),
    "watch": ("syncing", "Keep the memory up to date while files change. Ends with exit status 0 when it is stopped."),
    "store": ("storing", "Put a text or a file into the memory. It replaces the document with the same id."),
    "delete": ("storing", "Remove a document, or all documents of a collection or a path."),
    "config": ("settings", "Show every setting with its value and where that came from, or change the config file."),
    "stats": ("upkeep", "Count documents, chunks and embeddings."),
    "doctor": (
        "upkeep",
        "Check the memory, its files and the embedding server. Exit status 1 means that something should be repaired.",
    ),
    "reindex": ("upkeep", "Build the indexes again from the stored chunks, and compact the file."),
    "copy": ("upkeep", "Copy a memory with its embeddings to another database: a file, or an address of PostgreSQL."),
    "rescue": ("upkeep", "Write what can still be read of a damaged memory to a new file. The damaged one is not changed."),
    "eval": ("evaluation", "Measure how well searches find the documents that your judgements name."),
    "completion": ("completion", "Print what makes bash, zsh or fish complete commands, options, documents and tags."),
    "mcp": ("serving", "Serve the memory to an agent as MCP tools, over standard input and output."),
    "serve": ("serving", "Serve a page for people, an HTTP API for programs and MCP for agents, on this machine."),
}


def options_of(command: str) -> Callable[[Any], None]:
    """The function that gives a command's parser its options: `<command>_options` of the module."""
    return _member(command, f"{command}_options")


def runner_of(command: str) -> Callable[[Any], int]:
    """The function that runs a command and gives the exit status: `run_<command>` of the module."""
    return _member(command, f"run_{command}")


def _member(command: str, name: str) -> Callable[..., Any]:
    member: Callable[..., Any] = getattr(import_module(f".{TABLE[command][0]}", __package__), name)
    return member
