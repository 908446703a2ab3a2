"""Re-chunk texts without a file when the settings change, as an ingest does with files."""

from contextlib import suppress

from ..documents.document import Document, chunking
from ..indexing.documents import ConcurrentUpdateError, StoredText, put_again, stored_text
from ..storage.prepared import Prepared
from ..store import HybridStore
from ..text.characters import plural
from .report import Report
from .writing import RechunkBuffer


def chunking_of_texts(store: HybridStore) -> str:
    """The current settings for reading and chunking texts without a file, as in
    `documents.chunking`.
    """
    settings = store.config
    return chunking(settings["chunk_size"], settings["chunk_overlap"], settings["date_keys"])


def rechunk_stored_texts(store: HybridStore, report: Report) -> None:
    """Re-chunk all texts without a file whose chunking differs from the settings.

    Each is written in one transaction, once its new chunks have embeddings; until then it keeps its
    old chunks. A text that another process changes meanwhile is left to that process.
    """
    before: dict[str, StoredText] = {}
    done: list[str] = []

    def write(prepared: Prepared) -> None:
        doc_id = prepared.row["doc_id"]
        with suppress(ConcurrentUpdateError):
            put_again(store.storage, prepared, follows=before.pop(doc_id))
            done.append(doc_id)
            report.chunks += len(prepared.chunks)

    recut = RechunkBuffer(store, store.path, write, report)
    for doc_id in store.storage.documents.texts_cut_otherwise(chunking_of_texts(store)):
        text = stored_text(store.storage, doc_id)
        if text is not None:
            before[doc_id] = text
            recut.add(store.prepare(Document(doc_id, text.content, text.metadata)))
    recut.flush()
    if done:
        were = plural(len(done), "text without a file was", "texts without a file were")
        report.notes.append(f"{were} re-chunked because the settings changed")
