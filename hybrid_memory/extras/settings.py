"""The command `config`: shows the settings, and changes one key of the config file. All other keys
stay as they are, and the file is whole at any moment.
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
from ..addresses import absolute, shown
from ..errors import ConfigError, UsageError, meant
from ..search.pipeline import WEIGHTS
from ..surface import arguments
from ..surface.arguments import Parser, add_json, examples
from ..surface.streams import harmless, json_text, print_answer, tell
from ..surface.terminal import Style


def change(path: str, key: str, *value: Any) -> dict[str, Any]:
    """Give a key the value, or take the key out if there is none. Return `before`, the old value, if
    the key was there.

    Nothing is written if the file could not be loaded then; but a key can be taken out of a file
    that is wrong already. A file that does not exist is made. Raises UsageError for a wrong value,
    ConfigError if the file is wrong otherwise, or if it cannot be read or written.
    """
    path = os.path.realpath(path)  # a link stays a link
    is_right = True
    text = ""
    if os.path.exists(path):
        is_right = _can_be_loaded(path, config.read(path))
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    # As it is written: `read` makes the path of the database absolute
    values: dict[str, Any] = json.loads(text or "{}")
    before = {"before": values[key]} if key in values else {}
    if value:
        others = {other: of for other, of in values.items() if other != key}
        config.merged((path, others), (config.COMMAND_LINE, {key: value[0]}))
        values[key] = value[0]
    elif before:
        del values[key]
        if is_right:
            config.merged((path, values))
    else:
        return before
    changed = json.dumps(values, indent=_indent(text), ensure_ascii=False)
    if text[-1:] in ("", "\n"):
        changed += "\n"
    _write(path, changed)
    return before


def _can_be_loaded(path: str, values: Mapping[str, Any]) -> bool:
    try:
        config.merged((path, values))
    except ConfigError:
        return False
    return True


def _indent(text: str) -> str | int | None:
    """Return the indentation of the file. One without any line break stays on one line."""
    if not text.strip():
        return 2
    indented = re.search(r"\n([ \t]+)\S", text)
    if indented:
        return indented[1]
    return 2 if "\n" in text.strip() else None


def _write(path: str, text: str) -> None:
    """Write a file beside it that takes its place at once."""
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


WIDEST = 40  # columns of a value; what is longer moves what is behind it


def config_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [set KEY VALUE | unset KEY]"
    parser.add_argument(
        "action",
        nargs="?",
        choices=("set", "unset"),
        metavar="set | unset",
        help="change the config file",
    )
    parser.add_argument(
        "key", nargs="?", metavar="KEY", help="a setting, as the command lists them"
    )
    parser.add_argument(
        "value",
        nargs="?",
        metavar="VALUE",
        help="its new value; null: none, where that is possible",
    )
    add_json(parser)
    examples(parser, "config", "config set model bge-m3")


def run_config(args: Namespace) -> int:
    has_key = args.key is not None
    has_value = args.value is not None
    if has_key != bool(args.action) or has_value != (args.action == "set"):
        raise UsageError("write `config`, `config set KEY VALUE` or `config unset KEY`")
    path = os.path.abspath(os.path.expanduser(paths.config_file(args.config)))
    if args.action:
        change_made = _changed(args, path)
        print_answer(args, change_made, lambda stream: _show_change(change_made, stream))
        return 0
    settings = arguments.settings(args)
    if not settings.chosen & {"keyword_weight", "vector_weight"}:
        settings["keyword_weight"], settings["vector_weight"] = WEIGHTS  # those in force
    values = {
        key: {"value": _public(key, value), "from": arguments.origin(settings, key)}
        for key, value in settings.items()
    }
    answer = {"file": path, "exists": os.path.exists(path), "settings": values}
    print_answer(args, answer, lambda stream: _show(answer, stream))
    return 0


def _changed(args: Namespace, path: str) -> dict[str, Any]:
    """Write the file, and tell of what hides the new value. Raises UsageError for a wrong key or
    value.
    """

    key, value = args.key, []
    if args.action == "set":
        if key not in config.DEFAULTS:
            known = meant(key, config.DEFAULTS) or f"; known: {', '.join(config.DEFAULTS)}"
            raise UsageError(f"there is no setting {key!r}{known}")
        value = [_value(key, args.value)]
    before = change(path, key, *value)
    if not value and not before:
        tell(f"{key} is not in {path}; nothing was changed")
    variable = f"HYBRID_MEMORY_{key.upper()}"
    if os.environ.get(variable):
        text = _public(key, os.environ[variable])
        tell(f"the variable {variable} is {text!r}, which wins over the file")
    answer = {"file": path, "key": key}
    if value:
        answer["value"] = _public(key, value[0])
    if before:
        answer["before"] = _public(key, before["before"])
    return answer


def _public(key: str, value: Any) -> Any:
    """Return a value as it may be shown: an address of a database without its password."""
    return shown(value) if key == "db_path" and isinstance(value, str) else value


def _value(key: str, text: str) -> Any:
    if text == "null" and config.KEYS[key].optional:
        return None
    try:
        if key == "db_path" and not text.startswith("~"):
            return absolute(text)  # in a file it would be relative to the file
        return config.from_text(key, text, key)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def _show_change(answer: dict[str, Any], stream: TextIO) -> None:
    """Print what was changed, as a sentence; nothing if nothing was, which is told already."""
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
    """Print a line for each setting, and where it came from."""
    style = Style(stream)
    note = "" if answer["exists"] else " (does not exist)"
    print(f"{style.bold}{harmless(answer['file'])}{style.off}{note}\n", file=stream)
    settings = answer["settings"]
    values = {key: harmless(json_text(setting["value"])) for key, setting in settings.items()}
    first = max(map(len, values))
    second = max(len(value) for value in values.values() if len(value) <= WIDEST)
    for key, value in values.items():
        origin = settings[key]["from"]
        shown = "config file" if origin == answer["file"] else harmless(origin)
        dim, off = (style.dim, style.off) if origin == "default" else ("", "")
        print(f"{dim}{key:<{first}}  {value:<{second}}  {shown}{off}", file=stream)
