"""The commands `connect` and `disconnect`: write the hooks, the MCP server and the skill of this
program into the settings of agents, and take them out again.

Entries of others stay as they are. `disconnect` restores each file byte for byte if nothing else
changed it since; otherwise it removes only what `connect` wrote. What is needed for that is kept in
one file of the state folder.
"""

import hashlib
import json
import os
import sys
import tomllib
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import unified_diff
from shlex import join
from typing import Any, NamedTuple, TextIO

from ..addresses import absolute
from ..errors import HybridMemoryError, UsageError
from ..paths import CHECKOUT, CONFIG, in_checkout
from ..surface import opening
from ..surface.arguments import Parser, add_json, examples
from ..surface.streams import harmless, print_answer, tell
from .agent_text import skill_for
from .edits import BOM, edit
from .environment import program, without_password
from .hosts import CLAUDE, CODEX, CURSOR, GEMINI, HOSTS, OPENCLAW, OPENCODE, PROMPT, Host
from .json_text import values_of, with_value, without_value
from .recall.runs import summary
from .recall.state import state_folder

ALL = "all"
SERVER = "hybrid-memory"  # the name of the MCP server and of the skill
SECONDS = {PROMPT: 5}  # for which a host waits for a hook
OTHER_SECONDS = 15
WITHOUT_WAITING = ("PreCompact", "Stop")  # events of Claude Code for which it need not wait
MARKS = ("# hybrid-memory connect: begin", "# hybrid-memory connect: end")  # in TOML
RECORD = "connected.json"
MOST_LINES = 60  # of a change that are shown
OLD_END = " recall 2>/dev/null || true"  # of hooks by earlier versions


class Change(NamedTuple):
    """A change of one file. `apply` and `undo` map its text to the new text; `undo` of a text
    without the change returns that text. A file that `is_whole` contains nothing else.
    """

    path: str
    apply: Callable[[str], str]
    undo: Callable[[str], str]
    is_whole: bool = False


class Target(NamedTuple):
    """What is connected: a host, for the user (`workspace` None) or for one workspace."""

    host: Host
    workspace: str | None
    command: Sequence[str]  # starts this program
    options: Sequence[str]  # that select the memory

    def path(self, name: str) -> str:
        """The path of a file of the host's settings, relative to its folder."""
        assert self.host.files
        if self.workspace is not None:
            return os.path.join(self.workspace, self.host.files.project, name)
        return os.path.join(self.host.folder.of(_home(), os.environ), name)

    @property
    def servers(self) -> str:
        assert self.host.files
        if self.workspace is not None:
            return os.path.join(self.workspace, self.host.files.servers_of_project)
        return self.host.files.servers.of(_home(), os.environ)

    @property
    def hook(self) -> str:
        """The command of a hook. Its text is the same for all events, and after every update, as
        hosts ask again about a hook whose text has changed.
        """
        return f"{join([*self.command, *self.options])} recall --host {self.host.name}{SILENT}"


SILENT = " 2>/dev/null || true"  # a non-zero exit status would block a prompt


def _home() -> str:
    return os.path.expanduser("~")


def changes_of(target: Target) -> list[Change]:
    """The changes that connect a host, one for each file."""
    merged: dict[str, Change] = {}
    for change in _parts(target):
        if change.path in merged:
            change = _both(merged[change.path], change)
        merged[change.path] = change
    return list(merged.values())


def _both(first: Change, second: Change) -> Change:
    return Change(
        first.path,
        lambda text: second.apply(first.apply(text)),
        lambda text: first.undo(second.undo(text)),
    )


def _parts(target: Target) -> list[Change]:
    host = target.host
    assert host.files
    if host is OPENCLAW:
        return [_openclaw(target)]
    found = []
    if host is OPENCODE:
        module = _shared("plugins/opencode/hybrid-memory.js")
        found.append(_whole(target.path(host.files.hooks), _with_command(module, target)))
    else:
        found.append(_json(target.path(host.files.hooks), *_hooks(target)))
    if host is CODEX:
        found.append(_toml(target))
    else:
        found.append(_json(target.servers, *_server(target)))
    skill = os.path.join(host.files.skills, SERVER, "SKILL.md")
    text = skill_for(_shared("SKILL.md"), join([*target.command, *target.options]))
    found.append(_whole(target.path(skill), text))
    return found


def _delivered(name: str) -> str:
    """The path of a file or folder that is delivered with the program."""
    top = CHECKOUT
    if not in_checkout():
        top = os.path.join(os.path.dirname(os.path.dirname(__file__)), "share")
    return os.path.realpath(os.path.join(top, name))


def _shared(name: str) -> str:
    """The text of a delivered file. Raises HybridMemoryError if the installation lacks it."""
    text = _text(_delivered(name))
    if text is None:
        raise HybridMemoryError(f"{_delivered(name)} is missing; install hybrid-memory again")
    return text


JsonEdit = Callable[[str, dict[str, Any]], str]


def _json(path: str, apply: JsonEdit, undo: JsonEdit) -> Change:
    """A change of a JSON file. Old entries are replaced if the new ones differ."""

    def undone(text: str) -> str:
        return undo(text, values_of(text))

    def applied(text: str) -> str:
        rest = undone(text)
        new = apply(rest, values_of(rest))
        return text if values_of(new) == values_of(text) else new

    return Change(path, applied, undone)


def _whole(path: str, text: str) -> Change:
    """A file with this text alone. A file with other text is left alone, unless this program wrote
    it.
    """

    def apply(before: str) -> str:
        if before and SERVER not in before:
            raise ValueError("another program wrote it")
        return text

    def undo(before: str) -> str:
        return "" if SERVER in before else before

    return Change(path, apply, undo, is_whole=True)


def _hooks(target: Target) -> tuple[JsonEdit, JsonEdit]:
    events = target.host.events

    def apply(text: str, values: Mapping[str, Any]) -> str:
        if target.host is CURSOR and "version" not in values:
            text = with_value(text, ("version",), 1)
        for event in events:
            number = len(_entries(values, event))
            entry = hook_entry(target.host, event, target.hook)
            text = with_value(text, ("hooks", event, number), entry)
        return text

    def undo(text: str, values: Mapping[str, Any]) -> str:
        hooks = values.get("hooks", {})
        if type(hooks) is not dict:
            raise ValueError("hooks is not a JSON object")
        left = len(hooks)
        for event in hooks:
            entries = hooks[event]
            if type(entries) is not list:
                if event in events:
                    raise ValueError(f"hooks.{event} is not a JSON array")
                continue
            ours = [number for number, entry in enumerate(entries) if _is_ours(entry)]
            for number in reversed(ours):
                text = without_value(text, ("hooks", event, number))
            if ours and len(ours) == len(entries):
                text = without_value(text, ("hooks", event))
                left -= 1
        if hooks and not left:
            text = without_value(text, ("hooks",))
        return text

    return apply, undo


def _entries(values: Mapping[str, Any], event: str) -> Sequence[Any]:
    entries: Sequence[Any] = values.get("hooks", {}).get(event, [])
    return entries


def hook_entry(host: Host, event: str, command: str) -> dict[str, Any]:
    """The entry of one event in a file of hooks."""
    kind = host.events[event]
    seconds = SECONDS.get(kind, OTHER_SECONDS)
    if host is CURSOR:
        return {"command": command, "timeout": seconds}
    hook: dict[str, Any] = {"type": "command", "command": command, "timeout": seconds}
    if host is GEMINI:
        hook |= {"name": SERVER, "timeout": 1000 * seconds}  # milliseconds
    if host is CLAUDE and event in WITHOUT_WAITING:
        hook["async"] = True
    return {"hooks": [hook]}


def _is_ours(entry: Any) -> bool:
    """Whether `connect`, now or earlier, wrote an entry of a file of hooks."""
    if not isinstance(entry, dict):
        return False
    hooks = entry.get("hooks", [entry])
    if not isinstance(hooks, list):
        return False
    commands = [str(hook.get("command", "")) for hook in hooks if isinstance(hook, dict)]
    return any(
        "hybrid" in command
        and (command.endswith(OLD_END) or (" recall --host " in command and SILENT in command))
        for command in commands
    )


def _server(target: Target) -> tuple[JsonEdit, JsonEdit]:
    assert target.host.files
    key = target.host.files.servers_key
    first, *rest = [*target.command, *target.options]
    entry: dict[str, Any] = {"command": first, "args": [*rest, "mcp"]}
    if target.host is CLAUDE:
        entry = {"type": "stdio"} | entry
    elif target.host is OPENCODE:
        entry = {"type": "local", "command": [first, *rest, "mcp"], "enabled": True}

    def apply(text: str, values: Mapping[str, Any]) -> str:
        return with_value(text, (key, SERVER), entry)

    def undo(text: str, values: Mapping[str, Any]) -> str:
        servers = values.get(key, {})
        if type(servers) is not dict:
            raise ValueError(f"{key} is not a JSON object")
        if SERVER not in servers:
            return text
        if len(servers) == 1:
            return without_value(text, (key,))
        return without_value(text, (key, SERVER))

    return apply, undo


def _toml(target: Target) -> Change:
    """The table of the MCP server in a TOML file, between two comments."""
    first, *rest = [*target.command, *target.options]
    begin, end = MARKS
    table = f"[mcp_servers.{SERVER}]\ncommand = {_toml_text(first)}\n"
    table += f"args = [{', '.join(map(_toml_text, [*rest, 'mcp']))}]\n"

    def undo(text: str) -> str:
        before, mark, after = text.partition(f"\n{begin}\n")
        _, closing, after = after.partition(f"{end}\n")
        if not (mark and closing):
            return text
        if after and before and not before.endswith("\n"):
            before += "\n"
        return before + after

    def apply(text: str) -> str:
        text = undo(text)
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"it is not TOML: {error}") from error
        if SERVER in values.get("mcp_servers", {}):
            raise ValueError(f"it has a server {SERVER} already")
        new = f"{text}\n{begin}\n{table}{end}\n"
        try:
            tomllib.loads(new)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"a table cannot be added at its end: {error}") from error
        return new

    return Change(target.servers, apply, undo)


def _toml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with_command(module: str, target: Target) -> str:
    """The plugin module of opencode, with the command of this installation."""
    words = json.dumps([*target.command, *target.options])
    return module.replace('const COMMAND = ["hybrid-memory"];', f"const COMMAND = {words};")


def _openclaw(target: Target) -> Change:
    """The memory slot of OpenClaw, its plugin and the two permissions of the plugin."""
    plugin = _delivered("plugins/openclaw")
    command = list(target.command)
    config: dict[str, Any] = {"command": command[0]}
    if len(command) > 1 or target.options:
        config["args"] = [*command[1:], *target.options]
    allowed = {"allowPromptInjection": True, "allowConversationAccess": True}
    entry = {"enabled": True, "hooks": allowed, "config": config}

    def apply(text: str, values: Mapping[str, Any]) -> str:
        plugins = values.get("plugins", {})
        paths = plugins.get("load", {}).get("paths", [])
        text = with_value(text, ("plugins", "load", "paths", len(paths)), plugin)
        text = with_value(text, ("plugins", "slots", "memory"), SERVER)
        text = with_value(text, ("plugins", "entries", SERVER), entry)
        return with_value(text, ("plugins", "entries", "memory-core", "enabled"), False)

    def undo(text: str, values: Mapping[str, Any]) -> str:
        plugins = values.get("plugins", {})
        if SERVER not in plugins.get("entries", {}):
            return text
        paths = plugins.get("load", {}).get("paths", [])
        for number in reversed(range(len(paths))):
            if paths[number] == plugin:
                text = without_value(text, ("plugins", "load", "paths", number))
        if plugins.get("slots", {}).get("memory") == SERVER:
            text = without_value(text, ("plugins", "slots", "memory"))
        text = without_value(text, ("plugins", "entries", SERVER))
        core = plugins["entries"].get("memory-core", {})
        if core.get("enabled") is False:
            text = without_value(text, ("plugins", "entries", "memory-core", "enabled"))
        return text

    return _json(target.servers, apply, undo)


def connect_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [HOST ...]"
    _add_options(parser)
    examples(parser, "connect claude", "connect cursor --dir ~/project")


def disconnect_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] HOST ..."
    _add_options(parser)
    examples(parser, "disconnect claude", "disconnect all --yes")


def _add_options(parser: Parser) -> None:
    hosts = ", ".join(name for name, host in HOSTS.items() if host.files)
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOST",
        help=f"{hosts}, or all that are on this machine; without one, the state of each is printed",
    )
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="write into the settings of this workspace (default: into those of the user)",
    )
    parser.add_argument("--yes", action="store_true", help="change the files without asking")
    add_json(parser)


def run_connect(args: Namespace) -> int:
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
    is_asking = sys.stdin.isatty() and sys.stdout.isatty() and not (args.json or args.yes)
    results = []
    is_done = True
    for target in targets:
        result = _plan(target, is_connecting)
        results.append(result)
        if not result["changes"]:
            continue
        if is_asking:
            _show_changes(result, sys.stdout)
        if args.yes or (is_asking and _confirm()):
            changes = changes_of(target)
            if is_connecting:
                for change in changes:
                    _apply(change)
            else:
                for change in reversed(changes):  # a folder was made for the first file in it
                    _undo(change)
            result["done"] = True
        else:
            is_done = False
    if not is_asking or args.json:
        print_answer(args, results, lambda stream: _show_results(results, stream))
    for result in results:
        if result["done"] and is_connecting and result["trust"]:
            tell(result["trust"])
    if not is_done:
        tell("nothing was changed; use --yes to change the files without a question")
    return 0 if is_done else 1


def _targets(args: Namespace) -> list[Target]:
    """The hosts that were named; for `all` or none, those on this machine.

    Raises UsageError for an unknown host, or if no host is on this machine.
    """
    names = args.hosts or [ALL]
    known = [host for host in HOSTS.values() if host.files]
    if names == [ALL]:
        hosts = [host for host in known if os.path.isdir(host.folder.of(_home(), os.environ))]
        if args.dir:
            hosts = [host for host in hosts if host.files and host.files.project]
    else:
        by_name = {host.name: host for host in known}
        for name in names:
            if name not in by_name:
                one = f"{join([*program()])} recall"
                raise UsageError(
                    f"{name} is not one of {', '.join(by_name)}, all; any other agent can call "
                    f"`{one}` with a prompt on standard input, and `{join(program())} mcp`"
                )
        hosts = [by_name[name] for name in names]
    if not hosts and args.hosts:
        raise HybridMemoryError("no known agent is on this machine; name one to connect it anyway")
    workspace = None
    if args.dir:
        workspace = os.path.realpath(os.path.expanduser(args.dir))
        for host in hosts:
            if host.files and not host.files.project:
                raise UsageError(f"{host.title} has no settings of a workspace; leave out --dir")
    options = _memory_options(args)
    return [Target(host, workspace, program(for_cron=True), options) for host in hosts]


def _memory_options(args: Namespace) -> list[str]:
    """The options that select the memory that the user named. Without them, hooks use the memory of
    the workspace in which the agent works.
    """
    settings = opening.settings(args)
    options = []
    file = args.config or os.environ.get(CONFIG)
    if file:
        options += ["--config", os.path.abspath(os.path.expanduser(file))]
    if opening.origin(settings, "db_path") in ("--db", "HYBRID_MEMORY_DB_PATH"):
        options += ["--db", without_password(absolute(settings["db_path"]))]
    return options


def _confirm() -> bool:
    try:
        return input("Change these files? [Y/n] ").strip().lower() in ("", "y", "yes")
    except EOFError:
        print()
        return False


def _text(path: str) -> str | None:
    """The text of a file; None if it is missing. Raises HybridMemoryError."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read().removeprefix(BOM)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise HybridMemoryError(f"cannot read {path}: {error}; nothing was changed") from error


def _plan(target: Target, is_connecting: bool) -> dict[str, Any]:
    """What would change. Raises HybridMemoryError for settings of another shape, before any file
    was changed.
    """
    planned = []
    for change in changes_of(target):
        before = _text(change.path)
        try:
            if is_connecting:
                after: str | None = change.apply(before or "")
            else:
                after = _restored(change, before)
        except ValueError as error:
            raise HybridMemoryError(
                f"cannot edit {change.path}: {error}; nothing was changed"
            ) from error
        if after != before:
            lines = unified_diff((before or "").splitlines(), (after or "").splitlines(), n=1)
            shown = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
            planned.append({"path": change.path, "lines": shown, "removed": after is None})
    return {
        "host": target.host.name,
        "workspace": target.workspace,
        "changes": planned,
        "done": False,
        "trust": target.host.trust,
    }


def _apply(change: Change) -> None:
    """Change a file, and keep what restores it."""
    before = _text(change.path)
    folders = [] if before is not None else list(_missing_folders(os.path.dirname(change.path)))
    edit(change.path, change.apply)
    after = _text(change.path) or ""
    record = _record()
    known = record.get(change.path, {})
    if known and before is not None and known["after"] == _hash(before):
        known["after"] = _hash(after)
    else:
        known = {"after": _hash(after), "existed": before is not None, "folders": folders}
        if before is not None and change.undo(after) != before:
            known["before"] = before
    _keep(record | {change.path: known})


def _restored(change: Change, text: str | None) -> str | None:
    """The text of a file after `disconnect`; None if the file is removed."""
    if text is None:
        return None
    known = _record().get(change.path)
    if known and known["after"] == _hash(text):
        if not known["existed"]:
            return None
        if "before" in known:
            return str(known["before"])
    after = change.undo(text)
    is_empty = not after.strip() or after.strip() == "{}"
    if is_empty and (change.is_whole or (known and not known["existed"])):
        return None
    return after


def _undo(change: Change) -> None:
    before = _text(change.path)
    after = _restored(change, before)
    record = _record()
    known = record.pop(change.path, {})
    if before is not None and after is None:
        os.unlink(os.path.realpath(change.path))
        for folder in known.get("folders", []):
            with suppress(OSError):  # something else is in it
                os.rmdir(folder)
    elif after is not None:
        edit(change.path, lambda text: after if text == before else change.undo(text))
    _keep(record)


def _missing_folders(folder: str) -> Iterator[str]:
    """Yield a folder that does not exist and those around it, the innermost first."""
    while folder and not os.path.isdir(folder):
        yield folder
        folder = os.path.dirname(folder)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _record_path() -> str:
    return os.path.join(os.path.dirname(state_folder()), RECORD)


def _record() -> dict[str, Any]:
    with suppress(OSError, ValueError, HybridMemoryError):
        return values_of(_text(_record_path()) or "")
    return {}


def _keep(record: Mapping[str, Any]) -> None:
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    edit(_record_path(), lambda before: text, is_private=lambda text: True)


def is_connected(host: Host, workspace: str | None = None) -> bool:
    """Whether every file of a host's settings has the entries of `connect`, of any installation."""
    target = Target(host, workspace, ["hybrid-memory"], [])
    with suppress(HybridMemoryError, ValueError):
        texts = [(change, _text(change.path)) for change in changes_of(target)]
        return all(text is not None and change.undo(text) != text for change, text in texts)
    return False


def _state(target: Target) -> dict[str, Any]:
    host = target.host
    return {
        "host": host.name,
        "connected": is_connected(host, target.workspace),
        "runs": summary(host.name),
    }


def _show_states(states: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    for state in states:
        connected = "connected" if state["connected"] else "not connected"
        print(f"{state['host']}: {connected}; {state['runs']['text']}", file=stream)
    print("\n`hybrid-memory connect HOST` connects one.", file=stream)


def _show_changes(result: Mapping[str, Any], stream: TextIO) -> None:
    for change in result["changes"]:
        print(f"\n{harmless(change['path'])}", file=stream)
        lines = change["lines"]
        if change["removed"]:
            lines = ["is removed"]
        elif len(lines) > MOST_LINES:
            lines = [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES} more lines"]
        for line in lines:
            print(f"  {harmless(line)}", file=stream)


def _show_results(results: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    for result in results:
        files = ", ".join(harmless(change["path"]) for change in result["changes"])
        state = f"changed {files}" if result["done"] else f"would change {files}"
        if not files:
            state = "nothing to change"
        print(f"{result['host']}: {state}", file=stream)
