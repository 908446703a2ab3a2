"""Read chunks and their documents for a search; read and write names, links and tags."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...storage.chunks import Chunks
from ...storage.links import LinkReader, links_of, names_of, tags_of
from ...text.links import DocumentLinks
from .database import SpaceDatabase

# The time of the file, or of storing a text without a file
MODIFIED = """
to_char(to_timestamp(trunc(coalesce(d.file_mtime, d.indexed_at))) at time zone 'utc',
        'YYYY-MM-DD"T"HH24:MI:SS"Z"')
"""
IN_ORDER = """
select c.id from chunks c join documents d on d.space = c.space and d.number = c.document
where  c.space = %(space)s and c.id = any(%(ids)s) order by d.doc_id, c.id
"""
OPENING_CHUNKS = """
select c.id, array(select id from chunks where space = %(space)s and document = c.document
                   order by id limit %(count)s)
from   chunks c
where  c.space = %(space)s and c.id = any(%(ids)s)
"""
OF_DOCUMENT = (
    "document = (select number from documents where space = %(space)s and doc_id = %(doc_id)s)"
)
TEXT = f"select content, start_line, end_line from chunks where {OF_DOCUMENT} order by id"


def in_order(database: SpaceDatabase, ids: Collection[int]) -> list[int]:
    """These chunks, ordered by document id, and by their place in the document."""
    return list(database.column(IN_ORDER, {"ids": list(ids)}))


# Every condition has the space, so that only one partition is read if tables are partitioned by it.
class PostgresChunks(Chunks):
    """The chunks of a space."""

    CANDIDATES = f"""
    select c.id, d.doc_id, c.chunk_id, c.content, c.heading_path, d.collection,
           case when c.chunk_id = d.doc_id || '-0' and d.metadata <> '{{}}' then d.metadata end, c.role,
           c.items, coalesce(c.date, d.date), {MODIFIED}
    from   chunks c join documents d on d.space = c.space and d.number = c.document
    where  c.space = %(space)s and c.id = any(%(ids)s)
    order  by c.id
    """
    CHUNK_ROWS = f"""
    select c.id, d.doc_id, c.chunk_id, c.heading, c.heading_path, c.content, c.start_line, c.end_line,
           case when d.host = %(host)s then d.source_path end, d.collection, coalesce(c.date, d.date),
           d.metadata, e.pages, c.role, {MODIFIED}
    from   chunks c join documents d on d.space = c.space and d.number = c.document
           left join extracts e on e.space = c.space and e.document = c.document
    where  c.space = %(space)s and c.id = any(%(ids)s)
    """
    PLACES = """
    select c.id, d.doc_id, c.start_line, c.end_line, e.pages
    from   chunks c join documents d on d.space = c.space and d.number = c.document
           left join extracts e on e.space = c.space and e.document = c.document
    where  c.space = %(space)s and c.id = any(%(ids)s)
    """
    DECLARING = """
    select c.id, d.metadata
    from   chunks c join documents d on d.space = c.space and d.number = c.document
    where  c.space = %(space)s and c.id = any(%(ids)s)
      and  (d.metadata ilike '%%supersede%%' or d.metadata ilike '%%replace%%')
    """
    OWN_DATES = f"select start_line, date from chunks where {OF_DOCUMENT} order by id"
    AT = f"""
    select id from chunks where {OF_DOCUMENT} and end_line >= %(start)s and start_line <= %(end)s order by id
    """
    AROUND = f"""
    select   c.id, c.content, c.start_line, c.end_line, d.chunking, c.role
    from     chunks c join documents d on d.space = c.space and d.number = c.document
    where    c.space = %(space)s and c.id in (
                 (select id from chunks where {OF_DOCUMENT} and id <= %(id)s
                  order by id desc limit %(count)s + 1)
                 union all
                 (select id from chunks where {OF_DOCUMENT} and id > %(id)s order by id limit %(count)s))
    order by c.id
    """
    COUNT = "select count(*) from chunks where space = %(space)s"

    def opening_chunks(self, ids: Iterable[int], count: int) -> dict[int, list[int]]:
        return dict(self._of(ids, OPENING_CHUNKS, count=count))


def text_of_chunks(database: SpaceDatabase, doc_id: str) -> str:
    """The text of a document, as far as its chunks have it, with each line in its place."""
    lines: dict[int, str] = {}
    for content, start, end in database.all(TEXT, {"doc_id": doc_id}):
        # A table's header may be repeated before the chunk's own lines
        own = content.split("\n")[-(end - start + 1) :]
        for at, line in enumerate(own, start):
            if len(line) > len(lines.get(at, "")):
                lines[at] = line
    return "\n".join(lines.get(at, "") for at in range(1, max(lines, default=0) + 1))


class Links(LinkReader):
    """The links of a space."""

    OF = f"l.{OF_DOCUMENT}"
    TO = f"(md5(l.key), l.key) in (select md5(key), key from names where {OF_DOCUMENT})"
    # A link with a path may be broken even if a document has its name.
    MAYBE_BROKEN = """
    (position('/' in l.target) > 0
     or not exists (select from names n where n.space = l.space and n.key = l.key))
    """
    LINKS = """
    select d.doc_id, l.line, l.target, l.kind, d.collection
    from   links l join documents d on d.space = l.space and d.number = l.document
    where  l.space = %(space)s and {condition}
    order by d.doc_id, l.line, l.place
    """
    NAMED = """
    select d.doc_id, d.collection, n.kind, n.name from names n
           join documents d on d.space = n.space and d.number = n.document
    where  n.space = %(space)s and n.key = %(key)s
    order  by d.doc_id, n.kind, n.name
    """
    TITLES = f"select name from names where {OF_DOCUMENT} and kind = 'title' order by name"
    TAGS = "select tag, document from tags where space = %(space)s"
    TAGS_OF = f"select tag from tags where {OF_DOCUMENT} order by tag"


REMOVE = """
with n as (delete from names where document = any(%(numbers)s)),
     l as (delete from links where document = any(%(numbers)s))
delete from tags where document = any(%(numbers)s)
"""
PUT_NAMES = """
insert into names (space, document, key, kind, name)
select %(space)s, new.* from unnest(%(document)s::bigint[], %(key)s::text[], %(kind)s::text[],
                                    %(name)s::text[]) new
"""
PUT_LINKS = """
insert into links (space, document, place, line, target, kind, key)
select %(space)s, new.*
from   unnest(%(document)s::bigint[], %(place)s::int[], %(line)s::int[], %(target)s::text[], %(kind)s::text[],
              %(key)s::text[]) new
"""
PUT_TAGS = """
insert into tags (space, document, tag)
select %(space)s, new.*
from   unnest(%(document)s::bigint[], %(tag)s::text[]) new
"""


def put_links(
    database: SpaceDatabase, documents: Iterable[tuple[int, Mapping[str, Any], DocumentLinks]]
) -> None:
    """Replace the names, links and tags of documents, from their numbers, their rows, and the links
    in their texts.
    """
    names: list[tuple[Any, ...]] = []
    links: list[tuple[Any, ...]] = []
    tags: list[tuple[Any, ...]] = []
    numbers = []
    for number, row, found in documents:
        numbers.append(number)
        names += dict.fromkeys((number, *name) for name in names_of(row, found))
        links += ((number, place, *link) for place, link in enumerate(links_of(found), 1))
        tags += ((number, tag) for tag in tags_of(row, found))
    database.run(REMOVE, {"numbers": numbers})
    for statement, columns, rows in (
        (PUT_NAMES, ("document", "key", "kind", "name"), names),
        (PUT_LINKS, ("document", "place", "line", "target", "kind", "key"), links),
        (PUT_TAGS, ("document", "tag"), tags),
    ):
        if rows:
            values = map(database.encode_list, zip(*rows, strict=True))
            database.run(statement, dict(zip(columns, values, strict=True)))
