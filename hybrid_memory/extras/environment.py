"""The environment of the process: optional Python packages and how to install them, the command
that starts this program, and the user's editor.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from shlex import join, quote, split
from shutil import which
from typing import Any
from urllib.parse import unquote

from ..addresses import connection_words, is_connection_string, is_server, public_name
from ..documents.formats import format_of
from ..errors import ConfigError, HybridMemoryError, SourceError, UsageError
from ..paths import CHECKOUT, in_checkout
from ..text.characters import plural

EXTRAS = {  # the requirements of each, as in pyproject.toml
    "completion": "argcomplete>=3.5",
    "documents": "pypdfium2>=5",
    "local": "fastembed>=0.4",
    "postgres": "psycopg[binary]>=3.2",
    "serve": "starlette>=0.40 uvicorn>=0.30",
    "watch": "watchfiles>=0.21",
}
STANDARD = ("completion", "documents", "serve", "watch")  # the extra `standard`; `all` has all

PASSWORDS = ("password", "sslpassword")  # connection parameters


def missing_package(user: str, extra: str) -> str:
    """The message that `user`, a command or setting, needs the package of an extra; one line."""
    requirements = EXTRAS[extra].split()
    names = " and ".join(requirement.partition(">")[0] for requirement in requirements)
    command = join(install_command(extra, requirements))
    problem = f"{user} needs the Python package {names}, which this environment does not have"
    return f"{problem}; add it with `{command}`"


def has(extra: str) -> bool:
    """Whether the packages of this extra are installed. Imports nothing."""
    names = [re.split(r"[\[>]", requirement)[0] for requirement in EXTRAS[extra].split()]
    return all(map(find_spec, names))


@contextmanager
def needing(extra: str, user: str | None = None) -> Iterator[None]:
    """A context for imports of an optional package: raises ConfigError if the package is missing.

    `user` is what needs it; by default the command named like the extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(missing_package(user or f"`hybrid-memory {extra}`", extra)) from error


def install_command(extra: str, requirements: Sequence[str]) -> list[str]:
    """Return the command that installs the packages of an extra into this environment.

    Where uv keeps a list of what it installed, as a tool or for a checkout, the command extends the
    list; otherwise uv would remove the package at its next change.
    """
    project_environment = os.environ.get("UV_PROJECT_ENVIRONMENT") or ".venv"
    if in_checkout() and os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        is_standard = extra in STANDARD and not any(has(name) for name in EXTRAS.keys() - STANDARD)
        group = "standard" if is_standard else "all"
        return ["uv", "tool", "install", "--editable", f"{CHECKOUT}[{group}]"]
    if find_spec("pip"):  # uv makes environments without it
        return [sys.executable, "-m", "pip", "install", *requirements]
    if os.path.realpath(sys.prefix) == os.path.realpath(
        os.path.join(CHECKOUT, project_environment)
    ):
        # Without --inexact, uv would remove the packages of other extras
        return ["uv", "sync", "--inexact", "--extra", extra, "--project", CHECKOUT]
    return ["uv", "pip", "install", "--python", sys.prefix, *requirements]


def program(*, for_cron: bool = False) -> list[str]:
    """Return the command that starts this program from any folder: its name if the shell finds it
    on the PATH, else an absolute path. With `for_cron`, always the path.
    """
    script = os.path.abspath(sys.argv[0])
    name = os.path.basename(script)
    if name != "hybrid-memory" or not os.access(script, os.X_OK):
        return [sys.executable, "-m", "hybrid_memory"]
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if "UV_RUN_RECURSION_DEPTH" in os.environ:
        folders = folders[1:]  # `uv run` prepends its environment for this process only
    by_name = which(name, path=os.pathsep.join(folders))
    if for_cron or by_name is None or os.path.realpath(by_name) != os.path.realpath(script):
        return [script]
    return [name]


def without_password(database: str) -> str:
    """Return a database address without its passwords (libpq can find these elsewhere)."""
    if not is_server(database):
        return database
    if is_connection_string(database):
        words = [
            f"{key}={value}" for key, value in connection_words(database) if key not in PASSWORDS
        ]
        return " ".join(words)

    place, _, query = database.partition("?")
    parameters = [
        parameter
        for parameter in query.split("&")
        if parameter and unquote(parameter.partition("=")[0]) not in PASSWORDS
    ]
    return "?".join([public_name(place), *(["&".join(parameters)] if parameters else [])])


PLUS = ("+{line}", "{path}")
COLON = ("{path}:{line}",)
GOTO = ("--goto", "{path}:{line}")
EDITORS = {  # how each is given a line. Other editors get only the file
    **dict.fromkeys("vi vim nvim gvim nano emacs emacsclient micro kak".split(), PLUS),
    **dict.fromkeys(("subl", "hx", "helix", "zed"), COLON),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor"), GOTO),
}


def open_result(results: Sequence[Mapping[str, Any]], number: int) -> None:
    """Open the file of result `number` (counted from 1) at its first line, and wait until the
    editor exits.

    Raises UsageError if there is no such result, SourceError for a stored text or a file that is
    not plain text, HybridMemoryError if no editor is set or the editor fails.
    """
    if number > len(results):
        raise UsageError(f"--open {number}: the search has {plural(len(results), 'result')}")
    result = results[number - 1]
    if result["path"] is None:
        raise SourceError(
            f"{result['citation']} was stored without a file; read it with `hybrid-memory get`"
        )
    if not format_of(result["path"]).is_text:
        way_out = f"read it with `hybrid-memory get {quote(result['citation'])}`"
        raise SourceError(f"{result['path']} is not a text file; {way_out}")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise HybridMemoryError(
            "--open needs an editor; set VISUAL or EDITOR, for example `export EDITOR=nano`"
        )
    arguments = command(editor, result["path"], result["start_line"])
    try:
        status = subprocess.run(arguments, check=False).returncode
    except OSError as error:
        raise HybridMemoryError(
            f"cannot start the editor {arguments[0]!r}: {error.strerror}; check VISUAL and EDITOR"
        ) from error
    if status:
        raise HybridMemoryError(f"the editor {arguments[0]!r} failed with exit status {status}")


def command(editor: str, path: str, line: int) -> list[str]:
    """Return the command that opens a file in an editor, at the line if the editor is known.

    'code -w', '/a.md', 3 -> code -w --goto /a.md:3
    """
    try:
        words = split(editor)
    except ValueError:
        words = []
    if not words:
        raise HybridMemoryError(f"VISUAL or EDITOR is not a command: {editor!r}")
    name = os.path.basename(words[0]).removesuffix(".exe")
    arguments = EDITORS.get(name, ("{path}",))
    return [*words, *(argument.format(line=line, path=path) for argument in arguments)]
