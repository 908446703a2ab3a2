"""Bring the tables of older versions up to date: STEPS[n] makes version n of version n - 1, in the transaction of `schema`."""

from collections.abc import Callable

from .connection import Connection
from .keyword.blocks import MOST_LENGTH, MOST_WEIGHT, PACKED, WEIGHT_BITS
from .keyword.postings import Postings

OF_ONE_SPACE = """
create unique index documents_by_number on documents (number, space);
alter table chunks drop constraint chunks_document_fkey,
    add foreign key (document, space) references documents (number, space);
alter table extracts drop constraint extracts_document_fkey,
    add foreign key (document, space) references documents (number, space) on delete cascade;
alter table names drop constraint names_document_fkey,
    add foreign key (document, space) references documents (number, space) on delete cascade;
alter table links drop constraint links_document_fkey,
    add foreign key (document, space) references documents (number, space) on delete cascade;
alter table tags drop constraint tags_document_fkey,
    add foreign key (document, space) references documents (number, space) on delete cascade;
"""

# Grants and policies are of the table, which therefore stays. Searches lock terms before postings, and so does this.
POSTINGS_IN_BLOCKS = f"""
alter table terms add column loose integer not null default 0;
alter table terms set (fillfactor = 80);
create table packed as
with loose as (
    select term, space, chunk,
           least(length, {MOST_LENGTH})::bigint << {WEIGHT_BITS} | least(trunc(weight * 4)::int, {MOST_WEIGHT}) as payload
    from   postings
) {PACKED};
truncate postings;
drop index postings_by_term;
alter table postings drop column chunk, drop column weight, drop column length,
                     add column first bigint not null, add column last bigint not null, add column entries bigint[] not null;
insert into postings (term, space, first, last, entries) select * from packed;
create index postings_by_term on postings (term, first);
drop table packed;
"""

SPACES = "select id from spaces order by id"
CHANGED = "update spaces set changes = changes + 1 where id = %(space)s"


def _stem_words_of_more_languages(conn: Connection) -> None:
    for (space,) in conn.all(SPACES):
        Postings(conn, space).rebuild()
        conn.execute(CHANGED, {"space": space})


STEPS: dict[int, str | Callable[[Connection], None]] = {2: OF_ONE_SPACE, 3: POSTINGS_IN_BLOCKS, 4: _stem_words_of_more_languages}
