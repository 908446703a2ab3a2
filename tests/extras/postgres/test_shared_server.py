"""The server that all workers of a test run share."""

import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.conftest import TEMPLATE
from tests.extras.postgres_server import PostgresServer


@pytest.mark.usefixtures("postgres")  # which is skipped where there is none
def test_the_first_who_needs_a_server_starts_it_and_the_last_removes_it() -> None:
    with tempfile.TemporaryDirectory(prefix="hm-pg") as name:
        outside = Path(name)
        outside.chmod(0o755)  # the server runs as another user where this one is root
        folder = outside / "shared"
        with PostgresServer.shared(folder, TEMPLATE) as first:
            address = first.database("mine", TEMPLATE)
            leaving = PostgresServer.shared(folder, TEMPLATE)
            second = leaving.__enter__()
            assert second.address("mine") == address
            leaving.__exit__(None, None, None)
            with psycopg.connect(address) as conn:
                rows = conn.execute("select count(*) from hybrid_memory.version").fetchall()
            assert rows == [(1,)]
        assert list(outside.iterdir()) == []
