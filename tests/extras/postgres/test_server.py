"""Features of servers only: roles, lost connections, passwords, other hosts."""

import json
import re
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import hybrid_memory
from hybrid_memory import ConfigError, HybridStore, StoreError
from hybrid_memory.addresses import public_name, without_password
from hybrid_memory.browse.passage import read
from hybrid_memory.documents.document import Document
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.postgres import database as here
from hybrid_memory.extras.postgres import schema
from hybrid_memory.extras.postgres.schema import VERSION
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run, answer
from tests.conftest import TopicEmbedder
from tests.extras.postgres_server import PostgresServer
from tests.extras.serving import served

pytestmark = pytest.mark.large

OWN = here.here()
PAGE = Path(hybrid_memory.__file__).parent.parent / "docs" / "postgres.md"
SQL_OF_PAGE = re.findall("```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def engine() -> str:
    return "postgres"


READ_ONLY = " set default_transaction_read_only = on"


def name_of(address: str) -> str:
    return '"' + str(conninfo_to_dict(address)["dbname"]) + '"'


def sql(address: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(address, autocommit=True) as conn:
        cursor = conn.execute(statement)
        return cursor.fetchall() if cursor.description else []


def granted(postgres: PostgresServer, address: str, role: str, space: str = "default") -> str:
    """The address for a new role, a reader or a writer of a space, which was set up with the SQL of
    the documentation.
    """
    reads, writes, makes_space, *_ = SQL_OF_PAGE
    name = address.partition("@/")[2].partition("?")[0]
    user = f"{role}_{name}_{space.replace('-', '_')}"
    makes_space = makes_space.replace("team-a", space)
    script = (
        reads.rpartition("insert into")[0] + makes_space
        if role == "reader"
        else reads.rpartition("insert into")[0] + writes + makes_space
    )
    sql(address, f"create role {user} login")
    sql(address, re.sub(r"\b(reader|writer)\b", user, script))
    return postgres.address(name, user)


def end_connections(address: str) -> None:
    sql(
        address,
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()",
    )


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (
            "postgresql://ann:secret@db.example:5433/memory?sslmode=require",
            "postgresql://ann@db.example:5433/memory",
        ),
        (
            "postgresql://db.example/memory?user=ann&password=secret",
            "postgresql://db.example/memory",
        ),
        ("postgresql://a:p@ss@h/d", "postgresql://a@h/d"),
    ],
)
def test_an_address_is_shown_without_password_and_parameters(address: str, shown: str) -> None:
    assert public_name(address) == shown


def test_an_address_in_commands_has_its_parameters_and_no_password() -> None:
    address = "postgresql://ann:hunter2@/m?host=/run/pg&password=hunter2&sslmode=require"
    assert without_password(address) == "postgresql://ann@/m?host=/run/pg&sslmode=require"
    assert without_password("/a/b?password=c.db") == "/a/b?password=c.db"


def test_no_password_is_in_any_message(run: Run, tmp_path: Path) -> None:
    for address in (
        f"postgresql://ann:hunter2@/m?host={tmp_path}",
        "postgresql://ann:hunter2@127.0.0.1:1/m?sslmode=bad:hunter2",
        "postgresql://ann:hunter2@[/m",
    ):
        done = run("--db", address, "search", "x")
        assert done.returncode == 1
        assert done.stderr.startswith("hybrid-memory: cannot open postgresql://")
        assert done.stderr.count("\n") == 1
        assert "hunter2" not in done.stdout + done.stderr


def test_a_database_without_our_tables_is_told_and_left_alone(
    postgres: PostgresServer, run: Run
) -> None:
    address = postgres.database("untouched")
    done = run("--db", address, "search", "x")
    assert done.returncode == 1
    assert "no memory in postgresql://postgres@/untouched" in done.stderr
    assert sql(address, "select to_regnamespace('hybrid_memory') is null") == [(True,)]


@pytest.mark.parametrize(
    ("name", "oldest", "message"),
    [
        ("OLDEST", 10**6, r"PostgreSQL \d+; version 15 or later is needed"),
        ("OLDEST_PGVECTOR", (99, 0), r"pgvector [\d.]+; install 0\.8 or later"),
    ],
)
def test_an_older_server_is_refused(
    postgres_path: str, monkeypatch: pytest.MonkeyPatch, name: str, oldest: object, message: str
) -> None:
    monkeypatch.setattr(schema, name, oldest)
    with pytest.raises(StoreError, match=message):
        HybridStore(postgres_path)


def test_a_process_does_not_write_to_tables_that_a_newer_version_upgraded(
    postgres_path: str,
) -> None:
    with HybridStore(postgres_path, {"provider": "none"}) as store:
        sql(postgres_path, f"update hybrid_memory.version set number = {VERSION + 1}")
        with pytest.raises(StoreError, match="start this process again"):
            store.store("b", "gpu")


@pytest.mark.parametrize(
    ("version", "message"),
    [(VERSION - 1, "from a development version"), (VERSION + 1, "written by a newer hybrid")],
)
def test_tables_of_another_version_are_refused(
    postgres_path: str, version: int, message: str
) -> None:
    sql(postgres_path, f"update hybrid_memory.version set number = {version}")
    with pytest.raises(StoreError, match=message):
        HybridStore(postgres_path)


def test_a_role_that_may_not_create_is_told_the_sql_that_lets_it(postgres: PostgresServer) -> None:
    address = postgres.database("closed")
    sql(address, "create role guest login; revoke create on database closed from public")
    with pytest.raises(
        StoreError, match=r"the role guest may not create the tables .* run: (.*)"
    ) as raised:
        HybridStore(postgres.address("closed", "guest"))
    sql(address, str(raised.value).partition(" run: ")[2])
    with HybridStore(postgres.address("closed", "guest"), {"provider": "none"}) as store:
        assert store.store("a", "gpu") == 1


def test_a_role_that_may_only_read_searches_and_is_told_when_it_writes(
    postgres: PostgresServer, postgres_path: str, store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("a", "gpu server")
    with HybridStore(
        granted(postgres, postgres_path, "reader"), embedder=embedder, create=False
    ) as reader:
        assert [hit["doc_id"] for hit in reader.search("server")] == ["a"]
        assert reader.stats()["doc_count"] == 1
        with pytest.raises(StoreError, match="permission denied"):
            reader.store("b", "host")


def test_a_role_that_the_server_keeps_from_writing_searches_and_is_told_why(
    postgres: PostgresServer, postgres_path: str, store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("a", "gpu server")
    sql(postgres_path, "alter role postgres in database " + name_of(postgres_path) + READ_ONLY)
    with HybridStore(postgres_path, embedder=embedder) as kept:
        assert [hit["doc_id"] for hit in kept.search("server")] == ["a"]
        for write in (lambda: kept.store("b", "host"), lambda: kept.delete("a"), kept.reindex):
            with pytest.raises(
                StoreError,
                match=r"^[^\n]*default_transaction_read_only is on for the role postgres;",
            ):
                write()
    with HybridStore(postgres_path, embedder=embedder) as again:
        assert again.stats()["doc_count"] == 1
    writing = f"{postgres_path}&options=-c%20default_transaction_read_only%3Doff"
    sql(writing, f"alter role postgres in database {name_of(postgres_path)} reset all")


def test_a_search_that_takes_longer_than_the_server_allows_is_told_the_way_out(
    store: HybridStore, postgres_path: str
) -> None:
    store.store("a", "gpu server")
    with (
        HybridStore(f"{postgres_path}&options=-c%20statement_timeout%3D200", create=False) as slow,
        pytest.raises(
            StoreError, match=r"statement_timeout is 200ms for the role postgres; .* = '1min'`$"
        ),
        slow.storage.snapshot(),
    ):
        slow.storage.connection.execute("select pg_sleep(9)")  # type: ignore[attr-defined]


def test_a_connection_that_was_lost_between_two_searches_is_opened_again(
    store: HybridStore, db_path: str
) -> None:
    store.store("a", "gpu server")
    end_connections(db_path)
    assert [hit["doc_id"] for hit in store.search("server")] == ["a"]
    end_connections(db_path)
    assert store.store("b", "host") == 1
    end_connections(db_path)
    assert store.stats()["doc_count"] == 2


def test_a_file_of_another_host_is_read_as_it_was_indexed(
    store: HybridStore, run: Run, db_path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ingest(store).run([str(folder)])
    for module in ("database", "documents", "catalog"):
        monkeypatch.setattr(f"hybrid_memory.extras.postgres.{module}.here", lambda: "ann@elsewhere")
    (folder / "pi.md").unlink()
    with HybridStore(db_path, embedder=TopicEmbedder()) as other:
        answer = read(other, "memory/pi.md")
        assert "192.168.1.5" in answer["text"]
        assert answer["path"] is None
        assert answer["host"] == OWN
        hit = other.search("192.168.1.5")[0]
        assert hit["path"] is None
        assert answer["text"].split("\n")[hit["start_line"] - 1 : hit["end_line"]] == hit[
            "text"
        ].split("\n")
        assert other.storage.sources.all() == []
        report = Ingest(other).run([str(folder)], "memory")  # who names a collection gets no other
        assert [error["reason"] for error in report.errors] == [
            f"its id 'memory/2026-01-05.md' belongs to the document of {OWN}:{folder}/2026-01-05.md; "
            "ingest this one with --collection NAME"
        ]


@pytest.fixture
def on_server(run: Run, postgres_path: str) -> Run:
    def command(*args: str, **options: Any) -> Any:
        return run("--db", postgres_path, "--provider", "builtin", *args, **options)

    return command


def test_every_command_works(on_server: Run, folder: Path, tmp_path: Path) -> None:
    def answer(*args: str) -> Any:
        done = on_server(*args)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert answer("ingest", "--path", str(folder))["files"] == 2
    assert (
        answer(
            "store",
            "--doc-id",
            "told",
            "--text",
            "The dog is called Rex.",
            "--metadata",
            "tags=pets",
        )["chunks"]
        == 1
    )
    assert answer("search", "ssh password")[0]["doc_id"] == "memory/2026-01-05.md"
    assert (
        answer("search", "rex", "--tag", "pets", "--mode", "keyword", "--full")[0]["doc_id"]
        == "told"
    )
    assert (
        answer("search", "server", "--since", "2026-01", "--explain", "--exact")[0]["date"]
        == "2026-01-05"
    )
    (folder / "pi.md").write_text("# Raspberry Pi\n\nIts IP address is 10.0.0.7.\n")
    assert answer("search", "--refresh", "10.0.0.7")[0]["doc_id"] == "memory/pi.md"
    assert "10.0.0.7" in on_server("get", "memory/pi.md").stdout
    assert answer("list")["total"] == 3
    assert answer("why", str(folder / "pi.md"))["current"] is True
    assert answer("update")["skipped"] == 2
    stats = answer("stats")
    assert (stats["doc_count"], stats["pending_count"]) == (3, 0)
    assert all(finding["ok"] for finding in answer("doctor", "--thorough"))
    (tmp_path / "queries.jsonl").write_text('{"id": "1", "text": "ip address of the pi"}\n')
    (tmp_path / "qrels.tsv").write_text("1\tmemory/pi.md\t1\n")
    assert (
        on_server(
            "eval",
            "--queries",
            str(tmp_path / "queries.jsonl"),
            "--qrels",
            str(tmp_path / "qrels.tsv"),
        ).returncode
        == 0
    )
    assert answer("reindex")["chunks"] == stats["chunk_count"]
    assert answer("reindex", "--embeddings")["status"] == "ok"
    assert answer("search", "ssh password")[0]["doc_id"] == "memory/2026-01-05.md"
    refused = on_server("search", "--fts-syntax", "pass* NOT heading: raspberry")
    assert refused.returncode == 1
    assert "expressions in the syntax of FTS5 need a memory in SQLite" in refused.stderr
    assert answer("delete", "--doc-id", "told")["chunks_deleted"] == 1
    assert answer("delete", "--collection", "memory")["documents_deleted"] == 2
    assert answer("search", "ssh password") == []


def test_a_sqlite_file_has_no_spaces(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name another file with --db"):
        HybridStore(tmp_path / "m.db", {"space": "other"})
    assert not (tmp_path / "m.db").exists()


def test_spaces_are_apart(postgres_path: str, embedder: TopicEmbedder) -> None:
    with (
        HybridStore(postgres_path, {"space": "a"}, embedder=embedder) as a,
        HybridStore(postgres_path, {"space": "b"}, embedder=embedder) as b,
    ):
        a.store("note", "gpu server")
        b.store("note", "gpu dog")
        b.store("other", "gpu host")
        for mode in ("keyword", "vector", "hybrid"):
            assert [hit["text"] for hit in a.search("gpu", mode=mode)] == ["gpu server"]
            assert sorted(hit["text"] for hit in b.search("gpu", mode=mode)) == [
                "gpu dog",
                "gpu host",
            ]
        assert a.delete("note") == 1
        assert a.reindex() == 0
        assert b.stats()["doc_count"] == 2
        assert len(b.search("gpu")) == 2
        assert all(finding.ok for finding in examine(b, thorough=True))
    with pytest.raises(StoreError, match="no memory in space 'c'"):
        HybridStore(postgres_path, {"space": "c"}, create=False)


@pytest.mark.usefixtures("postgres")
def test_serve_survives_a_server_that_starts_anew(environ: dict[str, str]) -> None:
    server = PostgresServer()
    try:
        with HybridStore(server.database("m"), {"provider": "builtin"}) as store:
            store.store("a", "The gpu server is under the desk.")
        with served(
            environ
            | {"HYBRID_MEMORY_DB_PATH": server.address("m"), "HYBRID_MEMORY_PROVIDER": "builtin"}
        ) as client:
            assert client.json("/api/search", q="gpu server")["results"][0]["doc_id"] == "a"
            server.halt()
            lost = client.get("/api/search", params={"q": "gpu"})
            assert lost.status_code >= 500 and "\n" not in lost.json()["detail"]
            server.start()
            for _ in range(4):  # whichever thread answers
                assert client.json("/api/search", q="gpu server")["results"][0]["doc_id"] == "a"
            assert client.put_text("b", "The dog is called Rex.").status_code in (200, 201)
            assert client.json("/api/search", q="rex")["results"][0]["doc_id"] == "b"
    finally:
        server.stop()


def test_two_stores_write_in_turns_and_say_whom_they_wait_for(
    db_path: str, embedder: TopicEmbedder
) -> None:
    told: list[str] = []
    waited = Event()
    with (
        HybridStore(db_path, embedder=embedder) as first,
        HybridStore(
            db_path, embedder=embedder, on_wait=lambda line: (told.append(line), waited.set())
        ) as second,
    ):  # type: ignore[func-returns-value]
        with first.storage.transaction():
            thread = Thread(target=lambda: second.store("b", "host"))
            thread.start()
            assert waited.wait(30)
            assert first.search("host") == []
            first.storage.documents.put(first.prepare(Document("a", "gpu", {})))
        thread.join()
        assert told == [f"waiting for another process that writes to {first.path}"]
        assert second.stats()["doc_count"] == 2
        with (
            first.storage.transaction(),
            second.storage.waiting(0.1),
            pytest.raises(StoreError, match="being written by another process"),
        ):
            second.store("c", "dog")


def test_the_questions_of_the_page_for_monitoring_are_answered(
    store: HybridStore, db_path: str
) -> None:
    store.store("a", "gpu server")
    connected, sizes, hits = (sql(db_path, question) for question in SQL_OF_PAGE[3:])
    assert connected
    assert {"chunks", "postings"} <= {row[0] for row in sizes}
    assert "chunks_by_document" in {row[0] for row in hits}


def test_the_words_of_libpq_name_the_same_database(run: Run, postgres_path: str) -> None:
    words = make_conninfo("", **conninfo_to_dict(postgres_path), password="S3cr3t")
    run("store", "--doc-id", "a", "--text", "The gpu server", "--db", postgres_path)
    done = run("stats", "--db", words)
    assert answer(done)["doc_count"] == 1
    assert "S3cr3t" not in done.stdout + done.stderr
