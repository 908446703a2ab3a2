"""Which database a command uses, why this one, and which others there are. For `stats`, and where the database is missing."""

import os
from argparse import Namespace
from shlex import quote
from typing import Any

from .. import config
from ..environment import checkouts
from .from_arguments import origin, settings


def place(args: Namespace, path: str) -> dict[str, Any]:
    """`db_path_from`: "--db", "HYBRID_MEMORY_DB_PATH", the path of a config file, or "default"; and `other_stores`, paths."""
    others = [other for other in config.known_databases(checkouts()) if other != os.path.realpath(path)]
    return {"db_path_from": origin(settings(args), "db_path"), "other_stores": others}


def told(args: Namespace, path: str) -> str:
    """`place` as the rest of a message that says that there is nothing at this path."""
    found = place(args, path)
    origin = "this path is the default" if found["db_path_from"] == "default" else f"this path is from {found['db_path_from']}"
    others = ", ".join(f"`--db {quote(other)}`" for other in found["other_stores"])
    return f"{origin}; there is another: {others}" if others else origin
