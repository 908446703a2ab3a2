"""The values of filters in a store: names are resolved to ids, and a value that no document has is
reported.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from ..documents.terms import listed, texts_in
from ..errors import QueryError
from ..text.analyzer import symbolic
from ..text.characters import fold
from ..text.dates import first_day, last_day
from ..text.equality import name_key
from ..text.query import Query
from .filters import Filters
from .matching import like_text
from .targets import find

if TYPE_CHECKING:
    from .interface import Catalog, Storage
NAMES = 8  # of collections, tags or keys in a message
MOST_EXCLUDED = 200  # SQLite accepts conditions with about 1,000 parts


def narrowed(filters: "Filters | None", asked: Mapping[str, Any]) -> "Filters":
    """Add the filters of a query: its tags, values and exclusions in addition to these, its other
    filters in place of these.

    Raises QueryError if there are too many exclusions.
    """
    filters = filters or Filters()
    excluded = [*filters.excluded, *(Filters(**fields) for fields in asked.get("excluded", ()))]
    if len(excluded) > MOST_EXCLUDED:
        raise QueryError(f"the query has more than {MOST_EXCLUDED} filters with a minus")
    tags = [*filters.tags, *asked.get("tags", ())]
    without = [*filters.without, *asked.get("without", ())]
    where = {key: listed(values) for key, values in filters.where.items()}
    for key, values in asked.get("where", {}).items():
        where[key] = [*where.get(key, ()), *values]
    fields = {"tags": tags, "where": where, "without": without, "excluded": excluded}
    return filters._replace(**{**asked, **fields})


def resolved(storage: "Storage", filters: "Filters") -> "Filters":
    """Return the filters with the id of a document in place of what the user wrote for it in `linked_to`,
    and with the collection before a folder that has only there its name. Raises as `find` does.
    """
    if filters.linked_to is not None:
        filters = filters._replace(linked_to=find(storage, filters.linked_to)[0])
    filters = _with_known_collection(storage, filters)
    excluded = [
        _with_collection(
            storage,
            other._replace(
                collection=other.collection or filters.collection, within=filters.within
            ),
        )
        for other in filters.excluded
    ]
    return _with_collection(storage, filters)._replace(excluded=excluded)


def _with_known_collection(storage: "Storage", filters: "Filters") -> "Filters":
    """Return the filters with the name of the collection as it is stored."""
    name = filters.collection
    if name is None or storage.catalog.has_any(Filters(collection=name)):
        return filters
    key = name_key(name)
    known = [other for other in collections(storage.catalog) if name_key(other) == key]
    return filters._replace(collection=known[0]) if known else filters


def _with_collection(storage: "Storage", filters: "Filters") -> "Filters":
    """Return the filters with the collection before a folder that has only there its name."""
    if not filters.inside:
        return filters
    place = Filters(inside=filters.inside, collection=filters.collection, within=filters.within)
    below = place._replace(inside=f"*/{filters.inside}")
    if not storage.catalog.has_any(place) and storage.catalog.has_any(below):
        return filters._replace(inside=below.inside)
    return filters


class Unmet(NamedTuple):
    """What filters ask for that no document has, and the names that there are instead."""

    problem: str
    names: str = ""


def unmet(storage: "Storage", filters: "Filters") -> str | None:
    """Explain which of the filters leaves no document; None if each of them leaves some.

    Names are not given where a server's bounds hide documents.
    """
    found = _reversed(filters)
    if found is None and filters.within is None:
        found = _unmet(storage, filters, Filters())
    return "; ".join(filter(None, found)) if found else None


def _reversed(filters: "Filters") -> Unmet | None:
    """Return a problem if the last day is before the first."""
    today = date.today()
    since, until = filters.since, filters.until
    if since and until and first_day(since, today) > last_day(until, today):
        return Unmet(f"nothing can be since {since} and until {until}: the first is later")
    return None


def _unmet(storage: "Storage", filters: "Filters", bounds: "Filters") -> Unmet | None:
    """Return the first of the filters that leaves no document within the bounds."""
    catalog = storage.catalog
    name = filters.collection
    if name is not None and not catalog.has_any(bounds._replace(collection=name)):
        return Unmet(f"there is no collection {name!r}", _names(name, collections(catalog)))
    inside = filters.inside
    if inside is not None and not catalog.has_any(bounds._replace(inside=inside)):
        return Unmet(f"no id is like {inside!r}", _names(inside, _beginnings(catalog.ids())))
    for tag in filters.tags:
        if not catalog.has_any(bounds._replace(tags=[tag])):
            names = _names(tag, dict(storage.links.tags()))
            return Unmet(f"no document has the tag {tag!r}", names)
    for key, value in filters.where.items():
        keys = dict(catalog.metadata_keys())
        if name_key(key) not in map(name_key, keys):
            return Unmet(f"no document has {key!r} in its metadata", _names(key, keys))
        if not catalog.has_any(bounds._replace(where={key: value})):
            values = [value] if isinstance(value, str) else value
            return Unmet(f"no document has {' and '.join(values)!r} as its {key!r}")
    return None


class StoredMemory:
    """What decides, in a store, which parts of a query are operators (text/operators.py).

    A server's bounds, which are among the filters beside the query, hide all other documents.
    """

    def __init__(self, storage: "Storage", filters: "Filters | None") -> None:
        self._storage = storage
        self._bounds = Filters()
        if filters and filters.within is not None:
            self._bounds = Filters(collection=filters.collection, within=filters.within)
        self._keys: dict[str, str | None] = {}

    def key_of(self, name: str) -> str | None:
        """Return the metadata key that is written so, in any case; None if no document has it."""
        if name not in self._keys:
            self._keys[name] = self._storage.catalog.key_of(name, self._bounds)
        return self._keys[name]

    def unmet(self, asked: Mapping[str, Any]) -> str | None:
        """Explain why no document fulfils these fields of `Filters`; None if one does. "" if there
        is no more to say.
        """
        filters = resolved(self._storage, narrowed(self._bounds, asked))
        if self._storage.catalog.has_any(filters):
            return None
        found = _unmet(self._storage, filters, self._bounds)
        if found is None:
            return ""
        if not found.names or self._bounds.within is not None:
            return found.problem
        return f"{found.problem} ({found.names})"

    def is_written(self, literal: str, beside: str = "") -> bool:
        """Return whether a passage has this text literally, and all words that stand beside it."""
        identifiers = symbolic(fold(literal))
        if not identifiers:
            return False
        words = Query(beside, is_literal=True).affordable_words
        strings = [f'"{word.tokens[0]}"{" *" if word.prefix else ""}' for word in words]
        query = Query(" AND ".join([f'"{identifiers[0]}"', *strings]), fts_syntax=True)
        with self._storage.selection(self._bounds) as selection:
            if self._storage.keyword(selection).ranked(query, 1).ranking:
                return True
        return not beside and self._is_in_metadata(identifiers[0], literal)

    def _is_in_metadata(self, identifier: str, literal: str) -> bool:
        """Return whether metadata have an identifier, which is no token of the index there."""
        metadata = self._storage.catalog.metadata_like(like_text(literal), self._bounds)
        texts = (text for own in metadata for text in texts_in(json.loads(own)))
        found = (other for text in texts for other in symbolic(fold(text)))
        return any(other.lower() == identifier.lower() for other in found)


def collections(catalog: "Catalog") -> list[str]:
    """Return the names of all collections, those with the most documents first."""
    counts: Counter[str] = Counter()
    for doc_id, collection, is_file in catalog.names():
        if collection is not None:
            counts[collection] += 1
        elif not is_file and "/" in doc_id:
            counts[doc_id.partition("/")[0]] += 1
    return [name for name, _ in counts.most_common()]


def _beginnings(ids: Iterable[str]) -> list[str]:
    counts = Counter(doc_id.partition("/")[0] for doc_id in ids)
    return [name for name, _ in counts.most_common()]


def _names(written: str, names: Iterable[str]) -> str:
    """Return a clause with the names that there are, what is like the written one first."""
    names = list(names)
    if not names:
        return ""
    first = get_close_matches(written, names, NAMES)
    told = [*first, *(name for name in names if name not in first)]
    rest = f" and {len(told) - NAMES} more" if len(told) > NAMES else ""
    return f"there are {', '.join(told[:NAMES])}{rest}"
