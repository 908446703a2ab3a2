"""The secret that clients show: where it is kept, how it is compared, and the cookie that a page gets for it."""

import hmac
import os
import re
import secrets
import stat

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import Response

from ...errors import ConfigError, UsageError
from .problems import Problem

SHORTEST = 16  # characters
PLAIN = re.compile(r"[A-Za-z0-9._~+/=-]+")  # what a bearer header and the fragment of a URL can hold
COOKIE = "hybrid-memory"
LIFETIME = 30 * 24 * 3600  # seconds
REALM = {"www-authenticate": 'Bearer realm="hybrid-memory"'}


class Token:
    """A secret. Its cookie is another one that is computed from it, so that a browser does not hold the token itself."""

    def __init__(self, secret: str) -> None:
        """Raises UsageError for a secret that is too short or that a header cannot hold."""
        if len(secret) < SHORTEST or not PLAIN.fullmatch(secret):
            raise UsageError(f"a token has at least {SHORTEST} characters, of letters, digits and ._~+/=-")
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
    """The token in a file that only its owner can read, which is made if it is missing. Raises ConfigError."""
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
        raise ConfigError(f"cannot keep a token in {path}: {error.strerror}; give one with --token") from error


def _read(path: str) -> Token:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), encoding="ascii", errors="replace") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid != os.getuid():
            raise ConfigError(f"others may know the token in {path}; delete that file, and another one is made")
        try:
            return Token(file.read(1000).strip())
        except UsageError as error:
            raise ConfigError(f"{path}: {error}; delete that file, and another one is made") from error


async def exchange(request: Request) -> Response:
    """POST /api/session: the token for a cookie."""
    from .api.writing import json_body

    token: Token | None = request.state.token
    shown = (await json_body(request)).get("token")
    response = Response(status_code=204, headers={"cache-control": "no-store"})
    if token:
        if not isinstance(shown, str) or not token.fits(shown):
            raise Problem(401, "this is not the token", headers=REALM)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, token.cookie, max_age=LIFETIME, httponly=True, samesite="strict", secure=secure)
    return response
