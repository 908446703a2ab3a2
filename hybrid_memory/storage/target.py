"""What the words of users mean in a store: a target, which document and which of its lines; filters,
whether any document is as they ask.

A target is an id, its end, a path, an alias, a title or a wikilink, with lines, a heading or a
block behind it.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from ..documents.terms import WIKILINK
from ..errors import NotFoundError, QueryError, WayOut
from ..text.characters import OF_PAGES, storable_name
from ..text.dates import first_day, last_day
from .filters import Filters

if TYPE_CHECKING:
    from .protocol import Catalog, Storage

NAMED = 5  # documents in an error message
NAMES = 8  # of collections, tags or keys in a message

# memory/a.md#L12-L30 as in a citation, or a.md:12-30 as on a terminal. #L12C501 begins at character
# 501 of a long line.
LINES = re.compile(
    r"(?P<name>.+)(?:#L|:)(?P<start>[1-9][0-9]{0,8})(?:C(?P<column>[1-9][0-9]{0,8}))?"
    r"(?:-L?(?P<end>[0-9]{1,9}))?" + OF_PAGES,
    re.DOTALL,
)


class Place(NamedTuple):
    """Lines counted from 1, from a column of the first on; or a `part` of a document: a heading, or
    ^ and the name of a block.
    """

    start: int = 1
    column: int = 1
    end: int | None = None  # None: the last
    part: str = ""


WHOLE = Place()


def find(storage: "Storage", target: str) -> tuple[str, Place]:
    """Return the id of the document, and the place in it. Raises QueryError if it may be several,
    NotFoundError if it is none.
    """
    link = WIKILINK.fullmatch(target.strip())
    if link:
        target = link[2].strip()
    doc_id = _exactly(storage.catalog, target)
    if doc_id:
        return doc_id, WHOLE
    name, place = split_target(target)
    doc_id = _document(storage, name)
    if doc_id:
        return doc_id, place
    before, _, part = name.partition("#")
    if part and before.strip() and place == WHOLE:
        doc_id = _document(storage, before.strip())
        if doc_id:
            return doc_id, Place(part=part)
    raise _not_found(storage.catalog, name)


def split_target(target: str) -> tuple[str, Place]:
    """Return the name in a target, and its place; the whole target without lines behind it."""
    lines = LINES.fullmatch(target)
    if not lines:
        return target, WHOLE
    start = int(lines["start"])
    return lines["name"], Place(start, int(lines["column"] or 1), int(lines["end"] or start))


def _document(storage: "Storage", name: str) -> str | None:
    """Return the document of this name. Raises QueryError if there are several."""
    doc_id = _exactly(storage.catalog, name)
    if doc_id:
        return doc_id
    name = storable_name(name).removeprefix("./")
    tail = f"/{name}"
    ids = (
        storage.catalog.by_tail(tail)
        or storage.catalog.by_tail(f"{tail}.md")
        or storage.links.named(name)
    )
    if not ids:
        return None
    if len(ids) == 1:
        return ids[0]
    namesakes = ", ".join(ids[:NAMED])
    if len(ids) > NAMED:
        namesakes += f" and {len(ids) - NAMED} more"
    raise QueryError(f"{name!r} may be {namesakes}; give more of the id")


def _exactly(catalog: "Catalog", name: str) -> str | None:
    """Return the document with this id, else the one whose file has this path, else the one whose file a
    link of this path leads to.
    """
    doc_id = catalog.by_id(storable_name(name))
    # ValueError: no file has such a name, because of a NUL or a surrogate. OSError: the working
    # directory no longer exists.
    with suppress(ValueError, OSError):
        path = os.path.abspath(os.path.expanduser(name))
        os.fsencode(path)
        real = os.path.realpath(path)
        doc_id = doc_id or catalog.by_path(path, path) or catalog.by_path(real, real)
    return doc_id


def _not_found(catalog: "Catalog", name: str) -> NotFoundError:
    close = _close(name, catalog.ids())
    problem = f"no document {name!r} in this memory"
    if close:
        return NotFoundError(f"{problem}; did you mean {' or '.join(close)}?")
    return NotFoundError(problem, WayOut("list", "list", "names all documents"))


def _close(name: str, ids: list[str]) -> list[str]:
    """Return the ids whose last part resembles that of the name."""
    names: dict[str, list[str]] = {}
    for doc_id in sorted(ids):
        names.setdefault(os.path.basename(doc_id).lower(), []).append(doc_id)
    return [
        doc_id
        for key in get_close_matches(os.path.basename(name).lower(), names, NAMED)
        for doc_id in names[key]
    ][:NAMED]


def resolved(storage: "Storage", filters: "Filters | None") -> "Filters | None":
    """Return the filters with the id of a document in place of what the user wrote for it in `linked_to`,
    and with the collection before a folder that has only there its name. Raises as `find` does.
    """
    if filters is None:
        return None
    if filters.linked_to is not None:
        filters = filters._replace(linked_to=find(storage, filters.linked_to)[0])
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


def _with_collection(storage: "Storage", filters: "Filters") -> "Filters":
    """Return the filters with the collection before a folder that has only there its name."""
    if not filters.inside:
        return filters
    place = Filters(inside=filters.inside, collection=filters.collection, within=filters.within)
    below = place._replace(inside=f"*/{filters.inside}")
    if _is_met_by_none(storage, place) and not _is_met_by_none(storage, below):
        return filters._replace(inside=below.inside)
    return filters


def unmet(storage: "Storage", filters: "Filters") -> str | None:
    """Return what filters ask for that no document has, with the names that there are; None if each
    of them leaves documents.

    Names stay untold where a server's bounds hide documents.
    """
    today = date.today()
    since, until = filters.since, filters.until
    if since and until and first_day(since, today) > last_day(until, today):
        return f"nothing can be since {since} and until {until}: the first is later"
    if filters.within is not None:
        return None
    catalog = storage.catalog
    name = filters.collection
    if name is not None and _is_met_by_none(storage, Filters(collection=name)):
        return f"there is no collection {name!r}{_names(name, collections(catalog))}"
    if filters.inside is not None and _is_met_by_none(storage, Filters(inside=filters.inside)):
        beginnings = _names(filters.inside, _beginnings(catalog.ids()))
        return f"no id is like {filters.inside!r}{beginnings}"
    for tag in filters.tags:
        if _is_met_by_none(storage, Filters(tags=[tag])):
            return f"no document has the tag {tag!r}{_names(tag, dict(storage.links.tags()))}"
    for key, value in filters.where.items():
        keys = dict(catalog.metadata_keys())
        if key not in keys:
            return f"no document has {key!r} in its metadata{_names(key, keys)}"
        if _is_met_by_none(storage, Filters(where={key: value})):
            values = [value] if isinstance(value, str) else value
            return f"no document has {' and '.join(values)!r} as its {key!r}"
    return None


def collections(catalog: "Catalog") -> list[str]:
    """Return the names of all collections, those with the most documents first."""
    counts: Counter[str] = Counter()
    for doc_id, collection, is_file in catalog.names():
        if collection is not None:
            counts[collection] += 1
        elif not is_file and "/" in doc_id:
            counts[doc_id.partition("/")[0]] += 1
    return [name for name, _ in counts.most_common()]


def _is_met_by_none(storage: "Storage", filters: "Filters") -> bool:
    total, _ = storage.catalog.listing(filters, 1)
    return total == 0


def _beginnings(ids: Iterable[str]) -> list[str]:
    counts = Counter(doc_id.partition("/")[0] for doc_id in ids)
    return [name for name, _ in counts.most_common()]


def _names(written: str, names: Iterable[str]) -> str:
    """Return the names that there are, as the end of a message; what is like the written one first."""
    names = list(names)
    if not names:
        return "; there is none"
    first = get_close_matches(written, names, NAMES)
    told = [*first, *(name for name in names if name not in first)]
    rest = f" and {len(told) - NAMES} more" if len(told) > NAMES else ""
    return f"; there are {', '.join(told[:NAMES])}{rest}"
