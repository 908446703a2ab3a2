"""The PostgreSQL engine: one connection, its transactions, and the parts of the store that work on
it.
"""

from _thread import RLock
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from ... import messages as log
from ...environment import needing
from ...errors import StoreError, WayOut
from . import schema
from .chunks import Chunks
from .connection import Connection, OnWait
from .embeddings import Embeddings
from .keyword import KeywordIndex

if TYPE_CHECKING:
    from datetime import date

    from ...storage.filters import Filters
    from .catalog import Catalog, Checks
    from .chunks import Links
    from .documents import Documents, Sources
    from .postings import Postings
    from .selection import Selection
    from .vectors import QueryCache, VectorIndex

DEFAULT_SPACE = "default"
NEWS, SHARE = (
    200,
    0.5,
)  # chunks that were added, and of which share of all: then the server is told to look at its rows

SPACE = "select id from spaces where name = %(name)s"
NEW_SPACE = "insert into spaces (name) values (%(name)s) on conflict do nothing"
CHANGED = "update spaces set changes = changes + 1 where id = %(space)s"
STATE = "select changes from spaces where id = %(space)s"
VACUUMED = (
    "documents",
    "extracts",
    "names",
    "links",
    "tags",
    "chunks",
    "terms",
    "postings",
    "words",
    "spare_embeddings",
)


class PostgresStorage:
    """Implements `protocol.Storage` for the memory of one space. What few commands need is imported
    when it is first used.
    """

    def __init__(
        self,
        address: str,
        *,
        space: str = DEFAULT_SPACE,
        create: bool = False,
        read_only: bool = False,
        on_wait: OnWait = log.warning,
    ) -> None:
        """Raises StoreError for a server that cannot be reached, and where the role may not do what
        is needed.

        With `create`, tables and space are made if they are missing. `on_wait` is called with a
        line when another process keeps this one from writing for longer than a second.
        """
        with needing("postgres", "a memory on PostgreSQL"):
            import psycopg  # noqa: F401
        self.connection = Connection(address, read_only=read_only)
        self.path = self.connection.name
        self._on_wait = on_wait
        self._turn = RLock()  # is held by the thread whose call is being answered
        self._is_closed = False
        try:
            with self.guarded("cannot open"):
                schema.prepare(self.connection, create=create)
                self.connection.prepare_session()
                self._space = self._opened(space, create)
        except BaseException:
            self.connection.close()
            raise
        self.chunks = Chunks(self.connection, self._space)
        self.embeddings = Embeddings(self.connection, self._space)

    def _opened(self, name: str, create: bool) -> int:
        row = self.connection.first(SPACE, {"name": name})
        if row is None and create:
            self.connection.execute(NEW_SPACE, {"name": name})
            row = self.connection.first(SPACE, {"name": name})
        if row is None:
            of = "" if name == DEFAULT_SPACE else f"space {name!r} of "
            told = f"no memory in {of}{self.path}, or this role may not see it"
            raise StoreError(told, WayOut("ingest", "ingest --path DIR", "makes one"))
        return int(row[0])

    @cached_property
    def _postings(self) -> "Postings":
        from .postings import Postings

        return Postings(self.connection, self._space)

    @cached_property
    def documents(self) -> "Documents":
        from .documents import Documents

        return Documents(self.connection, self._space, self.embeddings, self._postings)

    @cached_property
    def catalog(self) -> "Catalog":
        from .catalog import Catalog

        return Catalog(self.connection, self._space)

    @cached_property
    def sources(self) -> "Sources":
        from .documents import Sources

        return Sources(self.connection, self._space)

    @property
    def links(self) -> "Links":
        from .chunks import Links

        return Links(self.connection, self._space)

    @cached_property
    def checks(self) -> "Checks":
        from .catalog import Checks

        return Checks(self.connection, self._space)

    def keyword(self, chosen: "Selection | None" = None) -> KeywordIndex:
        return KeywordIndex(self.connection, self._space, chosen)

    def vectors(self, chosen: "Selection | None" = None) -> "VectorIndex":
        from .vectors import VectorIndex

        return VectorIndex(self.connection, self._space, chosen)

    def query_cache(self, size: int) -> "QueryCache":
        from .vectors import QueryCache

        return QueryCache(self.connection, self._space, size)

    @contextmanager
    def selection(
        self, filters: "Filters", today: "date | None" = None
    ) -> "Iterator[Selection | None]":
        from .selection import EVERYTHING, Selection, condition

        where, parameters = condition(self.connection, self._space, filters, today)
        yield (
            None
            if where == EVERYTHING
            else Selection(self.connection, self._space, where, parameters)
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with (
            self.guarded("cannot write"),
            self.connection.write_transaction(self._space, self._on_wait),
        ):
            try:
                yield
                self._postings.flush()
                self.connection.execute(CHANGED, {"space": self._space})
            finally:
                self._postings.forget()
        if self._postings.news > NEWS and self._postings.news > self.chunks.count() * SHARE:
            self._analyze()
            self._postings.news = 0

    def _analyze(self) -> None:
        """Tell the server how its rows are distributed. Until it finds out by itself, searches
        would take long.
        """
        self.connection.execute(
            "set client_min_messages to error"
        )  # or it tells of tables that are another role's
        for table in VACUUMED:
            self.connection.execute(f"analyze {table}")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.guarded():
            if self.connection.in_transaction:  # the caller's, who sees one state already
                yield
                return
            with self.connection.snapshot():
                yield

    def state(self) -> int:
        return int(self.connection.one(STATE, {"space": self._space})[0])

    def interrupt(self) -> None:
        self.connection.interrupt()

    @contextmanager
    def guarded(self, what: str = "cannot read") -> Iterator[None]:
        import psycopg

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
        from .vectors import rebuild

        self._postings.rebuild()
        rebuild(self.connection, self._space)

    def compact(self) -> None:
        with self.guarded("cannot write"):
            self.connection.execute(
                "set client_min_messages to error"
            )  # of tables that are another role's, which are skipped
            for table in VACUUMED:
                self.connection.execute(f"vacuum (analyze) {table}")

    def close(self) -> None:
        with self._turn:
            self._is_closed = True
            self.connection.close()
