"""The statements on the tables of ingested folders and of refused files, which belong to one host."""

from ...storage.source import KnownSources, Source
from .connection import here

OF_ANOTHER_HOST = """
select path from folders where space = %(space)s and host <> %(host)s and collection = %(collection)s
and    not is_file
"""


class PostgresSources(KnownSources):
    """The sources of one host in a space."""

    CLAIMED = """
    select path, collection from folders
    where  space = %(space)s and host = %(host)s and collection = %(collection)s and not is_file
    and    path <> %(path)s
    and    exists (select from documents where space = %(space)s and host = %(host)s
            and    collection = %(collection)s)
    """
    SOURCES = """
    select path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
           chunk_overlap, doc_id, metadata, workspace, no_ignore
    from   folders
    where  space = %(space)s and host = %(host)s and collection = coalesce(%(collection)s, collection)
    and    path = coalesce(%(path)s::bytea, path)
    order  by collection, path
    """
    REMEMBER = """
    insert into folders (space, host, path, collection, is_file, patterns, exclude, follow_symlinks,
                         keep_missing, chunk_size, chunk_overlap, doc_id, metadata, workspace,
                         no_ignore)
    values (%(space)s, %(host)s, %(path)s, %(collection)s, %(is_file)s, %(patterns)s, %(exclude)s,
            %(follow_symlinks)s, %(keep_missing)s, %(chunk_size)s, %(chunk_overlap)s, %(own_id)s,
            %(metadata)s, %(workspace)s, %(no_ignore)s)
    """
    FORGET = """
    delete from folders where space = %(space)s and host = %(host)s and collection = %(collection)s
    and    path = %(path)s
    """
    FORGET_OTHERS = """
    delete from folders where space = %(space)s and host = %(host)s and collection = %(collection)s
    and    not is_file
    """
    REFUSALS = "select value from meta where space = %(space)s and key = 'refusals@' || %(host)s"
    FORGET_REFUSALS = "delete from meta where space = %(space)s and key = 'refusals@' || %(host)s"
    REMEMBER_REFUSALS = """
    insert into meta (space, key, value) values (%(space)s, 'refusals@' || %(host)s, %(value)s)
    """

    def of_own_name(self, source: Source) -> Source:
        own = source._replace(collection=f"{source.collection}@{here()}")
        if source.is_file or self._known(source):
            return source
        if self._known(own) or self._db.first(OF_ANOTHER_HOST, self._key(source)):
            return own
        return source
