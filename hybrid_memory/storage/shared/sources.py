"""What every engine does with a source that it knows already."""

from shlex import quote

from ...errors import SourceError
from ..source import Source


class KnownSources:
    """The part of `protocol.Sources` that needs nothing but `all`, which an engine has."""

    def all(self, collection: str | None = None, path: str | None = None) -> list[Source]:
        """As in `protocol.Sources`."""
        raise NotImplementedError

    def of_own_name(self, source: Source) -> Source:
        """As in `protocol.Sources`, for a store of one host."""
        return source

    def news(self, source: Source) -> Source | None:
        """As in `protocol.Sources`."""
        known = self._known(source)
        if known and known.patterns:
            source = source._replace(patterns=tuple(dict.fromkeys((*known.patterns, *(source.patterns or ())))))
        source = self.sized(source)
        return None if source == known else source

    def sized(self, source: Source) -> Source:
        """As in `protocol.Sources`."""
        known = self._known(source)
        if known is None or source.chunk_size is not None:
            return source
        return source._replace(chunk_size=known.chunk_size, chunk_overlap=known.chunk_overlap)

    def _known(self, source: Source) -> Source | None:
        return next(iter(self.all(source.collection or "", source.path)), None)


def claimed(source: Source, path: str | None, collection: str) -> SourceError:
    """The error for a source whose collection holds the documents of another path."""
    return SourceError(
        f"collection {source.collection!r} holds the documents of {path}; give {source.path} another "
        f"name with --collection NAME, or free this one: `hybrid-memory delete --collection {quote(collection)}`"
    )
