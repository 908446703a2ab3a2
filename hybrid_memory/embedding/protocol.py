"""What the rest of the program may ask of an embedder, and an adapter for embedders that offer less."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


class MinimalEmbedder(Protocol):
    """The least that `HybridStore(embedder=...)` takes; see `Embedder` for what the methods do."""

    def embed(self, text: str) -> list[float]: ...
    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]: ...
    def dims(self) -> int: ...
    def is_available(self) -> bool: ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors of length 1; [] for a text that is blank or could not be embedded. Nothing raises."""

    provider: str
    model: str
    query_prompt: str  # a template with {text}
    document_prompt: str
    wanted_dims: int | None  # the number of dimensions asked for; None: as many as the model gives
    is_final: bool  # whether a text that got no vector will never get one from this model
    problem: str | None  # why the last call fell short
    truncated: set[int]  # indexes of the texts of the last call that were cut to fit the model

    def embed(self, text: str) -> list[float]:
        """The vector of a query."""

    def embed_batch(self, texts: Sequence[str], *, seconds: float | None = None) -> list[list[float]]:
        """The vectors of documents, in their order. A request may take `seconds`, or as long as the embedder's own time-out."""

    def dims(self) -> int:
        """How many numbers a vector has; 0 if that is not known."""

    def is_available(self) -> bool:
        """Whether a text can be embedded now."""

    def close(self) -> None:
        """Give up connections; the next call makes new ones."""


def complete(embedder: MinimalEmbedder) -> Embedder:
    """The embedder itself if it has everything the protocol declares, else wrapped so that it has."""
    return embedder if isinstance(embedder, Embedder) else _Completed(embedder)


class _Completed:
    """A user's own embedder, with defaults for what it does not have. It keeps its own time-outs."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self.provider: str = getattr(embedder, "provider", type(embedder).__name__)
        self.model: str = getattr(embedder, "model", "")
        self.query_prompt: str = getattr(embedder, "query_prompt", "{text}")
        self.document_prompt: str = getattr(embedder, "document_prompt", "{text}")
        self.wanted_dims: int | None = getattr(embedder, "wanted_dims", None)
        self.is_final: bool = getattr(embedder, "is_final", False)
        self.problem: str | None = None
        self.truncated: set[int] = set()

    def embed(self, text: str) -> list[float]:
        vector: list[float] = self._embedder.embed(text)
        self._note()
        return vector

    def embed_batch(self, texts: Sequence[str], *, seconds: float | None = None) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed_batch(texts)
        self._note()
        return vectors

    def dims(self) -> int:
        return int(self._embedder.dims())

    def is_available(self) -> bool:
        available = bool(self._embedder.is_available())
        self._note()
        return available

    def close(self) -> None:
        getattr(self._embedder, "close", lambda: None)()

    def _note(self) -> None:
        self.problem = getattr(self._embedder, "problem", None)
        self.truncated = getattr(self._embedder, "truncated", set())
