"""Bring the tables of older versions up to date: STEPS[n] makes version n of version n - 1, in the transaction of `schema`."""

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

STEPS = {2: OF_ONE_SPACE}
