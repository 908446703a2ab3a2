"""Cut files anew that are as they were: their new chunks take the place of the old ones once they have their embeddings."""

from collections.abc import Mapping

from ..documents.document import Prepared
from ..indexing.embedding import BATCH, accepts, is_another_model, new_vectors
from ..storage.protocol import GrowingDocument
from ..storage.source import Source
from ..store import HybridStore
from .report import Report
from .writing import Writer


class Recut:
    """Documents of one source, held back until their new chunks are embedded. Those that cannot be keep their old chunks."""

    def __init__(self, store: HybridStore, writer: Writer, report: Report) -> None:
        self._store, self._writer, self._report = store, writer, report
        self._documents: list[Prepared] = []
        self._kept_back = 0

    def add(self, source: Source, prepared: Prepared) -> None:
        """Write a document of the source at the latest with the next `flush`, if its chunks can be embedded."""
        self._documents.append(prepared)
        if sum(len(document.texts) for document in self._documents) >= BATCH:
            self._write(source)

    def flush(self, source: Source) -> None:
        """Write what is not yet written, and tell what is not to be."""
        self._write(source)
        if self._kept_back:
            reason = f"{self._kept_back} documents keep their chunks of another size until the new ones can be embedded"
            self._report.warning(source.path, reason)

    def spooled(self, document: GrowingDocument) -> bool:
        """Whether the new chunks of a growing document have their embeddings now."""
        ready = all(self._is_embedded(texts) for texts in document.texts(BATCH))
        self._kept_back += not ready
        return ready

    def _write(self, source: Source) -> None:
        documents, self._documents = self._documents, []
        self._is_embedded({key: text for document in documents for key, text in document.texts.items()})
        for document in documents:
            if self._is_embedded(document.texts):
                self._writer.add(source, document)
            else:
                self._kept_back += 1

    def _is_embedded(self, texts: Mapping[bytes, str]) -> bool:
        """Whether all of these texts have an embedding now, or will never have one; those that are new become spare ones."""
        storage, embedder = self._store.storage, self._store.fitting_embedder
        identity = storage.embeddings.identity()
        if identity is None or embedder is None or not texts:
            return True
        new = new_vectors(storage, embedder, texts)
        if new.vectors:
            fingerprint = embedder.fingerprint()
            if is_another_model(storage, fingerprint):
                return False
            with storage.transaction():
                if not accepts(storage, embedder, new.vectors, fingerprint):
                    return False
                storage.embeddings.spare.put(storage.embeddings.identity() or identity, new.vectors)
        return embedder.is_final or not (new.without or new.problem)
