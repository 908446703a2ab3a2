"""The commands `mcp`, which serves an agent over stdio, and `tools`, which prints the tool
definitions.
"""

import signal
from argparse import Namespace
from functools import partial

from ...surface import opening
from ...surface.arguments import Parser, examples
from ...surface.opening import open_store, place
from ...surface.streams import json_lines, output
from ..serve.bounds import add_bounds, bounds_of
from .definitions import TOOLS
from .stdio import serve
from .tools import Tools


def mcp_options(parser: Parser) -> None:
    add_bounds(parser)
    examples(parser, "mcp", "mcp --collection memory --read-only")


def run_mcp(args: Namespace) -> int:
    settings = opening.settings(args)  # a wrong setting is reported now, not at the first call
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # or a running call would delay the exit
    tools = Tools(
        lambda: open_store(args),
        lambda: open_store(args, create=True),
        settings,
        partial(place, args),
        bounds_of(args),
    )
    serve(tools)
    return 0


def tools_options(parser: Parser) -> None:
    parser.add_argument(
        "--format",
        choices=("openai", "anthropic"),
        default="openai",
        help="format of this API (default: %(default)s)",
    )
    parser.add_argument("--read-only", action="store_true", help="leave out tools that write")
    examples(parser, "tools --format anthropic", "tools --read-only")


def run_tools(args: Namespace) -> int:
    definitions = []
    for name, tool in TOOLS.items():
        if tool.writes and args.read_only:
            continue
        definition = tool.definition(name)
        fields = {"name": name, "description": definition["description"]}
        schema = definition["inputSchema"]
        if args.format == "anthropic":
            definitions.append(fields | {"input_schema": schema})
        else:
            function = fields | {"parameters": schema}
            definitions.append({"type": "function", "function": function})
    with output() as stream:
        print(json_lines(definitions), file=stream)
    return 0
