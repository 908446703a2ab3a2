"""Filters as a condition on documents, and the chunks of the documents that fulfil it as a temporary table."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date

from ...text import dates
from ...text.characters import storable
from ..filters import Filters, has_tag, has_value

TABLE = "temp.chosen"
CHOOSE = """
create temp table chosen as
select c.id, c.slot from main.chunks c join main.documents d using (doc_id) where {condition}
"""


@contextmanager
def selected(conn: sqlite3.Connection, filters: Filters, today: date | None) -> Iterator[str]:
    """The name of a table of the chunks (id, slot) of the documents that fulfil the filters, for as long as it is open.

    Raises ValueError for a date that is not one.
    """
    where, parameters = condition(conn, filters, today)
    conn.execute(CHOOSE.format(condition=where), parameters)
    try:
        yield TABLE
    finally:
        conn.execute(f"drop table {TABLE}")


def condition(conn: sqlite3.Connection, filters: Filters, today: date | None = None) -> tuple[str, list[str]]:
    """SQL on a row `d` of documents, and its parameters in order; "true" where every document will do.

    The connection is taught the functions in it. Raises ValueError for a date that is not one.
    """
    _add_functions(conn)
    today = today or date.today()
    inside, since, until = filters.inside, filters.since, filters.until
    below = inside and f"{inside.rstrip('/')}/*"
    conditions: list[tuple[str, Sequence[str | None]]] = [
        ("d.collection = ?", [filters.collection]),
        ("(d.doc_id glob ? or d.doc_id glob ?)", [inside, below]),
        ("d.date >= substr(?, 1, length(d.date))", [None if since is None else dates.first_day(since, today)]),
        ("d.date <= substr(?, 1, length(d.date))", [None if until is None else dates.last_day(until, today)]),
        *(("has_tag(d.metadata, ?)", [tag]) for tag in filters.tags),
        *(
            ("has_value(d.metadata, ?, ?)", [key, value])
            for key, values in filters.where.items()
            for value in ([values] if isinstance(values, str) else values)
        ),
    ]
    used = [(sql, values) for sql, values in conditions if None not in values]
    parameters = [storable(str(value)) for _, values in used for value in values]
    return " and ".join(sql for sql, _ in used) or "true", parameters


def _add_functions(conn: sqlite3.Connection) -> None:
    """Add them once only: SQLite cannot replace a function while a statement runs, and FTS5's run until a transaction ends."""
    try:
        conn.execute("select has_tag('{}', ''), has_value('{}', '', '')")
    except sqlite3.OperationalError:
        conn.create_function("has_tag", 2, has_tag, deterministic=True)
        conn.create_function("has_value", 3, has_value, deterministic=True)
