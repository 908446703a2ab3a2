"""Opens the store that the arguments of the command line name.

MERGED Turns the parsed arguments of the command line into settings and requests.

MERGED Which database a command uses, why this one, and which others there are. For `stats`, and
where the database is missing.
"""

import argparse
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


def settings(args: argparse.Namespace) -> config.Settings:
    """The settings of a command. Raises ConfigError."""
    return config.load(args.config, options(args))


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The config keys that the command line sets."""
    values = {key: getattr(args, option) for option, key in SETTINGS.items()}
    if args.command == "search":  # `list` has a --limit of its own
        values |= {key: getattr(args, key) for key in config.SEARCH}
    return {key: value for key, value in values.items() if value is not None}


def origin(found: config.Settings, key: str, environ: Mapping[str, str] = os.environ) -> str:
    """What decided a value: "--db", "HYBRID_MEMORY_DB_PATH", the path of a config file, or
    "default".
    """
    layer, named = found.origins[key]
    if layer == config.COMMAND_LINE:
        return "--" + next(option for option, of in SETTINGS.items() if of == named).replace(
            "_", "-"
        )
    if layer == config.ENVIRONMENT:
        variable = f"HYBRID_MEMORY_{named.upper()}"
        return variable if environ.get(variable) else "OLLAMA_HOST"
    return "default" if layer == config.THE_DEFAULTS else os.path.abspath(os.path.expanduser(layer))


def filters(args: argparse.Namespace) -> "Filters | None":
    """The filters, or None if there are none. Raises UsageError for a bad date."""
    single = args.collection, args.inside, args.since, args.until, args.linked_to, args.heading
    if not (args.tag or args.where or any(value is not None for value in single)):
        return None
    from datetime import date

    from ..storage.filters import Filters
    from ..text.dates import first_day

    for text in (text for text in (args.since, args.until) if text is not None):
        try:
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
    )


def has_working_directory() -> bool:
    """Whether the folder to which the paths of the arguments are relative still exists."""
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def place(args: Namespace, path: str) -> dict[str, Any]:
    """`db_path_from`: "--db", "HYBRID_MEMORY_DB_PATH", the path of a config file, or "default"; and
    `other_stores`, paths.
    """
    from ..environment import checkouts

    others = [
        other for other in config.known_databases(checkouts()) if other != os.path.realpath(path)
    ]
    return {"db_path_from": origin(settings(args), "db_path"), "other_stores": others}


def told(args: Namespace, path: str) -> str:
    """`place` as the rest of a message that says that there is nothing at this path."""
    found = place(args, path)
    origin = (
        "this path is the default"
        if found["db_path_from"] == "default"
        else f"this path is from {found['db_path_from']}"
    )
    others = ", ".join(f"`--db {quote(other)}`" for other in found["other_stores"])
    return f"{origin}; there is another: {others}" if others else origin


@contextmanager
def open_store(args: Namespace, *, create: bool = False) -> Iterator[HybridStore]:
    """The store. Whatever the storage engine raises while it is open becomes a StoreError."""
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
        raise StoreError(f"{error}; {told(args, path)}") from error
    with opened as store, store.storage.guarded():
        yield store
