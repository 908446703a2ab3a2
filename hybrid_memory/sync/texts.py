"""Re-chunk texts without a file when the settings change, as an ingest does with files."""

from contextlib import suppress

from ..documents.document import Document, chunking, why_cut_again
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


def texts_to_cut(store: HybridStore) -> dict[str, str]:
    """The texts without a file that are due to be cut again, by id, each with the reason."""
    wanted = chunking_of_texts(store)
    known = store.storage.documents.texts_cut_otherwise(wanted)
    reasons = {doc_id: why_cut_again(cut, wanted) for doc_id, cut in known.items()}
    return {doc_id: reason for doc_id, reason in reasons.items() if reason}


def rechunk_stored_texts(store: HybridStore, report: Report) -> None:
    """Re-chunk all texts without a file that were cut with other settings or by an older version.

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
    due = texts_to_cut(store)
    for doc_id in due:
        text = stored_text(store.storage, doc_id)
        if text is not None:
            before[doc_id] = text
            recut.add(store.prepare(Document(doc_id, text.content, text.metadata)))
    recut.flush()
    if done:
        were = plural(len(done), "text without a file was", "texts without a file were")
        reasons = " or ".join(sorted({due[doc_id] for doc_id in done}))
        report.notes.append(f"{were} re-chunked: {reasons}")
