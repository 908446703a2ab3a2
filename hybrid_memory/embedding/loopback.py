"""Plain HTTP to a server on this machine without `requests`, and what all clients share: the replies,
their limits, and the errors while waiting for one.

Such a server needs no proxy, TLS or cookies, and importing `requests` takes longer than three whole
searches.
"""

import select
from base64 import b64encode
from http.client import HTTPConnection, HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

# Bytes of an error's body to read: HTML pages are shorter, and the reason is at the beginning
ERROR_BYTES = 100_000
REPLY_TIMEOUT = 60.0  # seconds from the first byte of a reply to its end
DAY = 86400.0  # seconds


class Response(NamedTuple):
    """A reply of any status."""

    status_code: int
    headers: dict[str, str]  # names in lower case
    content: bytes


class ConnectTimeout(OSError):
    """The connection was not accepted in time."""


class TooLong(OSError):
    """The body of a reply is longer than the caller allows."""


class LoopbackSession:
    """A connection to one server, kept open between requests."""

    def __init__(self, url: str, host: str, port: int, headers: dict[str, str]) -> None:
        """`url` is the beginning of every request's URL; its user name and password, if any, become
        Basic authentication (RFC 7617).
        """
        self._host, self._port = host, port
        self._idle: HTTPConnection | None = None  # between requests
        self._origin = "/".join(url.split("/", 3)[:3])
        name_and_password, at, _ = self._origin.rpartition("://")[2].rpartition("@")
        basic = {}
        if at:
            basic = {
                "Authorization": "Basic " + b64encode(unquote_to_bytes(name_and_password)).decode()
            }
        self._headers = basic | headers

    def request(
        self,
        method: str,
        url: str,
        *,
        data: bytes | None,
        headers: dict[str, str],
        timeout: tuple[float, float],
        most: int,
    ) -> Response:
        """Send a request. The body of the reply may have `most` bytes; the body of an error is cut
        to ERROR_BYTES. Redirects are not followed.

        `timeout` has two values in seconds: one for connecting; one for each read, and for the
        whole reply.

        Raises ConnectTimeout, TimeoutError for a silent or slow server, TooLong for a long body, or
        another OSError.
        """
        connection, self._idle = self._idle or HTTPConnection(self._host, self._port), None
        connection.response_class = _Reply
        if connection.sock and select.select([connection.sock], [], [], 0)[0]:
            connection.close()  # closed by the server after the last reply
        try:
            if not connection.sock:
                _connect(connection, timeout[0])
            connection.sock.settimeout(timeout[1])
            connection.request(
                method, url.removeprefix(self._origin) or "/", data, self._headers | headers
            )
            with connection.getresponse() as response:
                most = limit(response.status, most)
                body = response.read(most + 1)
                if response.length or len(body) > most:
                    connection.close()  # otherwise the next reply would begin with the rest
                body = checked(response.status, body, response.length, most)
        except HTTPException as error:
            connection.close()
            raise error if isinstance(error, OSError) else ConnectionError(str(error)) from error
        except BaseException:
            connection.close()
            raise
        other, self._idle = self._idle, connection
        if other:  # a request of another thread has ended meanwhile
            other.close()
        return Response(
            response.status, {name.lower(): value for name, value in response.headers.items()}, body
        )

    def close(self) -> None:
        """Close the idle connection. One on which another thread waits for a reply is closed with the
        session.
        """
        idle, self._idle = self._idle, None
        if idle:
            idle.close()

    def __del__(self) -> None:
        self.close()


def limit(status: int, most: int) -> int:
    """The maximum size in bytes of the body of a reply with this status."""
    return most if status == 200 else min(most, ERROR_BYTES)


def checked(status: int, body: bytes, missing: int | None, most: int) -> bytes:
    """Check a body read up to `most` + 1 bytes. `missing` is the number of bytes of its
    Content-Length that were not read.

    The body of an error is cut. Raises TooLong for another body of more than `most` bytes,
    ConnectionError for an incomplete one.
    """
    if len(body) <= most and missing:
        raise ConnectionError("the connection was closed before the end of the reply")
    if len(body) > most and status == 200:
        raise TooLong
    return body[:most]


class _Reply(HTTPResponse):
    """A reply that must be complete within the time-out of its socket.

    The socket's own time-out starts again with every byte, so a server that sends a byte now and
    then, or `100 Continue` again and again, would block a thread forever. Once the reply has begun,
    it must be complete within REPLY_TIMEOUT: a server sends nothing while it loads a model or
    computes.
    """

    def __init__(self, sock: socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = BufferedReader(_Deadline(self.fp, sock.gettimeout() or DAY))


class _Deadline(RawIOBase):
    def __init__(self, file: BufferedReader, seconds: float) -> None:
        self._file, self._until = file, monotonic() + seconds
        self._has_begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if monotonic() > self._until:
            raise TimeoutError("the reply takes too long")
        count = self._file.readinto1(buffer)
        if not self._has_begun:
            self._has_begun = True
            self._until = min(self._until, monotonic() + REPLY_TIMEOUT)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _connect(connection: HTTPConnection, seconds: float) -> None:
    connection.timeout = seconds
    try:
        connection.connect()
    except TimeoutError as error:
        raise ConnectTimeout from error
