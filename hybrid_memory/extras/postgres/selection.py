"""Filters as SQL conditions on documents, and selections of the chunks of matching documents."""

import re
from collections.abc import Callable, Collection, Iterable
from datetime import date
from functools import cached_property
from typing import Any

from ...errors import QueryError
from ...storage.filters import Filters
from ...storage.matching import (
    LONGEST_GLOB,
    Selected,
    check_glob,
    globs_of,
    have_values,
    is_below,
    like_plain,
    wanted_values,
)
from ...text import periods
from ...text.analyzer import searchable
from ...text.characters import storable
from ...text.equality import spelled
from ...text.links import normal_tag
from .chunks import Links
from .database import SpaceDatabase, numbers, text
from .schema import START_OF_ID

EVERYTHING = "true"
WILD = r"[*?[]"  # in a glob
LAST = "\U0010ffff"  # after every character
LISTED = 20_000  # chunks; the ids of a smaller selection are listed before a search

IDS = """
select c.id from documents d join chunks c on c.space = d.space and c.document = d.number
where  d.space = %(space)s
and    {where} {below}
limit  {limit}
"""
JOINED = """
exists (select from chunks s join documents d on d.space = s.space and d.number = s.document
        where  s.space = %(space)s and s.id = {id} and {where} {below})
"""
# A text without a file belongs to the collection that its id begins with.
OF_COLLECTION = """
(d.collection = %(in_collection)s or d.collection is null and starts_with(d.doc_id, %(below_collection)s))
"""
AMONG = """
select c.id from chunks c join documents d on d.space = c.space and d.number = c.document
where  c.space = %(space)s and c.id = any(%(looked_at)s::bigint[])
and    {where} {below}
"""
SAMPLED = """
select (select id from chunks
        where  space = %(space)s and id >= low + n * 40503 %% 65536 * (high - low) / 65536
        order by id limit 1)
from   generate_series(0, {n}) n, (select min(id) as low, max(id) as high
                            from   chunks where space = %(space)s) range
"""
NUMBERS = "select d.number from documents d where d.space = %(space)s and {where}"
METADATA = "select d.number, d.metadata from documents d where d.space = %(space)s and {where}"
# The index has the starts of ids; all that match a pattern are in the range of its plain start.
INSIDE = f"""
(left(d.spelled_id, {START_OF_ID}) >= %(inside_start)s and left(d.spelled_id, {START_OF_ID}) < %(inside_end)s
 and d.spelled_id ~ %(inside)s)
"""
# Tags nested in a are those between "a/" and "a0", as 0 is the character after /.
TAGGED = """
not exists (
    select from unnest(%(all_tags)s::text[]) w
    where  not exists (
        select from tags t
        where  t.document = d.number and (t.tag = w or t.tag > w || '/' and t.tag < w || '0')
    )
)
"""
HEADED = """
exists (select from chunks h where h.document = d.number and h.heading_path = any(%(headings)s::text[]))
"""
BELOW = "and {chunks}.heading_path = any(%(headings)s::text[])"
HAS_SPEAKER = """
exists (select from chunks r where r.document = d.number and r.role in (%(role)s, 'both'))
"""
SPEAKS = "and {chunks}.role in (%(role)s, 'both')"
# The date of a month matches each of its days.
OF_DAYS = "{date} between left(%(since)s, length({date})) and left(%(until)s, length({date}))"
DATED = f"""
({OF_DAYS.format(date="d.date")} or exists (
    select from chunks own where own.document = d.number and own.date between %(since)s and %(until)s))
"""
WITHOUT = "and not {chunks}.id = any(%(without)s::bigint[])"
PASSAGES_DATED = f"and {OF_DAYS.format(date='coalesce({chunks}.date, d.date)')}"
EARLIEST, LATEST = "", "9999-12-31"
HEADINGS = """
select distinct c.heading_path from chunks c join documents d on d.space = c.space and d.number = c.document
where  d.space = %(space)s and {where}
"""
MAY_BE_BELOW = """
and (lower(c.heading_path collate "C") like %(a_heading)s
     or length(c.heading_path) <> octet_length(c.heading_path))
"""
# Saves a look by Python for most documents. "ß" and a few others become ASCII when case is folded,
# so metadata with other characters always pass.
MAY_HAVE = '(lower(d.metadata collate "C") like {pattern} or length(d.metadata) <> octet_length(d.metadata))'


class Selection(Selected):
    """The chunks of the documents that match a condition on a row `d` of documents; optionally only
    those below a heading, and without those with some ids.
    """

    def __init__(
        self,
        database: SpaceDatabase,
        where: str,
        parameters: dict[str, Any],
        without: Collection[int] = (),
    ) -> None:
        self._db = database
        self._where = where
        self._below = ""  # the condition on chunks
        if "headings" in parameters:
            self._below += BELOW
        if "role" in parameters:
            self._below += f" {SPEAKS}"
        if "since" in parameters:
            self._below += f" {PASSAGES_DATED}"
        self._parameters = parameters
        if without:
            self._below += f" {WITHOUT}"
            self._parameters = parameters | {"without": list(without)}

    @cached_property
    def ids(self) -> list[int] | None:
        """The selected chunks; None if there are more than LISTED."""
        rows = self._db.all(
            IDS.format(where=self._where, below=self._below.format(chunks="c"), limit=LISTED + 1),
            self._parameters,
        )
        if len(rows) <= LISTED:
            return [id for (id,) in rows]
        return None

    def _sampled(self, count: int) -> Iterable[int]:
        rows = self._db.all(SAMPLED.format(n=count - 1), self._parameters)
        return (id for (id,) in rows if id is not None)

    def among(self, ids: Collection[int]) -> set[int]:
        """The selected chunks among these."""
        parameters = self._parameters | {"looked_at": numbers(ids)}
        return {
            id
            for (id,) in self._db.all(
                AMONG.format(where=self._where, below=self._below.format(chunks="c")), parameters
            )
        }

    def condition(self, id: str) -> tuple[str, dict[str, Any]]:
        """The end of a condition that keeps the selected chunks, given the column of their ids; and
        its parameters.
        """
        if self.ids is not None:
            return f"and {id} = any(%(chosen)s::bigint[])", {"chosen": numbers(self.ids)}
        joined = JOINED.format(id=id, where=self._where, below=self._below.format(chunks="s"))
        return f"and {joined}", self._parameters


class _Builder:
    """A condition on a row `d` of documents that grows, and its parameters by name."""

    def __init__(self, database: SpaceDatabase, today: date) -> None:
        self.database = database
        self.today = today
        self.parts: list[str] = []
        self.given: dict[str, Any] = {}

    @property
    def sql(self) -> str:
        return " and ".join(self.parts) or EVERYTHING

    def add(self, sql: str, **given: Any) -> None:
        self.parts.append(sql)
        self.given |= given


def condition(
    database: SpaceDatabase, filters: Filters, today: date | None = None
) -> tuple[str, dict[str, Any]]:
    """SQL on a row `d` of documents, and its parameters; EVERYTHING if all documents match.

    Raises ValueError for an invalid date, QueryError for a long glob or a heading without words.
    """
    builder = _Builder(database, today or date.today())
    for add in dict.fromkeys(ON_DOCUMENTS.values()):  # two fields may share a condition
        add(builder, filters)
    return builder.sql, builder.given


def _collection(builder: _Builder, filters: Filters) -> None:
    if filters.collection is not None:
        builder.add(
            OF_COLLECTION,
            in_collection=text(filters.collection),
            below_collection=text(f"{filters.collection}/"),
        )


def _inside(builder: _Builder, filters: Filters) -> None:
    check_glob(filters.inside)
    globs = globs_of(filters.inside)
    if not globs:
        return
    written = [text(spelled(glob)) for glob in globs]
    start = re.split(WILD, written[0])[0].rstrip("/")[:START_OF_ID]
    builder.add(
        INSIDE,
        inside="|".join(map(glob_pattern, written)),
        inside_start=start,
        inside_end=start + LAST,
    )


def _within(builder: _Builder, filters: Filters) -> None:
    if globs := globs_of(filters.within):
        builder.add("d.doc_id ~ %(within)s", within="|".join(map(glob_pattern, globs)))


def _dated(builder: _Builder, filters: Filters) -> None:
    since, until = filters.since, filters.until
    if since is None and until is None:
        return
    builder.add(
        DATED,
        since=EARLIEST if since is None else periods.first_day(since, builder.today),
        until=LATEST if until is None else periods.last_day(until, builder.today),
    )


def _modified(builder: _Builder, filters: Filters) -> None:
    if filters.modified_since is not None:
        builder.add(
            "coalesce(d.file_mtime, d.indexed_at) >= %(modified_since)s",
            modified_since=periods.first_second(filters.modified_since, builder.today),
        )


def _tags(builder: _Builder, filters: Filters) -> None:
    if filters.tags:
        builder.add(TAGGED, all_tags=[text(normal_tag(tag)) for tag in filters.tags])


def _linked(builder: _Builder, filters: Filters) -> None:
    if filters.linked_to is not None:
        links = Links(builder.database).links_to(filters.linked_to)
        builder.add(
            "d.doc_id = any(%(linking)s::text[])", linking=list({link.source for link in links})
        )


def _not_excluded(builder: _Builder, filters: Filters) -> None:
    """Leave out the documents that match any of the excluded filters."""
    if not filters.excluded:
        return
    numbers: set[int] = set()
    for left_out in filters.excluded:
        where, given = condition(builder.database, left_out, builder.today)
        rows = builder.database.all(NUMBERS.format(where=where), given)
        numbers.update(number for (number,) in rows)
    builder.add("d.number <> all(%(excluded)s::bigint[])", excluded=list(numbers))


def _with_values(builder: _Builder, filters: Filters) -> None:
    """Replace the condition so far by the numbers of the documents that match it and have the
    values.
    """
    values = wanted_values(filters)
    if not values:
        return
    if pattern := like_plain(values[0][1]):
        builder.add(MAY_HAVE.format(pattern="%(a_value)s"), a_value=pattern)
    rows = builder.database.all(METADATA.format(where=builder.sql), builder.given)
    fitting = [number for number, metadata in rows if have_values(metadata, values)]
    builder.parts = []
    builder.add("d.number = any(%(numbers)s::bigint[])", numbers=fitting)


def _below_heading(builder: _Builder, filters: Filters) -> None:
    """Require a passage below the heading."""
    if filters.heading is None:
        return
    heading = storable(filters.heading)
    if not searchable(heading[:LONGEST_GLOB]).split():
        raise QueryError(f"the heading {heading!r} has no word to search for")
    statement = HEADINGS.format(where=builder.sql)
    if pattern := _words_pattern(heading):
        statement += MAY_BE_BELOW
        builder.given["a_heading"] = pattern
    rows = builder.database.all(statement, builder.given)
    headings = [path for (path,) in rows if is_below(path, heading)]
    builder.add(HEADED, headings=headings)


def _of_role(builder: _Builder, filters: Filters) -> None:
    if filters.role is not None:
        builder.add(HAS_SPEAKER, role=filters.role)


# What each field of Filters adds to the condition. The last two read the documents that match the
# others.
ON_DOCUMENTS: dict[str, Callable[[_Builder, Filters], None]] = {
    "collection": _collection,
    "inside": _inside,
    "within": _within,
    "since": _dated,
    "until": _dated,
    "modified_since": _modified,
    "tags": _tags,
    "role": _of_role,
    "linked_to": _linked,
    "excluded": _not_excluded,
    "where": _with_values,
    "heading": _below_heading,
}
ON_CHUNKS = ("without",)


def _words_pattern(heading: str) -> str | None:
    """A LIKE pattern for the words of an ASCII heading, whatever is between them."""
    words = searchable(heading).lower().split()
    return f"%{'%'.join(words)}%" if heading.isascii() else None


# A list of a glob, which may begin with ] and need not be closed, or another sign; and in a list, a
# range or a character
_SIGN = re.compile(r"\[(\^?)(\]?[^\]]*)(\]?)|[*?]", re.DOTALL)
_MEMBER = re.compile(r"(.)-(.)|.", re.DOTALL)


def glob_pattern(glob: str) -> str:
    """SQLite's glob as a regular expression: `*`, `?` and `[a-z]`; `[^a]` is any other character,
    and `]` is part of a list if it is first. A list that is not closed matches nothing.

    'a/*.md' -> '^a/.*\\.md$'
    """
    glob = text(glob)
    found, at = [], 0
    for sign in _SIGN.finditer(glob):
        found.append(_escaped(glob[at : sign.start()]))
        found.append({"*": ".*", "?": "."}.get(sign[0]) or _character_list(sign))
        at = sign.end()
    return f"^{''.join(found)}{_escaped(glob[at:])}$"


def _character_list(sign: re.Match[str]) -> str:
    inverse, members, end = sign.groups()
    if not end:
        return "(?!)"
    first = members[:1] if members.startswith("]") else ""
    ranges = [_escaped(first)]
    for member in _MEMBER.finditer(members, len(first)):
        low, high = member[1], member[2]
        if low is None:
            ranges.append(_escaped(member[0]))
        else:  # a range that ends before it begins is its first character
            ranges.append(f"{_escaped(low)}-{_escaped(max(low, high))}")
    return f"[{inverse}{''.join(ranges)}]"


def _escaped(text: str) -> str:
    return re.sub(r"[!-/:-@[-`{-~]", r"\\\g<0>", text)
