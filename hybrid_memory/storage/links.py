"""How every engine reads names, links and tags, and where links lead.

A link leads to the nearest path that ends so, else to an alias, as in Obsidian; in markdown first by
relative path.
"""

import posixpath
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..documents.links import DocumentLinks as Found
from ..documents.links import Link, above, folded, is_attachment, key_of, path_of
from .protocol import LinkRow

FILE, ALIAS, TITLE = "file", "alias", "title"  # kinds of names


class Named(NamedTuple):
    """A document by one of its names. `path` is its id, folded."""

    doc_id: str
    collection: str | None
    kind: str
    name: str
    path: str


def named(doc_id: str, collection: str | None, kind: str, name: str) -> Named:
    """The document with its id folded."""
    return Named(doc_id, collection, kind, name, folded(doc_id))


class Resolver:
    """Finds the documents that links lead to. `lookup` gives the documents by the key of a name.

    A resolver remembers what it was asked, so it is good for one state of the store only.
    """

    def __init__(self, lookup: Callable[[str], Sequence[Named]]) -> None:
        self._lookup = lookup
        self._known: dict[tuple[str, str, str, str | None], str | None] = {}

    def document(self, target: str, kind: str, source: str, collection: str | None) -> str | None:
        """The document that a link in the document `source` of a collection leads to. Where it is
        written twice, the nearest.
        """
        asked = target, kind, posixpath.dirname(source), collection
        if asked not in self._known:
            self._known[asked] = self._document(*asked)
        return self._known[asked]

    def _document(self, target: str, kind: str, folder: str, collection: str | None) -> str | None:
        path = path_of(target, kind)
        documents = self._lookup(key_of(path))
        wanted = folded(path)
        folder = folded(folder)
        if kind == "markdown" or wanted.startswith(("./", "../")):
            exact = posixpath.normpath(posixpath.join(folder, wanted))
            found = [each for each in documents if each.kind == FILE and each.path == exact]
            if found or wanted.startswith("."):
                return found[0].doc_id if found else None
        root = folded(collection or "")

        def distance(each: Named) -> tuple[bool, bool, bool, int, str]:
            is_exact = each.path == posixpath.join(root, wanted.lstrip("/"))
            is_below = each.path.startswith(f"{folder}/")
            return (
                each.collection != collection,
                not is_exact,
                not is_below,
                len(each.path),
                each.doc_id,
            )

        found = by_path(documents, wanted) or by_name(documents, ALIAS, wanted)
        return min(found, key=distance).doc_id if found else None


def by_path(documents: Sequence[Named], wanted: str) -> list[Named]:
    """Those whose path ends with a folded path."""
    tail = f"/{wanted.lstrip('/')}"
    return [each for each in documents if each.kind == FILE and f"/{each.path}".endswith(tail)]


def by_name(documents: Sequence[Named], kind: str, wanted: str) -> list[Named]:
    """Those with this folded name."""
    return [each for each in documents if each.kind == kind and folded(each.name) == wanted]


LinkColumns = tuple[str, int, str, str, str | None]  # doc_id, line, target, kind, collection


class LinkReader:
    """`protocol.Marks`, for an engine that has the statements; OF, TO and MAYBE_BROKEN are
    conditions on a row `l` of links.
    """

    OF: str
    TO: str
    MAYBE_BROKEN: str

    def __init__(self) -> None:
        self._documents: dict[str, Sequence[Named]] = {}
        self._resolver = Resolver(self._lookup)

    def named(self, name: str) -> list[str]:
        """As in `protocol.Marks`."""
        documents = self._lookup(key_of(name))
        wanted = folded(name)
        found = (
            by_path(documents, wanted)
            or by_name(documents, ALIAS, wanted)
            or by_name(documents, TITLE, wanted)
        )
        return list(dict.fromkeys(each.doc_id for each in found))

    def links_of(self, doc_id: str) -> list[LinkRow]:
        """As in `protocol.Marks`."""
        return [self._row(*row) for row in self._links(self.OF, doc_id)]

    def links_to(self, doc_id: str) -> list[LinkRow]:
        """As in `protocol.Marks`."""
        return [
            found
            for row in self._links(self.TO, doc_id)
            if (found := self._row(*row)).doc_id == doc_id
        ]

    def broken(self) -> list[LinkRow]:
        """As in `protocol.Marks`."""
        return [
            found for row in self._links(self.MAYBE_BROKEN) if (found := self._row(*row)).broken
        ]

    def tags(self) -> list[tuple[str, int]]:
        """As in `protocol.Marks`."""
        documents = defaultdict[str, set[Any]](set)
        for tag, document in self._tagged():
            for each in above(tag):
                documents[each].add(document)
        return sorted(
            ((tag, len(ids)) for tag, ids in documents.items()),
            key=lambda item: (-item[1], item[0]),
        )

    def found(self, doc_id: str) -> Found:
        """Names, links and tags of a document, as they are written to another store."""
        links = tuple(
            Link(line, target, kind) for _, line, target, kind, _ in self._links(self.OF, doc_id)
        )
        return Found(tuple(self.titles(doc_id)), links, tuple(self._tags_of(doc_id)))

    @abstractmethod
    def titles(self, doc_id: str) -> list[str]:
        """As in `protocol.Marks`."""

    @abstractmethod
    def _links(self, condition: str, doc_id: str = "") -> Iterable[LinkColumns]:
        """Links that fulfil a condition, which may be about this document."""

    @abstractmethod
    def _tagged(self) -> Iterable[tuple[str, Any]]:
        """Every tag with a document that has it."""

    @abstractmethod
    def _tags_of(self, doc_id: str) -> list[str]:
        """The tags of a document."""

    @abstractmethod
    def _having(self, key: str) -> Iterable[tuple[Any, ...]]:
        """Id, collection, kind and name of every name with this key."""

    def _row(
        self, source: str, line: int, target: str, kind: str, collection: str | None
    ) -> LinkRow:
        doc_id = self._resolver.document(target, kind, source, collection)
        return LinkRow(
            source, line, target, kind, doc_id, doc_id is None and not is_attachment(target, kind)
        )

    def _lookup(self, key: str) -> Sequence[Named]:
        if key not in self._documents:
            self._documents[key] = [named(*row) for row in self._having(key)]
        return self._documents[key]
