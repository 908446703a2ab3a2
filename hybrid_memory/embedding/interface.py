"""The interface of embedders, and a guard around a user's own embedder, which may lack methods of it,
and may raise.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, cast

PACKAGE_PREFIX = __name__.partition(".")[0] + "."  # the prefix of this package's modules

Result = TypeVar("Result")


class MinimalEmbedder(Protocol):
    """The methods that an object for `HybridStore(embedder=...)` must have. See `Embedder`."""

    def embed(self, text: str) -> list[float]: ...
    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]: ...
    def dims(self) -> int: ...
    def is_available(self) -> bool: ...


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


def complete(embedder: MinimalEmbedder) -> Embedder:
    """Wrap a user's own embedder in a guard that provides all of `Embedder`. An embedder of this
    package is returned unchanged.
    """
    if type(embedder).__module__.startswith(PACKAGE_PREFIX):
        return cast(Embedder, embedder)
    return _Guarded(embedder)


class _Guarded:
    """A user's own embedder, with defaults for missing attributes. If it raises, or returns an
    invalid vector, the vector is [] and `problem` gives the reason.
    """

    def __init__(self, embedder: Any) -> None:
        from inspect import signature  # only for an embedder of a program

        self._embedder = embedder
        self._takes_seconds = "seconds" in signature(embedder.embed_batch).parameters
        self.provider: str = getattr(embedder, "provider", type(embedder).__name__)
        self.model: str = getattr(embedder, "model", "")
        self.query_prompt: str = getattr(embedder, "query_prompt", "{text}")
        self.document_prompt: str = getattr(embedder, "document_prompt", "{text}")
        self.wanted_dims: int | None = getattr(embedder, "wanted_dims", None)
        self.is_final: bool = getattr(embedder, "is_final", False)
        self.problem: str | None = None
        self.is_late = False
        self.truncated: set[int] = set()

    def embed(self, text: str) -> list[float]:
        return self._try(lambda: _to_list(self._embedder.embed(text)), [])

    def embed_queries(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """See `Embedder`. An embedder without this method embeds the texts one by one. `seconds`
        is ignored.
        """
        vectors: list[list[float]] = [[] for _ in texts]
        embed_queries = getattr(self._embedder, "embed_queries", None)
        if embed_queries:
            return self._try(lambda: _to_lists(embed_queries(texts), len(texts)), vectors)
        for number, text in enumerate(texts):
            vectors[number] = self.embed(text)
            if self.problem:
                break  # the others would wait for the same failure
        return vectors

    def embed_batch(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """See `Embedder`. An embedder without the parameter `seconds` uses its own time-outs."""
        options = {"seconds": seconds} if self._takes_seconds else {}
        return self._try(
            lambda: _to_lists(self._embedder.embed_batch(texts, **options), len(texts)),
            [[] for _ in texts],
        )

    def dims(self) -> int:
        return self._try(lambda: int(self._embedder.dims()), 0)

    def is_available(self) -> bool:
        return self._try(lambda: bool(self._embedder.is_available()), False)

    def fingerprint(self) -> str | None:
        fingerprint: Callable[[], str | None] = getattr(self._embedder, "fingerprint", lambda: None)
        return self._try(fingerprint, None)

    def close(self) -> None:
        self._try(getattr(self._embedder, "close", lambda: None), None)

    def _try(self, call: Callable[[], Result], otherwise: Result) -> Result:
        self.truncated = set()
        try:
            answer = call()
        except (
            Exception
        ) as error:  # a user's program may raise anything: the text must still be stored
            self.is_final = False  # the texts of this call may get a vector later
            reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")
            self.problem = f"the embedder {self.provider} {self.model}".rstrip() + f": {reason}"
            return otherwise
        self.is_final = getattr(self._embedder, "is_final", False)
        self.problem = getattr(self._embedder, "problem", None)
        self.truncated = getattr(self._embedder, "truncated", set())
        return answer


def _to_lists(vectors: Iterable[Any], count: int) -> list[list[float]]:
    """Convert the vectors of a batch. Raises ValueError if their number is not the number of texts,
    or their dimensions differ.
    """
    made = list(map(_to_list, vectors))
    if len(made) != count:
        raise ValueError(f"{len(made)} vectors for {count} texts")
    sizes = sorted({len(vector) for vector in made if vector})
    if len(sizes) > 1:
        raise ValueError(f"vectors of {sizes[0]} and of {sizes[-1]} dimensions")
    return made


def _to_list(vector: Any) -> list[float]:
    """Convert a vector to a list; libraries may return an array."""
    return [] if vector is None else [float(component) for component in vector]
