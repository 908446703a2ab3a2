"""Filters as a condition on documents, and the chunks of the documents that fulfil it."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from functools import cached_property, lru_cache

from ...documents.links import bare
from ...errors import QueryError
from ...text import dates
from ...text.analyzer import indexed
from ...text.characters import storable
from ..filters import Filters, have_values, is_below

LONGEST_GLOB = 10_000  # characters; SQLite takes 50,000 bytes
EVERYTHING = "true"

# Spares most documents a call of Python. LIKE ignores case in ASCII; "ß" and a few others are ASCII
# when case is ignored.
MAY_HAVE = "(d.metadata like ? or length(d.metadata) <> length(cast(d.metadata as blob)))"

# All between "a/" and "a0", the next character, are nested in a.
TAGGED = "d.doc_id in (select doc_id from tags where tag = ? or tag > ? and tag < ?)"
# The same, for a few documents: does not list all that have the tag.
IS_TAGGED = "exists (select 1 from tags t where t.doc_id = d.doc_id and (t.tag = ? or t.tag > ? and t.tag < ?))"
ALL_TAGS = """
not exists (
    select 1 from json_each(?) w
    where  not exists (
        select 1 from tags t
        where  t.doc_id = d.doc_id and (t.tag = w.value or t.tag > w.value || '/' and t.tag < w.value || '0')
    )
)
"""

# Most chunks are ruled out by the words of the heading, which are in the keyword index.
HEADED = """
d.doc_id in (
    select c.doc_id from chunks_fts cross join chunks c on c.id = chunks_fts.rowid
    where  chunks_fts match ? and is_below(c.heading_path, ?)
)
"""
BELOW = "is_below({chunks}.heading_path, ?)"

SAMPLE = 64  # chunks that tell which share is chosen
# Of all chunks: from there on it is faster to look at those that a search finds than to list those
# that are chosen
BROAD = 0.15

SAMPLED = """
select (select id from chunks where id >= low + value * 40503 % 65536 * (high - low) / 65536 order by id limit 1)
from   json_each(:numbers), (select (select min(id) from chunks) as low, (select max(id) from chunks) as high)
"""
AMONG = "select chunks.id from json_each(?) cross join chunks on chunks.id = value {join}"
JOIN = "cross join main.documents d on d.doc_id = chunks.doc_id where {condition}"

# A table with a primary key serves as the index for "in", which a search asks about every row that
# matches.
DROP = "drop table if exists temp.chosen"
CREATE = "create temp table chosen (id integer primary key)"
WANTED = "select d.doc_id from documents d where {condition}"
FILL = """
insert into temp.chosen select c.id from json_each(?) cross join main.chunks c on c.doc_id = value
"""
CHOSEN = "in (select id from temp.chosen)"


class Selection:
    """The chunks of the documents that fulfil a condition, all or those below a heading. No text is
    read for that.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        where: str,
        parameters: Sequence[str],
        heading: str | None = None,
    ) -> None:
        self._conn, self._where, self._parameters, self._heading = conn, where, parameters, heading
        self._is_listed = False
        self._known: dict[int, bool] = {}  # chunks that were looked at

    @cached_property
    def share(self) -> float:
        """About which share of all chunks is chosen."""
        rows = self._conn.execute(SAMPLED, {"numbers": json.dumps(list(range(SAMPLE)))})
        ids = {id for (id,) in rows if id is not None}
        return len(self.among(ids)) / max(len(ids), 1)

    @property
    def is_broad(self) -> bool:
        return self.share > BROAD

    @property
    def join(self) -> tuple[str, Sequence[str]]:
        """What leaves the chosen ones of chunks, at the end of a statement, and its parameters."""
        # Each chunk's own heading is asked about, so the document's headings need not be.
        below, heading = (
            (f" and {BELOW.format(chunks='chunks')}", [self._heading])
            if self._heading
            else ("", [])
        )
        return JOIN.format(condition=self._where.replace(TAGGED, IS_TAGGED)) + below, [
            *self._parameters,
            *heading,
        ]

    def among(self, ids: Iterable[int]) -> set[int]:
        """Those of these chunks that are chosen."""
        wanted = set(ids)
        new = wanted.difference(self._known)
        join, parameters = self.join
        rows = self._conn.execute(AMONG.format(join=join), (json.dumps(list(new)), *parameters))
        self._known.update(dict.fromkeys(new, False))
        self._known.update((id, True) for (id,) in rows)
        return {id for id in wanted if self._known[id]}

    @property
    def listed(self) -> str:
        """The right side of a condition on chunks.id: all that are chosen, in the table temp.chosen
        from then on.
        """
        if not self._is_listed:
            self._conn.execute(DROP)  # one may be left where a search was interrupted
            self._conn.execute(CREATE)
            headed, heading = _headed(self._heading)
            wanted = self._conn.execute(
                WANTED.format(condition=self._where + headed), [*self._parameters, *heading]
            )
            fill = f"{FILL} where {BELOW.format(chunks='c')}" if headed else FILL
            self._conn.execute(fill, (json.dumps([doc_id for (doc_id,) in wanted]), *heading[1:]))
            self._is_listed = True
        return CHOSEN

    def close(self) -> None:
        if self._is_listed:
            with suppress(
                sqlite3.OperationalError
            ):  # an interrupted statement may still be reading it
                self._conn.execute(DROP)


@contextmanager
def selected(
    conn: sqlite3.Connection, filters: Filters, today: date | None
) -> Iterator[Selection | None]:
    """What the filters leave, for as long as it is open; None if that is everything. Raises as
    `condition` does.
    """
    _headed(filters.heading)  # raises
    where, parameters = _of_documents(conn, filters, today)
    if where == EVERYTHING and filters.heading is None:
        yield None
        return
    selection = Selection(conn, where, parameters, filters.heading)
    try:
        yield selection
    finally:
        selection.close()


def condition(
    conn: sqlite3.Connection, filters: Filters, today: date | None = None
) -> tuple[str, list[str]]:
    """SQL on a row `d` of documents, and its parameters in order; EVERYTHING where every document
    will do.

    The connection is taught the functions in it. Raises ValueError for a date that is not one,
    QueryError for a long glob or a heading without words.
    """
    where, parameters = _of_documents(conn, filters, today)
    headed, heading = _headed(filters.heading)
    return where + headed, parameters + heading


def _of_documents(
    conn: sqlite3.Connection, filters: Filters, today: date | None
) -> tuple[str, list[str]]:
    """`condition` without the heading, which is a filter on chunks."""
    _add_functions(conn)
    if len(filters.inside or "") > LONGEST_GLOB:
        raise QueryError(
            f"the glob has {len(filters.inside or ''):,} characters; at most {LONGEST_GLOB:,} are understood"
        )
    today = today or date.today()
    inside, since, until = filters.inside, filters.since, filters.until
    globs = [] if inside in (None, "*") else [inside]
    if inside and not inside.endswith("*"):
        globs.append(f"{inside.rstrip('/')}/*")
    tags = list(map(bare, filters.tags))
    values = [
        (key, value)
        for key, of_key in filters.where.items()
        for value in ([of_key] if isinstance(of_key, str) else of_key)
    ]
    conditions: list[tuple[str, Sequence[str | None]]] = [
        ("d.collection = ?", [filters.collection]),
        (f"({' or '.join(['d.doc_id glob ?'] * len(globs))})", globs or [None]),
        (
            "d.date >= substr(?, 1, length(d.date))",
            [None if since is None else dates.first_day(since, today)],
        ),
        (
            "d.date <= substr(?, 1, length(d.date))",
            [None if until is None else dates.last_day(until, today)],
        ),
        *((TAGGED, [tag, f"{tag}/", f"{tag}0"]) for tag in tags[:1]),
        (ALL_TAGS, [json.dumps(tags[1:]) if tags[1:] else None]),
        *((MAY_HAVE, [_pattern(value)]) for _, value in values[:1]),
        ("has_values(d.metadata, ?)", [json.dumps(values) if values else None]),
        ("d.doc_id in (select value from json_each(?))", [_linking(conn, filters.linked_to)]),
    ]
    used = [(sql, values) for sql, values in conditions if None not in values]
    parameters = [storable(str(value)) for _, values in used for value in values]
    return " and ".join(sql for sql, _ in used) or EVERYTHING, parameters


def _pattern(text: str) -> str | None:
    """What metadata in ASCII that has this text is like; None if JSON may write it otherwise."""
    is_plain = (
        text.isascii()
        and text.isprintable()
        and len(text) < LONGEST_GLOB
        and not set(text) & set('%_"\\')
    )
    return f"%{text}%" if is_plain else None


def _headed(heading: str | None) -> tuple[str, list[str]]:
    """What leaves the documents with a chunk below this heading, to be added to a condition, and
    its parameters.
    """
    if heading is None:
        return "", []
    words = indexed(heading[:LONGEST_GLOB]).split()
    if not words:
        raise QueryError(f"the heading {heading!r} has no word by which it could be found")
    return f" and {HEADED}", [
        " AND ".join(f'heading : "{word}"' for word in words),
        storable(heading),
    ]


def _linking(conn: sqlite3.Connection, doc_id: str | None) -> str | None:
    """The documents that link to this one, as JSON."""
    if doc_id is None:
        return None
    from .links import Links

    return json.dumps(list({link.source for link in Links(conn).links_to(doc_id)}))


_parsed = lru_cache(maxsize=2)(json.loads)


def _add_functions(conn: sqlite3.Connection) -> None:
    """Add them once only: SQLite cannot replace a function while a statement runs, and FTS5's run
    until a transaction ends.
    """
    try:
        conn.execute("select has_values('{}', '[]'), is_below('', '')")
    except sqlite3.OperationalError:
        conn.create_function("has_values", 2, _has_values, deterministic=True)
        conn.create_function("is_below", 2, is_below, deterministic=True)


def _has_values(metadata: str, values: str) -> bool:
    return have_values(metadata, _parsed(values))
