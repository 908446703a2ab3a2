"""One HTTP request to a model's server, and the meaning of failures. Vectors are elsewhere.

The message of a reply is judged before its status: Ollama answers 400 to a text that is too long,
and also when its runner has just crashed. A plain HTTP server on this machine is called by
loopback.py, all others by remote.py, which needs `requests` and is imported at the first call.
"""

import json
import os
import re
from collections.abc import Callable
from math import inf
from random import random
from threading import Thread
from typing import Any, Protocol
from urllib.parse import urlsplit

from ..registry import REMOTE_SESSION, load
from .loopback import ConnectTimeout, LoopbackSession, Response, TooLong


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
        except ValueError as error:
            why = type(error).__name__  # its text may hold a password
            raise Failure(STOP, f"{self.place} is not a usable address ({why})") from error
        except OSError as error:
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
        address = urlsplit(self.place)
        host = (address.hostname or "").rstrip(".")
        is_here = _is_plainly_local(host)
        headers = {}
        if self._key:
            header, scheme = self._key_header
            headers[header] = scheme + self._key
        if is_here and address.scheme == "http":
            return LoopbackSession(self._url, host, address.port or 80, headers)
        remote: ServerSession = load(REMOTE_SESSION)(self._url, host, headers, direct=is_here)
        return remote

    def _cannot_connect(self, why: str, kind: str = STOP, wait: float = 0.0) -> Failure:
        return Failure(kind, f"cannot connect to {self.name} ({why}); {self._hint}", wait)

    def _connection_failure(self, error: OSError, may_restart: bool) -> Failure:
        if isinstance(error, TooLong):
            return Failure(STOP, f"{self.name} sent a reply that is too long; is the URL right?")
        if isinstance(error, ConnectTimeout):
            return self._cannot_connect(f"no answer within {CONNECT_TIMEOUT:g} s", LATE, REST)
        if isinstance(error, TimeoutError):
            return Failure(STOP, f"{self.name} did not finish its reply in time", REST)
        if isinstance(error, ConnectionRefusedError):
            return self._cannot_connect("connection refused", BUSY if may_restart else STOP)
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
        return max(0.0, float(retry_after or 0))  # NaN is not above 0
    except ValueError:
        return 0.0


def _is_plainly_local(host: str) -> bool:
    """Whether a host is clearly this machine by its spelling alone; remote.py recognizes more
    spellings.
    """
    return bool(re.fullmatch(r"localhost|::1|0\.0\.0\.0|127\.[0-9.]+", host))
