"""Where the config file and the database are: in the checkout, or in the user's XDG folders."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

DISTRIBUTION = "hybrid-memory-search"
# The folder around this package
CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATABASE = "data/hybrid_search.db"  # in a checkout
PREFIX = "HYBRID_MEMORY_"  # of a variable, before a config key in capitals
CONFIG = f"{PREFIX}CONFIG"


def in_checkout() -> bool:
    """Whether this package runs from a checkout, not from an installation."""
    return os.path.exists(os.path.join(CHECKOUT, "pyproject.toml"))


def config_file(path: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """The config file in use: `path`, or HYBRID_MEMORY_CONFIG, or the checkout's, or the user's.

    It may not exist. The working directory is not searched, because it may be untrusted.
    """
    if in_checkout():
        standard = os.path.join(CHECKOUT, "config.json")
    else:
        standard = user_config_file(environ)
    return path or environ.get(CONFIG) or standard


def standard_database(environ: Mapping[str, str] = os.environ) -> str:
    """The default database: in the checkout, or in the user's data folder."""
    if in_checkout():
        return os.path.join(CHECKOUT, DATABASE)
    return user_database(environ)


def user_config_file(environ: Mapping[str, str]) -> str:
    return os.path.join(_xdg(environ, "XDG_CONFIG_HOME", ".config"), "hybrid-memory", "config.json")


def user_database(environ: Mapping[str, str]) -> str:
    return os.path.join(
        _xdg(environ, "XDG_DATA_HOME", ".local/share"), "hybrid-memory", "hybrid_search.db"
    )


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> str:
    """A base folder by the XDG Base Directory Specification 0.8.

    `fallback`, below the home folder, is used if the variable is unset or relative.
    """
    folder = environ.get(variable, "")
    if os.path.isabs(folder):
        return folder
    return os.path.join(os.path.expanduser("~"), fallback)


def has_working_directory() -> bool:
    """Whether the working directory, to which arguments are relative, still exists."""
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def checkouts() -> list[str]:
    """The checkouts that exist: the one this code runs from, and the one it was installed from."""
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    folders = [CHECKOUT]
    try:
        # PEP 610
        noted = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
        folders.append(unquote(urlsplit(noted.get("url", "")).path))
    except (PackageNotFoundError, ValueError, AttributeError):
        pass  # imported from a folder, or installed by a tool that does not record the origin
    return [
        folder
        for folder in dict.fromkeys(folders)
        if os.path.isfile(os.path.join(folder, "pyproject.toml"))
    ]


def is_in(path: str, top: str) -> bool:
    """Whether a path is `top` or below it."""
    return path == top or path.startswith(os.path.join(top, ""))


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Wait for other edits in this folder. The lock is on the folder, because the file itself is
    replaced; file systems without locks do without.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
