"""What the rest of the program may ask of the embeddings in a store; a part of protocol.py, which says what holds for all."""

from collections.abc import Callable, Iterable, Sequence

from ..typed.names import Protocol
from .document_rows import Pending
from .rows import Identity, Vectors


class SpareEmbeddings(Protocol):
    """Embeddings that no chunk has, by identity and content hash: those of texts that left, which may come back; and the next
    set, of another model, which grows until it is complete and takes the place of the present one. b"" stands for a text that
    the model can never embed.
    """

    def known(self, identity: Identity, hashes: Iterable[bytes]) -> Vectors:
        """The embeddings of these texts."""

    def put(self, identity: Identity, vectors: Vectors) -> None:
        """Take embeddings in."""

    def drop_unused(self) -> None:
        """Drop the embeddings of all texts that no chunk has."""

    def trim(self, identity: Identity, megabytes: float, days: float) -> None:
        """Drop what left more than so many days ago, the oldest beyond so many megabytes, and what chunks of this identity have
        again. The next set stays.
        """

    def next_identity(self) -> Identity | None:
        """The identity of the next set; None if there is none."""

    def begin_next(self, identity: Identity) -> None:
        """Begin a next set, in place of another one."""

    def drop_next(self) -> None:
        """Give the next set up."""

    def lacking(self, identity: Identity, before: int, batch: int) -> list[Pending]:
        """At most `batch` chunks (all if -1) below the id `before`, the newest first, whose text has no embedding here."""

    def count_lacking(self, identity: Identity) -> int:
        """How many chunks have no embedding here."""


class Embeddings(Protocol):
    """The embeddings of the chunks, which all have one identity."""

    def identity(self) -> Identity | None:
        """Who made the embeddings; None before the first."""

    def set_identity(self, identity: Identity) -> None:
        """Say who makes the embeddings from now on."""

    def known(self, hashes: Iterable[bytes]) -> Vectors:
        """The embeddings that the store has of these texts, by content hash."""

    def pending(self, before: int, batch: int, *, tried: bool) -> list[Pending]:
        """At most `batch` chunks without an embedding whose id is below `before`, the newest first.

        `tried`: also chunks that were marked as unembeddable.
        """

    def still_pending(self, batch: Sequence[Pending]) -> list[Pending]:
        """Those of the batch that no other process has changed or embedded meanwhile."""

    def count_pending(self) -> int:
        """How many chunks wait for an embedding."""

    def put(self, rows: Iterable[tuple[int, bytes, bool]]) -> None:
        """Give chunks their embeddings: (chunks.id, embedding, whether the text was cut to fit the model)."""

    def mark_unembeddable(self, hashes: Iterable[bytes]) -> None:
        """Mark texts, by content hash, as ones that the model can never embed."""

    @property
    def spare(self) -> SpareEmbeddings: ...

    def keep(self, ids: Iterable[int]) -> None:
        """Put the embeddings of chunks, by chunks.id, among the spare ones."""

    def restore(self) -> None:
        """Give pending chunks the spare embeddings of their texts."""

    def take_over(self, identity: Identity) -> None:
        """Give every chunk its embedding of the next set, which has this identity, in place of the one that it has."""


class QueryCache(Protocol):
    """What models said of earlier queries. Needs no transaction, and waits for no other writer."""

    def vector(self, identity: Identity, query: str, embed: Callable[[str], list[float]]) -> list[float]:
        """The embedding of a query: the one that is kept, else what `embed` gives, which is then kept if nobody else writes."""

    def scores(self, reranker: str, query: str, texts: Sequence[str], score: Callable[[list[str]], list[float]]) -> list[float]:
        """A reranker's score of each text for a query: those that are kept, and for other texts what `score` gives, which is then
        kept; [] if it gives [].
        """
