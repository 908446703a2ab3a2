"""The interface of embedders."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


class MinimalEmbedder(Protocol):
    """The methods that an object for `HybridStore(embedder=...)` must have. See `Embedder`."""

    def embed(self, text: str) -> list[float]: ...
    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]: ...
    def dims(self) -> int: ...
    def is_available(self) -> bool: ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of length 1; [] for a text that is blank or could not be embedded.
    No method raises.
    """

    provider: str
    model: str
    query_prompt: str  # a template with {text}
    document_prompt: str
    wanted_dims: int | None  # the configured number of dimensions; None for the model's own
    is_final: bool  # a text without a vector will never get one from this model
    problem: str | None  # why the last call did not embed all texts; None if it did
    is_late: bool  # the server did not answer the last call in time
    truncated: set[int]  # indexes of texts in the last call that were cut to fit the model

    def embed(self, text: str) -> list[float]:
        """The vector of a query."""

    def embed_queries(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """The vectors of several queries, in the order of the texts.

        They may take `seconds`; if that is None, the embedder's own time-out applies.
        """

    def embed_batch(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """The vectors of documents, in the order of the texts.

        Each request may take `seconds`; if that is None, the embedder's own time-out applies.
        """

    def dims(self) -> int:
        """The number of dimensions of a vector; 0 if it is unknown."""

    def is_available(self) -> bool:
        """Whether a text can be embedded now."""

    def fingerprint(self) -> str | None:
        """An id that tells apart models of the same name; None if it is unknown. May ask the
        server.
        """

    def close(self) -> None:
        """Close connections; the next call opens new ones."""
