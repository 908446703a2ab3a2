"""Vectors from an Ollama server of version 0.2.6 or later, by POST /api/embed with an array of
texts.

Requests, replies and errors follow server/routes.go and docs/api.md in Ollama's source.
"""

from contextlib import suppress
from typing import Any

from .base import DOCUMENT, QUERY, READ_TIMEOUT, BaseEmbedder
from .transport import LATE, LONG, REST, STOP, Failure, Server, within

# A Go duration; by default Ollama unloads a model after 5 minutes without a request
KEEP_ALIVE = "30m"


class OllamaEmbedder(BaseEmbedder):
    """`options` are the keyword arguments of BaseEmbedder."""

    provider = "ollama"
    # Ollama computes text by text, and a query of another process waits for a whole request. Larger
    # requests are at most 5 % faster.
    batch_size = 4
    _server: Server

    def __init__(
        self,
        base_url: str = "http://localhost:11434",
        model: str = "nomic-embed-text",
        cache_size: int = 256,
        **options: Any,
    ) -> None:
        super().__init__(model, cache_size, **options)
        self.base_url = parse_ollama_host(base_url)
        self._server = Server(
            "Ollama",
            self.base_url,
            "OLLAMA_API_KEY",
            hint="start it with `ollama serve`",
            explain=self._explain,
        )

    def is_available(self) -> bool:
        """Whether the server has the model and embeds a word with it. A listed model may be unable
        to run.
        """
        return self._listed_model() is not None and super().is_available()

    def fingerprint(self) -> str | None:
        """The digest of the model: `ollama pull` may replace a model by another of the same name."""
        listed = self._listed_model()
        if listed and listed.get("digest"):
            return str(listed["digest"])
        return None

    def _listed_model(self) -> dict[str, Any] | None:
        """The model's entry in the server's list; None if it is missing, with the reason in
        `problem`.
        """
        self._begin()
        try:
            self._check_rest(DOCUMENT)
            reply = self._within(
                self.query_timeout,
                self._late_query(self.query_timeout),
                lambda: self._call("/api/tags", None, QUERY),
            )
            if not isinstance(reply, dict) or not isinstance(reply.get("models"), list):
                raise self._server.nonsense()
            models = {
                _with_tag(str(model.get("name"))): model
                for model in reply["models"]
                if isinstance(model, dict)
            }
            if _with_tag(self.model) not in models:
                raise self._missing_model()
        except Failure as failure:
            self.is_late = failure.kind == LATE
            self._rest(DOCUMENT, failure)
            self._report(failure.reason)
            return None
        found: dict[str, Any] = models[_with_tag(self.model)]
        return found

    def _request(self, texts: list[str], role: str) -> Any:
        # With truncate=True the server would cut long texts silently.
        payload: dict[str, Any] = {
            "model": self.model,
            "input": texts,
            "truncate": False,
            "keep_alive": KEEP_ALIVE,
        }
        if self.wanted_dims:
            payload["dimensions"] = self.wanted_dims
        try:
            reply = self._call("/api/embed", payload, role, len(texts))
        except Failure as failure:
            if failure.kind == LONG:
                # Ollama has computed the other texts of the batch for nothing; it refuses a single
                # text before it computes
                self.batch_size = 1
            raise
        if not isinstance(reply, dict) or "embeddings" not in reply:
            raise self._server.nonsense()
        return reply["embeddings"]

    def _check_alive(self, seconds: float) -> None:
        # Answered also while Ollama loads a model or computes
        def ask() -> None:
            with suppress(Failure):  # an error is an answer, too
                self._server.call("/api/version", silence=seconds + READ_TIMEOUT)

        try:
            within(seconds, ask)
        except TimeoutError as error:
            reason = f"{self._server.name} accepts connections, but does not answer"
            raise Failure(STOP, reason, REST) from error

    def _explain(self, status: int, words: str) -> Failure | None:
        if "invalid model name" in words or (status == 404 and words.startswith("model ")):
            return self._missing_model()
        if status == 404:
            return self._not_ollama(words)
        if "not support embeddings" in words:
            return Failure(
                STOP,
                f"{self.model} is not an embedding model; get one with `ollama pull nomic-embed-text`",
            )
        return None

    def _not_ollama(self, words: str) -> Failure:
        """The failure for a server without /api/embed."""
        place = self._server.place
        path = place.partition("://")[2].partition("/")[2]
        if path:
            whole = place.removesuffix(f"/{path}")
            return Failure(STOP, f"Ollama is not at {place}; leave out the path: {whole}")
        way_out = f"if it has /v1/embeddings, use `--provider openai` and base_url {place}"
        return Failure(
            STOP, f"{place} answered 404 ({words}), not like Ollama 0.2.6 or later; {way_out}"
        )

    def _missing_model(self) -> Failure:
        return Failure(
            STOP,
            f"{self._server.name} has no model {self.model}; get it with `ollama pull {self.model}`",
        )


def _with_tag(model: str) -> str:
    """A model's name in the form that Ollama compares: in lower case, with its tag, without the
    default host and namespace.
    """
    name = model.lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def parse_ollama_host(value: str) -> str:
    """The URL for a value of OLLAMA_HOST, by the rules of the function Host in Ollama's
    envconfig/config.go.

    `box -> http://box:11434`, `https://box/ollama/ -> https://box:443/ollama`, `0.0.0.0 ->
    http://127.0.0.1:11434`
    """
    value = value.strip().strip("\"'").strip()
    scheme, separator, rest = value.partition("://")
    if not separator:
        scheme, rest = ("https", "ollama.com:443") if value == "ollama.com" else ("http", value)
    default = "11434"
    if separator:
        default = {"http": "80", "https": "443"}.get(scheme.lower(), "11434")
    netloc, slash, path = rest.partition("/")
    user, at, netloc = netloc.rpartition("@")
    host, colon, port = netloc.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")) or "]" in port:
        host, port = netloc, ""
    if not (port.isdecimal() and int(port) <= 65535):
        port = default
    host = host.strip("[]") or "127.0.0.1"
    # These make a server listen on all addresses; a client needs a single one
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    if ":" in host:
        host = f"[{host}]"
    return f"{scheme}://{user}{at}{host}:{port}{slash}{path}".rstrip("/")
