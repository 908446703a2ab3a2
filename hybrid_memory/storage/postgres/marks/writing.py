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
with n as (delete from names where document = %(number)s), l as (delete from links where document = %(number)s)
delete from tags where document = %(number)s
"""
PUT_NAMES = """
insert into names (document, space, key, kind, name)
select %(number)s, %(space)s, new.* from unnest(%(keys)s::text[], %(kinds)s::text[], %(names)s::text[]) new
"""
PUT_LINKS = """
insert into links (document, space, place, line, target, kind, key)
select %(number)s, %(space)s, place, line, target, kind, key
from   unnest(%(lines)s::int[], %(targets)s::text[], %(kinds)s::text[], %(keys)s::text[])
       with ordinality new (line, target, kind, key, place)
"""
PUT_TAGS = "insert into tags (document, space, tag) select %(number)s, %(space)s, unnest(%(tags)s::text[])"


def put(conn: Connection, space: int, number: int, row: Mapping[str, Any], found: Marks) -> None:
    """Write the marks of a document in place of those that it has, from its row and what its text has."""
    of = {"number": number, "space": space}
    doc_id, metadata = text(row["doc_id"]), row["metadata"]
    names = [(FILE, doc_id.rpartition("/")[2])]
    names += [(ALIAS, text(name)) for name in aliases(json.loads(metadata))]
    names += [(TITLE, text(name)) for name in found.titles]
    keyed = [*dict.fromkeys((text(key_of(name)), kind, name) for kind, name in names)]
    links = [(line, text(target), kind) for line, target, kind in found.links]
    tags = {text(tag) for tag in all_of(metadata, map(text, found.tags))}
    conn.execute(REMOVE, of)
    conn.execute(PUT_NAMES, of | _columns(("keys", "kinds", "names"), keyed))
    if links:
        with_keys = [(*link, text(key_of(path_of(link[1], link[2])))) for link in links]
        conn.execute(PUT_LINKS, of | _columns(("lines", "targets", "kinds", "keys"), with_keys))
    if tags:
        conn.execute(PUT_TAGS, of | {"tags": sorted(tags)})


def _columns(names: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
