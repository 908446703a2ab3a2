"""Plain HTTP to a server on this machine, without `requests`.

Such a server needs no proxy, no TLS and no cookies, and importing `requests` takes longer than a whole search.
"""

import select
from base64 import b64encode
from http.client import HTTPConnection, HTTPException, HTTPMessage
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes


class Response(NamedTuple):
    status_code: int
    headers: HTTPMessage
    content: bytes


class Session:
    """The part of `requests.Session` that transport.py uses, for one server. The connection is kept between requests."""

    def __init__(self, url: str, host: str, port: int, headers: dict[str, str]) -> None:
        """`url` is what every request's URL begins with; a name and password in it become Basic authentication (RFC 7617)."""
        self._host, self._port = host, port
        self._idle: HTTPConnection | None = None  # between requests
        self._closed = False
        self._origin = "/".join(url.split("/", 3)[:3])
        name_and_password, at, _ = self._origin.rpartition("://")[2].rpartition("@")
        basic = {"Authorization": "Basic " + b64encode(unquote_to_bytes(name_and_password)).decode()} if at else {}
        self._headers = basic | headers

    def request(
        self,
        method: str,
        url: str,
        *,
        data: bytes | None,
        headers: dict[str, str],
        timeout: tuple[float, float],
        allow_redirects: Literal[False],
    ) -> Response:
        """`timeout` is that of connecting and of each read, in seconds. Redirects are not followed.

        Raises ConnectTimeout, TimeoutError for a silent server, or another OSError.
        """
        connection, self._idle = self._idle or HTTPConnection(self._host, self._port), None
        if connection.sock and select.select([connection.sock], [], [], 0)[0]:
            connection.close()  # the server has hung up since the last reply
        try:
            if not connection.sock:
                _connect(connection, timeout[0])
            connection.sock.settimeout(timeout[1])
            connection.request(method, url.removeprefix(self._origin) or "/", data, self._headers | headers)
            response = connection.getresponse()
            answer = Response(response.status, response.headers, response.read())
        except HTTPException as error:
            connection.close()
            raise error if isinstance(error, OSError) else ConnectionError(str(error)) from error
        except BaseException:
            connection.close()
            raise
        self._idle = connection
        if self._closed:
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection; if another thread waits for a reply on it, as soon as the reply is there."""
        self._closed = True
        idle, self._idle = self._idle, None
        if idle:
            idle.close()

    def __del__(self) -> None:
        self.close()


def _connect(connection: HTTPConnection, seconds: float) -> None:
    connection.timeout = seconds
    try:
        connection.connect()
    except TimeoutError as error:
        raise ConnectTimeout from error


class ConnectTimeout(OSError):
    """The connection was not accepted in time."""
