"""The values of filters in a store: names are resolved to ids, and a value that no document has is
reported.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..errors import QueryError
from ..text.equality import name_key
from ..text.periods import first_day, last_day
from ..text.terms import listed
from .filters import Filters
from .targets import find

if TYPE_CHECKING:
    from .catalog import Catalog
    from .interface import Storage

NAMES = 8  # of collections, tags or keys in a message
ALONE = {  # what it means that a filter leaves no document by itself
    "heading": "no passage is below the heading {!r}",
    "role": "no conversation has a passage of the {}",
    "linked_to": "no document links to {!r}",
    "since": "no document has a date of {} or later",
    "until": "no document has a date of {} or earlier",
    "modified_since": "no file changed on {} or later",
}
MOST_FILTERS = 200  # SQLite accepts conditions with about 1,000 parts


def narrowed(filters: "Filters | None", asked: Mapping[str, Any]) -> "Filters":
    """Add the filters of a query: its tags, values and exclusions in addition to these, its other
    filters in place of these.

    Raises QueryError if there are too many.
    """
    filters = filters or Filters()
    excluded = [*filters.excluded, *(Filters(**fields) for fields in asked.get("excluded", ()))]
    tags = [*filters.tags, *asked.get("tags", ())]
    without = [*filters.without, *asked.get("without", ())]
    where = {key: listed(values) for key, values in filters.where.items()}
    for key, values in asked.get("where", {}).items():
        where[key] = [*where.get(key, ()), *values]
    if len(tags) + len(without) + len(excluded) + sum(map(len, where.values())) > MOST_FILTERS:
        raise QueryError(f"the query has more than {MOST_FILTERS} filters")
    fields = {"tags": tags, "where": where, "without": without, "excluded": excluded}
    return filters._replace(**{**asked, **fields})


def resolved(storage: "Storage", filters: "Filters") -> "Filters":
    """Resolve `linked_to` to a document id, and a folder that exists in one collection only to
    COLLECTION/FOLDER. Raises as `find` does.
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
    """Resolve a folder that exists in one collection only to COLLECTION/FOLDER."""
    if not filters.inside:
        return filters
    place = Filters(inside=filters.inside, collection=filters.collection, within=filters.within)
    below = place._replace(inside=f"*/{filters.inside}")
    if not storage.catalog.has_any(place) and storage.catalog.has_any(below):
        return filters._replace(inside=below.inside)
    return filters


def unmet(storage: "Storage", filters: "Filters") -> str | None:
    """Explain which of the filters leaves no document, or that all together leave none; None if
    some document passes.

    Nothing is said about names where a server's bounds hide documents.
    """
    since, until = filters.since, filters.until
    today = date.today()
    if since and until and first_day(since, today) > last_day(until, today):
        return f"since ({since}) is after until ({until})"
    return None if filters.within is not None else _unknown_name(storage, filters)


def _unknown_name(storage: "Storage", filters: "Filters") -> str | None:
    """Name the first value that no document has, and what there is instead. The filters are
    resolved.
    """
    catalog = storage.catalog
    name = filters.collection
    if name is not None and not catalog.has_any(Filters(collection=name)):
        return f"there is no collection {name!r}{_names(name, collections(catalog))}"
    inside = filters.inside
    if inside is not None and not catalog.has_any(Filters(inside=inside)):
        return f"no id is like {inside!r}{_names(inside, _beginnings(catalog.ids()))}"
    for tag in filters.tags:
        if not catalog.has_any(Filters(tags=[tag])):
            return f"no document has the tag {tag!r}{_names(tag, dict(storage.links.tags()))}"
    for key, value in filters.where.items():
        keys = dict(catalog.metadata_keys())
        if name_key(key) not in map(name_key, keys):
            return f"no document has {key!r} in its metadata{_names(key, keys)}"
        if not catalog.has_any(Filters(where={key: value})):
            values = [value] if isinstance(value, str) else value
            return f"no document has {' and '.join(values)!r} as its {key!r}"
    for field, problem in ALONE.items():
        value = getattr(filters, field)
        if value is not None and not catalog.has_any(Filters(**{field: value})):
            return problem.format(value)
    return None if catalog.has_any(filters) else "no document matches all of these filters"


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
    """Return "; there are …" with the names, what is like the written one first; "" without names."""
    names = list(names)
    if not names:
        return ""
    first = get_close_matches(written, names, NAMES)
    told = [*first, *(name for name in names if name not in first)]
    rest = f" and {len(told) - NAMES} more" if len(told) > NAMES else ""
    return f"; there are {', '.join(told[:NAMES])}{rest}"
