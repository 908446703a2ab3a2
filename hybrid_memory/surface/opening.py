"""The memory that a command works on: the settings that its arguments select, and the open store.

`stats`, and the message about a missing database, also explain why this path is used and list other
databases.
"""

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any

from .. import config, paths
from ..addresses import absolute, is_server
from ..errors import NoWorkspaceError, StoreError
from ..store import HybridStore
from . import memories
from .streams import print_advice, print_message

# Origins of a value that nobody chose
DEFAULT = "default"
WORKSPACE = "workspace"
SETTINGS = {  # option -> config key
    "db": "db_path",
    "space": "space",
    "provider": "provider",
    "ollama_url": "ollama_url",
    "model": "model",
    "chunk_size": "chunk_size",
    "overlap": "chunk_overlap",
    "keyword_weight": "keyword_weight",
    "vector_weight": "vector_weight",
}


def settings(args: Namespace) -> config.Settings:
    """The settings of a command. Raises ConfigError.

    Without a chosen memory, that of the workspace around `args.workspace` is used, if it has one.
    """
    chosen = config.load(args.config, options(args))
    if origin(chosen, "db_path") == DEFAULT:
        own = memories.memory_of(args.workspace)
        if own and own != absolute(chosen["db_path"]):
            chosen["db_path"] = own
            chosen.origins = {**chosen.origins, "db_path": (WORKSPACE, "db_path")}
    return chosen


def _check_workspace(args: Namespace, chosen: config.Settings) -> None:
    """Raise NoWorkspaceError if a command for the memory of the workspace alone would use the default
    memory although `init` recorded workspaces and `args.workspace` belongs to none of them.
    """
    if not args.workspace_only or origin(chosen, "db_path") != DEFAULT:
        return
    if memories.recorded() and not memories.memory_of(args.workspace):
        raise NoWorkspaceError("this folder has no memory; `hybrid-memory init` creates one")


def options(args: Namespace) -> dict[str, Any]:
    """The config keys set on the command line."""
    values = {key: getattr(args, option) for option, key in SETTINGS.items()}
    if args.command == "search":
        values |= {key: getattr(args, key) for key in config.SEARCH}
    return {key: value for key, value in values.items() if value is not None}


def origin(chosen: config.Settings, key: str) -> str:
    """What decided a value: "--db", "HYBRID_MEMORY_DB_PATH", the path of a config file,
    "workspace", or "default".
    """
    layer, named = chosen.origins[key]
    if layer == WORKSPACE:
        return WORKSPACE
    if layer == config.COMMAND_LINE:
        [option] = [option for option, of in SETTINGS.items() if of == named]
        return f"--{option.replace('_', '-')}"
    if layer == config.ENVIRONMENT:
        return f"{paths.PREFIX}{named.upper()}"
    if layer == config.OLLAMA_HOST:
        return config.OLLAMA_HOST
    if layer == config.THE_DEFAULTS:
        return DEFAULT
    return os.path.abspath(os.path.expanduser(layer))


def is_chosen(chosen: config.Settings) -> bool:
    """Whether an option, a variable or a config file names the memory."""
    return origin(chosen, "db_path") not in (DEFAULT, WORKSPACE)


def place(args: Namespace, path: str) -> dict[str, Any]:
    """`db_path_from`, the `origin` of a database's path, and `other_stores`, paths of other
    databases.
    """
    databases = config.known_databases(paths.checkouts())
    others = [other for other in databases if other != os.path.realpath(path)]
    return {"db_path_from": origin(settings(args), "db_path"), "other_stores": others}


def _why_this_path(args: Namespace, path: str) -> str:
    """The facts of `place`, as the end of a message about a missing database."""
    facts = place(args, path)
    source = facts["db_path_from"]
    if source == DEFAULT:
        origin_of_path = "the default"
    else:
        origin_of_path = f"from {source}"
    message = f"this path is {origin_of_path}"
    others = [f"`--db {quote(other)}`" for other in facts["other_stores"]]
    if others:
        return f"{message}; other databases: {', '.join(others)}"
    return message


@contextmanager
def open_store(args: Namespace, *, create: bool = False) -> Iterator[HybridStore]:
    """Open the store. While it is open, errors of the storage engine become StoreErrors."""
    chosen = settings(args)
    _check_workspace(args, chosen)
    try:
        opened = HybridStore(
            chosen["db_path"],
            chosen,
            create=create,
            on_wait=(lambda message: None) if args.quiet else print_message,
        )
    except StoreError as error:
        path = chosen["db_path"]
        if is_server(path) or os.path.exists(path):
            raise
        raise type(error)(f"{error}; {_why_this_path(args, path)}") from error
    if create and chosen["db_path"] == ":memory:":
        print_advice(args, "the database :memory: ends with this command; nothing is kept")
    with opened as store, store.storage.guarded():
        yield store
