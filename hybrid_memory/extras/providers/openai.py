"""Vectors from OpenAI, or from any server that offers OpenAI's /v1/embeddings: llama.cpp, LM
Studio, vLLM, TEI.

Format: the operation `createEmbedding` in OpenAI's openapi.yaml. OpenAI accepts 2,048 texts and
300,000 tokens in a request.
"""

import os
from typing import Any

from ...embedding.base import BaseEmbedder
from ...embedding.transport import Failure, Server
from .remote import by_index

URL = "https://api.openai.com/v1"
URL_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")  # the second is the former name


class OpenAIEmbedder(BaseEmbedder):
    """The key is read from OPENAI_API_KEY; only OpenAI itself requires a key. Without a `base_url`,
    the URL is OPENAI_BASE_URL, as in OpenAI's libraries. /v1 is added to a URL without a path.
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
