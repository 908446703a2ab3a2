"""The commands `mcp`, `tools` and `serve`: their options, where a server listens, whom it answers and
what it prints.

The packages that they need are imported when one of them runs.
"""

import os
import signal
from argparse import Namespace
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from ...config import Settings, is_server, standard_database
from ...environment import needing
from ...errors import HybridMemoryError
from ...store import HybridStore
from ...surface import arguments
from ...surface.arguments import Parser, examples, filled, open_store, place, port
from ...surface.streams import json_lines, output, tell
from .bounds import add_bounds, bounds_of

if TYPE_CHECKING:
    from socket import socket

    from ...sync.report import Report
    from .memory import Memory
    from .security import Token
    from .server import Server


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


def tools_options(parser: Parser) -> None:
    parser.add_argument(
        "--format",
        choices=("openai", "anthropic"),
        default="openai",
        help="as this API takes tools (default: %(default)s)",
    )
    parser.add_argument("--read-only", action="store_true", help="leave out those that write")
    examples(parser, "tools --format anthropic", "tools --read-only")


def run_tools(args: Namespace) -> int:
    from ..mcp.definitions import TOOLS

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
    """Serve until the process is told to end, and return its exit status. Raises what `prepared`
    raises.
    """
    with needing("serve"):
        from . import server

    server.run(*prepared(args))
    return 0


def prepared(args: Namespace) -> "tuple[Server, socket]":
    """Return the server, and the socket on which it listens. Raises ConfigError, or StoreError if
    there is no database, or a package is missing.
    """
    with needing("serve"):
        from ipaddress import ip_address

        from ..mcp.tools import Tools
        from ..watch import Watch
        from . import server
        from .memory import Memory
        from .security import Guard, Hosts, in_address

    settings = arguments.settings(args)
    bounds = bounds_of(args)
    with open_store(args) as store:  # what is wrong is told now, not at the first request
        if args.watch:
            Watch(store, [], lambda report: None)
    listener = server.listen(args.host, args.port)
    host, port = listener.getsockname()[:2]
    url = f"http://{in_address(host)}:{port}/"
    is_loopback = ip_address(host.partition("%")[0]).is_loopback
    token = _token(args, settings["db_path"], is_loopback=is_loopback)
    memory = Memory(
        partial(_opened, args, settings), settings, needs_token=token is not None, bounds=bounds
    )
    tools = Tools(
        lambda: open_store(args),
        lambda: open_store(args, create=True),
        settings,
        partial(place, args),
        bounds,
    )

    def on_start() -> None:
        with output() as stream:
            print(url, file=stream)
        if args.watch:
            memory.watcher = Thread(target=_watch, args=(args, memory), daemon=True)
            memory.watcher.start()
        if args.open:
            fragment = f"#token={token.secret}" if token else ""
            _open_browser(url + fragment)

    app = Guard(server.application(memory, tools), Hosts(args.host, is_loopback=is_loopback), token)
    return server.server(app, on_start, memory.end), listener


def _opened(args: Namespace, settings: Settings) -> HybridStore:
    return HybridStore(
        settings["db_path"],
        settings,
        create=False,
        on_wait=(lambda message: None) if args.quiet else tell,
    )


def _token(args: Namespace, db_path: str, *, is_loopback: bool) -> "Token | None":
    from .security import Token, kept

    if args.token:
        return Token(args.token)
    if args.token is None and is_loopback:
        return None
    database = os.path.abspath(db_path)
    if is_server(db_path):
        database = standard_database()
    path = f"{database}.token"
    token = kept(path)
    tell(f"the token is in {path}")
    return token


def _watch(args: Namespace, memory: "Memory") -> None:
    from ..watch import Watch

    def tell_of(report: "Report") -> None:
        tell(*report.warning_lines())
        if not args.quiet:
            tell(*report.summary())

    try:
        with open_store(args) as store:
            Watch(store, [], tell_of, memory.ending).run()
    except HybridMemoryError as error:
        tell(f"files are no longer watched: {error}")


def _open_browser(url: str) -> None:
    import webbrowser

    Thread(target=webbrowser.open, args=(url,), daemon=True).start()
