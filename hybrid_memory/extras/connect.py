"""The commands `connect` and `disconnect`: write the hooks, the MCP server and the skill of this
program into the settings of agents, and take them out again.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from shlex import join
from shutil import rmtree
from typing import Any, TextIO

from ..addresses import absolute, without_password
from ..config import Settings
from ..errors import HybridMemoryError, UsageError
from ..paths import CONFIG
from ..surface import opening
from ..surface.arguments import Parser, add_json, examples
from ..surface.streams import print_advice, print_answer, print_message, single_line
from ..surface.terminal import can_ask, confirm
from .connected import (
    Target,
    connect,
    disconnect,
    disconnected,
    has_plugin,
    is_connected,
    read,
)
from .environment import program
from .hosts import Host, hosts
from .recall.runs import summary

ALL = "all"
MOST_LINES = 60  # of a change that are shown


def connect_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [HOST ...]"
    _add_options(parser, "; without one, the state of each is printed")
    examples(parser, "connect claude", "connect cursor --dir ~/project")


def disconnect_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] HOST ..."
    _add_options(parser)
    examples(parser, "disconnect claude", "disconnect all --yes")


def _add_options(parser: Parser, without_host: str = "") -> None:
    names = ", ".join(_known())
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOST",
        help=f"{names}, or all that are on this machine{without_host}",
    )
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="write into the settings of this workspace (default: into those of the user)",
    )
    parser.add_argument("--yes", action="store_true", help="change the files without asking")
    add_json(parser)


def run_connect(args: Namespace) -> int:
    if args.yes and not args.hosts:
        raise UsageError("--yes needs the name of an agent, or all")
    return _run(args, is_connecting=True)


def run_disconnect(args: Namespace) -> int:
    if not args.hosts:
        raise UsageError("name an agent, or all")
    return _run(args, is_connecting=False)


def _run(args: Namespace, *, is_connecting: bool) -> int:
    targets = _targets(args)
    if not args.hosts:
        answer = [_state(target) for target in targets]
        print_answer(args, answer, lambda stream: _show_states(answer, stream))
        return 0
    is_asking = can_ask(args)
    results = []
    is_done = True
    for target in targets:
        result = _plan(target, is_connecting)
        results.append(result)
        if not result["changes"]:
            continue
        if is_asking:
            _show_changes(result, sys.stdout)
        if args.yes or (is_asking and confirm("Change these files?")):
            changes = target.changes()
            for change in changes if is_connecting else reversed(changes):
                (connect if is_connecting else disconnect)(change)
            for folder in [] if is_connecting else target.transcripts():
                rmtree(folder)
            result["done"] = True
            if is_connecting and result["trust"]:
                print_advice(args, result["trust"])
        else:
            is_done = False
    if not is_asking:
        print_answer(args, results, lambda stream: _show_results(results, stream))
    if not is_done:
        print_message("nothing was changed; use --yes to change the files without a question")
    return 0 if is_done else 1


def _known() -> dict[str, Host]:
    """The hosts whose settings `connect` can write, by name."""
    return {name: host for name, host in hosts().items() if host.files}


def _targets(args: Namespace) -> list[Target]:
    """The hosts that were named; for `all` or none, those on this machine.

    Raises UsageError for an unknown host, or if no host is on this machine.
    """
    if args.hosts in ([], [ALL]):
        chosen = [host for host in _known().values() if os.path.isdir(host.path([]))]
        if args.dir:
            chosen = [host for host in chosen if host.has_workspace_settings]
    else:
        chosen = [_named(name) for name in args.hosts]
    if not chosen and args.hosts:
        raise HybridMemoryError("no known agent is on this machine; name one to connect it anyway")
    workspace = os.path.realpath(os.path.expanduser(args.dir)) if args.dir else None
    for host in chosen:
        if workspace and not host.has_workspace_settings:
            raise UsageError(f"{host.title} has no settings of a workspace; leave out --dir")
    options = memory_options(args, opening.settings(args), "--db", "HYBRID_MEMORY_DB_PATH")
    return [Target(host, workspace, [*program(for_cron=True), *options]) for host in chosen]


def _named(name: str) -> Host:
    """The host of this name. Raises UsageError."""
    if name not in _known():
        command = join(program())
        raise UsageError(
            f"{name} is not one of {', '.join(_known())}, all; any other agent can call "
            f"`{command} recall` with a prompt on standard input, and `{command} mcp`"
        )
    return _known()[name]


def memory_options(args: Namespace, settings: Settings, *origins: str) -> list[str]:
    """The options that select the config file and, if its path has one of these origins, the memory
    that a command uses.
    """
    options = []
    file = args.config or os.environ.get(CONFIG)
    if file:
        options += ["--config", os.path.abspath(os.path.expanduser(file))]
    if opening.origin(settings, "db_path") in origins:
        options += ["--db", without_password(absolute(settings["db_path"]))]
    return options


def _plan(target: Target, is_connecting: bool) -> dict[str, Any]:
    """What would change. Raises HybridMemoryError for settings of another shape, before any file
    was changed.
    """
    planned = []
    by_plugin = has_plugin(target.host)
    # Both together would add every passage twice
    for change in [] if is_connecting and by_plugin else target.changes():
        before = read(change.path)
        try:
            after = change.add(before or "") if is_connecting else disconnected(change, before)
        except ValueError as error:
            problem = f"cannot edit {change.path}: {error}"
            raise HybridMemoryError(f"{problem}; nothing was changed") from error
        if after != before:
            lines = unified_diff((before or "").splitlines(), (after or "").splitlines(), n=1)
            shown = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
            planned.append({"path": change.path, "lines": shown, "removed": after is None})
    for folder in [] if is_connecting else target.transcripts():
        planned += [{"path": folder, "lines": [], "removed": True}]
    return {
        "host": target.host.name,
        "workspace": target.workspace,
        "changes": planned,
        "done": False,
        "plugin": by_plugin,
        "trust": target.host.trust,
    }


def _state(target: Target) -> dict[str, Any]:
    host = target.host
    by_plugin = has_plugin(host)
    return {
        "host": host.name,
        "connected": by_plugin or is_connected(host, target.workspace),
        "plugin": by_plugin,
        "runs": summary(host.name),
    }


def _show_states(states: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    for state in states:
        connected = "connected" if state["connected"] else "not connected"
        if state["plugin"]:
            connected = "connected by its plugin"
        print(f"{state['host']}: {connected}; {state['runs']['text']}", file=stream)
    print("\n`hybrid-memory connect HOST` connects one.", file=stream)


def _show_changes(result: Mapping[str, Any], stream: TextIO) -> None:
    for change in result["changes"]:
        print(f"\n{single_line(change['path'])}", file=stream)
        lines = change["lines"]
        if change["removed"]:
            lines = ["is removed"]
        elif len(lines) > MOST_LINES:
            lines = [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES} more lines"]
        for line in lines:
            print(f"  {single_line(line)}", file=stream)


def _show_results(results: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    for result in results:
        files = ", ".join(single_line(change["path"]) for change in result["changes"])
        state = f"changed {files}" if result["done"] else f"would change {files}"
        if not files:
            state = "nothing to change"
            if result["plugin"]:
                state += ", as its plugin is installed"
        print(f"{result['host']}: {state}", file=stream)
