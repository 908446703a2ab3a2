"""What the rest of the program may ask of names, links and tags; a part of protocol.py, which says what holds for all."""

from ..typed.names import NamedTuple, Protocol


class LinkRow(NamedTuple):
    """A link in line `line` of the document `source`, and the document that it leads to, if there is one.

    `target` is as it is written; `kind` is "wikilink", "embed" or "markdown". One that is `broken` should lead to a document.
    """

    source: str
    line: int
    target: str
    kind: str
    doc_id: str | None
    broken: bool


class Marks(Protocol):
    """Names, links and tags of the documents. Where a link leads is looked up when it is asked for."""

    def named(self, name: str) -> list[str]:
        """The documents whose path ends with this, whatever its case; else those with this alias; else those with this title."""

    def titles(self, doc_id: str) -> list[str]:
        """The titles of a document."""

    def links_of(self, doc_id: str) -> list[LinkRow]:
        """The links in a document, in its order."""

    def links_to(self, doc_id: str) -> list[LinkRow]:
        """The links of all documents that lead to this one, by document and line."""

    def broken(self) -> list[LinkRow]:
        """All broken links, by document and line."""

    def tags(self) -> list[tuple[str, int]]:
        """Every tag, and those that tags are nested in, with the number of documents that a filter on it leaves; by number."""
