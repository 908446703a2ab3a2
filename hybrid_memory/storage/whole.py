"""A document with everything that a store has of it, as it is written to another store."""

import json
from collections.abc import Mapping, Sequence

from ..documents.document import Prepared, texts_of
from ..documents.extracted.extract import Extract
from ..documents.marks.found import Marks
from ..typed.names import Any, NamedTuple
from .rows import Vectors


class Whole(NamedTuple):
    """A document as `protocol.Documents.put` takes it, with the embeddings of its texts as far as there are any."""

    prepared: Prepared
    vectors: Vectors


def whole(row: Mapping[str, Any], chunks: Sequence[Mapping[str, Any]], marks: Marks) -> Whole:
    """From the row of a document with `pages` and `extracted` of the table of extracts, and those of its chunks, in order, with
    `embedding` (encoded, or None) and `truncated`. `marks` are its own, and the tags may be those of its metadata, too.
    """
    own = {key: value for key, value in row.items() if key not in ("pages", "extracted")}
    own["extract"] = None if row["extracted"] is None else Extract(row["extracted"], json.loads(row["pages"] or "[]"), {})
    vectors = {each["content_hash"]: (each["embedding"], bool(each["truncated"])) for each in chunks if each["embedding"]}
    plain = [{key: value for key, value in each.items() if key not in ("embedding", "truncated")} for each in chunks]
    return Whole(Prepared(own, plain, texts_of(plain), marks=marks), vectors)
