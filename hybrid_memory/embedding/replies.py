"""Replies of an HTTP server, and the errors while waiting for one."""

from typing import NamedTuple


class Response(NamedTuple):
    """A reply of any status."""

    status_code: int
    headers: dict[str, str]  # names in lower case
    content: bytes


class ConnectTimeout(OSError):
    """The connection was not accepted in time."""


class TooLong(OSError):
    """The body of a reply is longer than the caller allows."""
