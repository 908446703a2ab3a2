"""The errors that a user can do something about.

    HybridMemoryError      one line with the problem and the way out
    ├── ConfigError        a config file or an environment variable
    │   └── UsageError     an option of the command line
    ├── StoreError         the database: not ours, locked, full, too new
    │   ├── MissingStoreError    there is no database yet, or it is empty
    │   ├── NoWorkspaceError     a folder without a memory of its own
    │   └── ConnectionLostError  the server of the database has gone away
    ├── SourceError        a file or folder that cannot be read
    ├── QueryError         a query that cannot be answered
    │   └── NotFoundError  a document that is not in the store
    └── EmbedderError      the embedding server or model

A wrong call by a programmer raises ValueError. Every other exception is a bug, and its traceback is
shown.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple


def suggestion(written: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?` if one of the names is similar to the written one, else ""."""
    close = get_close_matches(written, list(names), 1, cutoff=0.75)
    return f"; did you mean {close[0]}?" if close else ""


class WayOut(NamedTuple):
    """A way out of a problem, as data; each surface words it for its users.

    As a text it is the wording of the command line: "`hybrid-memory list` names all documents".
    """

    name: str  # "ingest", "list", "update", "reindex", "forget" or "read again"
    command: str  # arguments of the program; "" if the effect needs no command
    effect: str  # of the command

    def __str__(self) -> str:
        if self.command:
            return f"`hybrid-memory {self.command}` {self.effect}"
        return self.effect


class Message(str):
    """A line for the user of the command line, which also has its way out as data."""

    problem: str  # with the joint before the way out
    way_out: WayOut | None

    def __new__(cls, problem: str, way_out: WayOut | None = None, joint: str = "; ") -> "Message":
        """Join the problem and the way out with `joint`."""
        message = super().__new__(cls, f"{problem}{joint}{way_out}" if way_out else problem)
        message.problem = f"{problem}{joint}"
        message.way_out = way_out
        return message


class HybridMemoryError(Exception):
    """The base class of all errors that the user gets as one line, without a traceback."""

    def __init__(self, problem: str = "", way_out: WayOut | None = None) -> None:
        is_whole = isinstance(problem, Message)  # an error from another process
        super().__init__(problem if is_whole else Message(problem, way_out))

    @property
    def message(self) -> Message:
        """The line, with its way out as data."""
        message: Message = self.args[0]
        return message


class ConfigError(HybridMemoryError):
    pass


class UsageError(ConfigError):
    pass


class StoreError(HybridMemoryError):
    pass


class MissingStoreError(StoreError):
    pass


class NoWorkspaceError(StoreError):
    pass


class ConnectionLostError(StoreError):
    pass


class BusyStoreError(StoreError):
    """Another process is writing to the store."""


class SourceError(HybridMemoryError):
    pass


class QueryError(HybridMemoryError):
    pass


class NotFoundError(QueryError):
    pass


class EmbedderError(HybridMemoryError):
    pass
