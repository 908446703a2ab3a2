"""Tab completion with argcomplete: commands, options and settings. The shell runs the program with
_ARGCOMPLETE in its environment, see https://kislyuk.github.io/argcomplete.
"""

import argparse
import os
from collections.abc import Iterable

from .. import config
from ..registry import COMMANDS, load
from ..surface.arguments import Parser, common_parser, main_parser
from ..surface.streams import single_line
from .environment import needing
from .settings import ACTIONS


def complete() -> None:
    """Print the completions for the word at the cursor, and end the process."""
    with needing("completion", "completion"):
        import argcomplete
    parser = parser_of(os.environ.get("COMP_LINE", "").split())
    argcomplete.autocomplete(parser, always_complete_options=False, validator=_is_completion)


def _is_completion(word: str, prefix: str) -> bool:
    return word.startswith(prefix) and word == single_line(word)


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
        for argument in subparser.arguments:  # argcomplete derives all others from the parser
            if argument.metavar == "KEY":
                argument.completer = lambda **_: config.DEFAULTS  # type: ignore[attr-defined]
            elif argument.dest == "action":
                argument.completer = lambda **_: [*ACTIONS, *config.DEFAULTS]  # type: ignore[attr-defined]
    return parser
