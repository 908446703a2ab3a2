"""Tab completion with argcomplete: the possible values of arguments. The shell runs the program
with _ARGCOMPLETE in its environment, see https://kislyuk.github.io/argcomplete.

Completion only reads the memory. On an error it prints nothing, and the shell offers file names.
"""

import argparse
import os
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from .. import config
from ..errors import HybridMemoryError
from ..registry import COMMANDS, load
from ..store import HybridStore
from ..surface import opening
from ..surface.arguments import Parser, common_parser, main_parser
from ..surface.streams import harmless
from .environment import needing
from .settings import ACTIONS

MANY = 100  # documents; if more match, only the next path component of their ids is offered


def complete() -> None:
    """Print the completions for the word at the cursor, and end the process."""
    with needing("completion", "completion"):
        import argcomplete
    parser = parser_of(os.environ.get("COMP_LINE", "").split())
    argcomplete.autocomplete(parser, always_complete_options=False, validator=_is_completion)


def _is_completion(word: str, prefix: str) -> bool:
    return word.startswith(prefix) and word == harmless(word)


def parser_of(words: Iterable[str]) -> Parser:
    """Return a parser of all commands; only commands among the words get their options."""
    parser = main_parser()
    commands = parser.add_subparsers()
    for name, command in COMMANDS.items():
        if name not in words:
            commands.add_parser(name, help=command.about)
            continue
        common = common_parser()
        for argument in common.arguments:
            argument.default = argparse.SUPPRESS  # or it would reset options before the command
        subparser = commands.add_parser(name, parents=[common], help=command.about)
        load(command.options)(subparser)
        for argument in subparser.arguments:
            completer = _completer(argument)
            if completer:
                argument.completer = completer  # type: ignore[attr-defined]
    return parser


Completer = Callable[[HybridStore, str], Iterable[str]]


def _completer(argument: argparse.Action) -> Callable[..., Iterable[str]] | None:
    """Return the completer of an argument for argcomplete; None if argcomplete can derive the
    values from the parser, or if they are files.
    """
    if argument.metavar == "KEY":
        return lambda **_: config.DEFAULTS
    if argument.dest == "action":
        return lambda **_: [*ACTIONS, *config.DEFAULTS]
    values = COMPLETERS.get(argument.dest)
    if values is None:
        return None

    def complete_from_store(prefix: str, parsed_args: Namespace, **_: Any) -> list[str]:
        with suppress(HybridMemoryError), _open(parsed_args) as store:
            return list(values(store, prefix))
        return []

    return complete_from_store


def _open(parsed: Namespace) -> HybridStore:
    """Open the memory selected by the options before the cursor."""
    known = dict.fromkeys([*opening.SETTINGS, "config"]) | {"workspace": "."} | vars(parsed)
    settings = opening.settings(Namespace(**known | {"command": ""}))
    return HybridStore(settings["db_path"], settings, create=False, read_only=True)


def _ids(store: HybridStore, prefix: str) -> list[str]:
    """Return the ids with this prefix, or, if there are many, their parts up to the next slash."""
    names = sorted(name for name in store.storage.catalog.ids() if name.startswith(prefix))
    if len(names) <= MANY:
        return names
    folders = (name[: name.find("/", len(prefix)) + 1] or name for name in names)
    return list(dict.fromkeys(folders))


def _ids_or_ends(store: HybridStore, prefix: str) -> list[str]:
    """Complete a prefix to ids; if no id begins with it, to unambiguous ends of ids."""
    names = _ids(store, prefix)
    if names:
        return names
    ids = store.storage.catalog.ids()
    ends = Counter(name[at + 1 :] for name in ids for at, sign in enumerate(name) if sign == "/")
    return sorted(end for end, count in ends.items() if count == 1 and end.startswith(prefix))


def _tags(store: HybridStore, prefix: str) -> list[str]:
    return [row["tag"] for row in store.storage.catalog.facets()["tags"]]


def _collections(store: HybridStore, prefix: str) -> set[str]:
    return {source.collection for source in store.storage.sources.all() if source.collection}


COMPLETERS: dict[str, Completer] = {  # an argument's `dest` -> its values
    "collection": _collections,
    "doc_id": _ids,
    "id": _ids,
    "linked_to": _ids_or_ends,
    "note": _ids_or_ends,
    "tags": _tags,
    "target": _ids_or_ends,
    "targets": _ids_or_ends,
}
