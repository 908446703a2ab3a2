"""Databases of the plan's own schema are upgraded when they are opened: real files, as the plan's statements make them."""

import json
import math
import os
import random
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.storage.sqlite import connection, schema
from hybrid_memory.storage.vector import decode_embedding
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.views.doctor import examine
from hybrid_memory.views.get import read
from tests.kills import killed_while_it_opens

CHUNKS = """
create table chunks (
    id integer primary key, doc_id text not null, chunk_id text not null, heading text, content text not null, embedding blob,
    created_at real default (unixepoch('now')), unique (doc_id, chunk_id)
)
"""
DOCUMENTS = """
create table documents (
    doc_id text primary key, source_path text, file_mtime real, chunk_count integer, indexed_at real default (unixepoch('now'))
)
"""
INDEX = "create virtual table chunks_fts using fts5(doc_id unindexed, chunk_id unindexed, heading, content, tokenize = 'porter unicode61')"
EXTERNAL = "create virtual table chunks_fts using fts5(heading, content, content = 'chunks', content_rowid = 'id')"
TRIGGER = "create trigger chunks_ai after insert on chunks begin insert into chunks_fts (rowid, heading, content) values (new.id, new.heading, new.content); end"

PARTS = [
    ("ssh", "ssh-0", "SSH", "# SSH\n\nThe GPU server listens on port 2222.\nKeys only."),
    ("ssh", "ssh-1", "SSH", "port 2222.\nKeys only.\n\nJonas adds new keys."),
    ("2026-01-05.md", "2026-01-05.md-0", "", "Bought a puppy."),
]


def vector(number: int, dims: int = 768) -> list[float]:
    source = random.Random(number)
    return [source.uniform(-3, 3) for _ in range(dims)]


def blob(values: list[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def plans(
    path: str,
    parts: list[tuple[str, str, str, str]] = PARTS,
    *,
    dims: int = 768,
    script: tuple[str, ...] = (CHUNKS, DOCUMENTS, INDEX),
) -> None:
    conn = sqlite3.connect(path)
    for statement in script:
        conn.execute(statement)
    for number, part in enumerate(parts):
        embedding = blob(vector(number, dims)) if dims else None
        conn.execute(
            "insert into chunks (doc_id, chunk_id, heading, content, embedding, created_at) values (?, ?, ?, ?, ?, ?)",
            (*part, embedding, 1000.5 + number),
        )
        if INDEX in script:
            conn.execute("insert into chunks_fts values (?, ?, ?, ?)", part)
    for doc_id in dict.fromkeys(part[0] for part in parts):
        count = sum(part[0] == doc_id for part in parts)
        conn.execute("insert into documents values (?, null, null, ?, 2000.5)", (doc_id, count))
    conn.commit()
    conn.close()


def kept(store: HybridStore) -> list[tuple[Any, ...]]:
    return store.storage.connection.execute(
        "select doc_id, chunk_id, heading, content from chunks order by doc_id, id"
    ).fetchall()  # type: ignore[attr-defined]


def problems(store: HybridStore) -> list[str]:
    return [
        finding.name
        for finding in examine(store)
        if not finding.ok and finding.check not in ("embeddings", "embedder", "permissions")
    ]


@pytest.mark.parametrize(
    "script",
    [
        (CHUNKS, DOCUMENTS, INDEX),
        (CHUNKS, DOCUMENTS, EXTERNAL, TRIGGER),
        (CHUNKS, DOCUMENTS),
        (CHUNKS, "create index mine on chunks (doc_id)", DOCUMENTS, INDEX),
    ],
    ids=["as planned", "external content", "no index", "an index of its own"],
)
def test_a_database_of_the_plan_keeps_everything(db_path: str, script: tuple[str, ...]) -> None:
    plans(db_path, script=script)
    with HybridStore(db_path, {"provider": "none"}, create=False) as store:
        assert kept(store) == sorted(PARTS)
        conn: sqlite3.Connection = store.storage.connection  # type: ignore[attr-defined]
        assert conn.execute("select created_at from chunks order by created_at").fetchall() == [(1000.5,), (1001.5,), (1002.5,)]
        assert {row[0] for row in conn.execute("select indexed_at from documents")} == {2000.5}
        for number, part in enumerate(PARTS):
            [[data]] = conn.execute("select embedding from chunks where chunk_id = ?", (part[1],)).fetchall()
            length = math.hypot(*vector(number))
            assert decode_embedding(data) == pytest.approx([x / length for x in vector(number)], abs=1e-6)
        assert (store.stats()["doc_count"], store.stats()["embedded_count"], store.stats()["pending_count"]) == (2, 3, 0)
        assert store.search("who adds keys")[0]["chunk_id"] == "ssh-1"
        assert read(store, "ssh")["text"] == "# SSH\n\nThe GPU server listens on port 2222.\nKeys only.\n\nJonas adds new keys."
        assert store.search("Jonas")[0]["citation"] == "ssh#L3-L6"
        assert store.search("puppy")[0]["date"] == "2026-01-05"
        assert problems(store) == []
        tables = {
            name for (name,) in conn.execute("select name from sqlite_schema where type = 'table' and name not like 'sqlite%'")
        }
        assert not [name for name in tables if name.startswith("plan")]
    connection.connect(db_path).close()


def test_the_embeddings_are_those_of_the_plans_model(db_path: str) -> None:
    plans(db_path)
    with HybridStore(db_path, {"provider": "ollama", "ollama_url": "http://127.0.0.1:9"}) as store:
        embeddings = store.stats()["embeddings"]
        assert (embeddings["provider"], embeddings["model"], embeddings["dims"]) == ("ollama", "nomic-embed-text", 768)
        store.search("gpu")
        assert "made with" not in store.warnings[0]  # it cannot connect, but the vectors are the model's


@pytest.mark.parametrize("dims", [0, 384])
def test_embeddings_of_another_dimension_are_left_pending(db_path: str, dims: int) -> None:
    plans(db_path, dims=dims)
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        assert (store.stats()["embeddings"], store.stats()["pending_count"]) == (None, 3)
        assert store.search("puppy")[0]["doc_id"] == "2026-01-05.md"
        Ingest(store).run([os.path.dirname(__file__) + "/../../docs/example-notes/hosts"])
        assert store.stats()["pending_count"] == 0


def test_an_odd_database_of_the_plan_keeps_what_it_has(db_path: str) -> None:
    plans(db_path)
    conn = sqlite3.connect(db_path)
    conn.execute("alter table chunks add column metadata text")
    conn.execute("delete from chunks_fts")
    conn.execute(
        "update chunks set embedding = ?, metadata = ? where chunk_id = 'ssh-1'", (blob(vector(7, 12)), '{"owner": "ann"}')
    )
    conn.execute("update chunks set heading = null, embedding = zeroblob(3072), metadata = 'no json' where doc_id <> 'ssh'")
    conn.execute(
        "insert into chunks (doc_id, chunk_id, content, created_at) values ('orphan', 0, 'words of an orphan', 'yesterday')"
    )
    conn.execute("insert into documents (doc_id) values ('empty')")
    conn.commit()
    conn.close()
    with HybridStore(db_path, {"provider": "none"}) as store:
        assert store.stats()["doc_count"] == 4
        assert (store.stats()["embedded_count"], store.stats()["pending_count"]) == (1, 3)
        assert store.search("orphan")[0]["doc_id"] == "orphan"
        assert store.search("puppy")[0]["metadata"] == {"metadata": "no json"}
        assert store.search("Jonas")[0]["metadata"] == {"owner": "ann"}
        assert problems(store) == []


def test_documents_from_files_are_due_and_keep_their_ids(db_path: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("---\ntags: [x]\n---\n# GPU\n\nPort 2222.\n")
    plans(db_path, [("notes/a.md", "notes/a.md-0", "GPU", "# GPU\n\nPort 2222.")])
    conn = sqlite3.connect(db_path)
    conn.execute("update documents set source_path = ?, file_mtime = ?", (str(notes / "a.md"), os.stat(notes / "a.md").st_mtime))
    conn.commit()
    conn.close()
    with HybridStore(db_path, {"provider": "none"}) as store:
        assert read(store, "notes/a.md")["changed"]
        assert store.search("port")[0]["path"] == str(notes / "a.md")
        report = Ingest(store, incremental=True).run([str(notes)])
        assert (report.files, report.skipped, report.errors) == (1, 0, [])
        assert store.search("port")[0]["citation"] == "notes/a.md#L4-L6"
        assert store.stats()["doc_count"] == 1
        assert problems(store) == []


@pytest.mark.parametrize(
    "statement",
    [
        "create table theirs (x)",
        "create view theirs as select * from chunks",
        "alter table chunks add column theirs",
        "alter table documents add column theirs",
        "alter table chunks rename column heading to title",
        "drop table documents",
        "pragma user_version = 3",
        "pragma application_id = 7",
    ],
)
def test_another_programs_database_that_looks_alike_is_refused_and_left_alone(db_path: str, statement: str) -> None:
    plans(db_path)
    conn = sqlite3.connect(db_path)
    conn.execute(statement)
    conn.close()
    before = Path(db_path).read_bytes()
    for create in (False, True):
        with pytest.raises(StoreError, match="of another program"):
            connection.connect(db_path, create=create)
    assert Path(db_path).read_bytes() == before


def test_an_upgrade_that_fails_changes_nothing(db_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plans(db_path)
    monkeypatch.setattr(schema, "KEYWORD_INDEX", schema.KEYWORD_INDEX.replace("using fts5(", "using fts5_missing("))
    with pytest.raises(StoreError, match="built without FTS5"):
        connection.connect(db_path)
    monkeypatch.undo()
    conn = sqlite3.connect(db_path)
    assert conn.execute("select count(*), sum(length(embedding)) from chunks").fetchone() == (3, 3 * 3072)
    conn.close()
    with HybridStore(db_path, {"provider": "none"}) as store:
        assert kept(store) == sorted(PARTS)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_killed_upgrade_loses_nothing(db_path: str, share: float) -> None:
    parts = [(f"d{i // 10:03}", f"d{i // 10:03}-{i % 10}", "H", f"text number {i} of many") for i in range(2000)]
    plans(db_path, parts)
    killed_while_it_opens(db_path, share)
    with HybridStore(db_path, {"provider": "none"}) as store:
        assert kept(store) == parts
        assert store.stats()["embedded_count"] == 2000
        assert problems(store) == []


def test_the_command_upgrades_and_a_search_of_an_upgraded_store_does_not_load_the_step(db_path: str) -> None:
    plans(db_path)
    code = (
        "import sys; from hybrid_memory.cli import main; main(sys.argv[1:]);"
        "print([name for name in sys.modules if name.endswith('upgrades.plan')], file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "search", "puppy", "--db", db_path, "--provider", "none"]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    assert json.loads(first.stdout) == json.loads(second.stdout) != []
    assert first.stderr == "['hybrid_memory.storage.sqlite.upgrades.plan']\n"
    assert second.stderr == "[]\n"
