"""Write the names, links and tags of documents. The only writer of these tables; needs a transaction."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ....documents.marks.found import Marks
from ....documents.marks.links import key_of, path_of
from ....documents.marks.names import aliases
from ....documents.marks.tags import all_of
from ...resolution import ALIAS, FILE, TITLE
from ..connection import Connection
from ..selection import text

REMOVE = """
with n as (delete from names where document = any(%(numbers)s)), l as (delete from links where document = any(%(numbers)s))
delete from tags where document = any(%(numbers)s)
"""
PUT_NAMES = """
insert into names (space, document, key, kind, name)
select %(space)s, new.* from unnest(%(document)s::bigint[], %(key)s::text[], %(kind)s::text[], %(name)s::text[]) new
"""
PUT_LINKS = """
insert into links (space, document, place, line, target, kind, key)
select %(space)s, new.*
from   unnest(%(document)s::bigint[], %(place)s::int[], %(line)s::int[], %(target)s::text[], %(kind)s::text[],
              %(key)s::text[]) new
"""
PUT_TAGS = """
insert into tags (space, document, tag) select %(space)s, new.* from unnest(%(document)s::bigint[], %(tag)s::text[]) new
"""


def put(conn: Connection, space: int, documents: Iterable[tuple[int, Mapping[str, Any], Marks]]) -> None:
    """Write the marks of documents in place of those that they have, from their numbers, rows, and what their texts have."""
    names: list[tuple[Any, ...]] = []
    links: list[tuple[Any, ...]] = []
    tags: list[tuple[Any, ...]] = []
    numbers = []
    for number, row, found in documents:
        numbers.append(number)
        doc_id, metadata = text(row["doc_id"]), row["metadata"]
        named = [(FILE, doc_id.rpartition("/")[2])]
        named += [(ALIAS, text(name)) for name in aliases(json.loads(metadata))]
        named += [(TITLE, text(name)) for name in found.titles]
        names += dict.fromkeys((number, text(key_of(name)), kind, name) for kind, name in named)
        for place, (line, target, kind) in enumerate(found.links, 1):
            links.append((number, place, line, text(target), kind, text(key_of(path_of(text(target), kind)))))
        tags += ((number, tag) for tag in sorted({text(tag) for tag in all_of(metadata, map(text, found.tags))}))
    conn.execute(REMOVE, {"numbers": numbers})
    for statement, columns, rows in (
        (PUT_NAMES, ("document", "key", "kind", "name"), names),
        (PUT_LINKS, ("document", "place", "line", "target", "kind", "key"), links),
        (PUT_TAGS, ("document", "tag"), tags),
    ):
        if rows:
            conn.execute(statement, {"space": space} | dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
