"""Where links lead: to the nearest path that ends so, else to an alias, as in Obsidian; in markdown first by relative path."""

import posixpath
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..documents.marks.links import folded, key_of, path_of

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
        """The document that a link in the document `source` of a collection leads to. Where it is written twice, the nearest."""
        asked = target, kind, posixpath.dirname(source), collection
        if asked not in self._known:
            self._known[asked] = self._document(*asked)
        return self._known[asked]

    def _document(self, target: str, kind: str, folder: str, collection: str | None) -> str | None:
        path = path_of(target, kind)
        documents, wanted, folder = self._lookup(key_of(path)), folded(path), folded(folder)
        if kind == "markdown" or wanted.startswith(("./", "../")):
            exact = posixpath.normpath(posixpath.join(folder, wanted))
            found = [each for each in documents if each.kind == FILE and each.path == exact]
            if found or wanted.startswith("."):
                return found[0].doc_id if found else None
        root = folded(collection or "")

        def distance(each: Named) -> tuple[bool, bool, bool, int, str]:
            is_exact, is_below = each.path == posixpath.join(root, wanted.lstrip("/")), each.path.startswith(f"{folder}/")
            return each.collection != collection, not is_exact, not is_below, len(each.path), each.doc_id

        found = by_path(documents, wanted) or by_name(documents, ALIAS, wanted)
        return min(found, key=distance).doc_id if found else None


def by_path(documents: Sequence[Named], wanted: str) -> list[Named]:
    """Those whose path ends with a folded path."""
    tail = f"/{wanted.lstrip('/')}"
    return [each for each in documents if each.kind == FILE and f"/{each.path}".endswith(tail)]


def by_name(documents: Sequence[Named], kind: str, wanted: str) -> list[Named]:
    """Those with this folded name."""
    return [each for each in documents if each.kind == kind and folded(each.name) == wanted]
