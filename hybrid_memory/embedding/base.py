"""What the embedders that call a server share: prompts, a cache, batches, retries and checks.

Storage and ranking are elsewhere. Failures of the network or the server, and unsuitable texts, do
not raise: the vector is [] and `problem` gives the reason in one line.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import messages as log
from ..text.characters import plural, storable
from . import prompts
from .transport import (
    BUSY,
    LATE,
    LONG,
    REST,
    RETRY,
    STOP,
    TEXT,
    TRIES,
    Failure,
    Server,
    backoff,
    within,
)

QUERY = "query"
DOCUMENT = "document"

# Seconds for a batch. Loading a large model takes minutes; if the client disconnects, loading stops
DOCUMENT_TIMEOUT = 300.0
READ_TIMEOUT = 30.0  # more seconds until the thread that waits for the reply gives up too
DAY = 86400.0  # seconds, the longest time-out: sockets do not support all larger numbers
# Seconds between two tries; if a server asks for a longer wait, give up
LONGEST_WAIT = 60.0
# Seconds between tries, all together, while a server fails without answering a request in between
LONGEST_FAILING = 4.0
SILENCE = 15.0  # seconds of waiting for a reply before it is reported
CHECK_TIMEOUT = 45.0  # more seconds until a server that answers no other request either is given up
# Texts that fail one after the other, each sent alone, before the server counts as faulty
STRIKES = 4
SHORTER = 0.75  # the share of a text that is kept when it is too long
SHORTEST = 16  # characters
# Characters: a longer text may have over 2,048 tokens, on which some runners of Ollama crash
CRASH_LENGTH = 2048


class BaseEmbedder:
    """Implements `interface.Embedder`. Subclasses get the vectors in `_request`."""

    provider = ""
    is_final = False
    batch_size = 32  # texts in a request
    # UTF-8 bytes in a request; the number of tokens cannot be larger
    batch_bytes = 100_000

    def __init__(
        self,
        model: str,
        cache_size: int = 256,
        *,
        dims: int | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        query_timeout: float = 10.0,
        document_timeout: float = DOCUMENT_TIMEOUT,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Time-outs are in seconds of wall time."""
        self.model = model
        defaults = prompts.templates(model)
        self.query_prompt = query_prompt or defaults[0]
        self.document_prompt = document_prompt or defaults[1]
        self.wanted_dims = dims or None
        self.query_timeout = min(query_timeout, DAY)
        self.document_timeout = min(document_timeout, DAY)
        self.problem: str | None = None
        self.is_late = False
        # Called with a line when the server lets a request wait for longer than SILENCE
        self.on_wait: Callable[[str], None] = log.warning
        self._is_slow = False  # reported
        self.truncated: set[int] = set()
        self._server: Server | None = None
        self._dims = dims or 0
        self._cache: OrderedDict[tuple[str, str], list[float]] = OrderedDict()
        self._cache_size = cache_size
        self._sleep = sleep
        # role -> the time before which the server is not asked, and the reason
        self._resting: dict[str, tuple[float, str]] = {}

    def embed(self, text: str) -> list[float]:
        """The vector of a query, of length 1; [] if the server does not give one within
        query_timeout.
        """
        [vector] = self.embed_queries([text])
        return vector

    def embed_queries(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """The vectors of queries, in the order of the texts; [] for those that the server does not
        give within `seconds`, at most query_timeout. What is not in the cache is one request.
        """
        self._begin()
        keys = {text: (self.model, self._with_prompt(text, QUERY)) for text in texts}
        vectors = {text: self._cache.get(key, []) for text, key in keys.items()}
        missing = [text for text, vector in vectors.items() if not vector]
        if missing:
            vectors |= zip(missing, self._embed(missing, QUERY, seconds), strict=True)
        for text, vector in vectors.items():
            if vector:
                self._cache[keys[text]] = vector
                self._cache.move_to_end(keys[text])
                if len(self._cache) > self._cache_size:
                    self._cache.popitem(last=False)
        return [vectors[text].copy() for text in texts]

    def embed_batch(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """The vectors of documents, in the order of the texts; [] for a text that was not embedded.

        Each request may take `seconds`, but no longer than document_timeout.
        """
        return self._embed(texts, DOCUMENT, seconds)

    def dims(self) -> int:
        """The number of dimensions of a vector. If none is configured and no text was embedded yet,
        ask the model; 0 if it does not answer.
        """
        return self._dims or len(self._embed(["dimensions"], QUERY)[0])

    def is_available(self) -> bool:
        """Whether a text can be embedded now."""
        return any(self._embed(["available"], QUERY))

    def fingerprint(self) -> str | None:
        """None (unknown), unless a subclass overrides this."""
        return None

    def close(self) -> None:
        """Close idle connections; the next call opens a new one."""
        if self._server:
            self._server.close()

    def _request(self, texts: list[str], role: str) -> Any:
        """Get a raw vector for each text, unchecked, from the server. Raises Failure."""
        raise NotImplementedError

    def _check_alive(self, seconds: float) -> None:
        """Raise Failure if the server hangs: if it answers no other request in `seconds` either. Does
        nothing, unless a subclass overrides this.
        """

    def _call(self, path: str, payload: object, role: str, texts: int = 0) -> Any:
        assert self._server
        return self._server.call(
            path,
            payload,
            silence=self._limit(role) + READ_TIMEOUT,
            texts=texts,
            patient=role == DOCUMENT,
        )

    def _limit(self, role: str) -> float:
        return self.query_timeout if role == QUERY else self.document_timeout

    def _name(self) -> str:
        if self._server:
            return self._server.name
        return self.provider

    def _with_prompt(self, text: str, role: str) -> str:
        if role == QUERY:
            template = self.query_prompt
        else:
            template = self.document_prompt
        text = storable(text)
        if prompts.wants_lower_case(self.model):
            text = text.lower()
        return template.replace(prompts.PLACEHOLDER, text)

    def _embed(
        self, texts: Sequence[str], role: str, seconds: float | None = None
    ) -> list[list[float]]:
        """Embed texts; [] for texts without a vector. Equal texts are sent once, blank texts never."""
        self._begin()
        to_send = [text for text in dict.fromkeys(texts) if text and not text.isspace()]
        timeout = self._limit(role)
        if seconds is not None:
            timeout = min(seconds, timeout)
        call = _Call(to_send, role, timeout, timeout if role == QUERY else math.inf)
        try:
            for batch in self._batches(to_send):
                self._embed_part(call, batch, TRIES)
            if call.left_out:
                problem = call.left_out[0]
                if role == DOCUMENT:
                    count = f"{len(call.left_out)} of {plural(len(to_send), 'text')}"
                    problem = f"{count} not embedded: {problem}"
                self._report(problem)
        except Failure as failure:
            self.close()
            self.is_late = failure.kind == LATE
            self._rest(role, failure)
            self._report(failure.reason)
        self.truncated = {
            i for i, text in enumerate(texts) if text in call.vectors and call.sent[text] != text
        }
        return [call.vectors.get(text, []) for text in texts]

    def _embed_part(self, call: "_Call", batch: list[str], tries: int) -> None:
        """Embed a batch; if that fails, its halves. Raises Failure if other texts would fail too."""
        prompted = [self._with_prompt(call.sent[text], call.role) for text in batch]
        try:
            raw = self._tried(call, prompted, tries)
        except Failure as failure:
            self._handle_failure(failure, call, batch)
            return
        call.strikes = 0
        call.failing = 0.0
        for text, vector in zip(batch, raw, strict=True):
            try:
                call.vectors[text] = self._unit(vector)
            except ValueError as error:
                call.left_out.append(str(error))

    def _handle_failure(self, failure: Failure, call: "_Call", batch: list[str]) -> None:
        """Handle a failed batch: halve it until one text is left, or send parts of batch_size if the
        server has lowered that; shorten a single text or leave it out.
        """
        if failure.kind in (STOP, LATE, BUSY):
            raise failure
        text = call.sent[batch[0]]
        crashed = failure.kind == RETRY and "EOF" in failure.reason
        too_long = failure.kind == LONG or (crashed and len(text) > CRASH_LENGTH)
        if len(batch) > 1:
            size = min((len(batch) + 1) // 2, self.batch_size)
            for start in range(0, len(batch), size):
                part = batch[start : start + size]
                self._embed_part(call, part, TRIES if len(part) == 1 else 1)
        elif too_long and len(text) > SHORTEST:
            call.sent[batch[0]] = text[: int(len(text) * SHORTER)]
            self._embed_part(call, batch, TRIES)
        else:
            call.left_out.append(failure.reason)
            call.strikes += failure.kind != TEXT
            if call.strikes == STRIKES:
                raise failure

    def _batches(self, texts: list[str]) -> Iterator[list[str]]:
        """Yield batches of at most batch_size texts, which a batch may lower for the later ones."""
        batch: list[str] = []
        size = 0
        for text in texts:
            length = len(text.encode("utf-8", "replace"))
            if batch and (size + length > self.batch_bytes or len(batch) >= self.batch_size):
                yield batch
                batch = []
                size = 0
            batch.append(text)
            size += length
        if batch:
            yield batch

    def _tried(self, call: "_Call", texts: list[str], tries: int) -> list[Any]:
        """Get a raw vector for each text. Tries again if the server fails or asks to wait. Raises
        Failure.
        """
        self._check_rest(call.role)
        attempt = 0
        while True:
            attempt += 1
            seconds = min(call.deadline - time.monotonic(), call.timeout)
            try:
                late = self._timeout_message(call)
                raw = self._within(seconds, late, lambda: self._request(texts, call.role), call)
            except Failure as failure:
                allowed = {RETRY: tries, BUSY: TRIES}.get(failure.kind, 1)
                wait = failure.wait or backoff(attempt)
                is_too_long = wait > LONGEST_WAIT or time.monotonic() + wait > call.deadline
                if failure.kind == RETRY:
                    is_too_long |= call.failing + wait > LONGEST_FAILING
                if attempt >= allowed or is_too_long:
                    raise
                call.failing += wait
                self._sleep(wait)
                continue
            if not isinstance(raw, list) or len(raw) != len(texts):
                raise Failure(TEXT, f"{self._name()} sent a reply without a vector for each text")
            return raw

    def _begin(self) -> None:
        """Forget how the last call ended."""
        self.problem = None
        self.is_late = False

    def _rest(self, role: str, failure: Failure) -> None:
        """Do not ask the server for as long as the failure tells."""
        self._resting[role] = (time.monotonic() + failure.wait, failure.reason)

    def _check_rest(self, role: str) -> None:
        """Raise Failure if the server is not to be asked yet, after a time-out."""
        until, reason = self._resting.get(role, (0.0, ""))
        rest = until - time.monotonic()
        if rest > 0:
            raise Failure(STOP, reason, rest)

    def _timeout_message(self, call: "_Call") -> str:
        """The message for a time-out, with the limit that was exceeded."""
        if call.role == QUERY:
            return self._late_query(call.timeout)
        return f"{self._name()} did not answer within {call.timeout:.3g} s"

    def _late_query(self, seconds: float) -> str:
        limit = f"{seconds:g} s"
        if seconds == self.query_timeout:
            limit += " (query_timeout)"
        return f"{self._name()} did not answer within {limit}; loading a model takes longer"

    def _within(
        self, seconds: float, late: str, work: Callable[[], Any], call: "_Call | None" = None
    ) -> Any:
        """Do the work. Raises Failure with the reason `late` if it takes more than `seconds`.

        If a request for documents takes longer than SILENCE, a message reports it the first time, and
        a server that hangs is given up.
        """

        def on_silence() -> None:
            if call is None or call.role != DOCUMENT:
                return
            if not self._is_slow:
                self._is_slow = True
                self.on_wait(
                    f"waiting for {self._name()}, at most {seconds:.3g} s; "
                    "texts without an embedding stay pending"
                )
            self._check_alive(min(CHECK_TIMEOUT, seconds - SILENCE))

        try:
            return within(seconds, work, SILENCE, on_silence)
        except TimeoutError as error:
            raise Failure(LATE, late, REST) from error

    def _unit(self, vector: Any) -> list[float]:
        """Cut a vector to wanted_dims and scale it to length 1.

        Raises ValueError if it is not a vector of numbers, Failure if it has fewer dimensions than
        wanted_dims.
        """
        if not isinstance(vector, list) or not vector:
            raise ValueError(f"{self.model} gave no vector")
        dims = len(vector)
        if self.wanted_dims and dims < self.wanted_dims:
            way_out = (
                f"dims is {self.wanted_dims}: `hybrid-memory config set dims {dims}` lowers it"
            )
            raise Failure(STOP, f"{self.model} gives {dims} dimensions; {way_out}")
        vector = vector[: self.wanted_dims]
        if self._dims and len(vector) != self._dims:
            raise ValueError(f"{self.model} gave {len(vector)} dimensions instead of {self._dims}")
        try:
            norm = math.hypot(*vector)
        except (TypeError, OverflowError):
            norm = math.nan
        if not 0.0 < norm < math.inf:
            raise ValueError(f"{self.model} gave a vector of zeros, or with NaN in it")
        self._dims = len(vector)
        return [x / norm for x in vector]

    def _report(self, problem: str) -> None:
        """Set `problem`, and log it."""
        self.problem = problem
        log.warning("%s", problem)


class _Call:
    """The texts of one call of `_embed`, with their vectors and failures so far."""

    def __init__(self, texts: list[str], role: str, timeout: float, seconds: float) -> None:
        self.role = role
        self.timeout = timeout  # seconds of one request
        self.deadline = time.monotonic() + seconds  # of all requests together
        # The part of each text that is sent, shortened if the text is too long
        self.sent = {text: text for text in texts}
        self.vectors: dict[str, list[float]] = {}
        self.left_out: list[str] = []  # reasons
        self.strikes = 0
        self.failing = 0.0  # seconds waited between tries since the last answer
