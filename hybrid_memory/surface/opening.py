"""What the arguments of a command name: its settings, its filters, and the store that it opens.

`stats`, and a message about a missing database, also tell why it is this one, and which others
there are.
"""

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

from .. import config
from ..config import is_server
from ..errors import StoreError, UsageError
from ..store import HybridStore
from .arguments import SETTINGS
from .streams import tell

if TYPE_CHECKING:
    from ..storage.filters import Filters


def settings(args: Namespace) -> config.Settings:
    """Return the settings of a command. Raises ConfigError."""
    return config.load(args.config, options(args))


def options(args: Namespace) -> dict[str, Any]:
    """Return the config keys that the command line sets."""
    values = {key: getattr(args, option) for option, key in SETTINGS.items()}
    if args.command == "search":  # `list` has a --limit of its own
        values |= {key: getattr(args, key) for key in config.SEARCH}
    return {key: value for key, value in values.items() if value is not None}


def origin(chosen: config.Settings, key: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return what decided a value: "--db", "HYBRID_MEMORY_DB_PATH", the path of a config file, or
    "default".
    """
    layer, named = chosen.origins[key]
    if layer == config.COMMAND_LINE:
        [option] = [option for option, of in SETTINGS.items() if of == named]
        return f"--{option.replace('_', '-')}"
    if layer == config.ENVIRONMENT:
        variable = f"{config.PREFIX}{named.upper()}"
        return variable if environ.get(variable) else "OLLAMA_HOST"
    if layer == config.THE_DEFAULTS:
        return "default"
    return os.path.abspath(os.path.expanduser(layer))


def filters(args: Namespace) -> "Filters | None":
    """Return the filters, or None if there are none. Raises UsageError for a bad date."""
    days = args.since, args.until, args.modified_since
    single = args.collection, args.inside, args.linked_to, args.heading, *days
    if not (args.tag or args.where or any(value is not None for value in single)):
        return None
    from datetime import date

    from ..storage.filters import Filters
    from ..text.dates import first_day

    for text in days:
        try:
            if text is not None:
                first_day(text, date.today())
        except ValueError as error:
            raise UsageError(str(error)) from None
    where: dict[str, list[str]] = {}
    for key, value in args.where:
        where.setdefault(key, []).append(value)
    return Filters(
        args.collection,
        args.inside,
        args.tag,
        where,
        args.since,
        args.until,
        args.linked_to,
        args.heading,
        args.modified_since,
    )


def has_working_directory() -> bool:
    """Return True if the folder to which the paths of the arguments are relative still exists."""
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def place(args: Namespace, path: str) -> dict[str, Any]:
    """Return `db_path_from`: "--db", "HYBRID_MEMORY_DB_PATH", the path of a config file, or "default"; and
    `other_stores`, paths.
    """
    from ..environment import checkouts

    databases = config.known_databases(checkouts())
    others = [other for other in databases if other != os.path.realpath(path)]
    return {"db_path_from": origin(settings(args), "db_path"), "other_stores": others}


def _why_this_path(args: Namespace, path: str) -> str:
    """Return `place` as the rest of a message that says that there is nothing at this path."""
    facts = place(args, path)
    source = facts["db_path_from"]
    origin_of_path = "the default" if source == "default" else f"from {source}"
    message = f"this path is {origin_of_path}"
    others = [f"`--db {quote(other)}`" for other in facts["other_stores"]]
    if others:
        return f"{message}; there is another: {', '.join(others)}"
    return message


@contextmanager
def open_store(args: Namespace, *, create: bool = False) -> Iterator[HybridStore]:
    """Open the store. Whatever the storage engine raises while it is open becomes a StoreError."""
    chosen = settings(args)
    try:
        opened = HybridStore(
            chosen["db_path"],
            chosen,
            create=create,
            on_wait=(lambda message: None) if args.quiet else tell,
        )
    except StoreError as error:
        path = chosen["db_path"]
        if is_server(path) or os.path.exists(path):
            raise
        raise StoreError(f"{error}; {_why_this_path(args, path)}") from error
    with opened as store, store.storage.guarded():
        yield store
