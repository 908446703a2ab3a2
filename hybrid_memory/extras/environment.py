"""The environment of the process: optional Python packages and how to install them, and the command
that starts this program.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from shlex import join
from shutil import which

from ..errors import ConfigError
from ..paths import CHECKOUT, in_checkout

EXTRAS = {  # the requirements of each, as in pyproject.toml
    "completion": "argcomplete>=3.5",
    "documents": "pypdfium2>=5",
    "local": "fastembed>=0.4",
    "postgres": "psycopg[binary]>=3.2",
    "serve": "starlette>=0.40 uvicorn>=0.30",
    "watch": "watchfiles>=0.21",
}
STANDARD = ("completion", "documents", "serve", "watch")  # the extra `standard`; `all` has all


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
    if in_checkout() and os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        is_standard = extra in STANDARD and not any(has(name) for name in EXTRAS.keys() - STANDARD)
        group = "standard" if is_standard else "all"
        return ["uv", "tool", "install", "--editable", f"{CHECKOUT}[{group}]"]
    if find_spec("pip"):  # uv makes environments without it
        return [sys.executable, "-m", "pip", "install", *requirements]
    if os.path.realpath(sys.prefix) == os.path.realpath(os.path.join(CHECKOUT, ".venv")):
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
