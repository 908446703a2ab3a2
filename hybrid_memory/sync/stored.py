"""Put a file into the store under an id that the user chose. From then on it is kept current like what was ingested."""

from collections.abc import Mapping
from contextlib import closing

from ..documents.document import Document, assemble
from ..documents.files import BadFileError
from ..documents.formats import format_of
from ..errors import SourceError
from ..indexing.documents import put_document
from ..storage.source import Source, default_collection, real_path
from ..store import HybridStore


def store_file(store: HybridStore, doc_id: str, path: str, metadata: Mapping[str, str]) -> tuple[int, list[str]]:
    """Read a file anew, in place of the document of this id. Gives the number of its chunks, and warnings.

    The `metadata` wins over the file's own, also when the file is read again later. Raises SourceError for a file that cannot
    be read, for one that is in the store already with another id, and for the id of a document of another folder.
    """
    path = real_path(path)
    collection = default_collection(path, True, ())
    source = Source(path, collection, True, (), own_id=doc_id, metadata=tuple(metadata.items()))
    sizes = source.sizes(store.config)
    try:
        with closing(format_of(path).open(path, store.config["max_file_bytes"], False, metadata)) as reading:
            chunks = list(reading.chunks(*sizes))
            of_file = path, reading.mtime, reading.size, reading.digest, collection, reading.extract
            document = Document(doc_id, "", reading.metadata, *of_file)
            date = reading.date(doc_id, store.config["date_keys"])
            prepared = assemble(document, chunks, date, source.chunking(store.config), reading.marks)
            warnings = [f"{path}: {warning}" for warning in reading.warnings]
    except (OSError, BadFileError) as error:
        raise SourceError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if not chunks:
        warnings.append(f"{path}: it holds no text that a search could find")
    with store.storage.guarded("cannot write"):
        problems = put_document(store.storage, store.fitting_embedder, prepared, source)
    return len(chunks), warnings + problems
