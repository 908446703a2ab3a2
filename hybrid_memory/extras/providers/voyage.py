"""Vectors from Voyage AI, whose server adds the prompts. Format:
docs.voyageai.com/reference/embeddings-api.
"""

from typing import Any

from ...embedding.base import BaseEmbedder
from ...embedding.transport import Server
from .remote import by_index


class VoyageEmbedder(BaseEmbedder):
    """The key is read from VOYAGE_API_KEY.

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
