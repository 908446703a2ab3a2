"""Which documents a search or a list is about."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from ..documents.terms import listed, names_in
from ..errors import QueryError
from ..options import DATE, PAIR, TEXT, Option, fields_given, options_of
from ..text.query import Term

MOST_EXCLUDED = 200  # SQLite takes conditions of some 1,000 parts


class Filters(NamedTuple):
    """What a document must be. Every filter that is given must hold.

    - A text that was stored without a file is of the collection that its id begins with:
      decisions/x is of decisions.
    - In `inside`, a glob on the document's id, `*` also matches `/`. A folder stands for everything
      below it.
    - A tag may be in the metadata or in the text. A tag a/b is also a tag a.
    - `where` has a value or several values by key; all of them must be in the metadata. The key
      server.port is the key port of the map server.
    - `since` and `until` leave the passages of these days, both ends included. What is dated by its
      month counts during the whole month, what has no date never.
    - `heading` names one heading above the passage, or several: `Meeting > Costs`.

    The fields without an option are not the user's: `within` is a second glob, which a server sets
    for all its calls; `without` leaves out the passages that a keyword search for any of these
    words and phrases would find; a document for which any of `excluded` holds is left out.
    """

    collection: Annotated[
        str | None, Option(TEXT, "only documents of this collection", metavar="NAME")
    ] = None
    inside: Annotated[
        str | None,
        Option(
            TEXT,
            "only documents with a matching id: memory/2026-*, or memory",
            name="in",
            metavar="GLOB",
        ),
    ] = None
    tags: Annotated[
        Sequence[str],
        Option(TEXT, "only documents with this tag", name="tag", repeated=True, metavar="TAG"),
    ] = ()
    where: Annotated[
        Mapping[str, str | Sequence[str]],
        Option(PAIR, "only documents with this metadata", repeated=True),
    ] = MappingProxyType({})
    since: Annotated[
        str | None,
        Option(
            DATE,
            "only documents of this date or later: 2026-01-05, 2026-01, 2026, 7d, 3w, 6m, 1y, yesterday",
        ),
    ] = None
    until: Annotated[str | None, Option(DATE, "only documents of this date or earlier")] = None
    modified_since: Annotated[
        str | None, Option(DATE, "only documents whose file changed on this day or later")
    ] = None
    heading: Annotated[
        str | None,
        Option(TEXT, "only passages below this heading: Costs, or 'Meeting > Costs'"),
    ] = None
    linked_to: Annotated[
        str | None,
        Option(
            TEXT,
            "only documents that link to this one: its id, the end of it, an alias or a title",
            metavar="TARGET",
        ),
    ] = None
    within: str | None = None
    without: Sequence[Term] = ()
    excluded: Sequence["Filters"] = ()


FILTERS = options_of(Filters)


def check_types(filters: Filters) -> None:
    """Raise TypeError or ValueError for a value that its filter cannot have. A string in place of
    tags is a sequence of letters, which would leave out every document.
    """
    if not isinstance(filters, Filters):
        raise TypeError(f"filters: {filters!r} is not a hybrid_memory.storage.filters.Filters")
    fields_given((FILTERS,), {field: getattr(filters, field) for field in FILTERS}, "filters")


def narrowed(filters: Filters | None, asked: Mapping[str, Any]) -> Filters:
    """Return the filters with those that a query asks for: its tags, values and what it leaves out
    besides, the others in their place.
    Raises QueryError if it leaves out by too many.
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


def like_key(name: str) -> str:
    """Return what metadata (JSON) with a key of this name, in any case, are like in SQL. LIKE may ignore
    case in ASCII alone.
    """
    letters = "".join(letter if letter.isascii() and letter != "." else "%" for letter in name)
    return f'%"{letters}"%'


def like_text(text: str) -> str:
    """Return what metadata (JSON) with this text, in any case, are like in SQL; others may be, too."""
    letters = [letter if letter.isascii() and letter.isalnum() else "%" for letter in text]
    return f"%{''.join(letters)}%"


def key_like(name: str, metadata: Iterable[str]) -> str | None:
    """Return the first key of these metadata (JSON) that has this name, in any case; None if none has."""
    for text in metadata:
        for key in _keys_in(json.loads(text)):
            if key.casefold() == name.casefold():
                return key
    return None


def keys_of(metadata: Iterable[str]) -> list[tuple[str, int]]:
    """Return the keys of these metadata (JSON), those of maps dotted, each with how many have it, the
    most frequent first.
    """
    counts = Counter(key for text in metadata for key in set(_keys_in(json.loads(text))))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _keys_in(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of all values that are not maps.

    {"title": "Rack", "server": {"port": 22}, "people": [{"name": "Ann"}]} -> title, server.port,
    people.name
    """
    for key, value in metadata.items():
        items = value if isinstance(value, list) else [value]
        maps = [item for item in items if isinstance(item, dict)]
        for inner in maps:
            yield from (f"{key}.{name}" for name in _keys_in(inner))
        if len(maps) < len(items) or not items:
            yield key


def _values_at(metadata: Any, key: str) -> Iterator[Any]:
    """Yield the values that `key` has in metadata, and dotted keys in the maps below."""
    if isinstance(metadata, list):
        for item in metadata:
            yield from _values_at(item, key)
    elif isinstance(metadata, dict):
        if key in metadata:
            yield metadata[key]
        for dot in re.finditer(r"\.", key):
            if key[: dot.start()] in metadata:
                yield from _values_at(metadata[key[: dot.start()]], key[dot.end() :])


def is_below(heading_path: str, heading: str) -> bool:
    """Return whether a passage with this heading path stands below this heading, or below several
    side by side. Case is ignored.

    'Meeting > Costs > Power', 'meeting > costs' -> True
    """
    return f" > {heading} > ".casefold() in f" > {heading_path} > ".casefold()


def have_values(metadata: str, wanted: Iterable[Sequence[str]]) -> bool:
    """Return whether metadata (JSON) has each of these values under its key, or in a list there. A
    link may be given by its words.

    `wanted` has pairs of a key and a value. Case is ignored; true is 'true' and 3 is '3'.
    """
    values = json.loads(metadata)
    return all(
        value.casefold()
        in (
            name.casefold()
            for found in _values_at(values, key)
            for own in listed(found)
            for name in names_in(own)
        )
        for key, value in wanted
    )
