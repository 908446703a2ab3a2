"""Which documents a search or a list is about, as a condition on their rows."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any, NamedTuple

from . import dates
from .schema import storable


class Filters(NamedTuple):
    """What a document must be: all that is given here.

    `inside` is a glob on its id (`*` passes `/`, too; a folder stands for everything below), `tags` are all among its
    own, `where` has metadata by key: a value, or several that must all be in its list. `since` and `until` are days
    (`2026-01-05`), months (`2026-01`) or ages (`7d`, `3w`, `6m`, `1y`), both ends included; a document dated by its month counts
    while the month lasts, an undated one never.
    """

    collection: str | None = None
    inside: str | None = None
    tags: Sequence[str] = ()
    where: Mapping[str, str | Sequence[str]] = MappingProxyType({})
    since: str | None = None
    until: str | None = None

    def condition(self, conn: sqlite3.Connection, today: date | None = None) -> tuple[str, list[str]]:
        """SQL on a row `d` of documents, and its parameters in order; "true" where everything will do.

        The functions in it are made known to the connection. Raises ValueError for a date that is none.
        """
        _add_functions(conn)
        today = today or date.today()
        below = self.inside and f"{self.inside.rstrip('/')}/*"
        conditions: list[tuple[str, Sequence[str | None]]] = [
            ("d.collection = ?", [self.collection]),
            ("(d.doc_id glob ? or d.doc_id glob ?)", [self.inside, below]),
            ("d.date >= substr(?, 1, length(d.date))", [None if self.since is None else dates.first_day(self.since, today)]),
            ("d.date <= substr(?, 1, length(d.date))", [None if self.until is None else dates.last_day(self.until, today)]),
            *(("has_tag(d.metadata, ?)", [tag]) for tag in self.tags),
            *(
                ("has_value(d.metadata, ?, ?)", [key, value])
                for key, values in self.where.items()
                for value in ([values] if isinstance(values, str) else values)
            ),
        ]
        used = [(sql, values) for sql, values in conditions if None not in values]
        parameters = [storable(str(value)) for _, values in used for value in values]
        return " and ".join(sql for sql, _ in used) or "true", parameters


def _add_functions(conn: sqlite3.Connection) -> None:
    """Once: SQLite does not replace one while a statement runs, and FTS5 keeps one running until a transaction ends."""
    try:
        conn.execute("select has_tag('{}', ''), has_value('{}', '', '')")
    except sqlite3.OperationalError:
        conn.create_function("has_tag", 2, has_tag, deterministic=True)
        conn.create_function("has_value", 3, has_value, deterministic=True)


def has_tag(metadata: str, tag: str) -> bool:
    """Is the tag one of `tags` or `tag` in the metadata, a list or words? '#' and case don't count; a/b is a kind of a.

    '{"tags": "ops, Infra/GPU"}', '#infra' -> True
    """
    values = json.loads(metadata)
    wanted = _bare(tag)
    named = [name for key in ("tags", "tag") for value in _listed(values.get(key)) for name in value.split(",")]
    tags = [own for name in named for own in (name, *name.split())]  # 'two words' are a tag, or two
    return bool(wanted) and any(f"{_bare(own)}/".startswith(f"{wanted}/") for own in tags)


def _bare(tag: str) -> str:
    return tag.strip().lstrip("#").casefold()


def has_value(metadata: str, key: str, value: str) -> bool:
    """Has the metadata this value under the key, or in its list there? Case doesn't count; true and 3 are 'true' and '3'."""
    return value.casefold() in (own.casefold() for own in _listed(json.loads(metadata).get(key)))


def _listed(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [each if isinstance(each, str) else json.dumps(each) for each in values]
