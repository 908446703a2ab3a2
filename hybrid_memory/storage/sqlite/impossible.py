"""Find rows that this program never writes: values of another type, JSON of another shape, chunks
without a document. SQLite's own check accepts them.
"""

import json
import sqlite3
from collections.abc import Iterator
from itertools import chain

CHECKED = (
    *("meta", "folders", "documents", "chunks", "extracts", "spare_embeddings"),
    *("names", "links", "tags", "vector_blocks", "query_embeddings"),
)
# The type that SQLite gives the values of a column, by its declared type
STORED = {
    "TEXT": ("text",),
    "INTEGER": ("integer",),
    "REAL": ("real", "integer"),
    "BLOB": ("blob",),
}
PATHS = {"source_path", "path"}  # bytes, if they are not valid Unicode

COLUMNS = 'select name, type, "notnull" or pk from pragma_table_info(?)'
SETTINGS = "select key, value from meta"
FORMS = {  # what is wrong with a row -> a query for the first such row
    "the metadata of {!r} are not a JSON object": (
        "select doc_id from documents where iif(json_valid(metadata), json_type(metadata), '') <> 'object'"
    ),
    "the pages of {!r} are not a JSON list of numbers": """
        select doc_id from extracts where pages is not null and (
            iif(json_valid(pages), json_type(pages), '') <> 'array'
            or exists (select 1 from json_each(pages) where type <> 'integer')
        )
    """,
    "the patterns of the folder {!r} are not JSON lists of texts": """
        select path from folders where
            iif(json_valid(patterns) and json_valid(exclude),
                json_type(patterns) || json_type(exclude), '') <> 'arrayarray'
            or exists (select 1 from json_each(patterns) where type <> 'text')
            or exists (select 1 from json_each(exclude) where type <> 'text')
    """,
    "the metadata of the folder {!r} are not a JSON object": (
        "select path from folders where iif(json_valid(metadata), json_type(metadata), '') <> 'object'"
    ),
    "the path {!r} has a null character": """
        select source_path from documents where instr(cast(source_path as blob), x'00')
        union all select path from folders where instr(cast(path as blob), x'00')
    """,
    "the chunk sizes of {!r} are not valid": (
        "select doc_id from documents where chunking not glob '*:[0-9]*:[0-9]*'"
    ),
    "the chunk {!r} has no number": """
        select chunk_id from chunks
        where  substr(chunk_id, 1, length(doc_id) + 1) <> doc_id || '-'
            or substr(chunk_id, length(doc_id) + 2) in ('', '-')
            or substr(chunk_id, length(doc_id) + 2) glob '*[^0-9]*'
    """,
    "the embedding of the chunk {!r} has a wrong length": """
        select chunk_id from chunks
        where  length(embedding) <> (
            select 4 * (value ->> '$.dims') from meta where key = 'embeddings'
        )
    """,
    "the chunk {!r} ends before it begins": (
        "select chunk_id from chunks where start_line < 1 or end_line < start_line"
    ),
}
IDENTITY = {"provider", "model", "query_prompt", "document_prompt", "dims"}


def impossible_rows(conn: sqlite3.Connection, *, thorough: bool) -> list[str]:
    """A line for the first row of each kind that this program never writes. Only a thorough check
    reads more than the table meta.
    """
    problems: list[str] = []
    rows = chain(_types(conn), _forms(conn)) if thorough else ()
    try:
        problems.extend(chain(_settings(conn), rows))  # keeps what was found before an error
    except sqlite3.DatabaseError as error:  # also for JSON in a value that is not a text
        problems.append(str(error))
    return problems


def _types(conn: sqlite3.Connection) -> Iterator[str]:
    for table in CHECKED:
        cases = []
        for column, declared, is_required in conn.execute(COLUMNS, (table,)).fetchall():
            allowed = STORED[declared.upper()]
            if column in PATHS:
                allowed += ("blob",)
            if not is_required:
                allowed += ("null",)
            cases.append(f"when typeof({column}) not in {(*allowed, '')} then '{column}'")
        first = f"select case {' '.join(cases)} end as wrong from {table} where wrong is not null limit 1"
        for (column,) in conn.execute(first):
            yield f"{table}.{column} has a value of another type"


def _forms(conn: sqlite3.Connection) -> Iterator[str]:
    for problem, query in FORMS.items():
        for (name,) in conn.execute(f"{query} limit 1"):
            yield problem.format(name)


def _settings(conn: sqlite3.Connection) -> Iterator[str]:
    for key, value in conn.execute(SETTINGS).fetchall():
        try:
            is_right = _is_right(key, json.loads(value))
        except (ValueError, TypeError, RecursionError):
            is_right = False
        if not is_right:
            yield f"the value of {key!r} in the table meta is not valid"


def _is_right(key: str, value: object) -> bool:
    if key in ("embeddings", "next_embeddings"):
        is_next = key == "next_embeddings"
        return (
            isinstance(value, dict) and IDENTITY - ({"dims"} if is_next else set()) <= value.keys()
        )
    if key == "indexed_chunks":
        return isinstance(value, int)
    return isinstance(value, dict) or key != "refusals"
