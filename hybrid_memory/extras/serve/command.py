"""The commands `mcp` and `serve`."""

import signal
from argparse import Namespace
from functools import partial

from ...environment import needing
from ...surface import arguments
from ...surface.arguments import Parser, examples, filled, open_store, place, port
from .bounds import add_bounds, bounds_of


def mcp_options(parser: Parser) -> None:
    add_bounds(parser)
    examples(parser, "mcp", "mcp --collection memory --read-only")


def run_mcp(args: Namespace) -> int:
    from ..mcp.protocol import serve
    from ..mcp.tools import Tools

    settings = arguments.settings(args)  # a wrong setting is reported now, not at the first call
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # or a call that runs would hold up the end
    tools = Tools(
        lambda: open_store(args),
        lambda: open_store(args, create=True),
        settings,
        partial(place, args),
        bounds_of(args),
    )
    serve(tools)
    return 0


def serve_options(parser: Parser) -> None:
    parser.add_argument(
        "--host", type=filled, default="127.0.0.1", metavar="HOST", help="default: %(default)s"
    )
    parser.add_argument(
        "--port",
        type=port,
        default=8377,
        metavar="PORT",
        help="0: any free one (default: %(default)s)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="keep the memory up to date while files change, as `watch` does",
    )
    parser.add_argument(
        "--token",
        nargs="?",
        const="",
        metavar="TOKEN",
        help="answer only those who know this secret; without TOKEN, one is made and kept "
        "(default: on 127.0.0.1, answer all)",
    )
    add_bounds(parser)
    examples(parser, "serve --open", "serve --port 0 --watch")


def run_serve(args: Namespace) -> int:
    with needing("serve"):
        from .running import serve

        return serve(args)
