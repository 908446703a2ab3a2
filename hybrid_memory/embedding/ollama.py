"""Vectors from an Ollama server, 0.2.6 or later: POST /api/embed with an array of texts.

Requests, replies and errors are those of Ollama's server/routes.go and docs/api.md.
"""

from typing import Any

from .base import QUERY, BaseEmbedder
from .transport import STOP, Failure, Server

KEEP_ALIVE = "30m"  # a Go duration; with Ollama's own 5 minutes every pause ends in a cold start


class OllamaEmbedder(BaseEmbedder):
    """`options` are the keyword arguments of BaseEmbedder."""

    provider = "ollama"
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
            "Ollama", self.base_url, "OLLAMA_API_KEY", hint="start it with `ollama serve`", explain=self._explain
        )

    def is_available(self) -> bool:
        """Whether the server answers and has the model. Loads nothing."""
        self.problem = None
        try:
            reply = self._within(self.query_timeout, self._query_limit(), lambda: self._call("/api/tags", None, QUERY))
            if not isinstance(reply, dict) or not isinstance(reply.get("models"), list):
                raise self._server.nonsense()
            names = {_tagged(str(model.get("name"))) for model in reply["models"] if isinstance(model, dict)}
            if _tagged(self.model) not in names:
                raise self._missing()
        except Failure as failure:
            self._report(failure.reason)
            return False
        return True

    def _request(self, texts: list[str], role: str) -> Any:
        # The server shall not cut texts, because it would not say so.
        payload: dict[str, Any] = {"model": self.model, "input": texts, "truncate": False, "keep_alive": KEEP_ALIVE}
        if self.wanted_dims:
            payload["dimensions"] = self.wanted_dims
        reply = self._call("/api/embed", payload, role)
        if not isinstance(reply, dict) or "embeddings" not in reply:
            raise self._server.nonsense()
        return reply["embeddings"]

    def _explain(self, status: int, words: str) -> Failure | None:
        if status == 404 and words.startswith("404 page not found"):
            return Failure(STOP, f"upgrade Ollama: the one at {self._server.place} is from before 0.2.6")
        if status == 404 and "not found" in words:
            return self._missing()
        if "not support embeddings" in words:
            return Failure(STOP, f"{self.model} is not an embedding model; one is `ollama pull nomic-embed-text`")
        return None

    def _missing(self) -> Failure:
        return Failure(STOP, f"{self._server.name} has no model {self.model}; get it with `ollama pull {self.model}`")


def _tagged(model: str) -> str:
    """A model's name as Ollama compares it: with its tag, in lower case, without the default host and namespace."""
    name = model.lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def parse_ollama_host(value: str) -> str:
    """The URL that an OLLAMA_HOST means to a client, by the rules of Ollama's envconfig.Host.

    `box -> http://box:11434`, `https://box/ollama/ -> https://box:443/ollama`, `0.0.0.0 -> http://127.0.0.1:11434`
    """
    value = value.strip().strip("\"'").strip()
    scheme, separator, rest = value.partition("://")
    if not separator:
        scheme, rest = ("https", "ollama.com:443") if value == "ollama.com" else ("http", value)
    default = {"http": "80", "https": "443"}.get(scheme.lower(), "11434") if separator else "11434"
    netloc, slash, path = rest.partition("/")
    user, at, netloc = netloc.rpartition("@")
    host, colon, port = netloc.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")) or "]" in port:
        host, port = netloc, ""
    if not (port.isdecimal() and int(port) <= 65535):
        port = default
    host = host.strip("[]") or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # where a server listens anywhere, a client goes here
    if ":" in host:
        host = f"[{host}]"
    return f"{scheme}://{user}{at}{host}:{port}{slash}{path}".rstrip("/")
