"""A connection to PostgreSQL. It takes any address that libpq takes, reopens itself when it is
lost, and hides passwords in errors.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from select import select
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from ...addresses import public_name
from ...errors import BusyStoreError, ConnectionLostError, StoreError

# "HMEM": the first half of the keys of our advisory locks; the second half is the space, or 0 to
# create tables
LOCK = 0x484D454D
LOCK_TIMEOUT = 30.0  # seconds that one writer waits for another
SILENCE = 1.0  # seconds of waiting before it is reported
CONNECT_TIMEOUT = 10  # seconds, unless set in the address
# Seconds between two attempts to reach a server that was reached before
RETRIES = (0.1, 0.4, 1.5, 3.0)

# pgvector may be in any schema. Plans are not compiled, because that takes longer than running them.
SESSION = """
select set_config('search_path', concat_ws(', ', 'hybrid_memory', quote_ident(n.nspname), 'public'), false),
       set_config('jit', 'off', false),
       set_config('default_transaction_read_only',
                  (%(read_only)s or current_setting('default_transaction_read_only')::boolean)::text, false),
       set_config('hnsw.iterative_scan', 'relaxed_order', false),
       set_config('hnsw.ef_search', case when c.reltuples > %(large)s then '1000' else '400' end, false),
       current_setting('statement_timeout'), quote_ident(current_user), pg_backend_pid()
from   (select) one left join pg_extension e on e.extname = 'vector'
       left join pg_namespace n on n.oid = e.extnamespace
       left join pg_class c on c.relname = 'chunks' and c.relnamespace = to_regnamespace('hybrid_memory')
"""
# Chunks: in the index of more, 400 candidates sometimes miss all of the nearest
LARGE = 300_000

# When an error ends a pipeline, psycopg would also log that closing it failed.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

Parameters = Mapping[str, Any]
OnWait = Callable[[str], None]  # called with a line about what a writer waits for


class Connection:
    """The connection of one thread, in autocommit mode outside of transactions. Errors are raised
    as psycopg raises them.
    """

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        """Raises StoreError if the server cannot be reached or refuses the connection."""
        self._read_only = read_only
        self.address, self.name = address, public_name(address)
        self.lock_timeout = LOCK_TIMEOUT
        self._writes = False  # whether only a server that accepts writes will do
        self._open = self._connected()

    def _connected(self) -> "psycopg.Connection[tuple[Any, ...]]":
        try:
            given = conninfo_to_dict(self.address)
            if self._writes:
                given["target_session_attrs"] = "primary"
            usual: dict[str, Any] = {
                "connect_timeout": CONNECT_TIMEOUT,
                "application_name": "hybrid-memory",
            }
            address = make_conninfo(self.address, **{**usual, **given})
            # Plans depend on how common the words of a query are, so no statement is prepared
            opened = psycopg.connect(address, autocommit=True, prepare_threshold=None)
            self._set_up(opened)
            # A pooler tells its clients a process that is not the server's.
            is_pooled = self._session != opened.info.backend_pid
            is_shared = is_pooled and self._is_shared(address)
        except psycopg.Error as error:
            raise StoreError(
                f"cannot open {self.name}: {self.public_message(error)}"
            ) from None  # the cause may show the password
        if is_shared:
            opened.close()
            raise StoreError(
                f"cannot open {self.name}: a pooler gives each transaction any session of the server; "
                "set `pool_mode = session` in PgBouncer for this database"
            )
        return opened

    def _is_shared(self, address: str) -> bool:
        """Whether a pooler gives another client the server's session of this one while it is idle.
        If all sessions are taken, the pooler lets the other one wait, so it does not.
        """
        with closing(psycopg.connect(address, autocommit=True)) as other:
            other.pgconn.send_query(b"select pg_backend_pid()")
            if not select([other.pgconn.socket], [], [], SILENCE)[0]:
                return False
            other.pgconn.consume_input()
            result = other.pgconn.get_result()
            return bool(result and result.get_value(0, 0) == str(self._session).encode())

    @property
    def is_standby(self) -> bool:
        """Whether the server is a standby, which accepts no writes."""
        return self._open.info.parameter_status("in_hot_standby") == "on"

    def to_primary(self) -> None:
        """Switch to the server that accepts writes, if this one does not. Later reads see what was
        written.

        Raises StoreError if the address leads to no such server.
        """
        if not self.is_standby:
            return
        self._writes = True
        try:
            opened = self._connected()
        except StoreError as error:
            self._writes = False
            raise StoreError(
                f"{self.name} is a standby, which accepts no writes ({error}); "
                "add the primary to the address: postgresql://USER@STANDBY,PRIMARY/DATABASE"
                "?target_session_attrs=prefer-standby"
            ) from None
        self._open.close()
        self._open = opened

    def prepare_session(self) -> None:
        """Look up the schemas of the tables and of pgvector, which may be new."""
        self._set_up(self._open)

    def _set_up(self, opened: "psycopg.Connection[tuple[Any, ...]]") -> None:
        session = opened.execute(SESSION, {"read_only": self._read_only, "large": LARGE})
        *_, self._timeout, self._role, self._session = session.fetchone() or ("0", "", 0)

    def interrupt(self) -> None:
        """Cancel the statement that another thread is running; it fails there."""
        self._open.cancel()

    @property
    def is_lost(self) -> bool:
        """Whether the connection is known to be lost."""
        return bool(self._open.closed or self._open.broken)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, even if an error has made it unusable."""
        return self._open.info.transaction_status in (
            TransactionStatus.INTRANS,
            TransactionStatus.INERROR,
            TransactionStatus.ACTIVE,  # in a pipeline, which only transactions have
        )

    def execute(
        self, statement: str, parameters: Parameters | None = None
    ) -> "psycopg.Cursor[tuple[Any, ...]]":
        """Run a statement. Outside of a transaction, a lost connection is reopened, and the
        statement run again.
        """
        if not self.in_transaction:
            self._reopen_if_lost()
        begun = self.in_transaction
        try:
            return self._open.execute(statement, parameters)
        except psycopg.OperationalError:
            if begun or not self.is_lost:
                raise
        self._reopen_if_lost()
        return self._open.execute(statement, parameters)

    def all(self, statement: str, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        return self.execute(statement, parameters).fetchall()

    def one(self, statement: str, parameters: Parameters | None = None) -> tuple[Any, ...]:
        """The row of a statement that returns exactly one."""
        [row] = self.all(statement, parameters)
        return row

    def first(self, statement: str, parameters: Parameters | None = None) -> tuple[Any, ...] | None:
        """The first row of a statement, or None."""
        return self.execute(statement, parameters).fetchone()

    def _reopen_if_lost(self) -> None:
        """Reopen a lost connection. This tries several times, because a restart of the server takes
        some seconds.
        """
        for pause in (*RETRIES, None):
            if not self.is_lost:
                return
            try:
                self._open = self._connected()
            except StoreError as error:
                if pause is None:
                    raise ConnectionLostError(str(error)) from None
                time.sleep(pause)

    @contextmanager
    def plain_transaction(self, begin: str = "begin") -> Iterator[None]:
        """Commit what is done inside, or undo it if an error is raised."""
        self.execute(begin)
        with self._finishing():
            yield

    @contextmanager
    def _finishing(self) -> Iterator[None]:
        """Commit the transaction that has begun, or undo it if an error is raised."""
        try:
            yield
            self.execute("commit")
        except BaseException:
            with suppress(Exception):  # losing the connection has undone it
                if self.in_transaction:
                    self._open.rollback()
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Show one state of the database to all statements inside."""
        with self.plain_transaction("begin isolation level repeatable read read only"):
            yield

    @contextmanager
    def write_transaction(self, space: int, on_wait: OnWait) -> Iterator[None]:
        """The only transaction that writes to the space. `on_wait` is called if it has to wait for
        others for longer than SILENCE seconds.

        The server runs a statement while this process prepares the next one; only fetching rows
        waits. The error of a statement is raised when rows are fetched next, or at the end.
        """
        self.to_primary()
        seconds = min(SILENCE, self.lock_timeout)
        try:
            self._begin_writing(space, seconds)
        except errors.LockNotAvailable:
            if self.lock_timeout <= SILENCE:
                raise
            on_wait(f"waiting for another process that writes to {self.name}")
            self._begin_writing(space, self.lock_timeout - seconds)
        with self._finishing(), self._open.pipeline():
            yield

    def _begin_writing(self, space: int, seconds: float) -> None:
        self.execute("begin")
        try:
            self.execute(f"set local lock_timeout = {max(1, round(seconds * 1000))}")
            self.execute(
                "select pg_advisory_xact_lock(%(lock)s, %(space)s)", {"lock": LOCK, "space": space}
            )
            self.execute("set local lock_timeout = 0")
        except BaseException:
            with suppress(Exception):
                self._open.rollback()
            raise

    def failure(self, error: "psycopg.Error", what: str) -> StoreError | None:
        """Explain an error about the server, its disk or the rights of a role, with a way out; None
        for a bug in this program.
        """
        if isinstance(error, errors.LockNotAvailable):
            return BusyStoreError(
                f"{self.name} is being written by another process; try again when that is done"
            )
        if isinstance(error, errors.ReadOnlySqlTransaction) and not self._read_only:
            return StoreError(
                f"{what} {self.name}: default_transaction_read_only is on for the role {self._role}; "
                "an administrator lets it write with "
                f"`alter role {self._role} set default_transaction_read_only = off`"
            )
        if isinstance(error, errors.QueryCanceled) and self._timeout != "0":
            return StoreError(
                f"{what} {self.name}: {self.public_message(error)}; statement_timeout is "
                f"{self._timeout} for the role {self._role}; search for fewer words, or give it more time "
                f"with `alter role {self._role} set statement_timeout = '1min'`"
            )
        if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
            return StoreError(
                f"{what} {self.name}: {self.public_message(error)}; "
                "docs/postgres.md has the SQL that lets a role do this"
            )
        if isinstance(error, errors.OperationalError) and (self.is_lost or error.sqlstate is None):
            return ConnectionLostError(
                f"the connection to {self.name} was lost: {self.public_message(error)}"
            )
        if isinstance(error, errors.OperationalError):  # no disk, no memory, shutting down
            return StoreError(f"{what} {self.name}: {self.public_message(error)}")
        return None

    def public_message(self, error: "psycopg.Error") -> str:
        """The first line of an error, without the password of the address."""
        line = (error.diag.message_primary or str(error)).strip().partition("\n")[0]
        try:
            given = conninfo_to_dict(self.address)
        except Exception:  # the address itself cannot be read, and the message may quote it
            return "the address cannot be read; it should look like postgresql://USER@HOST/DATABASE"
        for key in ("password", "sslpassword"):
            if given.get(key):
                line = line.replace(str(given[key]), "***")
        return line

    def close(self) -> None:
        """Close the connection."""
        self._open.close()
