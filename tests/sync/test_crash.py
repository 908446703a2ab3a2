"""`kill -9` before a random statement, and disks that are full: the database stays whole, and running again completes the work."""

import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.extras.doctor import examine
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.text.terms import embedded_text
from tests.command import in_process
from tests.conftest import TopicEmbedder
from tests.fake_ollama import FakeOllama
from tests.kills import COUNTED

DIMS = "64"
WORDS = "gpu server password port backup mirror kettle garden violin ledger tide lantern marble orbit".split()
PROMPT = "search_document: "
WHOLE = ("integrity", "keyword index", "indexed", "documents", "vector index")  # doctor's checks


def damage(store: HybridStore) -> list[Any]:
    """What doctor finds amiss in the database itself."""
    findings = examine(store, thorough=True)
    return [finding for finding in findings if finding.check in WHOLE and not finding.ok]


class Scene:
    """A folder, a database made of it, and what it should hold."""

    def __init__(self, top: Path, url: str) -> None:
        self.folder, self.db = top / "memory", str(top / "memory.db")
        self.folder.mkdir()
        self.stored: dict[str, str] = {}
        self.environ = {
            k: v for k, v in os.environ.items() if not k.startswith(("HYBRID_MEMORY_", "OLLAMA_"))
        } | {
            "HYBRID_MEMORY_CONFIG": str(top / "config.json"),
            "HYBRID_MEMORY_DB_PATH": self.db,
            "HYBRID_MEMORY_PROVIDER": "ollama",
            "HYBRID_MEMORY_OLLAMA_URL": url,
            "HYBRID_MEMORY_DIMS": DIMS,
        }
        (top / "config.json").write_text("{}")

    def change(self, chance: random.Random) -> None:
        for number in chance.sample(range(30), 10):
            path = self.folder / f"{number}.md"
            if path.exists() and chance.random() < 0.2:
                path.unlink()
            else:
                path.write_text(
                    "".join(
                        f"# Part {i}\n\n{' '.join(chance.choices(WORDS, k=60))}\n\n"
                        for i in range(3)
                    )
                )

    def run(self, *command: str, moment: int = 0) -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, "-c", COUNTED, str(moment), *command]
        return subprocess.run(
            arguments, env=self.environ, capture_output=True, text=True, timeout=60, check=False
        )

    def statements(self, *command: str) -> int:
        """How many the command runs, found on a copy."""
        copy = self.db + ".copy"
        for suffix in ("", "-wal"):
            if os.path.exists(self.db + suffix):
                shutil.copy(self.db + suffix, copy + suffix)
        done = self.run(*command, "--db", copy)
        assert done.returncode == 0, done.stderr
        for suffix in ("", "-wal", "-shm"):
            Path(copy + suffix).unlink(missing_ok=True)
        return int(done.stderr.splitlines()[-1])

    def open(self) -> HybridStore:
        return HybridStore(self.db, {"provider": "none"}, create=False)

    def assert_whole(self) -> list[str]:
        """Gives the texts that have an embedding."""
        with self.open() as store:
            assert damage(store) == []
            store.search("gpu server")
            rows = store.storage.connection.execute(
                "select heading_path, content, items from chunks where embedding is not null"
            )
            return [embedded_text(*row) for row in rows]

    def assert_complete(self) -> None:
        with self.open() as store:
            rows = store.storage.connection.execute(
                "select doc_id, content, content_hash from documents"
            ).fetchall()
            assert store.stats()["pending_count"] == 0
        files = {f"memory/{path.name}": path.read_bytes() for path in self.folder.iterdir()}
        assert {id: text for id, text, _ in rows if text is not None} == self.stored
        hashes = {id: hashlib.blake2b(data, digest_size=16).digest() for id, data in files.items()}
        assert {id: found for id, text, found in rows if text is None} == hashes


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama(dims=int(DIMS)) as server:
        yield server


def test_a_kill_of_each_command_loses_nothing_and_embeds_nothing_twice(
    tmp_path: Path, ollama: FakeOllama
) -> None:
    chance = random.Random(2026)
    scene = Scene(tmp_path, ollama.url)
    scene.change(chance)
    ingest = ("ingest", "--path", str(scene.folder))
    for kill in range(5):
        text = " ".join(chance.choices(WORDS, k=200))
        command = [ingest, (*ingest, "--incremental"), ("store", "--doc-id", "mine", "--text", text),
                   ("delete", "--doc-id", "mine"), ("reindex",)][kill % 5]  # fmt: skip
        if command[0] == "ingest":
            scene.change(chance)
        moment = chance.randint(
            1, scene.statements(*command) * 9 // 10
        )  # the next run may take a few less
        killed = scene.run(*command, moment=moment)
        assert killed.returncode == -signal.SIGKILL, (kill, moment, killed.stderr)
        ollama.embedded.clear()
        with closing(
            sqlite3.connect(scene.db)
        ) as conn:  # left open, its locks would go when the file is copied
            has_tables = conn.execute("select 1 from sqlite_schema").fetchone()
        committed = scene.assert_whole() if has_tables else []
        again = in_process(command, scene.environ, tmp_path)
        assert again.returncode == 0, (kill, moment, again.stderr)
        asked = [text.removeprefix(PROMPT) for text in ollama.embedded]
        assert not set(asked) & set(committed), (kill, moment)
        assert len(asked) == len(set(asked)), (kill, moment)
        if command[0] == "store":
            scene.stored["mine"] = text
        elif command[0] == "delete":
            scene.stored.pop("mine", None)
        scene.assert_whole()
        if command[0] == "ingest":
            scene.assert_complete()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)],
        capture_output=True,
        check=False,
    ).returncode:
        pytest.skip("no mounting here")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_full_disk_is_one_clear_line_and_the_database_is_whole(
    small_disk: Path, tmp_path: Path
) -> None:
    scene = Scene(tmp_path, "http://127.0.0.1:9")
    scene.db = scene.environ["HYBRID_MEMORY_DB_PATH"] = str(small_disk / "memory.db")
    scene.environ["HYBRID_MEMORY_PROVIDER"] = "none"
    assert scene.run("store", "--doc-id", "first", "--text", "xylophone").returncode == 0
    for number in range(150):
        (scene.folder / f"{number}.md").write_text(f"# {number}\n\n{' '.join(WORDS * 40)}")
    done = scene.run("ingest", "--path", str(scene.folder))
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = [line for line in done.stderr.splitlines() if line.startswith("hybrid-memory:")]
    assert line.startswith(f"hybrid-memory: cannot write {scene.db}: database or disk is full")
    assert "Traceback" not in done.stderr
    scene.assert_whole()
    with scene.open() as store:
        assert [hit["doc_id"] for hit in store.search("xylophone")] == ["first"]


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_database_at_its_limit_loses_nothing(tmp_path: Path, share: float) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    for number in range(100):
        (folder / f"{number}.md").write_text(f"# {number}\n\ngpu dog {number} " * 30)
    with HybridStore(tmp_path / "without_limit.db", embedder=TopicEmbedder()) as store:
        store.store("first", "password")
        empty = pages(store)
        Ingest(store).run([str(folder)])
        pages_of_notes = pages(store) - empty
    with HybridStore(tmp_path / "memory.db", embedder=TopicEmbedder()) as store:
        store.store("first", "password")
        limit = pages(store) + int(share * pages_of_notes)
        store.storage.connection.execute(f"pragma max_page_count = {limit}")
        with pytest.raises(StoreError, match="cannot write .*full"):
            Ingest(store).run([str(folder)])
        assert damage(store) == []
        assert [hit["doc_id"] for hit in store.search("password", mode="keyword")] == ["first"]
        store.storage.connection.execute("pragma max_page_count = 1000000")
        assert Ingest(store, incremental=True).run([str(folder)]).pending == 0
        assert store.stats()["doc_count"] == 101


def pages(store: HybridStore) -> int:
    return int(store.storage.connection.execute("pragma page_count").fetchone()[0])
