"""How every engine reads marks: names, links and tags, and where links lead."""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ...documents.marks.found import Marks as Found
from ...documents.marks.links import Link, folded, is_attachment, key_of
from ...documents.marks.tags import above
from ...typed.names import Any
from ..marks import LinkRow
from ..resolution import ALIAS, TITLE, Named, Resolver, by_name, by_path, named

LinkColumns = tuple[str, int, str, str, str | None]  # doc_id, line, target, kind, collection


class ReadsMarks:
    """`protocol.Marks`, for an engine that has the statements; OF, TO and MAYBE_BROKEN are conditions on a row `l` of links."""

    OF: str
    TO: str
    MAYBE_BROKEN: str

    def __init__(self) -> None:
        self._documents: dict[str, Sequence[Named]] = {}
        self._resolver = Resolver(self._lookup)

    def named(self, name: str) -> list[str]:
        """As in `protocol.Marks`."""
        documents, wanted = self._lookup(key_of(name)), folded(name)
        found = by_path(documents, wanted) or by_name(documents, ALIAS, wanted) or by_name(documents, TITLE, wanted)
        return list(dict.fromkeys(each.doc_id for each in found))

    def links_of(self, doc_id: str) -> list[LinkRow]:
        """As in `protocol.Marks`."""
        return [self._row(*row) for row in self._links(self.OF, doc_id)]

    def links_to(self, doc_id: str) -> list[LinkRow]:
        """As in `protocol.Marks`."""
        return [found for row in self._links(self.TO, doc_id) if (found := self._row(*row)).doc_id == doc_id]

    def broken(self) -> list[LinkRow]:
        """As in `protocol.Marks`."""
        return [found for row in self._links(self.MAYBE_BROKEN) if (found := self._row(*row)).broken]

    def tags(self) -> list[tuple[str, int]]:
        """As in `protocol.Marks`."""
        documents = defaultdict[str, set[Any]](set)
        for tag, document in self._tagged():
            for each in above(tag):
                documents[each].add(document)
        return sorted(((tag, len(ids)) for tag, ids in documents.items()), key=lambda item: (-item[1], item[0]))

    def found(self, doc_id: str) -> Found:
        """All marks of a document, as they are written to another store."""
        links = tuple(Link(line, target, kind) for _, line, target, kind, _ in self._links(self.OF, doc_id))
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

    def _row(self, source: str, line: int, target: str, kind: str, collection: str | None) -> LinkRow:
        doc_id = self._resolver.document(target, kind, source, collection)
        return LinkRow(source, line, target, kind, doc_id, doc_id is None and not is_attachment(target, kind))

    def _lookup(self, key: str) -> Sequence[Named]:
        if key not in self._documents:
            self._documents[key] = [named(*row) for row in self._having(key)]
        return self._documents[key]
