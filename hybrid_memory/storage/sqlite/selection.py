"""Filters as SQL conditions on documents and chunks, and selections of the chunks that match."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import date
from typing import NamedTuple

from ...errors import QueryError
from ...text import periods
from ...text.analyzer import indexed
from ...text.characters import storable
from ...text.equality import spelled
from ...text.links import normal_tag
from ..filters import Filters
from ..fts_expressions import match_expression
from ..matching import (
    LONGEST_GLOB,
    Selected,
    check_glob,
    globs_of,
    have_values,
    is_below,
    like_plain,
    wanted_values,
)
from .connection import SQLiteDatabase
from .links import Links

EVERYTHING = "true"
IS_INSIDE = "select exists (select 1 from json_each(?2) where ?1 glob value)"
# An id in one spelling; of an ASCII id, lower case is enough and saves a call of Python.
SPELLED = """
iif(length(d.doc_id) = length(cast(d.doc_id as blob)), lower(d.doc_id), spelled(d.doc_id))
"""

# Saves a call of Python for most documents. LIKE ignores case only in ASCII, but "ß" and a few
# others become ASCII when case is folded, so metadata with other characters always pass.
MAY_HAVE = "(d.metadata like ? or length(d.metadata) <> length(cast(d.metadata as blob)))"

# A text without a file belongs to the collection that its id begins with.
OF_COLLECTION = "(d.collection = ? or d.collection is null and d.doc_id > ? and d.doc_id < ?)"
# Tags nested in a are those between "a/" and "a0", as 0 is the character after /.
TAGGED = "d.doc_id in (select doc_id from tags where tag = ? or tag > ? and tag < ?)"
ALL_TAGS = """
not exists (
    select 1 from json_each(?) w
    where  not exists (
        select 1 from tags t
        where  t.doc_id = d.doc_id and (t.tag = w.value or t.tag > w.value || '/' and t.tag < w.value || '0')
    )
)
"""

# The keyword index has the words of headings, which rules out most chunks.
HEADED = """
d.doc_id in (
    select c.doc_id from chunks_fts cross join chunks c on c.id = chunks_fts.rowid
    where  chunks_fts match ? and is_below(c.heading_path, ?)
)
"""
BELOW = "is_below({chunks}.heading_path, ?)"
SPEAKS = "{chunks}.role in (?, 'both')"
HAS_SPEAKER = "d.doc_id in (select doc_id from main.chunks where role in (?, 'both'))"
WITHOUT = "{chunks}.id not in (select rowid from chunks_fts where chunks_fts match ?)"

# The date of a month matches each of its days.
OF_DAYS = "{date} between substr(?, 1, length({date})) and substr(?, 1, length({date}))"
DATED = f"""
({OF_DAYS.format(date="d.date")}
 or d.doc_id in (select own.doc_id from main.chunks own where own.date between ? and ?))
"""
PASSAGE_DATED = OF_DAYS.format(date="coalesce({chunks}.date, d.date)")
MODIFIED = "coalesce(d.file_mtime, d.indexed_at) >= cast(? as real)"
EARLIEST, LATEST = "", "9999-12-31"

SAMPLED = """
select (select id from chunks where id >= low + value * 40503 % 65536 * (high - low) / 65536
        order by id limit 1)
from   json_each(:numbers), (select (select min(id) from chunks) as low, (select max(id) from chunks) as high)
"""
AMONG = "select chunks.id from json_each(?) cross join chunks on chunks.id = value {join}"
JOIN = "cross join main.documents d on d.doc_id = chunks.doc_id where {condition}"

# The primary key is an index for "in", which a search evaluates for every row that matches.
DROP = "drop table if exists temp.chosen"
CREATE = "create temp table chosen (id integer primary key)"
FILL = """
insert into temp.chosen
select c.id from main.documents d cross join main.chunks c using (doc_id) where {condition}
"""
CHOSEN = "in (select id from temp.chosen)"


class Condition(NamedTuple):
    """SQL on a row `d` of documents, and its parameters in order."""

    sql: str
    parameters: Sequence[str]


class OnChunks(NamedTuple):
    """A condition on chunks: SQL on rows {chunks} and `d` of its document, and SQL on a row `d` for
    one of whose chunks it holds, if that is known without reading all chunks.
    """

    sql: str
    parameters: Sequence[str]
    of_document: Condition | None = None


class Selection(Selected):
    """The chunks that meet conditions, of the documents that match a condition."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        documents: Condition,
        on_chunks: Sequence[OnChunks],
    ) -> None:
        self._conn = conn
        self._documents = documents
        self._on_chunks = on_chunks
        self._is_listed = False

    def _sampled(self, count: int) -> Iterable[int]:
        rows = self._conn.execute(SAMPLED, {"numbers": json.dumps(list(range(count)))})
        return (id for (id,) in rows if id is not None)

    @property
    def join(self) -> tuple[str, Sequence[str]]:
        """SQL that ends a statement on chunks and keeps the selected ones, and its parameters."""
        # Each chunk is checked, so its document need not be.
        condition, parameters = self._condition("chunks", self._documents)
        return JOIN.format(condition=condition), parameters

    def _condition(self, chunks: str, documents: Condition) -> tuple[str, Sequence[str]]:
        """A condition on rows with the name `chunks`, and `d` of their documents."""
        of_chunks = [condition.sql.format(chunks=chunks) for condition in self._on_chunks]
        parameters = [given for condition in self._on_chunks for given in condition.parameters]
        return " and ".join([documents.sql, *of_chunks]), [*documents.parameters, *parameters]

    def among(self, ids: Collection[int]) -> set[int]:
        """The selected chunks among these."""
        join, parameters = self.join
        chosen = self._conn.execute(AMONG.format(join=join), (json.dumps(list(ids)), *parameters))
        return {id for (id,) in chosen}

    @property
    def listed(self) -> str:
        """The right side of a condition on chunks.id for the selected chunks. The first use writes
        them to the table temp.chosen.
        """
        if not self._is_listed:
            self._conn.execute(DROP)  # an interrupted search may have left one
            self._conn.execute(CREATE)
            self._fill()
            self._is_listed = True
        return CHOSEN

    def _fill(self) -> None:
        condition, parameters = self._condition("c", _having(self._documents, self._on_chunks))
        self._conn.execute(FILL.format(condition=condition), parameters)

    def close(self) -> None:
        if self._is_listed:
            # An interrupted statement may still be reading the table.
            with suppress(sqlite3.OperationalError):
                self._conn.execute(DROP)


@contextmanager
def selected(
    database: SQLiteDatabase, filters: Filters, today: date | None
) -> Iterator[Selection | None]:
    """Open a selection of the chunks that match the filters; None if all do. Raises as `condition`
    does.
    """
    on_chunks = _on_chunks(filters, today)
    documents = _on_documents(database, filters, today)
    if documents.sql == EVERYTHING and not on_chunks:
        yield None
        return
    selection = Selection(database.connection, documents, on_chunks)
    try:
        yield selection
    finally:
        selection.close()


def condition(database: SQLiteDatabase, filters: Filters) -> Condition:
    """SQL on a row `d` of documents, and its parameters in order; EVERYTHING if all documents
    match.

    Adds the functions that the SQL calls to the connection. Raises ValueError for an invalid date,
    QueryError for a long glob or a heading without words.
    """
    return _having(_on_documents(database, filters, None), _on_chunks(filters, None))


def _having(documents: Condition, on_chunks: Iterable[OnChunks]) -> Condition:
    """Add to a condition that the document has a chunk for each of these conditions."""
    having = [each.of_document for each in on_chunks if each.of_document]
    return _all([documents, *having])


def _all(conditions: Sequence[Condition]) -> Condition:
    return Condition(
        " and ".join(each.sql for each in conditions) or EVERYTHING,
        [parameter for each in conditions for parameter in each.parameters],
    )


class _Inputs(NamedTuple):
    """What a condition is made from."""

    database: SQLiteDatabase
    filters: Filters
    today: date | None


def _on_documents(database: SQLiteDatabase, filters: Filters, today: date | None) -> Condition:
    """A condition from all filters except those on chunks."""
    _add_functions(database.connection)
    inputs = _Inputs(database, filters, today)
    # Two fields may share a condition
    conditions = [make(inputs) for make in dict.fromkeys(ON_DOCUMENTS.values())]
    return _all([condition for condition in conditions if condition is not None])


def _part(sql: str, *values: str) -> Condition:
    return Condition(sql, [storable(value) for value in values])


def _tags(inputs: _Inputs) -> Condition | None:
    """The index finds the documents with the first tag; the other tags are checked for each."""
    if not inputs.filters.tags:
        return None
    tag, *others = map(normal_tag, inputs.filters.tags)
    tagged = _part(TAGGED, tag, f"{tag}/", f"{tag}0")
    return _all([tagged, _part(ALL_TAGS, json.dumps(others))]) if others else tagged


def _collection(inputs: _Inputs) -> Condition | None:
    name = inputs.filters.collection
    return None if name is None else _part(OF_COLLECTION, name, f"{name}/", f"{name}0")


def _inside(inputs: _Inputs) -> Condition | None:
    """Ids are matched in any spelling."""
    return _matching(inputs.filters.inside, SPELLED, spelled)


def _within(inputs: _Inputs) -> Condition | None:
    """A server's bound is matched as written, because another folder may differ only by case."""
    return _matching(inputs.filters.within, "d.doc_id", str)


def _matching(pattern: str | None, ids: str, spelling: Callable[[str], str]) -> Condition | None:
    check_glob(pattern)
    globs = globs_of(pattern)
    if not globs:
        return None
    return _part(f"({' or '.join([f'{ids} glob ?'] * len(globs))})", *map(spelling, globs))


def _dated(inputs: _Inputs) -> Condition | None:
    days = _days(inputs.filters, inputs.today)
    return None if days is None else _part(DATED, *days, *days)


def _modified(inputs: _Inputs) -> Condition | None:
    since = inputs.filters.modified_since
    if since is None:
        return None
    return _part(MODIFIED, str(periods.first_second(since, inputs.today or date.today())))


def _with_values(inputs: _Inputs) -> Condition | None:
    values = wanted_values(inputs.filters)
    if not values:
        return None
    has_values = _part("has_values(d.metadata, ?)", json.dumps(values))
    pattern = like_plain(values[0][1])
    if pattern is None:
        return has_values
    return _part(f"{MAY_HAVE} and {has_values.sql}", pattern, *has_values.parameters)


def _linked(inputs: _Inputs) -> Condition | None:
    target = inputs.filters.linked_to
    if target is None:
        return None
    linking = {link.source for link in Links(inputs.database).links_to(target)}
    return _part("d.doc_id in (select value from json_each(?))", json.dumps(list(linking)))


def _not_excluded(inputs: _Inputs) -> Condition | None:
    conditions = []
    for left_out in inputs.filters.excluded:
        documents = _on_documents(inputs.database, left_out, inputs.today)
        sql, parameters = _having(documents, _on_chunks(left_out, inputs.today))
        conditions.append(Condition(f"({sql}) is not true", parameters))
    return _all(conditions) if conditions else None


# The function for each field of Filters that is a condition on documents, the most selective first.
ON_DOCUMENTS: dict[str, Callable[[_Inputs], Condition | None]] = {
    "tags": _tags,
    "collection": _collection,
    "inside": _inside,
    "within": _within,
    "since": _dated,
    "until": _dated,
    "modified_since": _modified,
    "where": _with_values,
    "linked_to": _linked,
    "excluded": _not_excluded,
}


def _days(filters: Filters, today: date | None) -> tuple[str, str] | None:
    """The first and the last day that match; None if there is no filter on days."""
    if filters.since is None and filters.until is None:
        return None
    today = today or date.today()
    if filters.since is None:
        first = EARLIEST
    else:
        first = periods.first_day(filters.since, today)
    if filters.until is None:
        last = LATEST
    else:
        last = periods.last_day(filters.until, today)
    return first, last


def is_inside(doc_id: str, inside: str) -> bool:
    """Whether the filter `inside` matches a document id, by SQLite's glob."""
    check_glob(inside)
    globs = globs_of(inside)
    with closing(sqlite3.connect(":memory:")) as conn:
        matches = conn.execute(IS_INSIDE, (doc_id, json.dumps(globs))).fetchone()
    return bool(matches[0])


def _on_chunks(filters: Filters, today: date | None) -> list[OnChunks]:
    """The conditions on chunks."""
    conditions = [make(filters, today) for make in dict.fromkeys(ON_CHUNKS.values())]
    return [condition for condition in conditions if condition is not None]


def _passage_dated(filters: Filters, today: date | None) -> OnChunks | None:
    days = _days(filters, today)
    return None if days is None else OnChunks(PASSAGE_DATED, days)


def _below_heading(filters: Filters, today: date | None) -> OnChunks | None:
    heading = filters.heading
    if heading is None:
        return None
    words = indexed(heading[:LONGEST_GLOB]).split()
    if not words:
        raise QueryError(f"the heading {heading!r} has no word to search for")
    expression = " AND ".join(f'heading : "{word}"' for word in words)
    below = storable(heading)
    return OnChunks(BELOW, [below], Condition(HEADED, [expression, below]))


def _of_role(filters: Filters, today: date | None) -> OnChunks | None:
    role = filters.role
    return None if role is None else OnChunks(SPEAKS, [role], Condition(HAS_SPEAKER, [role]))


def _without(filters: Filters, today: date | None) -> OnChunks | None:
    expression = match_expression(filters.without)
    return OnChunks(WITHOUT, [expression]) if expression else None


# The function for each field of Filters that is a condition on chunks.
ON_CHUNKS: dict[str, Callable[[Filters, date | None], OnChunks | None]] = {
    "since": _passage_dated,
    "until": _passage_dated,
    "heading": _below_heading,
    "role": _of_role,
    "without": _without,
}


def _add_functions(conn: sqlite3.Connection) -> None:
    """Add the SQL functions, but only once: SQLite cannot replace a function while a statement
    runs, and FTS5's statements run until the transaction ends.
    """
    try:
        conn.execute("select has_values('{}', '[]'), is_below('', ''), spelled('')")
    except sqlite3.OperationalError:
        conn.create_function("has_values", 2, _has_values, deterministic=True)
        conn.create_function("is_below", 2, is_below, deterministic=True)
        conn.create_function("spelled", 1, spelled, deterministic=True)


def _has_values(metadata: str, values: str) -> bool:
    return have_values(metadata, json.loads(values))
