"""Filters: conditions on the documents and passages of a search or a list."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, NamedTuple

from ..options import DATE, PAIR, TEXT, Option, fields_given, options_of
from ..text.query import Term
from ..text.roles import ROLES


class Filters(NamedTuple):
    """Conditions on documents and passages. All filters that are given must hold.

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
    - `role` leaves the passages of conversations in which this one speaks (text/roles.py).

    Texts are compared in any spelling (text/equality.py).

    Users do not set the fields without an option: `within` is a second glob, which a server sets
    for all its calls, and which matches ids as written; `without` leaves out the passages that a
    keyword search for any of these words and phrases would find; a document that matches any of
    `excluded` is left out.
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
    role: Annotated[
        str | None,
        Option(TEXT, "only what the user, or the assistant, said in a conversation", choices=ROLES),
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
    """Raise TypeError or ValueError for a value that its filter cannot have. For example, a string
    in place of tags would be read as its letters, and leave out every document.
    """
    if not isinstance(filters, Filters):
        raise TypeError(f"filters: {filters!r} is not a hybrid_memory.storage.filters.Filters")
    fields_given((FILTERS,), {field: getattr(filters, field) for field in FILTERS}, "filters")
