"""The command `config`: print the settings, or change one key of the config file. All other keys
are preserved, and the file is replaced atomically.
"""

import json
import os
import re
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from shutil import copymode
from typing import Any, TextIO

from .. import config, paths
from ..addresses import absolute, display_name
from ..errors import ConfigError, UsageError, suggestion
from ..search.pipeline import WEIGHTS
from ..surface import arguments
from ..surface.arguments import Parser, add_json, examples
from ..surface.streams import harmless, json_text, print_answer, tell
from ..surface.terminal import Style


def change(path: str, key: str, *value: Any) -> dict[str, Any]:
    """Set a key to the value, or remove the key if no value is given. Return the old value as
    `before` if the key was set.

    Nothing is written if the result would be invalid, except that a key can be removed from a file
    that is already invalid. A missing file is created. Raises UsageError for an invalid value,
    ConfigError if the rest of the file is invalid or the file cannot be read or written.
    """
    path = os.path.realpath(path)  # so that a symbolic link is not replaced
    was_valid = True
    text = ""
    if os.path.exists(path):
        was_valid = _can_be_loaded(path, config.read(path))
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    # Parse it again, because `read` makes the database path absolute
    values: dict[str, Any] = json.loads(text or "{}")
    before = {"before": values[key]} if key in values else {}
    if value:
        others = {other: other_value for other, other_value in values.items() if other != key}
        config.merge_layers((path, others), (config.COMMAND_LINE, {key: value[0]}))
        values[key] = value[0]
    elif before:
        del values[key]
        if was_valid:
            config.merge_layers((path, values))
    else:
        return before
    changed = json.dumps(values, indent=_indent(text), ensure_ascii=False)
    if text[-1:] in ("", "\n"):
        changed += "\n"
    _write(path, changed)
    return before


def _can_be_loaded(path: str, values: Mapping[str, Any]) -> bool:
    try:
        config.merge_layers((path, values))
    except ConfigError:
        return False
    return True


def _indent(text: str) -> str | int | None:
    """Return the indentation of the file; None for a file on a single line."""
    if not text.strip():
        return 2
    indented = re.search(r"\n([ \t]+)\S", text)
    if indented:
        return indented[1]
    return 2 if "\n" in text.strip() else None


def _write(path: str, text: str) -> None:
    """Replace the file atomically."""
    new = f"{path}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            copymode(path, new)
        os.replace(new, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(new)
        raise ConfigError(f"cannot write the config file {path}: {error.strerror}") from error


WIDEST = 40  # columns of a value; longer values push the next column to the right


def config_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [set KEY VALUE | unset KEY]"
    parser.add_argument(
        "action",
        nargs="?",
        choices=("set", "unset"),
        metavar="set | unset",
        help="change the config file",
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="a setting, as listed by `config`")
    parser.add_argument(
        "value",
        nargs="?",
        metavar="VALUE",
        help="the new value; null for none, if the setting is optional",
    )
    add_json(parser)
    examples(parser, "config", "config set model bge-m3")


def run_config(args: Namespace) -> int:
    has_key = args.key is not None
    has_value = args.value is not None
    if has_key != bool(args.action) or has_value != (args.action == "set"):
        raise UsageError("usage: `config`, `config set KEY VALUE` or `config unset KEY`")
    path = os.path.abspath(os.path.expanduser(paths.config_file(args.config)))
    if args.action:
        change_made = _change_file(args, path)
        print_answer(args, change_made, lambda stream: _show_change(change_made, stream))
        return 0
    settings = arguments.settings(args)
    if not settings.chosen & {"keyword_weight", "vector_weight"}:
        settings["keyword_weight"], settings["vector_weight"] = WEIGHTS  # the effective ones
    values = {
        key: {"value": _public(key, value), "from": arguments.origin(settings, key)}
        for key, value in settings.items()
    }
    answer = {"file": path, "exists": os.path.exists(path), "settings": values}
    print_answer(args, answer, lambda stream: _show(answer, stream))
    return 0


def _change_file(args: Namespace, path: str) -> dict[str, Any]:
    """Change the file, and warn about an environment variable that overrides it. Raises UsageError
    for an invalid key or value.
    """
    key, value = args.key, []
    if args.action == "set":
        if key not in config.DEFAULTS:
            known = suggestion(key, config.DEFAULTS) or f"; known: {', '.join(config.DEFAULTS)}"
            raise UsageError(f"there is no setting {key!r}{known}")
        value = [_value(key, args.value)]
    before = change(path, key, *value)
    if not value and not before:
        tell(f"{path} does not set {key}; nothing was changed")
    variable = f"HYBRID_MEMORY_{key.upper()}"
    if os.environ.get(variable):
        text = _public(key, os.environ[variable])
        tell(f"the environment variable {variable}={text!r} overrides the file")
    answer = {"file": path, "key": key}
    if value:
        answer["value"] = _public(key, value[0])
    if before:
        answer["before"] = _public(key, before["before"])
    return answer


def _public(key: str, value: Any) -> Any:
    """Return a value for display: a database address without its password."""
    return display_name(value) if key == "db_path" and isinstance(value, str) else value


def _value(key: str, text: str) -> Any:
    if text == "null" and config.KEYS[key].optional:
        return None
    try:
        if key == "db_path" and not text.startswith("~"):
            return absolute(text)  # the file would resolve it relative to itself
        return config.from_text(key, text, key)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def _show_change(answer: dict[str, Any], stream: TextIO) -> None:
    """Print the change as a sentence. Print nothing if nothing was changed: a warning says so."""
    place = f"in {answer['file']}"
    before = json_text(answer["before"]) if "before" in answer else None
    if "value" in answer:
        was = f" (it was {before})" if before else ""
        line = f"{answer['key']} is now {json_text(answer['value'])}{was}, {place}."
    elif before:
        line = f"{answer['key']} is no longer set (it was {before}), {place}."
    else:
        return
    print(harmless(line), file=stream)


def _show(answer: dict[str, Any], stream: TextIO) -> None:
    """Print a line for each setting with its value and origin."""
    style = Style(stream)
    note = "" if answer["exists"] else " (does not exist)"
    print(f"{style.bold}{harmless(answer['file'])}{style.off}{note}\n", file=stream)
    settings = answer["settings"]
    values = {key: harmless(json_text(setting["value"])) for key, setting in settings.items()}
    first = max(map(len, values))
    second = max(len(value) for value in values.values() if len(value) <= WIDEST)
    for key, value in values.items():
        origin = settings[key]["from"]
        label = "config file" if origin == answer["file"] else harmless(origin)
        dim, off = (style.dim, style.off) if origin == "default" else ("", "")
        print(f"{dim}{key:<{first}}  {value:<{second}}  {label}{off}", file=stream)
