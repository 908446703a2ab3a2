"""Vectors from Google's Gemini API. Format: models.batchEmbedContents in
ai.google.dev/api/embeddings.
"""

from typing import Any

from ...embedding.base import QUERY, BaseEmbedder
from ...embedding.transport import Server


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
