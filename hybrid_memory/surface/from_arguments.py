"""Turns the parsed arguments of the command line into settings and requests."""

import argparse
import os
from typing import TYPE_CHECKING

from .. import config
from ..errors import SourceError, UsageError
from ..search.hit import Request
from .arguments import SETTINGS

if TYPE_CHECKING:
    from ..storage.filters import Filters

SAME_NAME = ("limit", "mode", "exact", "fts_syntax", "min_score", "min_confidence", "per_doc", "context", "explain")


def settings(args: argparse.Namespace) -> config.Settings:
    """The settings of a command. Raises ConfigError."""
    options = {key: getattr(args, option) for option, key in SETTINGS.items()}
    return config.load(args.config, {key: value for key, value in options.items() if value is not None})


def query(args: argparse.Namespace) -> str:
    """The query of a search. Raises UsageError if it is missing or given twice."""
    if bool(args.words) == (args.query is not None):
        raise UsageError("give the query once, as QUERY or with --query")
    return args.query if args.query is not None else " ".join(args.words)


def request(args: argparse.Namespace) -> Request:
    """The options of a search. Raises UsageError for a bad date."""
    same = {name: getattr(args, name) for name in SAME_NAME}
    return Request(**same, filters=filters(args), half_life_days=args.half_life)


def text(args: argparse.Namespace) -> str:
    """The text that is to be stored. Raises SourceError for a file that cannot be read."""
    return args.text if args.file is None else _read(args.file)


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
