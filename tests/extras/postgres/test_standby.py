"""A primary and a standby that follows it: searches go to the standby, and writes to the primary."""

import shutil
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from hybrid_memory import HybridStore, StoreError
from tests.conftest import TopicEmbedder
from tests.extras.postgres.test_server import granted, sql
from tests.extras.postgres_server import PostgresServer

pytestmark = pytest.mark.large


class Servers(NamedTuple):
    primary: PostgresServer
    standby: PostgresServer

    def address(self, user: str = "postgres") -> str:
        """The address of both servers, the standby first."""
        hosts = f"{self.standby.folder},{self.primary.folder}"
        return f"postgresql://{user}@/m?host={hosts}&target_session_attrs=prefer-standby"

    def follow(self) -> None:
        """Wait until the standby has what the primary has."""
        [(written,)] = sql(self.primary.address("m"), "select pg_current_wal_insert_lsn()::text")
        reached = f"select pg_last_wal_replay_lsn() >= '{written}'"
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if sql(self.standby.address("m"), reached) == [(True,)]:
                return
            time.sleep(0.05)
        raise AssertionError("the standby does not follow")


@pytest.fixture
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    request.getfixturevalue("postgres")  # which is skipped where there is none
    primary = PostgresServer()
    primary.database("m")
    try:
        standby = primary.standby()
        try:
            yield Servers(primary, standby)
        finally:
            standby.stop()
            shutil.rmtree(standby.folder)
    finally:
        primary.stop()


def is_on_standby(store: HybridStore) -> bool:
    return store.storage.connection.is_standby  # type: ignore[attr-defined,no-any-return]


def answers(address: str, embedder: TopicEmbedder) -> list[list[dict[str, object]]]:
    with HybridStore(address, create=False, embedder=embedder) as store:
        found = [
            store.search("gpu server", mode=mode, collection=collection)
            for mode in ("keyword", "vector", "hybrid")
            for collection in (None, "notes")
        ]
        found.append(store.search('gpu -"coffee"', mode="keyword"))
        return found


def stays_on_the_standby_until_it_writes(servers: Servers, embedder: TopicEmbedder) -> None:
    kept = "select count(*) from hybrid_memory.query_embeddings"
    before = sql(servers.primary.address("m"), kept)
    with HybridStore(servers.address(), embedder=embedder) as store:
        assert store.search("coffee")[0]["doc_id"] == "b"
        assert is_on_standby(store)
        assert sql(servers.primary.address("m"), kept) == before
        store.store("c", "A new kettle.")
        assert store.search("kettle", mode="keyword")[0]["doc_id"] == "c"
        assert not is_on_standby(store)


def says_where_writes_go(servers: Servers, embedder: TopicEmbedder) -> None:
    address = servers.standby.address("m").replace("?", "?password=hunter2&")
    with HybridStore(address, embedder=embedder) as store:
        with pytest.raises(StoreError, match="is a standby, which accepts no writes") as raised:
            store.store("d", "gpu")
        assert "target_session_attrs=prefer-standby" in str(raised.value)
        assert "hunter2" not in str(raised.value)
        assert "\n" not in str(raised.value)
        assert store.search("coffee", mode="keyword")  # it goes on


def goes_on_when_the_standby_stops(servers: Servers, embedder: TopicEmbedder) -> None:
    with HybridStore(servers.address(), create=False, embedder=embedder) as store:
        assert is_on_standby(store)
        servers.standby.halt()
        try:
            assert store.search("coffee", mode="keyword")[0]["doc_id"] == "b"
            assert not is_on_standby(store)
        finally:
            servers.standby.start()


def test_searches_go_to_the_standby_and_writes_to_the_primary(
    servers: Servers, embedder: TopicEmbedder
) -> None:
    """One test for all, because a standby takes seconds to make."""
    with HybridStore(servers.address(), embedder=embedder) as store:
        assert not is_on_standby(store)  # where it made the tables
        store.store("notes/a", "The gpu server is in the cellar.")
        store.store("b", "coffee and a gpu")
    reader = granted(servers.primary, servers.primary.address("m"), "reader")
    role = reader.partition("//")[2].partition("@")[0]
    servers.follow()
    of_primary = answers(servers.primary.address("m"), embedder)
    assert any(of_primary)
    assert answers(servers.standby.address("m"), embedder) == of_primary
    assert answers(servers.address(role), embedder) == of_primary
    stays_on_the_standby_until_it_writes(servers, embedder)
    says_where_writes_go(servers, embedder)
    goes_on_when_the_standby_stops(servers, embedder)
