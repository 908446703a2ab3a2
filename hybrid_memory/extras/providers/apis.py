"""Vectors from the APIs of OpenAI, Gemini and Voyage AI. Servers such as llama.cpp, LM Studio, vLLM and
TEI offer OpenAI's /v1/embeddings, too.

Formats: the operation `createEmbedding` in OpenAI's openapi.yaml; models.batchEmbedContents in
ai.google.dev/api/embeddings; docs.voyageai.com/reference/embeddings-api.
"""

import os
from typing import Any

from ...embedding.base import QUERY, BaseEmbedder
from ...embedding.transport import Failure, Server

URL = "https://api.openai.com/v1"
URL_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")  # the second is the former name


class OpenAIEmbedder(BaseEmbedder):
    """The key is read from OPENAI_API_KEY; only OpenAI itself requires a key. Without a `base_url`,
    the URL is OPENAI_BASE_URL, as in OpenAI's libraries. /v1 is added to a URL without a path.

    OpenAI accepts 2,048 texts and 300,000 tokens in a request.
    """

    provider = "openai"
    batch_bytes = 250_000
    _server: Server

    def __init__(
        self,
        base_url: str | None = None,
        model: str = "text-embedding-3-small",
        cache_size: int = 256,
        **options: Any,
    ) -> None:
        super().__init__(model, cache_size, **options)
        base_url = base_url or next(filter(None, map(os.environ.get, URL_VARIABLES)), URL)
        self.base_url = base_url.strip().rstrip("/").removesuffix("/embeddings")
        if "/" not in self.base_url.rpartition("://")[2]:
            self.base_url += "/v1"
        official = self.base_url == URL
        if official:
            self.batch_size = 256  # 32 for other servers, the maximum of TEI
        name = "the embedding server"
        if official:
            name = "OpenAI"
        self._server = Server(name, self.base_url, "OPENAI_API_KEY", needs_key=official)
        self._names_dims = bool(self.wanted_dims)

    def _request(self, texts: list[str], role: str) -> Any:
        payload: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float"}
        if self._names_dims:
            payload["dimensions"] = self.wanted_dims
        try:
            reply = self._call("/embeddings", payload, role, len(texts))
        except Failure as failure:
            if self._names_dims and (
                "dimensions" in failure.reason or "matryoshka" in failure.reason
            ):
                # The model or the server has a fixed number of dimensions
                self._names_dims = False
                return self._request(texts, role)
            raise
        return by_index(reply, self._server)


class GeminiEmbedder(BaseEmbedder):
    """The key is read from GEMINI_API_KEY. The API accepts 100 texts and 4 MB in a request."""

    provider = "gemini"
    batch_size = 100
    batch_bytes = 500_000
    _server: Server

    def __init__(
        self,
        base_url: str = "https://generativelanguage.googleapis.com/v1beta",
        model: str = "gemini-embedding-001",
        cache_size: int = 256,
        **options: Any,
    ) -> None:
        super().__init__(model, cache_size, **options)
        self.base_url = base_url.rstrip("/")
        self._server = Server(
            "Gemini",
            self.base_url,
            "GEMINI_API_KEY",
            needs_key=True,
            key_header=("x-goog-api-key", ""),
        )

    def _request(self, texts: list[str], role: str) -> Any:
        name = "models/" + self.model.removeprefix("models/")
        # gemini-embedding-2 ignores taskType; its prompt template puts the task into the text.
        options: dict[str, Any] = {
            "taskType": "RETRIEVAL_QUERY" if role == QUERY else "RETRIEVAL_DOCUMENT"
        }
        if self.wanted_dims:
            options["outputDimensionality"] = self.wanted_dims
        requests = [
            {"model": name, "content": {"parts": [{"text": text}]}, **options} for text in texts
        ]
        reply = self._call(f"/{name}:batchEmbedContents", {"requests": requests}, role, len(texts))
        try:
            return [item.get("values") for item in reply["embeddings"]]
        except (AttributeError, KeyError, TypeError) as error:
            raise self._server.nonsense() from error


class VoyageEmbedder(BaseEmbedder):
    """The key is read from VOYAGE_API_KEY. The server adds the prompts.

    The API accepts 1,000 texts in a request (128 in earlier versions), and 120,000 tokens for the
    large models.
    """

    provider = "voyage"
    batch_size = 128
    _server: Server

    def __init__(
        self,
        base_url: str = "https://api.voyageai.com/v1",
        model: str = "voyage-4",
        cache_size: int = 256,
        **options: Any,
    ) -> None:
        super().__init__(model, cache_size, **options)
        self.base_url = base_url.rstrip("/")
        self._server = Server("Voyage", self.base_url, "VOYAGE_API_KEY", needs_key=True)

    def _request(self, texts: list[str], role: str) -> Any:
        payload: dict[str, Any] = {
            "model": self.model,
            "input": texts,
            "input_type": role,
            "truncation": False,
        }
        if self.wanted_dims:
            payload["output_dimension"] = self.wanted_dims
        return by_index(self._call("/embeddings", payload, role, len(texts)), self._server)


def by_index(reply: Any, server: Server) -> list[Any]:
    """The vectors in a reply of OpenAI or Voyage, in the order of the texts. Raises Failure if the
    reply has another form.

    `{"data": [{"index": 1, "embedding": b}, {"index": 0, "embedding": a}]} -> [a, b]`
    """
    try:
        vectors = {item.get("index", i): item["embedding"] for i, item in enumerate(reply["data"])}
        return [vectors[i] for i in range(len(reply["data"]))]
    except (AttributeError, LookupError, TypeError) as error:
        raise server.nonsense() from error
