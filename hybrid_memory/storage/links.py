"""Names, links and tags of documents, as tables have them, and where links lead, for every engine.

A link leads to the nearest document whose path ends with its target, otherwise to an alias, as in
Obsidian, otherwise to a title. In markdown, a relative path comes first.
"""

import json
import posixpath
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from ..text.characters import storable
from ..text.links import (
    DocumentLinks,
    Link,
    aliases,
    filterable_tags,
    folded,
    key_of,
    names_note,
    path_of,
    with_parents,
)
from .database import Database
from .rows import LinkRow

# Kinds of names
FILE = "file"
ALIAS = "alias"
TITLE = "title"


class NamedDocument(NamedTuple):
    """A document under one of its names. `path` is its id, folded."""

    doc_id: str
    collection: str | None
    kind: str
    name: str
    path: str


def named(doc_id: str, collection: str | None, kind: str, name: str) -> NamedDocument:
    """Make a NamedDocument; its path is the folded id."""
    return NamedDocument(doc_id, collection, kind, name, folded(doc_id))


class Resolver:
    """Finds the documents that links lead to. `lookup` returns the documents by the key of a name.

    A resolver remembers its answers, so use it for one state of the store only.
    """

    def __init__(self, lookup: Callable[[str], Sequence[NamedDocument]]) -> None:
        self._lookup = lookup
        self._answers: dict[tuple[str, str, str, str | None], str | None] = {}

    def document(self, target: str, kind: str, source: str, collection: str | None) -> str | None:
        """The document that a link in the document `source` of a collection leads to: the nearest
        of those with that name.
        """
        link = target, kind, posixpath.dirname(source), collection
        if link not in self._answers:
            self._answers[link] = self._document(*link)
        return self._answers[link]

    def _document(self, target: str, kind: str, folder: str, collection: str | None) -> str | None:
        path = path_of(target, kind)
        documents = self._lookup(key_of(path))
        name = folded(path)
        folder = folded(folder)
        if kind == "markdown" or name.startswith(("./", "../")):
            exact = posixpath.normpath(posixpath.join(folder, name))
            for document in documents:
                if document.kind == FILE and document.path == exact:
                    return document.doc_id
            if name.startswith("."):
                return None
        root = folded(collection or "")

        def distance(document: NamedDocument) -> tuple[bool, bool, bool, int, str]:
            is_exact = document.path == posixpath.join(root, name.lstrip("/"))
            is_below = document.path.startswith(f"{folder}/")
            return (
                document.collection != collection,
                not is_exact,
                not is_below,
                len(document.path),
                document.doc_id,
            )

        namesakes = with_name(documents, name)
        if not namesakes:
            return None
        return min(namesakes, key=distance).doc_id


def with_name(documents: Sequence[NamedDocument], name: str) -> list[NamedDocument]:
    """The documents whose path ends with this folded name; otherwise those with this alias; otherwise
    those with this title.
    """
    return (
        by_path(documents, name)
        or by_name(documents, ALIAS, name)
        or by_name(documents, TITLE, name)
    )


def by_path(documents: Sequence[NamedDocument], path: str) -> list[NamedDocument]:
    """The documents whose path ends with this folded path."""
    tail = f"/{path.lstrip('/')}"
    return [
        document
        for document in documents
        if document.kind == FILE and f"/{document.path}".endswith(tail)
    ]


def by_name(documents: Sequence[NamedDocument], kind: str, name: str) -> list[NamedDocument]:
    """The documents with this folded name."""
    return [
        document
        for document in documents
        if document.kind == kind and folded(document.name) == name
    ]


def names_of(row: Mapping[str, Any], found: DocumentLinks) -> list[tuple[str, str, str]]:
    """(key, kind, name) of every name of a document, from its row of `documents` and its text."""
    named = [(FILE, row["doc_id"].rpartition("/")[2])]
    named += [(ALIAS, storable(name)) for name in aliases(json.loads(row["metadata"]))]
    named += [(TITLE, storable(name)) for name in found.titles]
    return [(key_of(name), kind, name) for kind, name in named]


def links_of(found: DocumentLinks) -> list[tuple[int, str, str, str]]:
    """(line, target, kind, key) of every link in a text."""
    links = [(line, storable(target), kind) for line, target, kind in found.links]
    return [(line, target, kind, key_of(path_of(target, kind))) for line, target, kind in links]


def tags_of(row: Mapping[str, Any], found: DocumentLinks) -> set[str]:
    """The tags of a document in its metadata and its text."""
    return filterable_tags(row["metadata"], map(storable, found.tags))


class LinkReader:
    """Names, links and tags of the documents, for one state of the store. Where a link leads is
    resolved on each read. An engine adds the statements. OF, TO and MAYBE_BROKEN are conditions on
    a row `l` of links.
    """

    OF: ClassVar[str]
    TO: ClassVar[str]
    MAYBE_BROKEN: ClassVar[str]
    LINKS: ClassVar[str]  # doc_id, line, target, kind, collection; field: condition
    NAMED: ClassVar[str]  # id, collection, kind and name of every name with a key
    TITLES: ClassVar[str]
    TAGS: ClassVar[str]  # every tag with each document that has it
    TAGS_OF: ClassVar[str]

    def __init__(self, database: Database) -> None:
        self._db = database
        self._documents: dict[str, Sequence[NamedDocument]] = {}
        self._resolver = Resolver(self._lookup)

    def named(self, name: str) -> list[str]:
        """The documents whose path ends with this name, ignoring case; otherwise those with this
        alias; otherwise those with this title.
        """
        namesakes = with_name(self._lookup(key_of(name)), folded(name))
        return list(dict.fromkeys(document.doc_id for document in namesakes))

    def links_of(self, doc_id: str) -> list[LinkRow]:
        """The links in a document, in document order."""
        return [self._row(*row) for row in self._links(self.OF, doc_id)]

    def links_to(self, doc_id: str) -> list[LinkRow]:
        """The links that lead to a document, by source document and line."""
        links = [self._row(*row) for row in self._links(self.TO, doc_id)]
        return [link for link in links if link.doc_id == doc_id]

    def broken(self) -> list[LinkRow]:
        """All broken links, by document and line."""
        links = [self._row(*row) for row in self._links(self.MAYBE_BROKEN)]
        return [link for link in links if link.broken]

    def tags(self) -> list[tuple[str, int]]:
        """Every tag and parent tag with the number of documents that a filter on it matches, the
        most frequent first.
        """
        documents = defaultdict[str, set[Any]](set)
        for tag, document in self._db.all(self.TAGS):
            for tag_or_parent in with_parents(tag):
                documents[tag_or_parent].add(document)
        return sorted(
            ((tag, len(ids)) for tag, ids in documents.items()),
            key=lambda item: (-item[1], item[0]),
        )

    def links_to_copy(self, doc_id: str) -> DocumentLinks:
        """The names, links and tags of a document, in the form in which a store writes them."""
        links = tuple(
            Link(line, target, kind) for _, line, target, kind, _ in self._links(self.OF, doc_id)
        )
        return DocumentLinks(
            tuple(self.titles(doc_id)),
            links,
            tuple(self._db.column(self.TAGS_OF, {"doc_id": doc_id})),
        )

    def titles(self, doc_id: str) -> list[str]:
        """The titles of a document."""
        return list(self._db.column(self.TITLES, {"doc_id": doc_id}))

    def _links(self, condition: str, doc_id: str = "") -> list[Any]:
        """The rows of the links that meet a condition, which may be about this document."""
        return self._db.all(self.LINKS.format(condition=condition), {"doc_id": doc_id})

    def _row(
        self, source: str, line: int, target: str, kind: str, collection: str | None
    ) -> LinkRow:
        doc_id = self._resolver.document(target, kind, source, collection)
        is_broken = doc_id is None and names_note(target, kind)
        return LinkRow(source, line, target, kind, doc_id, is_broken)

    def _lookup(self, key: str) -> Sequence[NamedDocument]:
        if key not in self._documents:
            names = self._db.all(self.NAMED, {"key": key})
            self._documents[key] = [named(*row) for row in names]
        return self._documents[key]
