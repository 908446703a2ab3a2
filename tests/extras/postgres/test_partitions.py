"""Tables partitioned by space: the same answers, the same separation."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.postgres import schema
from hybrid_memory.extras.postgres.connection import Connection
from hybrid_memory.extras.postgres.schema import OF_A_SPACE
from tests.conftest import TopicEmbedder
from tests.extras.postgres.test_server import granted, sql
from tests.extras.postgres_server import PostgresServer

pytestmark = pytest.mark.large

PARTITIONS = 16
SPACES = ("default", "team-a", "team-b")
PARTITION = f"""
create table {{name}}_{{n}} partition of {{name}} for values with (modulus {PARTITIONS}, remainder {{n}});
alter table {{name}}_{{n}} enable row level security;
"""
END = re.compile(r"\n\)(?: with \(.*?\))?;")


def partitioned(tables: str) -> str:
    """The schema with every table of a space partitioned by space, for which unique keys must
    contain the space.
    """
    made = []
    for part in re.split(r"(?m)^(?=create table )", tables):
        name = part.partition("create table ")[2].partition(" ")[0]
        if name in OF_A_SPACE:
            part = END.sub("\n) partition by hash (space);", part, count=1)
            part += "".join(PARTITION.format(name=name, n=n) for n in range(PARTITIONS))
        made.append(part)
    return "".join(made)


@pytest.fixture
def divided(
    postgres: PostgresServer, postgres_path: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    name = f"{postgres_path.partition('@/')[2].partition('?')[0]}_divided"
    monkeypatch.setattr(schema, "TABLES", partitioned(schema.TABLES))
    # Such settings are those of partitions.
    monkeypatch.setattr(schema, "VACUUMED_SOON", "select 1")
    yield postgres.database(name)
    postgres.drop(name)


def filled(address: str, space: str, embedder: TopicEmbedder) -> None:
    with HybridStore(address, {"space": space}, embedder=embedder) as store:
        for number in range(12):
            text = f"# Of {space}\n\nThe gpu server {number} is [[{number + 1}]] #tag{number % 3}"
            store.store(f"notes/{number}", text)
        store.store("notes/1", "# Edited\n\ncoffee and kettle")
        store.delete("notes/2")


def asked(address: str, space: str, embedder: TopicEmbedder) -> list[Any]:
    with HybridStore(address, {"space": space}, embedder=embedder, create=False) as store:
        found: list[Any] = [
            [
                (hit["doc_id"], hit["text"], round(hit["score"], 9))
                for hit in store.search(query, mode=mode, tags=tags)
            ]
            for mode in ("keyword", "vector", "hybrid")
            for query in ("gpu server", "coffee", '"server 7"', "kettle -gpu")
            for tags in ((), ("tag1",))
        ]
        assert all(finding.ok for finding in examine(store, thorough=True))
        return [*found, store.stats()["chunk_count"]]


def partitions(store: HybridStore, asked: list[tuple[str, Any]]) -> set[str]:
    """The numbers of the partitions that these statements read."""
    read: set[str] = set()
    for statement, parameters in asked:
        if statement.lstrip().startswith(("select", "with")):
            rows = store.storage.connection.all(  # type: ignore[attr-defined]
                f"explain (analyze, costs off, timing off) {statement}", parameters
            )
            plan = "\n".join(row for (row,) in rows if "never executed" not in row)
            read |= set(re.findall(r"(?:Scan|using) .*?on [a-z_]+_(\d+) ", plan))
    return read


def test_answers_are_the_same_and_each_search_reads_one_partition(
    postgres_path: str, divided: str, embedder: TopicEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for space in SPACES:
        filled(postgres_path, space, embedder)
        filled(divided, space, embedder)
    for space in SPACES:
        assert asked(divided, space, embedder) == asked(postgres_path, space, embedder)

    statements: list[tuple[str, Any]] = []
    execute = Connection.execute

    def told(connection: Connection, statement: str, parameters: Any = None) -> Any:
        statements.append((statement, parameters))
        return execute(connection, statement, parameters)

    with HybridStore(divided, {"space": "team-a"}, embedder=embedder, create=False) as store:
        monkeypatch.setattr(Connection, "execute", told)
        for mode in ("keyword", "vector", "hybrid"):
            store.search("gpu server", mode=mode)
        monkeypatch.undo()
        assert len(partitions(store, statements)) == 1


def test_roles_see_their_space_only_in_each_partition_too(
    postgres: PostgresServer, divided: str, embedder: TopicEmbedder
) -> None:
    for space in SPACES[1:]:
        filled(divided, space, embedder)
    reader = granted(postgres, divided, "reader", "team-a")
    assert len(asked(reader, "team-a", embedder)) == 25
    seen = "select count(distinct space) from hybrid_memory.chunks"
    assert sql(divided, seen) == [(2,)]
    assert sql(reader, seen) == [(1,)]
    for number in range(PARTITIONS):
        assert sql(reader, f"select count(*) from hybrid_memory.chunks_{number}") == [(0,)]
    with pytest.raises(StoreError, match="team-b"):
        HybridStore(reader, {"space": "team-b"}, embedder=embedder, create=False)
