"""Turns the parsed arguments of the command line into settings and requests."""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from .. import config
from ..errors import SourceError, UsageError
from ..search.hit import Request, configured
from .arguments import SETTINGS

if TYPE_CHECKING:
    from ..search.packing import Budget
    from ..storage.filters import Filters

SAME_NAME = ("mode", "exact", "fts_syntax", "context", "explain")
OF_A_PATH = ("pattern", "exclude", "collection", "follow_symlinks", "keep_missing")  # options of ingest


def settings(args: argparse.Namespace) -> config.Settings:
    """The settings of a command. Raises ConfigError."""
    return config.load(args.config, options(args))


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The config keys that the command line sets."""
    values = {key: getattr(args, option) for option, key in SETTINGS.items()}
    if args.command == "search":  # `list` has a --limit of its own
        values |= {key: getattr(args, key) for key in config.SEARCH}
    return {key: value for key, value in values.items() if value is not None}


def query(args: argparse.Namespace) -> str:
    """The query of a search. Raises UsageError if it is missing or given twice."""
    if bool(args.words) == (args.query is not None):
        raise UsageError("give the query once, as QUERY or with --query")
    return args.query if args.query is not None else " ".join(args.words)


def request(args: argparse.Namespace, filters: "Filters | None", settings: config.Settings) -> Request:
    """The options of a search, which the settings complete."""
    same = {name: getattr(args, name) for name in SAME_NAME}
    same |= configured(settings)
    budget = _budget(args) if args.budget else None
    if budget and "limit" not in settings.chosen:
        same["limit"] = budget.pool
    return Request(**same, budget=budget, filters=filters, half_life_days=args.half_life)


def sizes(args: argparse.Namespace, settings: config.Settings) -> tuple[int, int] | None:
    """Chunk size and overlap, for the paths that an ingest names, if it names either; else None."""
    if not args.path or (args.chunk_size is None and args.overlap is None):
        return None
    return settings["chunk_size"], settings["chunk_overlap"]


def form(args: argparse.Namespace) -> str:
    """The format of the results."""
    chosen: str | None = args.format
    return chosen or ("text" if sys.stdout.isatty() else "json")


def _budget(args: argparse.Namespace) -> "Budget":
    from .output import budget

    return budget(args.budget, form(args), query(args), is_terminal=sys.stdout.isatty(), full=args.full)


def text(args: argparse.Namespace) -> str:
    """The text that is to be stored. Raises SourceError for a file that cannot be read."""
    return args.text if args.file is None else _read(args.file)


def ingest(args: argparse.Namespace) -> dict[str, Any]:
    """How files are taken in. Raises UsageError for an option that needs a path."""
    if args.path:
        return {
            "patterns": args.pattern or ["*.md"],
            "exclude": args.exclude,
            "incremental": args.incremental,
            "everything": args.all,
            "follow_symlinks": args.follow_symlinks,
            "keep_missing": args.keep_missing,
        }
    for name in OF_A_PATH:
        if getattr(args, name, None):
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} needs --path; without it, everything is taken in as it was ingested before")
    return {"incremental": True, "everything": args.all}


def filters(args: argparse.Namespace) -> "Filters | None":
    """The filters, or None if there are none. Raises UsageError for a bad date."""
    if not (args.tag or args.where or any(value is not None for value in (args.collection, args.inside, args.since, args.until))):
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
    return Filters(args.collection, args.inside, args.tag, where, args.since, args.until)


def _read(path: str) -> str:
    try:
        with open(0 if path == "-" else path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read {path}: not UTF-8 at byte {error.start}") from error


def has_working_directory() -> bool:
    """Whether the folder to which the paths of the arguments are relative still exists."""
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False
