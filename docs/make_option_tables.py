"""Write the help of commands and options into command-line.md and python.md.

    uv run python docs/make_option_tables.py

It stands between `<!-- options of NAME -->` and `<!-- end of options -->`, where NAME is a command,
"every command", "filters", "searches in Python" or "all commands" (links to them). The rest of the
pages is written by hand.
A command's own list leaves out `--json`, and says "filters" and "bounds" in place of each of them.
"""

import argparse
import re
from collections.abc import Callable
from itertools import zip_longest
from keyword import iskeyword
from pathlib import Path

from hybrid_memory.extras.serve.bounds import add_bounds
from hybrid_memory.registry import COMMANDS, GROUPS
from hybrid_memory.search.request import OPTIONS
from hybrid_memory.storage.filters import FILTERS
from hybrid_memory.surface.arguments import (
    Parser,
    add_json,
    add_options,
    command_parser,
    common_parser,
)

PAGES = [Path(__file__).parent / name for name in ("command-line.md", "python.md")]
BLOCK = re.compile(r"(<!-- options of ([\w ]+) -->\n).*?(<!-- end of options -->)", re.DOTALL)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the filters of `search` and `list`."""
    add_options(parser, FILTERS)


def listed(name: str) -> str:
    """Return what stands at one marker of the page, as markdown."""
    if name == "all commands":
        return markdown([(group, links_to_commands(group)) for group in GROUPS])
    if name == "searches in Python":
        return markdown(
            [
                (f"`{in_python(field)}`", option.about)
                for field, option in (OPTIONS | FILTERS).items()
            ]
        )
    if name == "every command":
        return markdown([row(argument) for argument in common_parser().arguments])
    if name == "filters":
        return markdown([row(argument) for argument in added_by(add_filters)])
    parser = command_parser(name)
    rows = [row(argument) for argument in own_arguments(parser, name)]
    if has_all(parser, add_filters):
        rows.append(("[filters](#filters)", "only some documents, or parts of them"))
    if has_all(parser, add_bounds):
        rows.append(
            ("[bounds](mcp.md#bounds)", "show only some documents, refuse calls that write")
        )
    about = f"{escaped(COMMANDS[name].about)}\n"
    return f"{about}\n{markdown(rows)}" if rows else about


def links_to_commands(group: str) -> str:
    names = [name for name, command in COMMANDS.items() if command.group == group]
    return ", ".join(f"[`{name}`](#{name})" for name in names)


def in_python(field: str) -> str:
    """Return the name of an option as a keyword: a word of the language stays the field's name."""
    name = (OPTIONS | FILTERS)[field].name
    return field if iskeyword(name) else name


def added_by(add: Callable[[Parser], None]) -> list[argparse.Action]:
    """Return the arguments that a function adds."""
    parser = Parser(add_help=False)
    add(parser)
    return parser.arguments


def has_all(parser: Parser, add: Callable[[Parser], None]) -> bool:
    """Return True if a command has every argument that a function adds."""
    lines = {help_line(argument) for argument in parser.arguments}
    return all(help_line(argument) in lines for argument in added_by(add))


def own_arguments(parser: Parser, name: str) -> list[argparse.Action]:
    """Return the arguments of a command that the page explains in its section, and nowhere else."""
    common = Parser(parents=[common_parser()])
    add_json(common)
    for add in (add_filters, add_bounds):
        if has_all(parser, add):
            add(common)
    elsewhere = {help_line(argument) for argument in common.arguments}
    return [
        argument
        for argument in parser.arguments
        if argument.dest != "help" and help_line(argument) not in elsewhere
    ]


def help_line(argument: argparse.Action) -> tuple[str, str | None]:
    """Return what makes an argument the same in two commands."""
    return argument.dest, argument.help


def row(argument: argparse.Action) -> tuple[str, str]:
    """Return how an argument is written, and its line of help."""
    value = argument.metavar or argument.dest.upper()
    if argument.choices and not argument.metavar:
        value = "{" + ",".join(map(str, argument.choices)) + "}"
    if argument.nargs == 0 or isinstance(argument, argparse.BooleanOptionalAction):
        value = ""
    elif argument.nargs == "?" and argument.option_strings:
        value = f"[{value}]"
    elif argument.nargs == "+" and argument.option_strings:
        value = f"{value} ..."
    names = argument.option_strings or [""]
    help_line = (argument.help or "") % vars(argument)
    return ", ".join(f"`{f'{name} {value}'.strip()}`" for name in names), escaped(help_line)


def escaped(text: str) -> str:
    """Return a line of help as markdown that shows the same characters, a link between notes as code."""
    pieces = re.split(r"(\[\[.*?\]\])", text)
    links = [f"`{piece}`" for piece in pieces[1::2]]
    plain = [re.sub(r"([*_<|\[\]])", r"\\\1", piece) for piece in pieces[::2]]
    return "".join(part for pair in zip_longest(plain, links, fillvalue="") for part in pair)


def markdown(rows: list[tuple[str, str]]) -> str:
    return "".join(f"- {left}: {right}\n" for left, right in rows)


def rewritten(page: str) -> str:
    """Return the page with all of this as the parser has it now."""
    return BLOCK.sub(lambda match: match[1] + listed(match[2]) + match[3], page)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(rewritten(page.read_text("utf-8")), "utf-8")
