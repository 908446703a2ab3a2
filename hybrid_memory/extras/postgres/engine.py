"""The PostgreSQL engine: one connection, its transactions, and the parts of the store that
use it.
"""

from _thread import RLock
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import cached_property

from ..environment import needing

with needing("postgres", "a memory on PostgreSQL"):  # before the modules below import it, too
    import psycopg

from ... import messages as log
from ...errors import MissingStoreError, StoreError, WayOut
from ...storage.filters import Filters
from . import schema
from .catalog import PostgresCatalog, PostgresSources
from .checks import Checks
from .chunks import Links, PostgresChunks
from .connection import Connection, OnWait
from .database import SpaceDatabase
from .documents import PostgresDocuments
from .embeddings import PostgresEmbeddings, SpaceQueryCache
from .fts5 import Tokenizer
from .keyword import KeywordIndex
from .postings import Postings
from .selection import EVERYTHING, Selection, condition
from .vectors import VectorIndex, rebuild

DEFAULT_SPACE = "default"
MANY_ADDED = 200  # chunks: if they are also ADDED_SHARE of all, the statistics are updated
ADDED_SHARE = 0.5
MANY_REMOVED = 100  # chunks: after so many, tables with many dead rows are vacuumed
# Dead rows of a table are many if they are also DEAD_SHARE of the live ones. The server's
# autovacuum runs once a minute, which is late if a tenth of a memory has changed.
MANY_DEAD = 500
DEAD_SHARE = 0.1

SPACE = "select id from spaces where name = %(name)s"
NEW_SPACE = "insert into spaces (name) values (%(name)s) on conflict do nothing"
CHANGED = "update spaces set changes = changes + 1 where id = %(space)s"
STATE = "select changes from spaces where id = %(space)s"
# Counts the changes of this connection at once. Otherwise, up to a second passes.
FLUSH_STATISTICS = "select pg_stat_force_next_flush()"
WITH_DEAD_ROWS = """
select relname from pg_stat_user_tables
where  schemaname = 'hybrid_memory' and relname = any(%(tables)s)
and    n_dead_tup > greatest(%(least)s, n_live_tup * %(share)s)
"""


class PostgresStorage:
    """Implements `interface.Storage` for the memory of one space."""

    # With more, other writers wait for longer than about a second; with fewer, more blocks of
    # postings are written, and merged later.
    group = 4096

    def __init__(
        self,
        address: str,
        *,
        space: str = DEFAULT_SPACE,
        create: bool = False,
        read_only: bool = False,
        on_wait: OnWait = log.warning,
    ) -> None:
        """Raises StoreError if the server cannot be reached, or if the role lacks a permission.

        With `create`, missing tables and the space are created. `on_wait` is called with a line
        when another process keeps this one from writing for longer than a second.
        """
        self.connection = Connection(address, read_only=read_only)
        self.path = self.connection.name
        self._on_wait = on_wait
        self._turn = RLock()  # held by the thread whose call is running
        self._is_closed = False
        try:
            with self.guarded("cannot open"):
                schema.prepare(self.connection, create=create)
                self.connection.prepare_session()
                self._database = SpaceDatabase(self.connection, self._find_space(space, create))
        except BaseException:
            self.connection.close()
            raise
        self.chunks = PostgresChunks(self._database)
        self.embeddings = PostgresEmbeddings(self._database)

    def _find_space(self, name: str, create: bool) -> int:
        row = self.connection.first(SPACE, {"name": name})
        if row is None and create:
            self.connection.to_primary()
            self.connection.execute(NEW_SPACE, {"name": name})
            row = self.connection.first(SPACE, {"name": name})
        if row is None:
            if name == DEFAULT_SPACE:
                owner = ""
            else:
                owner = f"space {name!r} of "
            problem = f"no memory in {owner}{self.path}, or this role may not see it"
            raise MissingStoreError(problem, WayOut("ingest", "ingest --path DIR", "makes one"))
        return int(row[0])

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer()

    @cached_property
    def _postings(self) -> Postings:
        return Postings(self._database, self._tokenizer)

    @cached_property
    def documents(self) -> PostgresDocuments:
        return PostgresDocuments(self._database, self.embeddings, self._postings)

    @cached_property
    def catalog(self) -> PostgresCatalog:
        return PostgresCatalog(self._database)

    @cached_property
    def sources(self) -> PostgresSources:
        return PostgresSources(self._database)

    @property
    def links(self) -> Links:
        return Links(self._database)

    @cached_property
    def checks(self) -> Checks:
        return Checks(self._database)

    def keyword(self, chosen: Selection | None = None) -> KeywordIndex:
        return KeywordIndex(self._database, self._tokenizer, chosen)

    def vectors(self, chosen: Selection | None = None) -> VectorIndex:
        return VectorIndex(self._database, chosen)

    def query_cache(self, size: int) -> SpaceQueryCache:
        return SpaceQueryCache(self._database, size)

    @contextmanager
    def selection(self, filters: Filters, today: date | None = None) -> Iterator[Selection | None]:
        where, parameters = condition(self._database, filters, today)
        if where == EVERYTHING and not filters.without:
            yield None
            return
        without = self.keyword().chunks_with(filters.without)
        yield Selection(self._database, where, parameters, without)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with (
            self.guarded("cannot write"),
            self.connection.write_transaction(self._database.space, self._on_wait),
        ):
            try:
                schema.check_version(self.connection)
                yield
                self._postings.flush()
                self._database.run(CHANGED)
            finally:
                self._postings.forget()
        if (
            self._postings.added > MANY_ADDED
            and self._postings.added > self._postings.count() * ADDED_SHARE
        ):
            self._analyze()
            self._postings.added = 0
        if self._postings.removed > MANY_REMOVED:
            self._vacuum()
            self._postings.removed = 0

    def _vacuum(self) -> None:
        """Free the space of dead rows in tables that have many."""
        self.connection.execute(FLUSH_STATISTICS)
        given = {"tables": list(schema.OF_A_SPACE), "least": MANY_DEAD, "share": DEAD_SHARE}
        for (table,) in self.connection.all(WITH_DEAD_ROWS, given):
            self._quietly(f"vacuum (skip_locked) {table}")

    def _quietly(self, statement: str) -> None:
        """Run a statement without its warnings about tables of another role, which it skips."""
        self.connection.execute("set client_min_messages to error")
        self.connection.execute(statement)

    def _analyze(self) -> None:
        """Update the server's statistics about its rows. Until it does so by itself, searches would
        be slow.
        """
        for table in schema.OF_A_SPACE:
            self._quietly(f"analyze {table}")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.guarded():
            if self.connection.in_transaction:  # the caller's transaction shows one state already
                yield
                return
            with self.connection.snapshot():
                yield

    def state(self) -> int:
        return self._database.number(STATE)

    def interrupt(self) -> None:
        self.connection.interrupt()

    @contextmanager
    def guarded(self, what: str = "cannot read") -> Iterator[None]:
        with self._turn:
            if self._is_closed:
                raise StoreError(f"the store {self.path} is closed; open it again")
            try:
                yield
            except psycopg.Error as error:
                raise self.connection.failure(error, what) or error from None

    @contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        before, self.connection.lock_timeout = self.connection.lock_timeout, seconds
        try:
            yield
        finally:
            self.connection.lock_timeout = before

    def rebuild_indexes(self) -> None:
        self._postings.rebuild()
        rebuild(self._database)

    def compact(self) -> None:
        with self.guarded("cannot write"):
            self.connection.to_primary()
            for table in schema.OF_A_SPACE:
                self._quietly(f"vacuum (analyze) {table}")

    def close(self) -> None:
        with self._turn:
            self._is_closed = True
            self._tokenizer.close()
            self.connection.close()
