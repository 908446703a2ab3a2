"""Write documents to the store, many in one transaction, together with the settings of their
source.

If a file is unchanged and only re-chunked, its new chunks replace the old ones once they have
embeddings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..embedding.interface import Embedder
from ..indexing.pending import BATCH, accepts, is_another_model, mark_unembeddable, new_vectors
from ..storage.growing import GrowingDocument
from ..storage.interface import Storage
from ..storage.prepared import Prepared
from ..storage.rows import Vectors
from ..storage.source import Source
from ..store import HybridStore
from ..text.characters import plural
from .reading import Unchanged
from .report import UNCHANGED, Report

if TYPE_CHECKING:
    from ..documents.formats import GrowingReading
    from ..text.links import DocumentLinks

# Documents written in one transaction, unless their chunks exceed the engine's group
GROUP = 512


class Writer:
    """Writes documents, many in one transaction."""

    def __init__(self, storage: Storage, report: Report) -> None:
        self.embedder: Embedder | None = None  # made the vectors passed to `add`
        self._storage = storage
        self._report = report
        self._documents: dict[str, Prepared] = {}  # not yet written, by id
        self._unchanged: list[Unchanged] = []
        self._vectors: Vectors = {}
        self._not_embedded: list[bytes] = []
        self._chunks = 0

    def add(
        self,
        source: Source,
        found: Prepared | Unchanged,
        vectors: Vectors | None = None,
        not_embedded: Iterable[bytes] = (),
    ) -> None:
        """Buffer a document of the source, or the new time of its file, to be written by the next
        `flush` or before.

        `vectors` are embeddings of its texts, by content hash; `not_embedded` are the hashes of
        texts without a vector in this model.
        """
        if isinstance(found, Unchanged):
            self._report.skip(UNCHANGED)
            self._unchanged.append(found)
        else:
            self._documents[found.row["doc_id"]] = found
            self._chunks += len(found.chunks)
            self._vectors |= vectors or {}
            self._not_embedded += not_embedded
        waiting = len(self._documents) + len(self._unchanged)
        if waiting >= GROUP or self._chunks >= self._storage.group:
            self.flush(source)

    @property
    def waiting_chunks(self) -> int:
        """The number of chunks that are not yet written."""
        return self._chunks

    def flush(self, source: Source) -> None:
        """Write the buffered documents."""
        if self._documents or self._unchanged:
            self._write(source, self._put)
            self._documents = {}
            self._unchanged = []
            self._vectors = {}
            self._not_embedded = []
            self._chunks = 0

    def write_growth(
        self,
        source: Source,
        document: GrowingDocument,
        row: dict[str, Any],
        reading: "GrowingReading",
    ) -> bool:
        """Write the new part of a document that grows. Returns whether it was written.

        A file counts when all of it is written, and as skipped if a rule leaves out its text.
        """
        before = self._report.files
        self._write(source, lambda: self._put_growth(document, row, reading.links))
        is_written = self._report.files > before
        if is_written and (reading.has_more or reading.left_out):
            self._report.files = before
        if is_written and reading.left_out and not reading.has_more:
            self._report.skipped_by[reading.left_out] += 1
        return is_written

    def remember(self, source: Source) -> None:
        """Save the source's settings if they changed."""
        if self._storage.sources.news(source):
            self._write(source, lambda: None)

    def remove(self, doc_ids: Sequence[str]) -> None:
        """Remove documents of deleted files."""
        with self._storage.transaction():
            self._storage.documents.remove(*doc_ids, keep=True)
        self._report.removed += len(doc_ids)

    def tidy_spares(self, megabytes: float, days: float) -> None:
        """Reuse cached embeddings for texts that came back, and drop those beyond `megabytes` or
        unused for `days`.
        """
        embeddings = self._storage.embeddings
        if identity := embeddings.identity():
            with self._storage.transaction():
                embeddings.restore()
                embeddings.spare.trim(identity, megabytes, days)

    def report_taken(self, files: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return the pairs of id and path whose id another document has; report an error for each."""
        pairs = list(files)
        owners = {}
        if pairs:
            owners = self._storage.documents.several([doc_id for doc_id, _ in pairs])
        taken = {
            (doc_id, path)
            for doc_id, path in pairs
            if doc_id in owners and owners[doc_id].path != path
        }
        for doc_id, path in sorted(taken):
            if owner := owners[doc_id].path:
                whose = f"of {owner}; ingest this one with --collection NAME"
            else:
                delete = f"`hybrid-memory delete --doc-id {quote(doc_id)}`"
                whose = f"that `store` added; {delete} frees it"
            reason = f"its id {doc_id!r} belongs to the document {whose}"
            self._report.error(path, reason, "id taken")
        return taken

    def _write(self, source: Source, put: Callable[[], None]) -> None:
        """Run `put` in a transaction that also checks and saves the source."""
        with self._storage.transaction():
            self._storage.sources.check_claim(source)
            if news := self._storage.sources.news(source):
                self._storage.sources.remember(news)
            put()

    def _put(self) -> None:
        vectors = self._vectors
        if self.embedder and not accepts(self._storage, self.embedder, vectors):
            vectors = {}
        self._storage.documents.put_all(self._free(vectors), vectors)
        if self.embedder and self._not_embedded:
            mark_unembeddable(self._storage, self.embedder, self._not_embedded)
        for file in self._unchanged:
            self._storage.documents.touch(*file)

    def _free(self, vectors: Vectors) -> Iterator[Prepared]:
        """Yield the documents whose ids are still free, and count them.

        Another process, or an earlier document, may have taken an id.
        """
        documents = self._documents.items()
        ids = [(doc_id, prepared.row["source_path"]) for doc_id, prepared in documents]
        taken = self.report_taken(ids)
        for pair, prepared in zip(ids, self._documents.values(), strict=True):
            if pair not in taken:
                yield prepared
                if prepared.left_out:
                    self._report.skipped_by[prepared.left_out] += 1
                    continue
                self._report.files += 1
                self._report.chunks += len(prepared.chunks)
                self._report.embedded += sum(
                    chunk["content_hash"] in vectors for chunk in prepared.chunks
                )

    def _put_growth(
        self, document: GrowingDocument, row: dict[str, Any], links: "DocumentLinks"
    ) -> None:
        path = row["source_path"]
        if self.report_taken([(row["doc_id"], path)]):
            return
        written = document.write(row, links)
        if written is None:
            self._report.warning(path, "another process indexed it at the same time", "changing")
            return
        self._report.files += 1
        self._report.chunks += written


class RechunkBuffer:
    """Holds back re-chunked documents until their new chunks are embedded.

    The new embeddings wait in spare_embeddings. A document that cannot be embedded keeps its old
    chunks. `write` is called with each document that is ready. `place` is the folder or database
    named in the report.
    """

    def __init__(
        self, store: HybridStore, place: str, write: Callable[[Prepared], None], report: Report
    ) -> None:
        self._store = store
        self._place = place
        self._ready = write
        self._report = report
        self._documents: list[Prepared] = []
        self._embedded: set[bytes] = set()  # content hashes of the texts that got an embedding
        self._not_embedded: list[bytes] = []  # and of those that did not
        self._kept_back = 0

    def add(self, prepared: Prepared) -> None:
        """Buffer a document, to be written by the next `flush` or before if its chunks can be
        embedded.
        """
        self._documents.append(prepared)
        if sum(len(document.texts) for document in self._documents) >= BATCH:
            self._write()

    def flush(self) -> None:
        """Write the buffered documents that are ready, and report how many are not."""
        self._write()
        if self._not_embedded and (embedder := self._store.fitting_embedder):
            with self._store.storage.transaction():
                mark_unembeddable(self._store.storage, embedder, self._not_embedded)
        if self._kept_back:
            documents = plural(self._kept_back, "document keeps its", "documents keep their")
            reason = f"{documents} chunks of another size until the new ones can be embedded"
            self._report.warning(self._place, reason)

    def embed_growing(self, document: GrowingDocument) -> bool:
        """Embed the new chunks of a growing document; return whether all of them have embeddings
        now.
        """
        before = len(self._embedded)
        texts = list(document.texts().items())
        batches = (dict(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH))
        ready = all(map(self._embed, batches))
        if ready:
            self._report.embedded += len(self._embedded) - before
        else:
            self._kept_back += 1
        return ready

    def _write(self) -> None:
        documents, self._documents = self._documents, []
        self._embed({key: text for document in documents for key, text in document.texts.items()})
        for document in documents:
            if self._embed(document.texts):
                self._ready(document)
                self._report.embedded += sum(
                    chunk["content_hash"] in self._embedded for chunk in document.chunks
                )
            else:
                self._kept_back += 1

    def _embed(self, texts: Mapping[bytes, str]) -> bool:
        """Embed those of these texts that are new, as spare embeddings.

        Return whether every text now has an embedding or can never have one.
        """
        if not texts:
            return True
        storage, embedder = self._store.storage, self._store.fitting_embedder
        identity = storage.embeddings.identity()
        if identity is None or embedder is None:
            return True
        new = new_vectors(storage, embedder, texts)
        self._not_embedded += new.not_embedded
        if new.vectors:
            fingerprint = embedder.fingerprint()
            if is_another_model(storage, fingerprint):
                return False
            with storage.transaction():
                if not accepts(storage, embedder, new.vectors, fingerprint):
                    return False
                storage.embeddings.spare.put(storage.embeddings.identity() or identity, new.vectors)
            self._embedded.update(new.vectors)
        return embedder.is_final or not (new.not_embedded or new.problem)
