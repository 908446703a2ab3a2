"""The command `serve`: set up the server from the command line."""

import os
import webbrowser
from argparse import Namespace
from functools import partial
from ipaddress import ip_address
from socket import socket
from threading import Thread

from ..environment import needing

with needing("serve"):  # before the modules below import these packages
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401

from ...addresses import is_server
from ...errors import HybridMemoryError
from ...paths import standard_database
from ...store import HybridStore
from ...surface import opening
from ...surface.opening import open_store, place
from ...surface.streams import output, print_advice, print_message
from ...sync.report import Report
from ..mcp.tools import Tools
from ..watch import Watch
from . import server
from .bounds import bounds_of
from .memory import Memory
from .security import AccessToken, Guard, Hosts, in_address, kept_token
from .server import PageServer


def run_serve(args: Namespace) -> int:
    """Serve until SIGINT or SIGTERM, and exit with status 0. Raises as `start` does."""
    server.run(*start(args))
    os._exit(0)  # without waiting for work that the end of the server cut off


def start(args: Namespace) -> tuple[PageServer, socket]:
    """Open the socket, and print the URL. Return the server to run, and the socket, in which
    requests wait until then. Raises ConfigError, or StoreError if there is no database.
    """
    settings = opening.settings(args)
    bounds = bounds_of(args)
    with open_store(args) as store:  # report problems now, not at the first request
        if args.watch:
            Watch(store, [], lambda report: None)
    listener = server.listen(args.host, args.port)
    host, port = listener.getsockname()[:2]
    url = f"http://{in_address(host)}:{port}/"
    is_loopback = ip_address(host.partition("%")[0]).is_loopback
    token = _token(args, settings["db_path"], is_loopback=is_loopback)
    on_wait = (lambda message: None) if args.quiet else print_message
    memory = Memory(
        lambda: HybridStore(settings["db_path"], settings, create=False, on_wait=on_wait),
        settings,
        needs_token=token is not None,
        bounds=bounds,
    )
    tools = Tools(
        lambda: open_store(args),
        lambda: open_store(args, create=True),
        settings,
        partial(place, args),
        bounds,
    )
    if args.watch:
        memory.watcher = Thread(target=_watch, args=(args, memory), daemon=True)
        memory.watcher.start()
    with output() as stream:
        print(url, file=stream)
    if args.open:
        page = f"{url}#token={token.secret}" if token else url
        Thread(target=webbrowser.open, args=(page,), daemon=True).start()
    app = Guard(server.application(memory, tools), Hosts(args.host, is_loopback=is_loopback), token)
    return PageServer(app, memory), listener


def _token(args: Namespace, db_path: str, *, is_loopback: bool) -> AccessToken | None:
    if args.token:
        return AccessToken(args.token)
    if args.token is None and is_loopback:
        return None
    database = os.path.abspath(db_path)
    if is_server(db_path):
        database = standard_database()
    path = f"{database}.token"
    token = kept_token(path)
    print_advice(args, f"the token is stored in {path}")
    return token


def _watch(args: Namespace, memory: Memory) -> None:
    def print_report(report: Report) -> None:
        print_advice(args, *report.warning_lines(), *report.summary())

    try:
        with open_store(args) as store:
            Watch(store, [], print_report, memory.ending).run()
    except HybridMemoryError as error:
        print_message(f"the watch of files has stopped: {error}")
