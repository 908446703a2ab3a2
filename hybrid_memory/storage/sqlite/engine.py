"""The SQLite engine: one connection, its transactions, and the parts of the store that use it.

Threads take turns at the one connection. Measured with 4 threads, 6,000 chunks and 40 searches: 0.9
to 1.1 s in turns, 1.5 to 1.8 s with a connection for each thread, because most of a search is
Python.
"""

import sqlite3
import sys

# Importing the module threading would slow down each search, and the exit
from _thread import RLock
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from ... import messages
from ...errors import StoreError
from . import connection
from .chunks import SQLiteChunks
from .connection import SQLiteDatabase
from .embeddings import SQLiteEmbeddings, SQLiteQueryCache
from .keyword import FTSIndex

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import date

    from ..filters import Filters
    from .catalog import SQLiteCatalog, SQLiteSources
    from .checks import Checks
    from .documents import SQLiteDocuments
    from .links import Links
    from .selection import Selection
    from .vectors import VectorIndex

LAST = "select coalesce(max(id), 0) from chunks"
MUCH_GROWN = 1.5  # times the earlier number of chunks
# Parts of the keyword index from which one process erases removed words, in about a second
ERASURES = 20


class SQLiteStorage:
    """Implements `interface.Storage` for a file. Parts that few commands need are imported on first
    use.
    """

    # With more, other writers wait for longer than about 200 ms; with fewer, FTS5 has more to
    # merge.
    group = 2048

    def __init__(
        self,
        path: str,
        *,
        create: bool = False,
        read_only: bool = False,
        on_wait: connection.OnWait = messages.warning,
    ) -> None:
        """Open the file, or with `create`, create it. Raises StoreError if that is not possible.

        `on_wait` is called with a line when another process keeps this one from writing for longer
        than a second.
        """
        self.path = path
        self.connection = connection.connect(
            path, create=create, read_only=read_only, on_wait=on_wait
        )
        self._on_wait = on_wait
        self._turn = RLock()  # held by the thread whose call is running
        self._is_closed = False
        self._last_before: int | None = None  # the highest chunks.id before the first transaction
        self._database = SQLiteDatabase(self.connection)
        self.chunks = SQLiteChunks(self._database)
        self.embeddings = SQLiteEmbeddings(self._database)

    @cached_property
    def documents(self) -> "SQLiteDocuments":
        from .documents import SQLiteDocuments

        return SQLiteDocuments(self._database, self.embeddings)

    @cached_property
    def catalog(self) -> "SQLiteCatalog":
        from .catalog import SQLiteCatalog

        return SQLiteCatalog(self._database)

    @cached_property
    def sources(self) -> "SQLiteSources":
        from .catalog import SQLiteSources

        return SQLiteSources(self._database)

    @property
    def links(self) -> "Links":
        from .links import Links

        return Links(self._database)

    @cached_property
    def checks(self) -> "Checks":
        from .checks import Checks

        return Checks(self.connection)

    def keyword(self, chosen: "Selection | None" = None) -> FTSIndex:
        return FTSIndex(self.connection, chosen)

    def vectors(self, chosen: "Selection | None" = None) -> "VectorIndex":
        from .vectors import VectorIndex

        return VectorIndex(self.connection, chosen)

    def query_cache(self, size: int) -> SQLiteQueryCache:
        return SQLiteQueryCache(self._database, size)

    def selection(
        self, filters: "Filters", today: "date | None" = None
    ) -> "AbstractContextManager[Selection | None]":
        from .selection import selected

        return selected(self._database, filters, today)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.guarded("cannot write"):
            connection.write(self.connection, "begin immediate", self.path, self._on_wait)
            try:
                connection.check_version(self.connection)
                if self._last_before is None:
                    (self._last_before,) = self.connection.execute(LAST).fetchone()
                yield
                self.connection.execute("commit")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("rollback")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.guarded(), connection.one_state(self.connection):
            yield

    def state(self) -> int:
        return int(self.connection.execute("pragma data_version").fetchone()[0])

    @contextmanager
    def guarded(self, what: str = "cannot read") -> Iterator[None]:
        with self._turn:
            if self._is_closed:
                raise StoreError(f"the store {self.path} is closed; open it again")
            try:
                yield
            except connection.BROKEN as error:
                explanation = connection.failure(error, self.path, what)
                if explanation is None:
                    raise
                raise explanation from error

    def interrupt(self) -> None:
        self.connection.interrupt()

    def waiting(self, seconds: float) -> "AbstractContextManager[None]":
        return connection.waiting(self.connection, seconds)

    def rebuild_indexes(self) -> None:
        from .vectors import rebuild

        FTSIndex(self.connection).reindex()
        rebuild(self.connection)

    def compact(self) -> None:
        with self.guarded("cannot write"):
            connection.compact(self.connection, self.path, self._on_wait)

    def close(self) -> None:
        with self._turn:
            if self._is_closed:
                return
            is_interrupted = sys.exc_info()[0] is not None  # if so, end at once
            try:
                if self._last_before is not None and not is_interrupted:
                    # Best effort: another process may be writing.
                    with suppress(StoreError, sqlite3.DatabaseError), self.waiting(0):
                        self._tidy(self._last_before)
            finally:
                self._is_closed = True
                self.connection.close()

    def _tidy(self, last_before: int) -> None:
        """Merge the keyword index if it has grown much, which makes it smaller and faster, and list
        its words; erase removed words; and release free pages.
        """
        index = FTSIndex(self.connection)
        if self.connection.execute(LAST).fetchone()[0] > MUCH_GROWN * last_before:
            index.optimize()
        with self.transaction():
            index.list_words()
        for _ in range(ERASURES):  # in short transactions, between which others can write
            with self.transaction():
                if not index.erase():
                    break
        # Each step frees one page, and `execute` runs only one step.
        self.connection.executescript("pragma incremental_vacuum")
