"""The command `config`: print the settings, or change one key of the config file."""

import os
import re
from argparse import Namespace
from collections.abc import Mapping
from typing import Any, TextIO

from .. import config, paths
from ..addresses import absolute, display_name, without_login_password, without_password
from ..errors import ConfigError, UsageError, suggestion
from ..surface import opening
from ..surface.arguments import Parser, add_json, examples
from ..surface.streams import json_text, print_advice, print_answer, single_line
from ..surface.terminal import Style
from .edits import edit_json
from .json_text import values_of, with_value, without_value

URL_PASSWORD = re.compile(r"://[^/\s@]*:[^/\s@]+@")


def change(path: str, key: str, *value: Any) -> dict[str, Any]:
    """Set a key to the value, or remove the key if no value is given. Return the old value as
    `before` if the key was set.

    Nothing is written if the result would be invalid, except that a key can be removed from a file
    that is already invalid. A missing file is created. Raises UsageError for an invalid value,
    ConfigError if the rest of the file is invalid, HybridMemoryError if the file cannot be read or
    written.
    """
    before: dict[str, Any] = {}

    def changed(text: str, values: dict[str, Any]) -> str:
        before.update({"before": values[key]} if key in values else {})
        others = {other: kept for other, kept in values.items() if other != key}
        if value:
            config.merge_layers((path, others), (config.COMMAND_LINE, {key: value[0]}))
            return with_value(text, (key,), value[0])
        if _can_be_loaded(path, values):
            config.merge_layers((path, others))
        return without_value(text, (key,))

    edit_json(path, changed, is_private=_has_password)
    return before


def _can_be_loaded(path: str, values: Mapping[str, Any]) -> bool:
    try:
        config.merge_layers((path, values))
    except ConfigError:
        return False
    return True


def _has_password(text: str) -> bool:
    """Whether a config file has an address with a password."""
    database = str(values_of(text).get("db_path", ""))
    return bool(URL_PASSWORD.search(text)) or without_password(database) != database


ACTIONS = {"get": 2, "set": 3, "unset": 2}  # words, the action included
WIDEST = 40  # columns of a value; longer values push the next column to the right


def config_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [[get] KEY | set KEY VALUE | unset KEY]"
    parser.add_argument(
        "action",
        nargs="?",
        metavar="get | set | unset",
        help="print one setting, or change the config file (default: print every setting)",
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="a setting, as listed by `config`")
    parser.add_argument(
        "value",
        nargs="?",
        metavar="VALUE",
        help="the new value; null for none, if the setting is optional",
    )
    add_json(parser)
    examples(parser, "config limit", "config set model bge-m3")


def run_config(args: Namespace) -> int:
    action, key, value = _action(args)
    path = os.path.abspath(os.path.expanduser(paths.config_file(args.config)))
    if action in ("set", "unset"):
        change_made = _change_file(args, action, path, key, value)
        print_answer(args, change_made, lambda stream: _show_change(change_made, stream))
        return 0
    settings = opening.settings(args)
    values = {
        name: {"value": _public(name, setting), "from": opening.origin(settings, name)}
        for name, setting in settings.items()
    }
    if action == "get":
        _require_setting(key)
        one = values[key]
        text = json_text(one["value"]) if type(one["value"]) is not str else one["value"]
        print_answer(args, {"key": key} | one, lambda stream: print(single_line(text), file=stream))
        return 0
    answer = {"file": path, "exists": os.path.exists(path), "settings": values}
    print_answer(args, answer, lambda stream: _show(answer, stream))
    return 0


def _action(args: Namespace) -> tuple[str | None, str, str]:
    """The action, key and value of a command; no action for every setting. Raises UsageError."""
    words = [word for word in (args.action, args.key, args.value) if word is not None]
    if not words:
        return None, "", ""
    if len(words) == 1 and words[0] not in ACTIONS:
        words = ["get", *words]
    if len(words) != ACTIONS.get(words[0]):
        raise UsageError(
            "usage: `config`, `config KEY`, `config set KEY VALUE` or `config unset KEY`"
        )
    action, key, *value = words
    return action, key, "".join(value)


def _require_setting(key: str) -> None:
    if key not in config.DEFAULTS:
        known = suggestion(key, config.DEFAULTS) or f"; known: {', '.join(config.DEFAULTS)}"
        raise UsageError(f"there is no setting {key!r}{known}")


def _change_file(args: Namespace, action: str, path: str, key: str, text: str) -> dict[str, Any]:
    """Set a key of the file, or remove it if there is no text, and warn about an environment variable
    that overrides the file. Raises UsageError for an invalid key or value.
    """
    value = []
    if action == "set":
        _require_setting(key)
        value = [_value(key, text)]
    before = change(path, key, *value)
    if not value and not before:
        print_advice(args, f"{path} does not set {key}; nothing was changed")
    variable = f"HYBRID_MEMORY_{key.upper()}"
    if os.environ.get(variable):
        text = _public(key, os.environ[variable])
        print_advice(args, f"the environment variable {variable}={text!r} overrides the file")
    answer = {"file": path, "key": key}
    if value:
        answer["value"] = _public(key, value[0])
    if before:
        answer["before"] = _public(key, before["before"])
    return answer


def _public(key: str, value: Any) -> Any:
    """Return a value for display: an address of a database or a server without its password."""
    if not isinstance(value, str):
        return value
    if key == "db_path":
        return display_name(value)
    return without_login_password(value)


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
    print(single_line(line), file=stream)


def _show(answer: dict[str, Any], stream: TextIO) -> None:
    """Print a line for each setting with its value and origin."""
    style = Style(stream)
    note = "" if answer["exists"] else " (does not exist)"
    print(f"{style.bold}{single_line(answer['file'])}{style.off}{note}\n", file=stream)
    settings = answer["settings"]
    values = {key: single_line(json_text(setting["value"])) for key, setting in settings.items()}
    first = max(map(len, values))
    second = max(len(value) for value in values.values() if len(value) <= WIDEST)
    for key, value in values.items():
        origin = settings[key]["from"]
        label = "config file" if origin == answer["file"] else single_line(origin)
        dim, off = (style.dim, style.off) if origin == "default" else ("", "")
        print(f"{dim}{key:<{first}}  {value:<{second}}  {label}{off}", file=stream)
