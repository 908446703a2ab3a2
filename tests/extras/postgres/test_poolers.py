"""Connections through PgBouncer, where it is installed."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hybrid_memory import HybridStore, StoreError
from tests.extras.postgres_server import NOBODY, PostgresServer

PGBOUNCER = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer")
pytestmark = [
    pytest.mark.large,
    pytest.mark.postgres,
    pytest.mark.skipif(not PGBOUNCER, reason="PgBouncer is not installed"),
]

SETTINGS = """
[databases]
* = host={server}
[pgbouncer]
unix_socket_dir = {folder}
listen_port = {port}
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = {size}
logfile = {folder}/log
"""

Pooled = Callable[..., str]


@contextmanager
def pooler(server: PostgresServer, folder: Path, mode: str, size: int) -> Iterator[tuple[str, int]]:
    """The folder of the socket of a running PgBouncer, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "users").write_text('"postgres" ""')
    settings = folder / "settings.ini"
    settings.write_text(
        SETTINGS.format(server=server.folder, folder=folder, port=port, mode=mode, size=size)
    )
    user = ["-u", NOBODY] if os.geteuid() == 0 else []
    process = subprocess.Popen([str(PGBOUNCER), "-q", *user, str(settings)])
    try:
        end = time.monotonic() + 60
        while not (folder / f".s.PGSQL.{port}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        yield str(folder), port
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def pooled(postgres: PostgresServer, postgres_path: str) -> Iterator[Pooled]:
    """Makes an address of the store that leads through PgBouncer."""
    with ExitStack() as stack:

        def address(mode: str, size: int = 5) -> str:
            folder = Path(stack.enter_context(_folder()))
            host, port = stack.enter_context(pooler(postgres, folder, mode, size))
            name = postgres_path.partition("@/")[2].partition("?")[0]
            return f"postgresql://postgres@/{name}?host={host}&port={port}"

        yield address


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="hm-pool") as folder:  # short, for its socket
        os.chmod(folder, 0o777)
        yield folder


@pytest.mark.parametrize("size", [1, 5])
def test_a_pooler_that_keeps_sessions_is_like_the_server(pooled: Pooled, size: int) -> None:
    address = pooled("session", size)
    with HybridStore(address, {"provider": "none"}) as store:
        store.store("a", "gpu server")
        for _ in range(8):
            assert [hit["doc_id"] for hit in store.search("server")] == ["a"]


def test_a_pooler_that_shares_sessions_is_refused(pooled: Pooled) -> None:
    address = pooled("transaction")
    with pytest.raises(StoreError, match="set `pool_mode = session` in PgBouncer"):
        HybridStore(address, {"provider": "none"})
