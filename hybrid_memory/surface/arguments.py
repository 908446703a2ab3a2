"""The options that commands share, and their parsers.

A parser converts a word to a value and raises argparse.ArgumentTypeError for a wrong one. Only help
and usage errors are printed here.
"""

import argparse
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from .. import __version__
from ..config import KEYS
from ..errors import UsageError, suggestion
from ..options import (
    COMMAND_LINE,
    COUNT,
    DATE,
    PAIR,
    SWITCH,
    Kind,
    Option,
    by_key,
    data,
    on_surface,
)
from ..registry import COMMANDS, GROUPS, load
from ..text.characters import storable_name
from .streams import columns, output, print_message

PROGRAM = "hybrid-memory"


def non_empty(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return storable_name(text)


def word(option: Option) -> Callable[[str], Any]:
    """The parser of one word of an option, for argparse."""

    def parse(text: str) -> Any:
        try:
            return option.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


count = word(Option(COUNT, ""))
positive = word(Option(COUNT, "", least=1))


def _key_and_data(text: str) -> "tuple[str, Any]":
    """Parse a key and a value as front matter does: tags=[a, b], year=2026."""
    from ..documents.front_matter import value_of

    key, value = PAIR.parse(text)
    return key, value_of(value)


DATA = Kind("string", _key_and_data, metavar="KEY=VALUE", of_pairs=data)


EPILOG = """\
exit status:
  0    the command answered; the answer may be an empty list
  1    the command failed, and a line on stderr says why;
       why and doctor: something is amiss
  2    wrong usage
  130  interrupted

The answer goes to stdout: text for people on a terminal, one JSON document
elsewhere. Commands that show text have --json for terminals, too. recall always
prints text, and search --format has other forms. Everything
else goes to stderr.
"""
WHEN = ("auto", "always", "never")


class Parser(argparse.ArgumentParser):
    """A parser that reports a usage error in one line, and suggests only options that it has."""

    def __init__(self, prog: str = PROGRAM, **kwargs: Any) -> None:
        super().__init__(
            prog,
            usage=f"{prog} [options]",
            # By default, each formatter would import `shutil` for the width of the terminal
            formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=columns(1) - 2),
            allow_abbrev=False,
            **kwargs,
        )

    @property
    def arguments(self) -> list[argparse.Action]:
        """The arguments added to it and to its groups, in order."""
        return self._actions

    def flags(self) -> list[str]:
        """The long options."""
        flags = [flag for argument in self.arguments for flag in argument.option_strings]
        return [flag for flag in flags if flag.startswith("--")]

    def error(self, message: str) -> NoReturn:
        flags = self.flags()
        if message.startswith("unrecognized arguments: -"):
            written = message.split()[2].partition("=")[0]
            near = suggestion(written, flags)
            message += near
            if not near and "--query" in flags:
                message += '; a query with a - is written in quotes, "a -b", or as --query=-b'
        elif message.startswith("unrecognized arguments: "):
            for argument in self.arguments:
                if argument.nargs in ("*", "+") and not argument.option_strings:
                    message += f"; put {argument.metavar} before or after all options"
        for flag, example in (("--half-life", 30), ("--open", 1)):
            if message.startswith(f"argument {flag}"):
                message += f"; write {flag}={example}, or put it after the query"
        print_message(f"{message} (see {self.prog} --help)")
        sys.exit(2)

    def print_help(self, file: Any = None) -> None:
        self.description = _paragraph(self.description or "", columns(1) - 2)
        with output() as stream:
            stream.write(self.format_help())


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the words after the name of the program. Raises SystemExit for help and wrong usage.

    The common options are taken out first, wherever they are. The rest begins with the command;
    only its parser is built.
    """
    if arguments is None:
        arguments = sys.argv[1:]
    common = common_parser()
    for text in arguments:
        if text.startswith("--") and text.endswith("=--"):  # argparse drops this value
            common.error(f"an argument has -- as its value: {text!r}")
    args, rest = common.parse_known_args(arguments)
    if not rest:
        common.error("the following arguments are required: COMMAND")
    args.command = rest[0]
    if args.command == "help":
        _print_help(rest[1:])
    if args.command.startswith("-"):
        _answer_without_command(args.command)
    _require_command(args.command, common)
    return command_parser(args.command, common).parse_args(rest[1:], args)


def _require_command(name: str, parser: Parser) -> None:
    if name not in COMMANDS:
        parser.error(f"there is no command {name!r}{suggestion(name, COMMANDS)}")


def _print_help(commands: Sequence[str]) -> NoReturn:
    """Print the help of the program, or of the first of these commands."""
    parser = main_parser()
    if commands:
        _require_command(commands[0], parser)
        parser = command_parser(commands[0])
    parser.print_help()
    sys.exit(0)


def _answer_without_command(word: str) -> NoReturn:
    """Handle an option in place of a command."""
    parser = main_parser()
    if word in ("-h", "--help"):
        _print_help([])
    if word == "--version":
        with output() as stream:
            print(f"{PROGRAM} {__version__}", file=stream)
        sys.exit(0)
    flag = word.partition("=")[0]
    close = suggestion(flag, parser.flags())
    parser.error(
        f"{flag} is not an option of every command{close}; put the command before its options"
    )


def common_parser() -> Parser:
    """A parser of the options that every command has."""
    parser = Parser(add_help=False)
    _add_common_options(parser)
    return parser


def command_parser(name: str, common: Parser | None = None) -> Parser:
    """The parser of one command. Its help also lists the common options."""
    command = COMMANDS[name]
    parents = [common or common_parser()]
    parser = Parser(f"{PROGRAM} {name}", parents=parents, description=command.about)
    load(command.options)(parser)
    return parser


def main_parser() -> Parser:
    """The parser for the help of the program; it parses no command."""
    parser = Parser(description="Hybrid search over an agent's markdown memory.", epilog=EPILOG)
    parser.usage = f"{PROGRAM} [options] COMMAND ..."
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    for group in GROUPS:
        parser.add_argument_group(group, _table_of_commands(group, columns(1) - 2))
    _add_common_options(parser)
    return parser


def _table_of_commands(group: str, width: int) -> str:
    indent = max(map(len, COMMANDS)) + 2
    rows = []
    for name, command in COMMANDS.items():
        if command.group == group:
            row = _paragraph(command.about, max(width - 2, 2 * indent), " " * indent)
            rows.append(name + row[len(name) :])
    return "\n".join(rows)


def _paragraph(text: str, width: int, indent: str = "") -> str:
    """Wrap the text to lines of at most `width` columns."""
    from textwrap import fill  # only help texts need it

    return fill(text, width, initial_indent=indent, subsequent_indent=indent)


def examples(parser: Parser, *lines: str) -> None:
    """End the help of a command with examples, given without the name of the program."""
    parser.epilog = "\n".join(["examples:", *(f"  hybrid-memory {line}" for line in lines), ""])


def add_json(parser: Parser) -> None:
    """Add the option to print JSON on a terminal, too."""
    parser.add_argument("--json", action="store_true", help="print JSON on a terminal, too")


def add_options(parser: argparse.ArgumentParser, table: Mapping[str, Option]) -> None:
    """Add the options of a table that the command line has; `given` returns their values."""
    for field, option in on_surface(table, COMMAND_LINE).items():
        flag = f"--{option.name.replace('_', '-')}"
        details: dict[str, Any] = {"dest": field, "help": option.about}
        if option.kind is SWITCH:
            details |= {"action": "store_true", "default": None}
        else:
            # `given` parses dates: in a hook, an invalid one must not exit with status 2
            parse = storable_name if option.kind is DATE else word(option)
            details |= {"type": parse, "metavar": option.metavar}
        if option.choices:
            details |= {"choices": option.choices}
        if option.repeated:
            details |= {"action": "append", "help": f"{option.about}; may be repeated"}
        if option.when_bare is not None:
            details |= {"nargs": "?", "const": option.when_bare}
        parser.add_argument(flag, **details)


def given(args: Namespace, table: Mapping[str, Option]) -> dict[str, Any]:
    """The options of a table that the user set, by field. Raises UsageError for an invalid date, and
    for too many values.
    """
    values: dict[str, Any] = {}
    for field, option in on_surface(table, COMMAND_LINE).items():
        value = getattr(args, field)
        if value is None:
            continue
        if option.kind is DATE:
            try:
                value = option.parse(value)
            except ValueError as error:
                raise UsageError(str(error)) from None
        elif option.repeated and option.kind is not PAIR:
            try:
                value = option.check(value)
            except ValueError as error:
                raise UsageError(f"--{option.name}: {error}") from None
        values[field] = by_key(value) if option.kind is PAIR else value
    return values


def _add_common_options(parser: Parser) -> None:
    parser.set_defaults(workspace=".")
    add = parser.add_argument_group("options of every command").add_argument
    add("--db", metavar="PATH", help="the database: a file, or postgresql://USER@HOST/DATABASE")
    add(
        "--workspace-only",
        action="store_true",
        help="fail in a folder of no workspace that `init` recorded, if no memory is chosen (for agents)",
    )
    add("--space", metavar="NAME", help="a memory in a PostgreSQL database (default: default)")
    add("--config", metavar="PATH", help="another config file")
    providers = KEYS["provider"].choices
    about = f"the source of embeddings: {', '.join(providers)} (keywords alone)"
    add("--provider", choices=providers, metavar="NAME", help=about)
    add("--ollama-url", metavar="URL", help="the URL of the Ollama server")
    add("--model", metavar="NAME", help="the embedding model")
    add("--chunk-size", type=int, metavar="N", help="maximum characters in a chunk")
    add(
        "--overlap",
        type=int,
        metavar="N",
        help="characters that a chunk repeats from the previous one",
    )
    add("--keyword-weight", type=float, metavar="W", help="the share of BM25 in a hybrid score")
    add("--vector-weight", type=float, metavar="W", help="the share of cosine in a hybrid score")
    add("--color", choices=WHEN, metavar="WHEN", help="colours: auto (the default), always, never")
    add(
        "--quiet",
        action="store_true",
        help="print only errors: no progress, no advice, no warnings",
    )
