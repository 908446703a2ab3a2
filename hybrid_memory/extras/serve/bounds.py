"""The bounds of `mcp` and `serve`: limits to the visible documents and to writing, for all calls.

Whoever starts the server sets the bounds. The arguments of a call can narrow them further, but
never widen them. The options of `serve` are also here, so that its help works without the packages
of the server.
"""

from argparse import ArgumentTypeError
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import NotFoundError, QueryError, SourceError, WayOut
from ...storage.filters import Filters
from ...storage.sqlite.selection import is_inside
from ...storage.targets import find
from ...surface.arguments import Parser, count, examples, non_empty

if TYPE_CHECKING:
    from argparse import Namespace

    from ...store import HybridStore

MOST = 10**9  # documents


class Bounds(NamedTuple):
    """Limits of a server: only documents of a collection, only ids that match a glob, read-only."""

    collection: str | None = None
    inside: str | None = None
    read_only: bool = False

    @property
    def hide(self) -> bool:
        """Whether the bounds can hide documents."""
        return self.collection is not None or self.inside is not None

    def filters(self, store: "HybridStore", requested: Filters | None) -> Filters | None:
        """Restrict the filters of a call to the bounds. Raises QueryError for another collection,
        NotFoundError for a `linked_to` outside the bounds.
        """
        if not self.hide:
            return requested
        requested = requested or Filters()
        if self.collection is not None and requested.collection not in (None, self.collection):
            raise QueryError(
                f"there is no collection {requested.collection!r} here, only {self.collection!r}"
            )
        linked_to = requested.linked_to
        if linked_to is not None:
            linked_to = self.resolve(store, linked_to)
        return requested._replace(
            collection=self.collection or requested.collection,
            within=self.inside or "*",  # so that no message names hidden documents
            linked_to=linked_to,
        )

    def check_shown(self, store: "HybridStore", doc_id: str) -> None:
        """Raise NotFoundError for a document that is hidden."""
        if self.hide:
            self.check_known(store, doc_id)

    def check_known(self, store: "HybridStore", doc_id: str) -> None:
        """Raise NotFoundError for a document that does not exist or is outside the bounds."""
        if store.storage.catalog.by_id(doc_id) is None or not self.contains(store, doc_id):
            raise NotFoundError(f"no document {doc_id!r} in this memory")

    def resolve(self, store: "HybridStore", target: str) -> str:
        """Return the id of the document for a target. Raises NotFoundError if it is not within the
        bounds; the message names no other document.
        """
        with suppress(QueryError):
            doc_id, _ = find(store.storage, target)
            if self.contains(store, doc_id):
                return doc_id
        raise NotFoundError(
            f"no document {target!r} in this memory", WayOut("list", "list", "names all documents")
        )

    def contains(self, store: "HybridStore", doc_id: str) -> bool:
        """Whether an existing document is within the bounds."""
        collection = store.storage.catalog.entry(doc_id)["collection"]
        return self._is_inside(doc_id) and self._is_of_collection(doc_id, collection)

    def check_new(self, doc_id: str) -> None:
        """Raise SourceError if a text with this id would be outside the bounds."""
        if not self._is_inside(doc_id) or not self._is_of_collection(doc_id, None):
            example = self.inside
            if self.collection is not None:
                example = f"{self.collection}/*"
            raise SourceError(f"{doc_id!r} cannot be written here; ids must match {example}")

    def _is_of_collection(self, doc_id: str, collection: str | None) -> bool:
        if self.collection is None:
            return True
        if collection is None:
            return doc_id.startswith(f"{self.collection}/")
        return collection == self.collection

    def _is_inside(self, doc_id: str) -> bool:
        return self.inside is None or is_inside(doc_id, self.inside)


NO_BOUNDS = Bounds()


def counts_of(store: "HybridStore", bounds: Bounds) -> dict[str, Any]:
    """Return the counts of `stats` for the documents within the bounds."""
    documents = _listed(store, bounds)
    chunks = sum(document["chunks"] for document in documents)
    pending = sum(document["pending"] for document in documents)
    return {
        "doc_count": len(documents),
        "chunk_count": chunks,
        "embedded_count": chunks - pending,
        "pending_count": pending,
    }


def facets_of(store: "HybridStore", bounds: Bounds) -> dict[str, Any]:
    """Return the facets of the documents within the bounds, without tags and newest documents."""
    documents = _listed(store, bounds)
    collections: dict[str | None, list[int]] = {}
    months: Counter[str] = Counter()
    for document in documents:
        collections.setdefault(document["collection"], []).append(document["chunks"])
        if document["date"]:
            months[document["date"][:7]] += 1
    return {
        "collections": [
            {"name": name, "documents": len(chunks), "chunks": sum(chunks)}
            for name, chunks in collections.items()
        ],
        "months": [
            {"month": month, "documents": count}
            for month, count in sorted(months.items(), reverse=True)
        ],
        "undated": sum(not document["date"] for document in documents),
        "tags": [],
    }


def _listed(store: "HybridStore", bounds: Bounds) -> list[dict[str, Any]]:
    _, documents = store.storage.catalog.listing(bounds.filters(store, None), MOST)
    return documents


def add_bounds(parser: Parser) -> None:
    """Add the options that `bounds_of` reads."""
    parser.add_argument(
        "--collection", metavar="NAME", help="show only documents of this collection"
    )
    parser.add_argument(
        "--in",
        dest="inside",
        metavar="GLOB",
        help="show only documents with a matching id: memory/2026-*, or memory",
    )
    parser.add_argument("--read-only", action="store_true", help="refuse calls that write")


def bounds_of(args: "Namespace") -> Bounds:
    """Return the bounds set on the command line."""
    return Bounds(args.collection, args.inside, args.read_only)


def port(text: str) -> int:
    number: int = count(text)
    if number > 65535:
        raise ArgumentTypeError(f"{number} is more than 65535")
    return number


def serve_options(parser: Parser) -> None:
    parser.add_argument(
        "--host", type=non_empty, default="127.0.0.1", metavar="HOST", help="default: %(default)s"
    )
    parser.add_argument(
        "--port",
        type=port,
        default=8377,
        metavar="PORT",
        help="0 for any free port (default: %(default)s)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="update the memory while files change, like `watch`",
    )
    parser.add_argument(
        "--token",
        nargs="?",
        const="",
        metavar="TOKEN",
        help="require this secret from clients; without TOKEN, create one and keep it in a file "
        "(default: no token on 127.0.0.1, else a created one)",
    )
    add_bounds(parser)
    examples(parser, "serve --open", "serve --port 0 --watch")
