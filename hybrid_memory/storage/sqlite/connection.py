"""Open the SQLite file: create it privately, check its owner and version, switch it to WAL, and
explain failures. Also how the parts that both engines share run SQL in it.
"""

import json
import os
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ... import messages
from ...errors import BusyStoreError, MissingStoreError, StoreError, WayOut
from ..database import Database
from ..encoding import BadEmbeddingError
from ..rows import UPGRADED
from . import schema

BUSY_TIMEOUT = 30.0  # seconds that one writer waits for another
SILENCE = 1.0  # seconds of waiting before it is reported

SMALLEST = 512  # bytes of the smallest database that is not empty
NEW_MEMORY = (
    "make a new memory: `hybrid-memory copy OLD NEW` copies what can be read, and `ingest` reads "
    "the files again"
)
DAMAGED = f"; restore a copy, or {NEW_MEMORY}"
WAYS_OUT = {  # by SQLite's code for a problem with the file, the disk or the folder
    sqlite3.SQLITE_CANTOPEN: "; it must be a file that you may read, in a folder that you may write to",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_CORRUPT_VTAB: "; run `hybrid-memory reindex` to rebuild the index",
    sqlite3.SQLITE_FULL: "; free some space and run the command again",
    sqlite3.SQLITE_IOERR: "; check the disk and its file system",
    sqlite3.SQLITE_NOTADB: (
        f"; name another file with --db, or if it was a memory, restore a copy or {NEW_MEMORY}"
    ),
    sqlite3.SQLITE_PERM: "",
    sqlite3.SQLITE_READONLY: "",
}

# Errors of reading a row that the file causes: SQLite's own, and those of values that this program
# did not write
BROKEN = (
    sqlite3.DatabaseError,
    UnicodeDecodeError,
    json.JSONDecodeError,
    BadEmbeddingError,
    struct.error,
)

# A single statement: between two, another process might create the tables.
VERSION_AND_OWNER = """
select user_version, application_id, exists (select 1 from sqlite_schema)
from   pragma_user_version, pragma_application_id
"""


# Rows of text and embedding have 1.5 to 5 KB, which would leave up to half of a small page unused.
# With incremental vacuum, freed pages can be released.
LAYOUT = ("page_size = 16384", "auto_vacuum = incremental")
OnWait = Callable[[str], None]  # called with a line about what a writer waits for


def connect(
    path: str, *, create: bool = False, read_only: bool = False, on_wait: OnWait = messages.warning
) -> sqlite3.Connection:
    """Open the database in autocommit mode; with `create`, create it if it is missing (mode 0600,
    WAL).

    Any thread may use the connection, one at a time. Opening an up-to-date database never waits,
    and writes nothing unless it is a copy that is not in WAL mode. Raises StoreError for a file
    that is missing, damaged, from another program or of another version; the file stays as it is.
    """
    if path != ":memory:":
        if create:
            _create_private(path)
        elif not os.path.exists(path):
            way_out = WayOut("ingest", "ingest --path DIR", "makes one")
            raise MissingStoreError(f"no database at {path}", way_out)
    try:
        conn = _open(path)
    except BROKEN as error:
        raise failure(error, path, "cannot open") or error from error
    try:
        if read_only:
            conn.execute("pragma query_only = on")
        if not _version(conn, path):
            _create(conn, path, create and not read_only, on_wait)
        elif not read_only and conn.execute("pragma journal_mode").fetchone()[0] == "delete":
            # A copy made by `vacuum into`.
            with suppress(sqlite3.OperationalError):
                conn.execute("pragma journal_mode = wal")
    except BaseException as error:
        conn.close()
        if isinstance(error, BROKEN):
            raise failure(error, path, "cannot open") or error from error
        raise
    return conn


def failure(error: Exception, path: str, what: str = "cannot write") -> StoreError | None:
    """Explain an error of reading or writing the file, in one line with a way out; None for misuse
    by a program, and for an interruption.
    """
    # The module sqlite3 itself, and values that cannot be decoded, raise errors without a code.
    kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    code = kind & 0xFF
    is_misuse = isinstance(error, sqlite3.ProgrammingError) or "syntax error" in str(error)
    if is_misuse or code == sqlite3.SQLITE_INTERRUPT:
        return None
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyStoreError(
            f"{path} is being written by another process; try again when that is done"
        )
    if code not in WAYS_OUT:
        return StoreError(f"{path} is damaged: {error}{DAMAGED}")
    return StoreError(f"{what} {path}: {error}{WAYS_OUT.get(kind, WAYS_OUT[code])}")


def _create_private(path: str) -> None:
    """Create an empty file that only its owner can read, or make an empty one private; SQLite gives
    -wal and -shm the same mode.
    """
    try:
        if not os.path.exists(path):
            _make_private_folder(os.path.dirname(path))
            os.close(os.open(path, os.O_CREAT, 0o600))
        elif os.path.isfile(path) and not os.path.getsize(path):
            with suppress(PermissionError):  # another user's file
                os.chmod(path, 0o600)
    except OSError as error:
        raise StoreError(f"cannot create the database {path}: {error.strerror}") from error


def _make_private_folder(path: str) -> None:
    """Create a folder and its missing parents, for their owner only, whatever the umask."""
    if path and not os.path.isdir(path):
        _make_private_folder(os.path.dirname(path))
        with suppress(FileExistsError):  # another process was first
            os.mkdir(path, 0o700)


def _open(path: str) -> sqlite3.Connection:
    try:
        conn = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        return _configured(conn)
    except sqlite3.OperationalError:
        # A WAL database in a folder where -shm cannot be created. Without a -wal file the database
        # file is complete.
        if (
            path == ":memory:"
            or _size(path + "-wal")
            or os.access(os.path.dirname(path) or ".", os.W_OK)
        ):
            raise
    conn = sqlite3.connect(
        uri(path, "immutable=1"), uri=True, isolation_level=None, check_same_thread=False
    )
    return _configured(conn)


def uri(path: str, parameters: str) -> str:
    """The path as an SQLite URI, see https://sqlite.org/uri.html."""
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{name}?{parameters}"


def _configured(conn: sqlite3.Connection) -> sqlite3.Connection:
    try:
        conn.execute("pragma secure_delete = on")
        conn.execute("pragma synchronous = normal")
        conn.execute("select 1 from sqlite_schema limit 1").fetchone()
    except sqlite3.DatabaseError:
        conn.close()
        raise
    return conn


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _version(conn: sqlite3.Connection, path: str) -> int:
    """The schema version; 0 for an empty file.

    Raises StoreError for another version, and for another program's file.
    """
    version, application, is_used = conn.execute(VERSION_AND_OWNER).fetchone()
    is_own = application in (schema.APPLICATION_ID, schema.DEVELOPMENT_ID)
    if not is_own and (version or is_used):
        raise StoreError(
            f"{path} is a SQLite database of another program; name another file with --db"
        )
    if application == schema.DEVELOPMENT_ID or (is_used and version < schema.VERSION):
        raise StoreError(
            f"{path} was made by a development version, which is no longer supported: "
            f"give it another name, and {NEW_MEMORY}"
        )
    if version > schema.VERSION:
        raise StoreError(
            f"{path} was written by a newer hybrid-memory (schema {version}, this one supports "
            f"{schema.VERSION}); upgrade this one"
        )
    return int(version)


def _create(conn: sqlite3.Connection, path: str, create: bool, on_wait: OnWait) -> None:
    """Create the tables in an empty file."""
    if not create:
        way_out = WayOut("ingest", "ingest --path DIR", "fills it")
        raise MissingStoreError(f"the database {path} is empty", way_out)
    if 0 < _size(path) < SMALLEST:  # SQLite opens such a file as an empty database
        raise StoreError(
            f"cannot open {path}: file is not a database{WAYS_OUT[sqlite3.SQLITE_NOTADB]}"
        )
    for layout in LAYOUT:
        conn.execute(f"pragma {layout}")
    _switch_to_wal(conn)
    write(conn, "begin immediate", path, on_wait)
    try:
        if not _version(conn, path):  # else another process was first
            schema.create_tables(conn)
            conn.execute(f"pragma user_version = {schema.VERSION}")
        conn.execute("commit")
    except BaseException:
        if conn.in_transaction:
            conn.execute("rollback")
        raise


def check_version(conn: sqlite3.Connection) -> None:
    """Raise StoreError if a newer version has upgraded the tables since they were opened."""
    if conn.execute("pragma user_version").fetchone()[0] > schema.VERSION:
        raise StoreError(UPGRADED)


def compact(conn: sqlite3.Connection, path: str, on_wait: OnWait = messages.warning) -> None:
    """Rewrite the whole file without unused space.

    Needs free disk space of twice its size. Raises sqlite3.OperationalError if there is less, and
    the file stays as it is.
    """
    write(conn, "vacuum", path, on_wait)
    conn.execute("pragma wal_checkpoint(truncate)")


def _switch_to_wal(conn: sqlite3.Connection) -> None:
    """Switch the journal to WAL. SQLite reports "locked" at once if another process does the same,
    so this retries.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            conn.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def write(conn: sqlite3.Connection, statement: str, path: str, on_wait: OnWait) -> None:
    """Execute a statement that needs the write lock from its start: `begin immediate` or `vacuum`.

    `on_wait` is called once if another process holds the lock for more than SILENCE seconds.
    """
    (timeout,) = conn.execute("pragma busy_timeout").fetchone()
    rest = timeout / 1000 - SILENCE
    if rest <= 0:
        conn.execute(statement)
        return
    try:
        with waiting(conn, SILENCE):
            conn.execute(statement)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        on_wait(f"waiting for another process that writes to {path}")
        with waiting(conn, rest):
            conn.execute(statement)


@contextmanager
def one_state(conn: sqlite3.Connection) -> Iterator[None]:
    """Show one state of the database to all statements inside, whatever others write. Nothing
    inside may write.
    """
    if conn.in_transaction:  # the caller's transaction shows one state already
        yield
        return
    conn.execute("begin")
    try:
        yield
    finally:
        if conn.in_transaction:  # an interrupted statement or a full disk ends it
            conn.execute("rollback")


@contextmanager
def waiting(conn: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Wait at most this long for other writers, instead of BUSY_TIMEOUT."""
    (before,) = conn.execute("pragma busy_timeout").fetchone()
    conn.execute(f"pragma busy_timeout = {round(seconds * 1000)}")
    try:
        yield
    finally:
        conn.execute(f"pragma busy_timeout = {before}")


class SQLiteDatabase(Database):
    """The open connection of a database file. Parameters are a dict or a sequence, as in `sqlite3`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def all(self, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, parameters).fetchall()

    def dicts(self, statement: str, parameters: Any = ()) -> list[dict[str, Any]]:
        cursor = self.connection.execute(statement, parameters)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def run(self, statement: str, parameters: Any = ()) -> None:
        self.connection.execute(statement, parameters)

    def run_at_once(self, statements: Sequence[str], parameters: Any) -> bool:
        if self.connection.in_transaction:
            return False
        with waiting(self.connection, 0):
            try:
                self.connection.execute("begin immediate")
                for statement in statements:
                    changed = self.connection.execute(statement, parameters).rowcount
                self.connection.execute("commit")
            except sqlite3.OperationalError:
                if self.connection.in_transaction:
                    self.connection.execute("rollback")
                return False
        return changed == 1

    def encode_path(self, path: str | None) -> str | bytes | None:
        return path_to_column(path)

    def decode_path(self, value: Any) -> str | None:
        return path_from_column(value)

    def encode_list(self, values: Sequence[Any]) -> str:
        return json.dumps(list(values))


def path_to_column(path: str | None) -> str | bytes | None:
    """The path as text if it is valid Unicode, otherwise as the file system's bytes."""
    try:
        (path or "").encode()
    except UnicodeEncodeError:
        return os.fsencode(path or "")
    return path


def path_from_column(value: str | bytes | None) -> str | None:
    """The inverse of `path_to_column`."""
    return os.fsdecode(value) if isinstance(value, bytes) else value
