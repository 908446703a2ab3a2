"""The methods and attributes of an embedder that the program uses, and an adapter for embedders that have fewer."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


class MinimalEmbedder(Protocol):
    """What an object for `HybridStore(embedder=...)` needs at least. `Embedder` describes the methods."""

    def embed(self, text: str) -> list[float]: ...
    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]: ...
    def dims(self) -> int: ...
    def is_available(self) -> bool: ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of length 1; a text that is blank or could not be embedded gets []. No method raises."""

    provider: str
    model: str
    query_prompt: str  # a template with {text}
    document_prompt: str
    wanted_dims: int | None  # the configured number of dimensions; None for as many as the model gives
    is_final: bool  # whether a text without a vector will never get one from this model
    problem: str | None  # why the last call did not embed every text; None if it did
    truncated: set[int]  # indexes of the last call's texts that were too long for the model and were cut

    def embed(self, text: str) -> list[float]:
        """The vector of a query."""

    def embed_batch(self, texts: Sequence[str], *, seconds: float | None = None) -> list[list[float]]:
        """The vectors of documents, in the order of the texts.

        Each request may take `seconds`; if that is None, the embedder's own time-out applies.
        """

    def dims(self) -> int:
        """The number of dimensions of a vector; 0 if it is not known."""

    def is_available(self) -> bool:
        """Whether a text can be embedded now."""

    def fingerprint(self) -> str | None:
        """What tells the model from another one of the same name; None if that is not known. May ask the server."""

    def close(self) -> None:
        """Close connections; the next call opens new ones."""


def complete(embedder: MinimalEmbedder) -> Embedder:
    """The embedder itself if it has everything that `Embedder` declares, else an adapter that adds the rest."""
    return embedder if isinstance(embedder, Embedder) else _Completed(embedder)


class _Completed:
    """A user's own embedder, with defaults for what it lacks. `seconds` is ignored: the embedder has its own time-outs."""

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

    def fingerprint(self) -> str | None:
        return None

    def close(self) -> None:
        getattr(self._embedder, "close", lambda: None)()

    def _note(self) -> None:
        self.problem = getattr(self._embedder, "problem", None)
        self.truncated = getattr(self._embedder, "truncated", set())
