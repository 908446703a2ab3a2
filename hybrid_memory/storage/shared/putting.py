"""How every engine writes prepared documents: their chunks, then at once the embeddings of all."""

from collections.abc import Iterable, Sequence

from ...documents.document import Prepared
from ..embeddings import Embeddings
from ..rows import Vectors


class PutsDocuments:
    """`put` and `put_all` of `protocol.Documents`, for an engine that has `_put`."""

    _embeddings: Embeddings

    def put(self, prepared: Prepared, new_vectors: Vectors | None = None) -> None:
        """As in `protocol.Documents`."""
        self.put_all([prepared], new_vectors)

    def put_all(self, documents: Iterable[Prepared], new_vectors: Vectors | None = None) -> None:
        """As in `protocol.Documents`."""
        vectors = dict(new_vectors or {})  # what a document loses here may be the embedding of a later one
        items: list[tuple[int, bytes, bool]] = []
        for prepared in documents:
            vectors |= self._embeddings.known(key for key in prepared.texts if key not in vectors)
            ids = self._put(prepared)
            hashes = (chunk["content_hash"] for chunk in prepared.chunks)
            items += [(id, *vectors[key]) for id, key in zip(ids, hashes, strict=True) if key in vectors]
        if items:
            self._embeddings.put(items)

    def _put(self, prepared: Prepared) -> Sequence[int]:
        """Write a document and its chunks without their embeddings. Gives the ids of the chunks."""
        raise NotImplementedError
