"""Which documents a search or a list is about."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..documents.terms import listed, names_in
from ..errors import QueryError
from ..text.query import Term

MOST_EXCLUDED = 200  # SQLite takes conditions of some 1,000 parts


class Filters(NamedTuple):
    """What a document must be. Every filter that is given must hold.

    A text that was stored without a file is of the collection that its id begins with: decisions/x
    is of decisions. `within` is a second glob as `inside` is, which a server sets for all its calls.
    `inside` is a glob on the document's id, in which `*` also matches `/`; a folder stands for
    everything below it. All `tags` must be among the document's own, in its metadata or its text; a
    tag a/b is an a. `where` has metadata by key: a value, or several values that must all be in the
    list. `since` and `until` are days (`2026-01-05`), months (`2026-01`) or ages (`7d`, `3w`, `6m`,
    `1y`), both ends included; they leave the passages of these days. What is dated by its month
    counts during the whole month, what has no date never. `linked_to` is the id of a document that
    it must link to. `heading` leaves the passages below a heading, alone or with those above it
    (`Costs`, `Meeting > Costs`), in any case. `modified_since` is a day as `since` is: the file has
    changed, or the text was stored, then or later. `without` leaves the passages that a keyword
    search for any of these words and phrases would not find. A document for which any of `excluded`
    holds is left out; of these, `without` does not count.
    """

    collection: str | None = None
    inside: str | None = None
    tags: Sequence[str] = ()
    where: Mapping[str, str | Sequence[str]] = MappingProxyType({})
    since: str | None = None
    until: str | None = None
    linked_to: str | None = None
    heading: str | None = None
    modified_since: str | None = None
    within: str | None = None
    without: Sequence[Term] = ()
    excluded: Sequence["Filters"] = ()


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
    letters = "".join(letter if letter.isascii() else "%" for letter in name)
    return f'%"{letters}"%'


def key_like(name: str, metadata: Iterable[str]) -> str | None:
    """Return the first key of these metadata (JSON) that has this name, in any case; None if none has."""
    for text in metadata:
        for key in json.loads(text):
            if key.casefold() == name.casefold():
                return str(key)
    return None


def keys_of(metadata: Iterable[str]) -> list[tuple[str, int]]:
    """Return the keys of these metadata (JSON), each with how many have it, the most frequent first."""
    counts = Counter(key for text in metadata for key in json.loads(text))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


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
        in (name.casefold() for own in listed(values.get(key)) for name in names_in(own))
        for key, value in wanted
    )
