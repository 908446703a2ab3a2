"""What a new store may ask of a damaged one."""

from ..typed.names import Any, Protocol
from .rows import Identity


class Salvage(Protocol):
    """What can be read of a damaged store. A context manager; the damaged file is not changed."""

    identity: Identity | None  # of the embeddings
    embeddings: int  # texts whose embedding can be read, whether its identity can or not
    knows_all_ids: bool
    knows_all_sources: bool
    problems: list[str]  # what else cannot be read

    def __enter__(self) -> "Salvage": ...
    def __exit__(self, *_: object) -> None: ...

    def ids(self) -> list[str]:
        """The ids of all documents that are known of, if by nothing but their id."""

    def document(self, doc_id: str) -> dict[str, Any] | None:
        """The row of a document, or None. A text that cannot be read is None, as is that of a document with a file."""

    def chunks(self, doc_id: str) -> list[dict[str, Any]]:
        """The rows of the chunks of a document that can be read and are as they were written, in order."""

    def chunk_count(self, doc_id: str) -> int:
        """How many chunks a document has, at least."""

    def embedding(self, content_hash: bytes) -> tuple[bytes, bool] | None:
        """The embedding of a text, and whether the text was cut to fit the model."""

    def put_sources(self) -> int:
        """Let the new store know the sources of the damaged one, inside a transaction. Gives their number."""
