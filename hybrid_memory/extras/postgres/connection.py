"""A connection to PostgreSQL: opened with what libpq takes, opened again when it was lost, its
errors told without a password. And values as they are sent: paths, texts, arrays.

Documents and sources belong to a user of a machine, as a path means nothing on another one; this
module names that owner.
"""

import logging
import os
import platform
import re
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from getpass import getuser
from struct import Struct
from typing import Any

import psycopg
from psycopg import errors
from psycopg.abc import PQGen
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Format, TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.waiting import Wait

from ...addresses import public_name
from ...errors import ConnectionLostError, StoreError
from ...text.characters import storable


@cache
def here() -> str:
    """This user and machine.

    'ann@laptop'
    """
    try:
        user = getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        user = str(os.getuid())
    return f"{user}@{platform.node()}"


def to_column(path: str | bytes | None) -> bytes | None:
    """A path as the file system has it."""
    if path is None:
        return None
    return os.fsencode(path)


def from_column(value: bytes | None) -> str | None:
    """The inverse of `to_column`."""
    if value is None:
        return None
    return os.fsdecode(bytes(value))


def text(value: str) -> str:
    """The text as PostgreSQL can hold it: without NUL, and without unpaired surrogates."""
    return _encoded(value).decode()


class Array(bytes):
    """An array in the binary form of the server's. Long ones are made and read in a fraction of the
    time that their text would take. The statement says of what type it is: `%(ids)s::bigint[]`.
    """


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Array) -> Array:
        return obj


psycopg.adapters.register_dumper(Array, _ArrayDumper)

NO_NUL = "\ufffd".encode()
BYTEA, BIGINT, INTEGER, TEXT, REAL = 17, 20, 23, 25, 700  # how the server numbers its types
UNITS = 4  # bytes, of which all numbers have one or two
# Of an array: dimensions, whether there may be nulls, type, elements, the first's number
_HEADER = Struct(">iiIii")
_LENGTH = Struct(">i")
_NULL = _LENGTH.pack(-1)


def integers(values: Iterable[int]) -> Array:
    """Return an array of integers."""
    return _numbers(INTEGER, "i", values)


def bigints(values: Iterable[int]) -> Array:
    """Return an array of integers of 64 bits."""
    return _numbers(BIGINT, "q", values)


def reals(values: Iterable[float]) -> Array:
    """Return an array of numbers of 32 bits."""
    return _numbers(REAL, "f", values)


def _numbers(type: int, code: str, values: Iterable[float]) -> Array:
    """Return an array of numbers, before each of which stands its length."""
    numbers = array(code, values)
    if sys.byteorder == "little":
        numbers.byteswap()
    units = array("i", numbers.tobytes())
    each = numbers.itemsize // UNITS
    written = array("i", _LENGTH.pack(numbers.itemsize)) * (len(numbers) * (1 + each))
    for place in range(each):
        written[place + 1 :: each + 1] = units[place::each]
    return Array(_HEADER.pack(1, 0, type, len(numbers), 1) + written.tobytes())


def texts(values: Iterable[str | None]) -> Array:
    """Return an array of texts as PostgreSQL can hold them."""
    return values_of(TEXT, (value if value is None else _encoded(value) for value in values))


def _encoded(value: str) -> bytes:
    """Return what `text` gives, in UTF-8."""
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        encoded = storable(value).encode()
    return encoded.replace(b"\0", NO_NUL)


def byteas(values: Iterable[bytes | None]) -> Array:
    """Return an array of bytes."""
    return values_of(BYTEA, values)


def values_of(type: int, values: Iterable[bytes | None]) -> Array:
    """Return an array of values of the type, each in its binary form."""
    given = list(values)
    written = []
    for value in given:
        if value is None:
            written.append(_NULL)
        else:
            written += (_LENGTH.pack(len(value)), value)
    return Array(_HEADER.pack(1, 1, type, len(given), 1) + b"".join(written))


# "HMEM": the first half of the keys of our advisory locks; the second half is a space, 0 while
# tables are made
LOCK = 0x484D454D
LOCK_TIMEOUT = 30.0  # seconds that one writer waits for another
SILENCE = 1.0  # seconds after which it says so
CONNECT_TIMEOUT = 10  # seconds, unless the address says otherwise
RETRIES = (
    0.1,
    0.4,
    1.5,
    3.0,
)  # seconds between two attempts to reach a server that was reached before

# pgvector may be in any schema. Plans depend on how common the words of a query are; compiling one
# takes longer than running it.
SESSION = """
select set_config('search_path', concat_ws(', ', 'hybrid_memory', quote_ident(n.nspname), 'public'), false),
       set_config('plan_cache_mode', 'force_custom_plan', false), set_config('jit', 'off', false),
       set_config('default_transaction_read_only', %(read_only)s::boolean::text, false),
       set_config('hnsw.iterative_scan', 'relaxed_order', false),
       set_config('hnsw.ef_search', case when c.reltuples > %(large)s then '1000' else '400' end, false)
from   (select) one left join pg_extension e on e.extname = 'vector'
       left join pg_namespace n on n.oid = e.extnamespace
       left join pg_class c on c.relname = 'chunks' and c.relnamespace = to_regnamespace('hybrid_memory')
"""
LARGE = (
    300_000  # passages: in the index of more, 400 candidates miss all of the nearest now and then
)

# Foreign keys are checked by statements of the server's own, one for each row, whose plans it may
# keep. Ours get new plans all the same: none is prepared in such a transaction.
WRITING = (
    "select set_config('lock_timeout', '0', true), set_config('plan_cache_mode', 'auto', true)"
)

# What libpq says of a keyword that it does not know; the name of one is no part of a password
UNKNOWN_KEYWORD = re.compile('invalid (?:connection option|URI query parameter:) "([a-z_]{2,30})"')

Parameters = Mapping[str, Any]
OnWait = Callable[[str], None]  # is told what a writer waits for


# Of a pipeline that an error has ended, psycopg tells that its end failed, too.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


def _sent(conn: "PGconn") -> "PQGen[None]":
    """Wait until the whole of a statement has left: the server begins when it has all of it."""
    while conn.flush():
        yield Wait.W


class Connection:
    """Statements of one thread, in autocommit mode outside of `plain_transaction`. Errors come as
    psycopg raises them.
    """

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        """Raises StoreError if the server cannot be reached or refuses."""
        self._read_only = read_only
        self.address, self.name = address, public_name(address)
        self.lock_timeout = LOCK_TIMEOUT
        self._first_rows: dict[Any, tuple[Any, ...] | None] | None = (
            None  # of statements in a snapshot
        )
        self._writes = False  # only where writes are taken
        self._prepare: bool | None = None  # statements that come often
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
            opened = psycopg.connect(
                make_conninfo(self.address, **{**usual, **given}), autocommit=True
            )
            self._set_up(opened)
        except psycopg.Error as error:
            raise StoreError(
                f"cannot open {self.name}: {self.told(error)}"
            ) from None  # the cause may show the password
        return opened

    @property
    def is_standby(self) -> bool:
        """Whether the server follows another one, and takes no writes."""
        return self._open.info.parameter_status("in_hot_standby") == "on"

    def to_primary(self) -> None:
        """Go on with the server that takes writes, if this one does not. What is read afterwards has what
        was written.

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
                f"{self.name} is a standby, which takes no writes ({error}); "
                "name the primary in the address, too: postgresql://USER@STANDBY,PRIMARY/DATABASE"
                "?target_session_attrs=prefer-standby"
            ) from None
        self._open.close()
        self._open = opened

    def prepare_session(self) -> None:
        """Look up where the tables and pgvector are, which may be new."""
        self._set_up(self._open)

    def _set_up(self, opened: "psycopg.Connection[tuple[Any, ...]]") -> None:
        opened.execute(SESSION, {"read_only": self._read_only, "large": LARGE})

    def interrupt(self) -> None:
        """End the statement that another thread is running, which fails there."""
        self._open.cancel()

    @property
    def is_lost(self) -> bool:
        """Whether the server has ended the connection, as far as is known."""
        return bool(self._open.closed or self._open.broken)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, even if an error has made it useless."""
        return self._open.info.transaction_status in (
            TransactionStatus.INTRANS,
            TransactionStatus.INERROR,
            TransactionStatus.ACTIVE,  # in a pipeline, which only transactions have
        )

    def execute(
        self, statement: str, parameters: Parameters | None = None
    ) -> "psycopg.Cursor[tuple[Any, ...]]":
        """Run a statement. Outside of a transaction, a connection that was lost is opened again,
        and the statement run anew.
        """
        if not self.in_transaction:
            self._reopen_if_lost()
        begun = self.in_transaction
        try:
            cursor = self._open.execute(statement, parameters, prepare=self._prepare)
            self._open.wait(_sent(self._open.pgconn))
            return cursor
        except psycopg.OperationalError:
            if begun or not self.is_lost:
                raise
        self._reopen_if_lost()
        return self._open.execute(statement, parameters)

    def all(self, statement: str, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        return self.execute(statement, parameters).fetchall()

    def one(self, statement: str, parameters: Parameters | None = None) -> tuple[Any, ...]:
        """The row of a statement that gives one."""
        [row] = self.all(statement, parameters)
        return row

    def first(self, statement: str, parameters: Parameters | None = None) -> tuple[Any, ...] | None:
        """The first row of a statement, if it gives any."""
        return self.execute(statement, parameters).fetchone()

    def once(self, statement: str, parameters: Parameters | None = None) -> tuple[Any, ...] | None:
        """The same. In a snapshot, where the row stays what it is, the server is asked once."""
        rows = self._first_rows
        if rows is None:
            return self.execute(statement, parameters).fetchone()
        key = (statement, *(parameters or {}).values())
        if key not in rows:
            rows[key] = self.execute(statement, parameters).fetchone()
        return rows[key]

    def dicts(self, statement: str, parameters: Parameters) -> list[dict[str, Any]]:
        """The rows of a statement by the names of their columns."""
        cursor = self.execute(statement, parameters)
        rows = cursor.fetchall()
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def many(self, statement: str, rows: list[dict[str, Any]]) -> None:
        """Run a statement for each of these rows."""
        if rows:
            with self._open.cursor() as cursor:
                cursor.executemany(statement, rows)

    def _reopen_if_lost(self) -> None:
        """Open the connection again, with patience, as a server that starts anew takes some
        seconds.
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
        """What is inside is committed, or undone if it raises."""
        self.execute(begin)
        try:
            yield
            self.execute("commit")
        except BaseException:
            with suppress(Exception):  # a lost connection has undone it
                if self.in_transaction:
                    self._open.rollback()
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is inside sees one state of the database."""
        with self.plain_transaction("begin isolation level repeatable read read only"):
            self._first_rows = {}
            try:
                yield
            finally:
                self._first_rows = None

    @contextmanager
    def write_transaction(self, space: int, on_wait: OnWait) -> Iterator[None]:
        """The only transaction that writes to the space. `on_wait` is called if others do so for
        longer than SILENCE seconds.

        The server works on a statement while this process prepares the next one: only rows that are
        fetched are waited for. An error of a statement comes with the next rows, or in the end.
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
        self._prepare = False
        try:
            with self._open.pipeline():
                yield
            self.execute("commit")
        except BaseException:
            with suppress(Exception):
                if self.in_transaction:
                    self._open.rollback()
            raise
        finally:
            self._prepare = None

    def _begin_writing(self, space: int, seconds: float) -> None:
        self.execute("begin")
        try:
            self.execute(f"set local lock_timeout = {max(1, round(seconds * 1000))}")
            self.execute(
                "select pg_advisory_xact_lock(%(lock)s, %(space)s)", {"lock": LOCK, "space": space}
            )
            self.execute(WRITING)
        except BaseException:
            with suppress(Exception):
                self._open.rollback()
            raise

    def failure(self, error: "psycopg.Error", what: str) -> StoreError | None:
        """What the server says about itself, its disk or a role's rights, with the way out; None
        for a bug in this program.
        """
        if isinstance(error, errors.LockNotAvailable):
            return StoreError(
                f"{self.name} is being written by another process; try again when that is done"
            )
        if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
            return StoreError(
                f"{what} {self.name}: {self.told(error)}; "
                "docs/postgres.md has the SQL that lets a role do this"
            )
        if isinstance(error, errors.OperationalError) and (self.is_lost or error.sqlstate is None):
            return ConnectionLostError(
                f"the connection to {self.name} was lost: {self.told(error)}"
            )
        if isinstance(error, errors.OperationalError):  # no disk, no memory, shutting down
            return StoreError(f"{what} {self.name}: {self.told(error)}")
        return None

    def told(self, error: "psycopg.Error") -> str:
        """The first line of an error, without the password of the address."""
        line = (error.diag.message_primary or str(error)).strip().partition("\n")[0]
        try:
            given = conninfo_to_dict(self.address)
        except Exception:  # the address itself cannot be read, and the message may quote it
            unknown = UNKNOWN_KEYWORD.match(line)
            problem = "it cannot be read"
            if unknown:
                problem = f"it has no keyword {unknown[1]!r}"
            return f"the address is wrong: {problem}; it is written postgresql://USER@HOST/DATABASE"
        for key in ("password", "sslpassword"):
            if given.get(key):
                line = line.replace(str(given[key]), "***")
        return line

    def close(self) -> None:
        """Close the connection."""
        self._open.close()
