"""Write the tables of commands and options in command-line.md as the parser has them.

    uv run python docs/make_option_tables.py

A table stands between `<!-- options of NAME -->`, where NAME is a command, "every command" or
"all commands" (their list), and `<!-- end of options -->`. The rest of the page is written by hand.
"""

import argparse
import re
from itertools import zip_longest
from pathlib import Path

from hybrid_memory.seams import COMMANDS
from hybrid_memory.surface.arguments import Parser, command_parser, common_parser

PAGE = Path(__file__).parent / "command-line.md"
TABLE = re.compile(r"(<!-- options of ([\w ]+) -->\n).*?(<!-- end of options -->)", re.DOTALL)


def table(name: str) -> str:
    """Return the rows for one marker of the page, as markdown."""
    if name == "all commands":
        rows = [
            (f"[`{command}`](#{command})", escaped(COMMANDS[command].about)) for command in COMMANDS
        ]
        return markdown("command", rows)
    parser = common_parser() if name == "every command" else command_parser(name)
    return markdown("option", [row(argument) for argument in own_arguments(parser, name)])


def own_arguments(parser: Parser, name: str) -> list[argparse.Action]:
    """Return the arguments of a parser without those that every command has."""
    if name == "every command":
        return parser.arguments
    common = {"help", *(argument.dest for argument in common_parser().arguments)}
    return [argument for argument in parser.arguments if argument.dest not in common]


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


def markdown(first: str, rows: list[tuple[str, str]]) -> str:
    lines = [
        f"| {first} | meaning |",
        "|---|---|",
        *(f"| {left} | {right} |" for left, right in rows),
    ]
    return "\n".join(lines) + "\n"


def rewritten(page: str) -> str:
    """Return the page with every table as the parser has it now."""
    return TABLE.sub(lambda match: match[1] + table(match[2]) + match[3], page)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
