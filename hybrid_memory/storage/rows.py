"""Values that a store returns to a search, the same for every engine."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from ..text.query import Query

Identity = dict[str, Any]  # what made the embeddings: provider, model, prompts, dims
# Content hash -> (encoded embedding, whether the text was cut to fit the model)
Vectors = dict[bytes, tuple[bytes, bool]]
Ranking = list[tuple[int, float]]  # (chunks.id, score), best first
NONE: Mapping[int, float] = MappingProxyType({})  # scores of no chunk


Score = TypeVar("Score", float, tuple[int, int])
Order = Callable[[Collection[int]], Iterable[int]]  # sorts ids by their documents

UPGRADED = "this memory was upgraded by a newer version; start this process again"
MISCOUNT = "{!r} has more or fewer chunks than it should have"  # a line about a document
LAST_LINE = 2**31 - 1  # more lines than a document has
TIES = 60  # extra rows to read, because some may score the same as the last one wanted
MORE = 8  # factor by which more rows are read if all of the extra ones do


def best_first(hits: Iterable[tuple[int, Score]], order: Order) -> list[tuple[int, Score]]:
    """Sort hits, equal ones in the order of their documents. So equal notes give equal answers, for
    any ids that their history has given them.
    """
    found = list(hits)
    counts = Counter(score for _, score in found)
    tied = [id for id, score in found if counts[score] > 1]
    places = {id: -place for place, id in enumerate(order(tied))} if tied else {}
    return sorted(found, key=lambda hit: (hit[1], places.get(hit[0], 0)), reverse=True)


def with_ties(hits: list[tuple[int, Score]], limit: int) -> list[tuple[int, Score]]:
    """The first hits of a sorted list, and all that score the same as the last of them."""
    if len(hits) <= limit:
        return hits
    least = hits[limit - 1][1]
    return [hit for hit in hits if hit[1] >= least]


def best_of(
    read: Callable[[int], list[tuple[int, Score]]], limit: int, order: Order
) -> list[tuple[int, Score]]:
    """The best hits, and all that score the same as the last of them, best first.

    `read` returns the best hits, sorted, at most as many as it is asked for. It is called again for
    more if ties need them.
    """
    most = limit + TIES
    hits = read(most)
    while len(hits) == most and hits[limit - 1][1] == hits[-1][1]:
        most *= MORE
        hits = read(most)
    return best_first(with_ties(hits, limit), order)


class KeywordLeg:
    """The results of the keyword leg. `is_name` is true if the query is the name of a document.

    `full_score` is the BM25 score that counts as a full match; if it is 0, every hit does.
    `searched` is the query with the substitutes and the forms of its words. `further_scores` are
    those of chunks that were asked for, but are not among the best.
    """

    def __init__(
        self,
        ranking: Ranking,
        searched: "Query",
        *,
        is_name: bool = False,
        full_score: float = 0.0,
        further_scores: Mapping[int, float] = NONE,
    ) -> None:
        self.ranking = ranking
        self.searched = searched
        self.is_name = is_name
        self.full_score = full_score
        self.further_scores = further_scores


class Candidate(NamedTuple):
    """A chunk that a leg of a search found."""

    id: int  # chunks.id
    doc_id: str
    chunk_id: str
    text: str
    heading_path: str
    collection: str | None
    metadata: str | None  # JSON, of the first chunk of a document with metadata
    role: str | None  # who speaks in it, see text/roles.py
    items: str = ""  # the first lines of the list items in which it begins
    date: str | None = None  # its own, or its document's
    modified: str | None = (
        None  # when its file changed, or its text was stored: 2026-01-05T10:00:00Z
    )


class ChunkRow(NamedTuple):
    """A chunk with the data of its document."""

    doc_id: str
    chunk_id: str
    heading: str
    heading_path: str
    text: str
    start_line: int
    end_line: int
    path: str | None  # of the source file
    collection: str | None
    date: str | None
    metadata: dict[str, Any]
    pages: Sequence[int]  # the first line of each page, if there are pages
    role: str | None  # who speaks in it, see text/roles.py
    modified: str | None  # when its file changed, or its text was stored: 2026-01-05T10:00:00Z


class Neighbour(NamedTuple):
    """A chunk near another one; `chunking` is how its document was split."""

    id: int
    text: str
    start_line: int
    end_line: int
    chunking: str
    role: str | None


def as_results(
    scores: Iterable[tuple[int, float]], rows: Iterable[Sequence[Any]], source: str
) -> list[dict[str, Any]]:
    """Build results in the order of their scores, without those that score 0 or less.

    A row has its id in `scores`, doc_id, chunk_id, heading and text. An id without a row is
    skipped.
    """
    rows_by_id = {row[0]: row[1:] for row in rows}
    results = []
    for id, score in scores:
        if id in rows_by_id and score > 0:
            doc_id, chunk_id, heading, text = rows_by_id[id]
            results.append(
                {
                    "doc_id": doc_id,
                    "chunk_id": chunk_id,
                    "heading": heading,
                    "text": text,
                    "score": score,
                    "source": source,
                }
            )
    return results


class LinkRow(NamedTuple):
    """A link in line `line` of the document `source`, and the document that it leads to, if any.

    `target` is kept as written; `kind` is "wikilink", "embed" or "markdown". A link is `broken` if
    it should lead to a document and does not.
    """

    source: str
    line: int
    target: str
    kind: str
    doc_id: str | None
    broken: bool


class StoredDocument(NamedTuple):
    """A document in the store, with the state of its file when it was indexed; `path` is None for a
    text without a file.
    """

    doc_id: str
    path: str | None
    mtime: float  # seconds since 1970
    size: int  # bytes
    content_hash: bytes
    chunking: str


class DocumentRow(NamedTuple):
    """A document. `content` is the text of a document without a file, or with a file that is not
    text or is on another `host`.
    """

    path: str | None
    content_hash: bytes | None
    content: str | None
    collection: str | None
    date: str | None
    pages: Sequence[int]  # the first line of each page
    host: str | None = None  # where the file is, if it cannot be read here


class SourceFile(NamedTuple):
    """A document's file as it was when indexed."""

    doc_id: str
    path: str
    mtime: float
    size: int
    chunking: str
    collection: str | None


class Pending(NamedTuple):
    """A chunk without an embedding."""

    id: int
    content_hash: bytes
    text: str  # the text to embed
