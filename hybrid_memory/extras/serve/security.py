"""The guard for all requests: it checks host, origin, token and address, and adds security headers to
every response.
"""

import asyncio
import hmac
import ipaddress
import os
import re
import secrets
import socket

from anyio import CancelScope, create_task_group
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import ConfigError, UsageError
from . import responses
from .responses import BusyError, Problem

SHORTEST = 16  # characters of a token
# Characters allowed in both a bearer header and a URL fragment
PLAIN = re.compile(r"[A-Za-z0-9._~+/=-]+")
COOKIE = "hybrid-memory"
LIFETIME = 30 * 24 * 3600  # seconds
REALM = {"www-authenticate": 'Bearer realm="hybrid-memory"'}

MOST_ADDRESS = 8192  # bytes of path and query

LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.IGNORECASE)
PROTECTED = ("/api", "/mcp")  # the files of the page are public
SESSION = "/api/session"
SHUTTING_DOWN = "the server is shutting down; try again when it is back"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",  # the browser stores files of the page and always revalidates them
}


class AccessToken:
    """A secret. The cookie is derived from it, so that browsers do not store the token itself."""

    def __init__(self, secret: str) -> None:
        """Raises UsageError for a secret that is too short or has other characters."""
        if len(secret) < SHORTEST or not PLAIN.fullmatch(secret):
            raise UsageError(
                f"a token needs at least {SHORTEST} characters: letters, digits and ._~+/=-"
            )
        self.secret = secret
        self.cookie = hmac.digest(secret.encode(), b"cookie", "sha256").hex()

    def is_presented(self, headers: Headers) -> bool:
        """Whether a request has the token in its Authorization header, or the cookie."""
        scheme, _, presented = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and are_equal(presented.strip(), self.secret):
            return True
        return are_equal(cookie_parser(headers.get("cookie", "")).get(COOKIE, ""), self.cookie)


def are_equal(a: str, b: str) -> bool:
    """Compare two strings in constant time, so that timing does not reveal a common prefix."""
    return hmac.compare_digest(a.encode("utf-8", "backslashreplace"), b.encode())


def kept_token(path: str) -> AccessToken:
    """Read the token from a file that only its owner can read; create the file if it is missing.
    Raises ConfigError.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        with open(os.open(path, flags, 0o600), "r+", encoding="ascii", errors="replace") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.getuid() or status.st_mode & 0o077:
                raise ConfigError(
                    f"others may know the token in {path}; delete the file to create a new token"
                )
            secret = file.read(1000).strip()
            if not secret:
                secret = secrets.token_urlsafe(32)
                print(secret, file=file)
            return AccessToken(secret)
    except OSError as error:
        raise ConfigError(
            f"cannot keep a token in {path}: {error.strerror}; pass one with --token"
        ) from error
    except UsageError as error:
        raise ConfigError(f"{path}: {error}; delete the file to create a new token") from error


async def exchange(request: Request) -> Response:
    """Respond to the token with a cookie. Raises Problem."""
    token: AccessToken | None = request.state.token
    presented = (await responses.json_body(request)).get("token")
    response = Response(status_code=204, headers={"cache-control": "no-store"})
    if token:
        if not isinstance(presented, str) or not are_equal(presented, token.secret):
            raise Problem(401, "the token is wrong", headers=REALM)
        secure = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, token.cookie, max_age=LIFETIME, httponly=True, samesite="strict", secure=secure
        )
    return response


class Hosts:
    """The host names that clients may use. Other names are refused against DNS rebinding: a foreign
    page could let its own name resolve to this server.

    A server that is not on loopback also accepts any IP address, as an address cannot be rebound.
    """

    def __init__(self, host: str, *, is_loopback: bool) -> None:
        self._names = LOOPBACK | {in_address(host).lower()}
        if not is_loopback:
            name = socket.gethostname().lower()
            self._names |= {name, f"{name}.local"}
        self._by_address = not is_loopback

    def __contains__(self, host: str) -> bool:
        match = HOST.fullmatch(host)
        if not match:
            return False
        name = match["name"].lower()
        return name in self._names or (self._by_address and is_address(name.strip("[]")))


def in_address(host: str) -> str:
    """Return a host in the form used in URLs: IPv6 in brackets."""
    if ":" in host:
        return f"[{host}]"
    return host


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware that passes a request to the application or refuses it.

    The application gets the path as it was sent, without decoding, because only the separate
    segments of the path of a document can be decoded.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts, token: AccessToken | None) -> None:
        self._app = app
        self._hosts = hosts
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        path = scope["raw_path"].decode("ascii")
        scope["path"] = path
        scope["state"]["token"] = self._token
        try:
            self.check(scope)
            async with create_task_group() as group:
                if scope["method"] in ("GET", "HEAD"):
                    group.start_soon(cancel_when_left, receive, group.cancel_scope)
                await self._app(scope, receive, send_with_headers)
                group.cancel_scope.cancel()
        except (Problem, asyncio.CancelledError) as error:
            problem = error if isinstance(error, Problem) else BusyError(SHUTTING_DOWN)
            await responses.response(problem, path)(scope, receive, send_with_headers)

    def check(self, scope: Scope) -> None:
        """Raise Problem for a request that must be refused."""
        headers = Headers(scope=scope)
        path = scope["path"]
        if len(path) + len(scope["query_string"]) > MOST_ADDRESS:
            raise Problem(414, f"the address is longer than {MOST_ADDRESS:,} bytes")
        host = headers.get("host", "")
        if host not in self._hosts:
            raise Problem(421, f"this server does not answer to the host name {host!r}")
        own_origins = (f"http://{host.lower()}", f"https://{host.lower()}")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in own_origins:
            raise Problem(403, "this request came from another site")
        if path.startswith(PROTECTED):
            if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
                raise Problem(403, "this request came from another site")
            if self._token and path != SESSION and not self._token.is_presented(headers):
                raise Problem(401, "the token is missing or wrong", headers=REALM)


async def cancel_when_left(receive: Receive, answering: CancelScope) -> None:
    """Cancel an answer if its client disconnects, so that others need not wait."""
    while (await receive())["type"] != "http.disconnect":
        pass
    answering.cancel()
