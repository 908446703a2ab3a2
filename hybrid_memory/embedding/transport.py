"""One HTTP request to a model's server, and the meaning of failures. Vectors are elsewhere.

The message of a reply is judged before its status: Ollama answers 400 to a text that is too long,
and also when its runner has just crashed. A plain HTTP server on this machine is called by
loopback.py, all others by remote.py, which needs `requests`; each is imported at the first call.
"""

import json
import os
import re
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import requests

from random import random
from threading import Thread

from ..registry import REMOTE_SESSION, load
from .replies import ConnectTimeout, Response, TooLong


class ServerSession(Protocol):
    """The connections to one server."""

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
        """Send a request; see loopback.py."""

    def close(self) -> None:
        """Close idle connections."""


CONNECT_TIMEOUT = 3.0  # seconds
NO_ANSWER = f"no answer within {CONNECT_TIMEOUT:g} s"
REST = 30.0  # seconds without further requests after a time-out
TRIES = 3
LONGEST_MESSAGE = 200  # characters of a server's message that are repeated
REPLY_BYTES = 1_000_000  # of a reply without vectors; enough for a list of 2,000 models
# Of a reply, for each text: 8,192 dimensions (twice the largest models of today) of 24 characters
TEXT_BYTES = 200_000

# The kinds of a failure.
STOP = "stop"  # no request will work: the server, the model or the key is missing
LATE = "late"  # the server did not answer in time: it may be loading a model
BUSY = "busy"  # no request works now, but later ones may: a rate limit, a restart
RETRY = "retry"  # the server failed, by chance or because of a text
LONG = "long"  # a text is too long, or all texts together
TEXT = "text"  # the server refuses a text

# Patterns of servers' messages. They ignore case, and are compiled at the first use.
TOO_LONG = (
    r"exceed\w* .*(context|tokens)|maximum context|context length|too large|too long|too many tokens"
    r"|must have less than|tokens per (request|submitted batch)|payload size exceeds"
)
STUMBLED = (
    r"\bEOF\b|connection refused|connection reset|broken pipe|health resp|socket address|server busy"
    r"|no longer running|unexpected server status"
)
NOT_A_NUMBER = r"NaN or Inf|unsupported value"
KEY_REFUSED = r"(invalid|incorrect|missing) api key|api key not valid"
RETRY_IN = r"retry in ([0-9.]+) ?s"


class Failure(Exception):
    """The reason why a request has no usable reply.

    `kind` is one of the kinds above, `reason` one line for the user, and `wait` the number of
    seconds during which the server should not be asked again.
    """

    def __init__(self, kind: str, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.wait = wait


class Server:
    """A server at a URL. Its key is read from an environment variable, sent to this server only,
    and never printed.

    `explain(status, words)` may return a Failure for an error reply (a status other than 200 or a
    redirect); for None, the general rules apply. `hint` follows "cannot connect" in messages.
    `key_header` is the name of the key's header, and the text before the key.
    """

    def __init__(
        self,
        name: str,
        url: str,
        key_variable: str,
        *,
        needs_key: bool = False,
        key_header: tuple[str, str] = ("Authorization", "Bearer "),
        hint: str = "",
        explain: Callable[[int, str], Failure | None] = lambda status, words: None,
    ) -> None:
        scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
        netloc, slash, path = rest.partition("/")
        # For messages, without the password
        self.place = f"{scheme}{separator}{netloc.rpartition('@')[2]}{slash}{path}"
        self.name = f"{name} at {self.place}"
        self._url = url
        self._explain = explain
        self._hint = hint or ("is this machine online?" if needs_key else "is it running?")
        self._key_variable = key_variable
        self._needs_key = needs_key
        self._key_header = key_header
        self._key = ""
        self._session: ServerSession | None = None
        self._answered = False

    def call(
        self,
        path: str,
        payload: object = None,
        *,
        silence: float,
        texts: int = 0,
        patient: bool = False,
    ) -> Any:
        """POST the payload as JSON, or GET if the payload is None; return the JSON of the reply.
        Raises Failure.

        `silence` is the maximum number of seconds without a byte, and until the end of the reply.
        `texts` is the number of texts sent, which limits the size of the reply. If `patient`, a
        refused connection to a server that has answered before counts as a restart.
        """
        method = "GET"
        body = None
        if payload is not None:
            method = "POST"
            body = json.dumps(payload).encode()
        try:
            if self._session is None:
                self._session = self._connect()
            response = self._session.request(
                method,
                self._url + path,
                data=body,
                headers={"Content-Type": "application/json"},
                timeout=(CONNECT_TIMEOUT, silence),
                most=REPLY_BYTES + texts * TEXT_BYTES,
            )
        # The errors of requests are OSErrors; an invalid URL can also raise ValueError
        except (OSError, ValueError) as error:
            raise self._connection_failure(error, patient and self._answered) from error
        if response.status_code != 200:
            raise self._reply_failure(response)
        self._answered = True
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            raise self.nonsense() from error

    def nonsense(self) -> Failure:
        """The failure for a reply of status 200 without the expected JSON."""
        kind = self.name.partition(" at ")[0]
        return Failure(STOP, f"{self.place} answers, but not like {kind}; is the URL right?")

    def close(self) -> None:
        """Close idle connections; the next call opens a new one. A call in another thread is not
        interrupted.
        """
        session = self._session
        self._session = None
        self._answered = False
        if session:
            session.close()

    def _connect(self) -> "ServerSession":
        if not re.match("https?://", self._url, re.IGNORECASE):
            raise Failure(STOP, f"the address {self.place} must begin with http:// or https://")
        self._key = os.environ.get(self._key_variable, "").strip()
        if self._needs_key and not self._key:
            raise Failure(
                STOP, f"{self._key_variable} is not set; export it, or choose another provider"
            )
        if not (self._key.isascii() and self._key.isprintable()):
            raise Failure(
                STOP, f"{self._key_variable} holds characters that cannot be part of a key"
            )
        host, port = _address(self.place)
        is_here = _is_plainly_local(host)
        if is_here and self.place.startswith("http://"):
            headers = {}
            if self._key:
                header, scheme = self._key_header
                headers[header] = scheme + self._key
            from .loopback import LoopbackSession  # most commands need no server

            return LoopbackSession(self._url, host, port, headers)
        sign = self._sign if self._key else None
        remote: ServerSession = load(REMOTE_SESSION)(self._url, host, sign, direct=is_here)
        return remote

    def _sign(self, request: "requests.PreparedRequest") -> "requests.PreparedRequest":
        header, scheme = self._key_header
        request.headers[header] = scheme + self._key
        return request

    def _late_reply(self) -> Failure:
        return Failure(STOP, f"{self.name} did not finish its reply in time", REST)

    def _cannot_connect(self, why: str, kind: str = STOP, wait: float = 0.0) -> Failure:
        return Failure(kind, f"cannot connect to {self.name} ({why}); {self._hint}", wait)

    def _connection_refused(self, may_restart: bool) -> Failure:
        kind = BUSY if may_restart else STOP
        return self._cannot_connect("connection refused", kind)

    def _connection_failure(self, error: Exception, may_restart: bool) -> Failure:
        if not isinstance(error, OSError) or not hasattr(error, "request"):
            return self._local_connection_failure(error, may_restart)
        from requests import exceptions
        from urllib3.exceptions import NewConnectionError

        if isinstance(error, exceptions.SSLError):
            return Failure(
                STOP, f"{self.name} has an untrusted certificate, or does not support https"
            )
        if isinstance(error, exceptions.ProxyError):
            return Failure(
                STOP,
                f"the proxy in HTTPS_PROXY or HTTP_PROXY cannot reach {self.name}; "
                "NO_PROXY can exclude it",
            )
        if isinstance(error, exceptions.ConnectTimeout):
            return self._cannot_connect(NO_ANSWER, LATE, REST)
        reason = None
        if error.args:
            reason = getattr(error.args[0], "reason", None)
        if isinstance(reason, NewConnectionError):
            if "refused" in str(reason):
                return self._connection_refused(may_restart)
            if "resol" in str(reason).lower():
                return self._cannot_connect("no such host")
            return self._cannot_connect("no route to it")
        if isinstance(error, exceptions.ReadTimeout):
            return self._late_reply()
        if isinstance(error, exceptions.ConnectionError | exceptions.ChunkedEncodingError):
            return Failure(RETRY, f"{self.name} broke off the connection")
        return Failure(STOP, f"{self.place} is not a usable address ({type(error).__name__})")

    def _local_connection_failure(self, error: Exception, may_restart: bool) -> Failure:
        if isinstance(error, TooLong):
            return Failure(STOP, f"{self.name} sent a reply that is too long; is the URL right?")
        if isinstance(error, ConnectTimeout):
            return self._cannot_connect(NO_ANSWER, LATE, REST)
        if isinstance(error, TimeoutError):
            return self._late_reply()
        if isinstance(error, ConnectionRefusedError):
            return self._connection_refused(may_restart)
        if isinstance(error, ConnectionError):
            return Failure(RETRY, f"{self.name} broke off the connection")
        return self._cannot_connect(str(error))

    def _reply_failure(self, response: "Response") -> Failure:
        status = response.status_code
        words = self._error_message(response.content)
        answer = f"{self.name} answered {status}"
        if words:
            answer += f": {words}"
        if 300 <= status < 400:
            target = (
                response.headers.get("location", "elsewhere").partition("?")[0].rpartition("@")[2]
            )
            return Failure(
                STOP,
                f"{self.place} redirects to {_on_one_line(target)}, which is not followed; set the final URL",
            )
        failure = self._explain(status, words)
        if failure:
            return failure
        if status == 429:
            kind = BUSY
            if b"insufficient_quota" in response.content:
                kind = STOP
            return Failure(kind, answer, _wait(response.headers.get("retry-after", ""), words))
        if status == 401 or (status < 500 and _match(KEY_REFUSED, words)):
            return Failure(STOP, f"{self.name} refused the key; is {self._key_variable} right?")
        if status == 413 or _match(TOO_LONG, words):
            return Failure(LONG, answer)
        if _match(NOT_A_NUMBER, words):
            return Failure(TEXT, answer)
        if status in (403, 404, 405, 501):
            return Failure(STOP, answer)
        if status >= 500 or status in (408, 409, 499) or _match(STUMBLED, words):
            return Failure(RETRY, answer)
        return Failure(TEXT, answer)

    def _error_message(self, body: bytes) -> str:
        """The message in the body of an error of any form, in one line without control characters."""
        text = body.decode("utf-8", "replace")
        try:
            reply = json.loads(text)
            # {"error": {"message": …}}, {"detail": [{"msg": …}]}
            for key in ("error", "message", "detail", "msg"):
                if isinstance(reply, list) and reply:
                    reply = reply[0]
                if isinstance(reply, dict):
                    reply = reply.get(key, reply)
            if not isinstance(reply, str):
                reply = json.dumps(reply)
            text = reply
        except (ValueError, RecursionError):
            if text.lstrip().startswith("<"):
                return "a page of HTML"
        if self._key:
            text = text.replace(self._key, "***")
        return _on_one_line(text)


def within(
    seconds: float,
    work: Callable[[], Any],
    silence: float = inf,
    on_silence: Callable[[], None] = lambda: None,
) -> Any:
    """Do the work and return its result. Raises TimeoutError if it takes more than `seconds`; the
    work then continues in its thread. `on_silence` is called after `silence` seconds.

    A socket's own time-out starts again with every byte, and does not cover the look-up of a host
    name.
    """
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, min(seconds, silence)))
    if not outcome and silence < seconds:
        on_silence()
        thread.join(seconds - silence)
    if not outcome:
        raise TimeoutError
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def duration(seconds: float) -> str:
    """Format a time for people: `0.0170082 -> 17 ms`, `1.98765 -> 2 s`, `12.6 -> 13 s`."""
    if seconds < 0.0995:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 9.95:
        return f"{round(seconds, 1):g} s"
    return f"{round(seconds):g} s"


def backoff(attempt: int) -> float:
    """The seconds before the next try: about 1, 2, 4; a random part keeps two clients from trying
    at the same time.
    """
    return float(2 ** (attempt - 1)) * (0.75 + random() / 2)


def _on_one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LONGEST_MESSAGE]


def _match(pattern: str, words: str) -> re.Match[str] | None:
    return re.search(pattern, words, re.IGNORECASE)


def _wait(retry_after: str, words: str) -> float:
    """The seconds that a server asks to wait, in its header Retry-After or in its message; 0 if
    neither names a time.
    """
    in_words = _match(RETRY_IN, words)
    if not retry_after and in_words:
        retry_after = in_words[1]
    try:
        seconds = float(retry_after or 0)
    except ValueError:
        return 0.0
    if 0.0 <= seconds < 86400.0:
        return seconds
    return 0.0


def _is_plainly_local(host: str) -> bool:
    """Whether a host is clearly this machine by its spelling alone; remote.py recognizes more
    spellings.
    """
    digits = host.replace(".", "")
    return host in ("localhost", "::1", "0.0.0.0") or (
        host.startswith("127.") and digits.isascii() and digits.isdecimal()
    )


def _address(url: str) -> tuple[str, int]:
    """The host and port of a URL: `https://[::1]/v1 -> ("::1", 443)`. A dot at the end of the host
    is removed.
    """
    scheme, _, rest = url.partition("://")
    netloc = rest.partition("/")[0]
    host, colon, port = netloc.rpartition(":")
    if not colon or "]" in port:
        host, port = netloc, ""
    number = 443 if scheme == "https" else 80
    if port.isdecimal():
        number = int(port)
    return host.strip("[]").lower().rstrip("."), number
