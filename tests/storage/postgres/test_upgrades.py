"""Tables of an older version are brought up to date by the first command that opens them."""

import gzip
from pathlib import Path

import psycopg
import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.storage.postgres.schema import VERSION
from hybrid_memory.views.doctor import examine
from tests.postgres_server import PostgresServer
from tests.storage.postgres.test_server import sql

pytestmark = pytest.mark.large

BUILTIN = {"provider": "builtin"}
GRANTS = """
create role old_reader login;
grant usage on schema hybrid_memory to old_reader;
grant select on all tables in schema hybrid_memory to old_reader;
insert into hybrid_memory.space_roles select id, 'old_reader' from hybrid_memory.spaces where name = 'default';
"""
CONSTRAINTS = """
select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint
where connamespace = 'hybrid_memory'::regnamespace and contype <> 'n' order by 1, 2
"""


@pytest.fixture
def old(postgres: PostgresServer) -> str:
    """A database that version 1 wrote, as pg_dump gives it: four documents, one of which is deleted, and another space."""
    address = postgres.database("version_1")
    script = gzip.decompress((Path(__file__).parent / "version_1.sql.gz").read_bytes()).decode()
    with psycopg.connect(address, autocommit=True) as conn:
        conn.execute("create extension vector")
        conn.execute(script)  # type: ignore[arg-type]
        conn.execute(GRANTS)
    return address


def test_a_database_of_version_1_is_brought_up_to_date_and_keeps_its_roles(
    postgres: PostgresServer, old: str, postgres_path: str
) -> None:
    reader = postgres.address("version_1", "old_reader")
    with pytest.raises(StoreError, match="are of an older version; .* run once by the role that owns them"):
        HybridStore(reader, BUILTIN, create=False)
    with HybridStore(old, BUILTIN) as store:
        assert [hit["doc_id"] for hit in store.search("ssh password", mode="keyword")] == ["servers"]
        assert {hit["doc_id"] for hit in store.search('"marble ledger"', mode="keyword")} == {f"garden/{n}" for n in range(3)}
        assert all(finding.ok for finding in examine(store, thorough=True))
        before = store.search("kettle", mode="keyword", explain=True)
        store.reindex()
        assert store.search("kettle", mode="keyword", explain=True) == before
        assert store.delete("garden/1") == 2
        assert store.store("new", "A kettle of fish.") == 1
        assert [hit["doc_id"] for hit in store.search("kettle", mode="keyword")] == ["new", "garden/0", "garden/2"]
    with HybridStore(reader, BUILTIN, create=False) as store:
        assert len(store.search("kettle", mode="keyword")) == 3
    with psycopg.connect(old) as conn:
        assert conn.execute("select version from hybrid_memory.schema_version").fetchall() == [(VERSION,)]
    HybridStore(postgres_path, BUILTIN).close()
    assert sql(old, CONSTRAINTS) == sql(postgres_path, CONSTRAINTS)
