"""Rerankers over HTTP. All servers take the same kind of request and differ in the names of fields.

TEI: router/src/http/server.rs of text-embeddings-inference. llama.cpp: tools/server/README.md.
vLLM: docs.vllm.ai, Re-rank API. Jina: api.jina.ai/redoc. Cohere: docs.cohere.com/reference/rerank.
Voyage: docs.voyageai.com/reference/reranker-api.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...embedding.transport import Server
from .base import BaseReranker

if TYPE_CHECKING:
    from ...config import Settings

# Seconds after the timeout until the thread that still waits for a reply gives up
LATER = 30.0


class ServerForm(NamedTuple):
    """The format of a server's requests and replies."""

    name: str  # in messages
    url: str  # default URL
    path: str
    key_variable: str  # environment variable of the API key
    model: str | None = None  # default model; None if the server has only one
    is_remote: bool = False
    texts: str = "documents"
    more: Mapping[str, Any] = {}  # other fields of a request
    results: str | None = "results"  # field of the reply; None if the reply itself is the list
    score: str = "relevance_score"
    batch: int = 1000  # texts per request


FORMS = {
    # TEI accepts 32 texts, unless it was started with --max-client-batch-size. raw_scores are the
    # scores before the sigmoid function.
    "tei": ServerForm(
        "TEI",
        "http://localhost:8080",
        "/rerank",
        "TEI_API_KEY",
        texts="texts",
        results=None,
        score="score",
        batch=32,
        more={"raw_scores": True, "truncate": True},
    ),
    "llamacpp": ServerForm("llama.cpp", "http://localhost:8080", "/v1/rerank", "LLAMA_API_KEY"),
    "vllm": ServerForm(
        "vLLM",
        "http://localhost:8000",
        "/v1/rerank",
        "VLLM_API_KEY",
        more={"truncate_prompt_tokens": -1},
    ),
    "jina": ServerForm(
        "Jina",
        "https://api.jina.ai",
        "/v1/rerank",
        "JINA_API_KEY",
        "jina-reranker-v2-base-multilingual",
        is_remote=True,
        more={"return_documents": False},
    ),
    "cohere": ServerForm(
        "Cohere",
        "https://api.cohere.com",
        "/v2/rerank",
        "COHERE_API_KEY",
        "rerank-v4.0-fast",
        is_remote=True,
    ),
    "voyage": ServerForm(
        "Voyage",
        "https://api.voyageai.com",
        "/v1/rerank",
        "VOYAGE_API_KEY",
        "rerank-2.5",
        is_remote=True,
        results="data",
    ),
}


class ServerReranker(BaseReranker):
    """A server of the form FORMS[provider]. `url` None means the default URL of the form."""

    def __init__(self, provider: str, url: str | None, model: str | None, timeout: float) -> None:
        form = self._form = FORMS[provider]
        self._model, self.batch_size = model or form.model, form.batch
        needs_key = form.is_remote and url is None
        self._server = Server(
            form.name, endpoint(url or form.url, form.path), form.key_variable, needs_key=needs_key
        )
        super().__init__(
            self._server.name + (f", model {self._model}" if self._model else ""), timeout
        )

    @classmethod
    def configured(cls, settings: "Settings") -> "ServerReranker":
        """Return the reranker of the settings. Makes no request yet."""
        return cls(
            settings["rerank"],
            settings["rerank_url"],
            settings["rerank_model"],
            settings["rerank_timeout"],
        )

    def close(self) -> None:
        self._server.close()

    def _request(self, query: str, texts: list[str], seconds: float) -> list[Any]:
        form = self._form
        payload = {"query": query, form.texts: texts, **form.more} | (
            {"model": self._model} if self._model else {}
        )
        reply = self._server.call("", payload, silence=seconds + LATER, texts=len(texts))
        try:
            if form.results is None:
                listed = reply
            else:
                listed = reply[form.results]
            by_index = {item["index"]: item[form.score] for item in listed}
        except (LookupError, TypeError) as error:
            raise self._server.nonsense() from error
        if len(by_index) != len(listed) or by_index.keys() != {*range(len(texts))}:
            return []
        return [by_index[index] for index in range(len(texts))]


def endpoint(url: str, path: str) -> str:
    """Return the URL for requests.

    `http://box:8080 -> http://box:8080/rerank`, `http://box/v1 -> http://box/v1/rerank`
    """
    url = url.rstrip("/")
    if "/" not in url.partition("://")[2]:
        return url + path
    if url.endswith("/rerank"):
        return url
    return f"{url}/rerank"
