"""Filters as a condition on documents, and the chunks of the documents that fulfil it as a condition on their ids."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date

from ...errors import QueryError
from ...text import dates
from ...text.characters import storable
from ..filters import Filters, has_tag, has_value

LONGEST_GLOB = 10_000  # characters; SQLite takes 50,000 bytes

IDS = "select doc_id from documents"
WANTED = "select d.doc_id from documents d where {condition}"

# A table with a primary key serves as the index for "in", which a search asks about every row that matches.
DROP = "drop table if exists temp.chosen"
CREATE = "create temp table chosen (id integer primary key)"
FILL = """
insert into temp.chosen select c.id from json_each(?) cross join main.chunks c on c.doc_id = value
"""
CHOSEN = "in (select id from temp.chosen)"


@contextmanager
def selected(conn: sqlite3.Connection, filters: Filters, today: date | None) -> Iterator[str | None]:
    """The right side of a condition on chunks.id, such as `in (...)`, for as long as it is open; None if all are wanted.

    Documents are chosen by their metadata; their texts, which may be long, are not read. Where most are wanted, the others
    are listed. Raises ValueError for a date that is not one.
    """
    where, parameters = condition(conn, filters, today)
    if where == EVERYTHING:
        yield None
        return
    every = [doc_id for (doc_id,) in conn.execute(IDS)]
    wanted = [doc_id for (doc_id,) in conn.execute(WANTED.format(condition=where), parameters)]
    if len(wanted) == len(every):
        yield None
        return
    most = 2 * len(wanted) > len(every)
    listed = list(set(every).difference(wanted)) if most else wanted
    conn.execute(DROP)  # one may be left where a search was interrupted
    conn.execute(CREATE)
    conn.execute(FILL, (json.dumps(listed),))
    try:
        yield f"not {CHOSEN}" if most else CHOSEN
    finally:
        with suppress(sqlite3.OperationalError):  # an interrupted statement may still be reading it
            conn.execute(DROP)


EVERYTHING = "true"


def condition(conn: sqlite3.Connection, filters: Filters, today: date | None = None) -> tuple[str, list[str]]:
    """SQL on a row `d` of documents, and its parameters in order; EVERYTHING where every document will do.

    The connection is taught the functions in it. Raises ValueError for a date that is not one, QueryError for a long glob.
    """
    _add_functions(conn)
    if len(filters.inside or "") > LONGEST_GLOB:
        raise QueryError(f"the glob has {len(filters.inside or ''):,} characters; at most {LONGEST_GLOB:,} are understood")
    today = today or date.today()
    inside, since, until = filters.inside, filters.since, filters.until
    below = inside and f"{inside.rstrip('/')}/*"
    values = [
        (key, value) for key, of_key in filters.where.items() for value in ([of_key] if isinstance(of_key, str) else of_key)
    ]
    conditions: list[tuple[str, Sequence[str | None]]] = [
        ("d.collection = ?", [filters.collection]),
        ("(d.doc_id glob ? or d.doc_id glob ?)", [inside, below]),
        ("d.date >= substr(?, 1, length(d.date))", [None if since is None else dates.first_day(since, today)]),
        ("d.date <= substr(?, 1, length(d.date))", [None if until is None else dates.last_day(until, today)]),
        ("has_tags(d.metadata, ?)", [json.dumps(list(filters.tags)) if filters.tags else None]),
        ("has_values(d.metadata, ?)", [json.dumps(values) if values else None]),
    ]
    used = [(sql, values) for sql, values in conditions if None not in values]
    parameters = [storable(str(value)) for _, values in used for value in values]
    return " and ".join(sql for sql, _ in used) or EVERYTHING, parameters


def _add_functions(conn: sqlite3.Connection) -> None:
    """Add them once only: SQLite cannot replace a function while a statement runs, and FTS5's run until a transaction ends."""
    try:
        conn.execute("select has_tags('{}', '[]'), has_values('{}', '[]')")
    except sqlite3.OperationalError:
        conn.create_function("has_tags", 2, _has_tags, deterministic=True)
        conn.create_function("has_values", 2, _has_values, deterministic=True)


def _has_tags(metadata: str, tags: str) -> bool:
    return all(has_tag(metadata, tag) for tag in json.loads(tags))


def _has_values(metadata: str, values: str) -> bool:
    return all(has_value(metadata, key, value) for key, value in json.loads(values))
