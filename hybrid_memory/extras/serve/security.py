"""What stands before every address: which host and which site a request is for and from, the token,
bounds, headers.

MERGED The secret that clients show: where it is kept, how it is compared, and the cookie that a
page gets for it.
"""

import asyncio
import hmac
import ipaddress
import os
import re
import secrets
import socket
import stat
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import ConfigError, UsageError
from . import responses as problems
from .responses import Problem

SHORTEST = 16  # characters
PLAIN = re.compile(
    r"[A-Za-z0-9._~+/=-]+"
)  # what a bearer header and the fragment of a URL can hold
COOKIE = "hybrid-memory"
LIFETIME = 30 * 24 * 3600  # seconds
REALM = {"www-authenticate": 'Bearer realm="hybrid-memory"'}


class Token:
    """A secret. Its cookie is another one that is computed from it, so that a browser does not hold
    the token itself.
    """

    def __init__(self, secret: str) -> None:
        """Raises UsageError for a secret that is too short or that a header cannot hold."""
        if len(secret) < SHORTEST or not PLAIN.fullmatch(secret):
            raise UsageError(
                f"a token has at least {SHORTEST} characters, of letters, digits and ._~+/=-"
            )
        self.secret = secret
        self.cookie = hmac.digest(secret.encode(), b"cookie", "sha256").hex()

    def is_shown(self, headers: Headers) -> bool:
        """Whether a request has the token in its Authorization header, or the cookie."""
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.fits(shown.strip()):
            return True
        return same(cookie_parser(headers.get("cookie", "")).get(COOKIE, ""), self.cookie)

    def fits(self, shown: str) -> bool:
        """Whether this is the token."""
        return same(shown, self.secret)


def same(a: str, b: str) -> bool:
    """Whether two texts are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(a.encode("utf-8", "backslashreplace"), b.encode())


def kept(path: str) -> Token:
    """The token in a file that only its owner can read, which is made if it is missing. Raises
    ConfigError.
    """
    try:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            return _read(path)
        with open(descriptor, "w") as file:
            token = Token(secrets.token_urlsafe(32))
            print(token.secret, file=file)
            return token
    except OSError as error:
        raise ConfigError(
            f"cannot keep a token in {path}: {error.strerror}; give one with --token"
        ) from error


def _read(path: str) -> Token:
    with open(
        os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK),
        encoding="ascii",
        errors="replace",
    ) as file:
        status = os.fstat(file.fileno())
        if (
            not stat.S_ISREG(status.st_mode)
            or status.st_mode & 0o077
            or status.st_uid != os.getuid()
        ):
            raise ConfigError(
                f"others may know the token in {path}; delete that file, and another one is made"
            )
        try:
            return Token(file.read(1000).strip())
        except UsageError as error:
            raise ConfigError(
                f"{path}: {error}; delete that file, and another one is made"
            ) from error


async def exchange(request: Request) -> Response:
    """POST /api/session: the token for a cookie."""
    from .routes import json_body

    token: Token | None = request.state.token
    shown = (await json_body(request)).get("token")
    response = Response(status_code=204, headers={"cache-control": "no-store"})
    if token:
        if not isinstance(shown, str) or not token.fits(shown):
            raise Problem(401, "this is not the token", headers=REALM)
        secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, token.cookie, max_age=LIFETIME, httponly=True, samesite="strict", secure=secure
        )
    return response


MOST_ADDRESS = 8192  # bytes of path and query
MOST_BODY = 4 * 1024 * 1024  # bytes
BODY_SECONDS = 20.0  # for the whole body
MOST_SKIPPED, SKIP_SECONDS = 65_536, 0.5  # bytes of a refused body that are read, and for how long

LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.IGNORECASE)
PROTECTED = ("/api", "/mcp")  # the page's own files are no secret
SESSION = "/api/session"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Hosts:
    """The names by which clients may call the server: with others, a page from elsewhere could have
    its own name lead here.

    A server that is not on loopback may also be called by any address, because an address always
    leads where it says.
    """

    def __init__(self, host: str, *, is_loopback: bool) -> None:
        own = [] if is_loopback else [socket.gethostname(), f"{socket.gethostname()}.local"]
        given = f"[{host}]" if ":" in host else host
        self._names = LOOPBACK | {name.lower() for name in (given, *own)}
        self._by_address = not is_loopback

    def __contains__(self, host: str) -> bool:
        match = HOST.fullmatch(host)
        name = match["name"].lower() if match else ""
        return name in self._names or (self._by_address and is_address(name.strip("[]")))


def is_address(name: str) -> bool:
    """Whether this is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def skip_body(receive: Receive) -> None:
    """Read what comes with the head of a refused request. Unread, it would make the system reset
    the connection, and the client might lose the answer.
    """
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(SKIP_SECONDS):
            while size < MOST_SKIPPED:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return


class Guard:
    """Lets a request through to the application, or answers itself. Puts its headers on every
    answer.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts, token: Token | None) -> None:
        self._app, self._hosts, self._token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI wants it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            try:
                self.check(scope)
            except Problem:
                await skip_body(receive)
                raise
            receive = await bounded(scope, receive)
        except Problem as problem:
            response = problems.response(problem, scope["path"])
            response.headers["connection"] = "close"  # the rest of the request is not read
            await response(scope, receive, send_with_headers)
        else:
            scope.setdefault("state", {})["token"] = self._token
            await self._app(scope, receive, send_with_headers)

    def check(self, scope: Scope) -> None:
        """Raises Problem."""
        headers, path = Headers(scope=scope), scope["path"]
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > MOST_ADDRESS:
            raise Problem(414, f"the address is longer than {MOST_ADDRESS:,} bytes")
        host = headers.get("host", "")
        if host not in self._hosts:
            raise Problem(421, f"this server is not {host!r}")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (
            f"{scheme}://{host.lower()}" for scheme in ("http", "https")
        ):
            raise Problem(403, "this request came from another site")
        if not path.startswith(PROTECTED):
            return
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Problem(403, "this request came from another site")
        if self._token and path != SESSION and not self._token.is_shown(headers):
            raise Problem(401, "the token is missing or wrong", headers=REALM)


async def bounded(scope: Scope, receive: Receive) -> Receive:
    """A `receive` that has read the whole body already. Raises Problem for one that is too large or
    too slow.
    """
    if scope["method"] in ("GET", "HEAD"):
        return receive
    size = int(
        Headers(scope=scope).get("content-length", "0")[:20]
    )  # as the client says; h11 lets only numbers through
    body, is_more = bytearray(), True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while is_more and max(size, len(body)) <= MOST_BODY:
                message = await receive()
                if message["type"] != "http.request":
                    return _replayed([message], receive)
                body += message.get("body", b"")
                is_more = message.get("more_body", False)
    except TimeoutError:
        raise Problem(408, f"the body did not come within {BODY_SECONDS:g} seconds") from None
    if max(size, len(body)) > MOST_BODY:
        raise Problem(413, f"the body is larger than {MOST_BODY:,} bytes")
    return _replayed([{"type": "http.request", "body": bytes(body), "more_body": False}], receive)


def _replayed(messages: list[Message], receive: Receive) -> Receive:
    async def replay() -> Message:
        return messages.pop(0) if messages else await receive()

    return replay
