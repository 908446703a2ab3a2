"""The parser of the command line, and the options that several commands have. Prints only help and
usage errors.

MERGED From the words of a command line to the values of its options. Raises
argparse.ArgumentTypeError for a wrong one.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from .. import __version__, config
from ..seams import COMMANDS, load
from ..search.hit import MODES
from ..text.characters import storable_name
from .streams import output, tell

if TYPE_CHECKING:
    from datetime import date

MOST = 10**9  # a larger count means the same, and SQLite has no number above 2**63


def given(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return storable_name(text)


def count(text: str, least: int = 0) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{number} is less than {least}")
    return min(number, MOST)


def positive(text: str) -> int:
    return count(text, 1)


def budget(text: str) -> int:
    """Characters; a number of tokens is written 1000t."""
    tokens = text.endswith("t")
    return count(text.removesuffix("t"), 25 if tokens else 100) * (4 if tokens else 1)


def port(text: str) -> int:
    number = count(text)
    if number > 65535:
        raise argparse.ArgumentTypeError(f"{number} is more than 65535")
    return number


def days(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 up")
    return number


def day(text: str) -> "date":
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day: write 2026-01-05") from None


def share(text: str) -> float:
    number = days(text)
    if number > 1:
        raise argparse.ArgumentTypeError(f"{text} is more than 1")
    return number


def modes(text: str) -> list[str]:
    modes = text.split(",")
    if unknown := [mode for mode in modes if mode not in MODES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(MODES)}")
    return modes


def key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return storable_name(key), storable_name(value)


EPILOG = """\
exit status:
  0    the command answered; the answer may be an empty list
  1    the command failed; a line on stderr says why
  2    wrong usage
  130  interrupted

The answer is one JSON document on stdout. Everything else goes to stderr.
"""

argparse._ = str  # type: ignore[attr-defined]  # a look for translations, of which there are none, costs as much as parsing

WHEN = ("auto", "always", "never")

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


class Formatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. argparse asks `shutil` for that with each option, whose import costs
    more than parsing.
    """

    def __init__(self, prog: str, **kwargs: Any) -> None:
        super().__init__(prog + " [options]", **{"width": _columns() - 2} | kwargs)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep the lines of what has several, and wrap the rest."""
        fill = (
            super()._fill_text
            if "\n" in text
            else super(argparse.RawDescriptionHelpFormatter, self)._fill_text
        )
        return fill(text, width, indent)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Any,
        prefix: str | None = None,
    ) -> None:
        """Only what must be given. The list below the usage has all options."""
        either = [action for group in groups if group.required for action in group._group_actions]
        needed = [
            action
            for action in actions
            if action.required or not action.option_strings or action in either
        ]
        super().add_usage(usage, needed, groups, prefix)


class Parser(argparse.ArgumentParser):
    """Prints a usage error as one line. It suggests only options of the command that was given."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=Formatter, **kwargs)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._written: Sequence[str] = sys.argv[1:] if args is None else args
        if any("\0" in text for text in self._written):
            self.error("an argument contains a NUL character")
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:  # of this command, whose parser knows its options
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        flags = [
            flag
            for action in self._actions
            for flag in action.option_strings
            if flag.startswith("--")
        ]
        if message.startswith("unrecognized arguments: -"):
            message += meant(message.split()[2].partition("=")[0], flags)
            if "--query" in flags:
                message += "; a query that begins with - is written --query=-x, or after --"
        elif message.startswith("there is no command"):
            first = self._written[0].partition("=")[0]
            if (
                first.startswith("-") and first not in flags
            ):  # what follows it is its value, not a command
                message = f"{first} is not an option of every command{meant(first, flags)}; put the command before its options"
        for flag, example in (("--half-life", 30), ("--open", 1)):
            if message.startswith(f"argument {flag}"):
                message += f"; write {flag}={example}, or put it after the query"
        tell(f"{message} (see {self.prog} --help)")
        sys.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        with output() as stream:
            stream.write(message)


class _Parsers(Mapping[str, Parser]):
    """The parser of each command, made when the command is named."""

    def __init__(self) -> None:
        self._made: dict[str, Parser] = {}

    def __getitem__(self, name: str) -> Parser:
        if name not in self._made:
            if name not in COMMANDS:
                raise argparse.ArgumentError(
                    None, f"there is no command {name!r}{meant(name, COMMANDS)}"
                )
            parser = self._made[name] = Parser(
                prog=f"hybrid-memory {name}", description=COMMANDS[name].about
            )
            _add_global_options(
                parser, argparse.SUPPRESS
            )  # its defaults would replace the options that stand before the command
            load(COMMANDS[name].options)(parser)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def build_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="hybrid-memory",
        description="Hybrid search over an agent's markdown memory.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"hybrid-memory {__version__}")
    _add_global_options(parser, None)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    # `add_parser` would make all of them, of which a process needs one.
    commands._choices_actions = [
        commands._ChoicesPseudoAction(name, (), command.about) for name, command in COMMANDS.items()
    ]
    commands.choices = commands._name_parser_map = _Parsers()  # type: ignore[assignment]
    return parser


def examples(parser: Parser, *lines: str) -> None:
    """End the help of a command with examples, each without the name of the program."""
    parser.epilog = "\n".join(["examples:", *(f"  hybrid-memory {line}" for line in lines), ""])


def add_filters(parser: argparse.ArgumentParser) -> None:
    """The filters of `search` and `list`, which from_arguments.filters reads."""
    parser.add_argument(
        "--collection", type=storable_name, metavar="NAME", help="only documents of this collection"
    )
    parser.add_argument(
        "--in",
        dest="inside",
        type=storable_name,
        metavar="GLOB",
        help="only documents with a matching id: memory/2026-*, or memory",
    )
    parser.add_argument(
        "--tag",
        action="append",
        type=storable_name,
        default=[],
        metavar="TAG",
        help="only documents with this tag; may be repeated",
    )
    parser.add_argument(
        "--where",
        action="append",
        type=key_value,
        default=[],
        metavar="KEY=VALUE",
        help="only documents with this metadata; may be repeated",
    )
    parser.add_argument(
        "--since",
        metavar="DATE",
        help="only documents of this date or later: 2026-01-05, 2026-01, 7d, 3w, 6m, 1y",
    )
    parser.add_argument("--until", metavar="DATE", help="only documents of this date or earlier")
    parser.add_argument(
        "--heading",
        metavar="TEXT",
        help="only passages below this heading: Costs, or 'Meeting > Costs'",
    )
    parser.add_argument(
        "--linked-to",
        metavar="TARGET",
        help="only documents that link to this one, as `get` takes it",
    )


def _add_global_options(parser: argparse.ArgumentParser, default: Any) -> None:
    def add(flag: str, **kwargs: Any) -> None:
        group.add_argument(flag, default=default, **kwargs)

    group = parser.add_argument_group("options of every command")
    add("--db", metavar="PATH", help="the database: a file, or postgresql://USER@HOST/DATABASE")
    add(
        "--space",
        metavar="NAME",
        help="which of the memories in a PostgreSQL database (default: default)",
    )
    add("--config", metavar="PATH", help="the config file, instead of the standard one")
    providers = config.CHOICES["provider"]
    about = f"what makes the embeddings: {', '.join(providers)} (keywords alone)"
    add("--provider", choices=providers, metavar="NAME", help=about)
    add("--ollama-url", metavar="URL", help="the URL of the Ollama server")
    add("--model", metavar="NAME", help="the embedding model")
    add("--chunk-size", type=int, metavar="N", help="at most N characters in a chunk")
    add(
        "--overlap",
        type=int,
        metavar="N",
        help="how many characters a chunk repeats from the chunk before it",
    )
    add("--keyword-weight", type=float, metavar="W", help="the share of BM25 in a hybrid score")
    add(
        "--vector-weight", type=float, metavar="W", help="the share of the cosine in a hybrid score"
    )
    add(
        "--color",
        choices=WHEN,
        metavar="WHEN",
        help="colours: auto (on a terminal; the default), always or never",
    )
    add("--quiet", action="store_true", help="show no progress and no advice, only what goes wrong")


def meant(written: str, known: Iterable[str]) -> str:
    """`; did you mean X?` if one of the names is close, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(written, list(known), 1, cutoff=0.75)
    return f"; did you mean {close[0]}?" if close else ""


def _columns() -> int:
    with suppress(
        ValueError, OSError
    ):  # COLUMNS is no number; standard output is no terminal, or closed
        return int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns or 80
    return 80
