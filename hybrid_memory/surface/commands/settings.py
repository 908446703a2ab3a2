"""The command `config`."""

import os
from argparse import Namespace
from typing import Any, TextIO

from ... import config
from ...config_file import absolute, shown
from ...errors import ConfigError, UsageError
from .. import from_arguments
from ..arguments import Parser, examples, meant
from ..printable import harmless, json_text
from ..streams import tell
from .answers import print_answer

WIDEST = 40  # columns of a value; what is longer moves what is behind it


def config_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [set KEY VALUE | unset KEY]"
    parser.add_argument("action", nargs="?", choices=("set", "unset"), metavar="set | unset", help="change the config file")
    parser.add_argument("key", nargs="?", metavar="KEY", help="a setting, as the command lists them")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="its new value; null: none, where that is possible")
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, "config", "config set model bge-m3")


def run_config(args: Namespace) -> int:
    if (args.key is None) != (args.action is None) or (args.value is None) != (args.action != "set"):
        raise UsageError("write `config`, `config set KEY VALUE` or `config unset KEY`")
    path = os.path.abspath(os.path.expanduser(config.in_force(args.config)))
    if args.action:
        print_answer(args, _changed(args, path))
        return 0
    settings = from_arguments.settings(args)
    answer = {
        "file": path,
        "exists": os.path.exists(path),
        "settings": {
            key: {"value": shown(value) if key == "db_path" else value, "from": from_arguments.origin(settings, key)}
            for key, value in settings.items()
        },
    }
    print_answer(args, answer, lambda stream: _show(answer, stream))
    return 0


def _changed(args: Namespace, path: str) -> dict[str, Any]:
    """Write the file, and tell of what hides the new value. Raises UsageError for a wrong key or value."""
    from ..settings_file import change

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
        tell(f"the variable {variable} is {os.environ[variable]!r}, which wins over the file")
    return {"file": path, "key": key, **({"value": value[0]} if value else {}), **before}


def _value(key: str, text: str) -> Any:
    if text == "null" and key in config.OPTIONAL:
        return None
    try:
        value = config.from_text(key, text, key)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    if key == "db_path" and not text.startswith("~"):
        return absolute(text)  # in a file it would be relative to the file
    return value


def _show(answer: dict[str, Any], stream: TextIO) -> None:
    """A line for each setting, and where it came from."""
    from ..terminal import Style

    style = Style(stream)
    print(f"{style.bold}{harmless(answer['file'])}{style.off}{'' if answer['exists'] else ' (does not exist)'}\n", file=stream)
    values = {key: harmless(json_text(found["value"])) for key, found in answer["settings"].items()}
    first, second = max(map(len, values)), max(len(value) for value in values.values() if len(value) <= WIDEST)
    for key, value in values.items():
        origin = answer["settings"][key]["from"]
        shown = "config file" if origin == answer["file"] else harmless(origin)
        dim, off = (style.dim, style.off) if origin == "default" else ("", "")
        print(f"{dim}{key:<{first}}  {value:<{second}}  {shown}{off}", file=stream)
