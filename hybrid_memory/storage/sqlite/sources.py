"""The statements on the tables of ingested folders and of refused files."""

from ..source import KnownSources


class SQLiteSources(KnownSources):
    """The sources of a database file."""

    CLAIMED = """
    select path, collection from folders
    where  collection = :collection and not is_file and path <> :path
    and    exists (select 1 from documents where collection = :collection)
    """
    SOURCES = """
    select path, collection, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
           chunk_overlap, doc_id, metadata, workspace, no_ignore
    from   folders
    where  collection = coalesce(:collection, collection) and path = coalesce(:path, path)
    order  by collection, path
    """
    REMEMBER = """
    insert into folders
           (collection, path, is_file, patterns, exclude, follow_symlinks, keep_missing, chunk_size,
            chunk_overlap, doc_id, metadata, workspace, no_ignore)
    values (:collection, :path, :is_file, :patterns, :exclude, :follow_symlinks, :keep_missing,
            :chunk_size, :chunk_overlap, :own_id, :metadata, :workspace, :no_ignore)
    """
    FORGET = "delete from folders where collection = :collection and path = :path"
    FORGET_OTHERS = "delete from folders where collection = :collection and not is_file"
    REFUSALS = "select value from meta where key = 'refusals'"
    FORGET_REFUSALS = "delete from meta where key = 'refusals'"
    REMEMBER_REFUSALS = "insert into meta (key, value) values ('refusals', :value)"
