"""Damaged databases for `fuzz.py databases`: every command answers, or says in one line what is
wrong and exits with status 1.
"""

import random
import sqlite3
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.command import in_process

PAGE = 4096
WORDS = "gpu server password port backup mirror kettle garden violin ledger tide lantern marble orbit".split()
COMMANDS = [
    ("stats",), ("list",), ("search", "gpu server"),
    ("search", "password", "--mode", "keyword", "--explain"),
    ("search", "kettle", "--mode", "vector"),
    ("search", "gpu", "--in", "memory/*", "--tag", "a", "--since", "2026-01-03"),
    ("search", "gpu", "--context", "2", "--half-life", "30", "--refresh"),
    ("search", "xyzzyfragment"), ("get", "memory/2026-01-03.md#L3-L9"), ("get", "stored"),
    ("doctor",), ("ingest", "--path", "memory", "--incremental"), ("ingest", "--path", "memory"),
    ("delete", "--doc-id", "memory/2026-01-05.md"), ("delete", "--path", "memory"),
    ("store", "--doc-id", "new", "--text", "a new gpu text"), ("reindex",),
    ("reindex", "--embeddings"), ("doctor", "--thorough"), ("copy", "--texts", "memory.db", "saved.db"),
    ("eval", "--queries", "queries.jsonl", "--qrels", "qrels.tsv"),
]  # fmt: skip


class Case(NamedTuple):
    """A damage by its seed, and the commands that are run, each on a fresh copy."""

    seed: int
    commands: list[tuple[str, ...]]


def make(rng: random.Random) -> Case:
    return Case(rng.getrandbits(32), rng.sample(COMMANDS, 5))


def kept(case: Case) -> tuple[str, bytes]:
    return "case.txt", repr(case).encode()


def check(case: Case, folder: Path) -> None:
    data = damaged(random.Random(case.seed), original(folder))
    for command in case.commands:
        for file in (*folder.glob("memory.db*"), *folder.glob("saved.db*")):
            file.unlink()
        (folder / "memory.db").write_bytes(data)
        done = run(folder, *command)  # an exception that no command catches comes out here
        assert done.returncode in (0, 1, 2), done
        if (folder / "saved.db").exists():
            assert (folder / "memory.db").read_bytes() == data
            assert run(folder, "search", "gpu", "--db", "saved.db").returncode == 0
        assert (
            done.returncode == 0
            or command[0] == "doctor"
            or done.stderr.startswith("hybrid-memory: ")
        ), done


def run(folder: Path, *command: str):
    environ = {
        "HYBRID_MEMORY_CONFIG": str(folder / "config.json"),
        "HYBRID_MEMORY_DB_PATH": str(folder / "memory.db"),
    }
    return in_process((*command, "--provider", "builtin"), environ | {"HOME": str(folder)}, folder)


@cache
def original(folder: Path) -> bytes:
    """A sound database of thirty notes and a stored text."""
    rng = random.Random(1)
    (folder / "config.json").write_text("{}")
    (folder / "queries.jsonl").write_text('{"id": "q", "text": "gpu server"}\n')
    (folder / "qrels.tsv").write_text("q\tmemory/2026-01-03.md\t1\n")
    (folder / "memory").mkdir()
    for day in range(1, 31):
        sections = (
            f"# {rng.choice(WORDS)} {number}\n\n{' '.join(rng.choices(WORDS, k=60))}"
            for number in range(6)
        )
        front = "---\ntags: [a, b]\ntitle: T\n---\n"
        (folder / f"memory/2026-01-{day:02}.md").write_text(front + "\n\n".join(sections))
    for command in (
        ("ingest", "--path", "memory"),
        ("store", "--doc-id", "stored", "--text", "gpu stored " * 500),
    ):
        assert run(folder, *command).returncode == 0
    conn = sqlite3.connect(folder / "memory.db")
    conn.execute("pragma wal_checkpoint(truncate)")
    conn.close()
    return (folder / "memory.db").read_bytes()


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The file with some bytes, bits or pages changed, swapped or cut off."""
    changed = bytearray(data)
    pages = [slice(n * PAGE, (n + 1) * PAGE) for n in range(1, len(data) // PAGE)]
    match rng.choice(["bytes", "bits", "pages", "zeros", "swap", "cut", "header", "range"]):
        case "bytes":
            for _ in range(rng.randint(1, 50)):
                changed[rng.randrange(100, len(data))] = rng.randrange(256)
        case "bits":
            for _ in range(rng.randint(1, 200)):
                changed[rng.randrange(100, len(data))] ^= 1 << rng.randrange(8)
        case "pages":
            for page in rng.sample(pages, rng.randint(1, 5)):
                changed[page] = rng.randbytes(PAGE)
        case "zeros":
            for page in rng.sample(pages, rng.randint(1, 5)):
                changed[page] = bytes(PAGE)
        case "swap":
            one, other = rng.sample(pages, 2)
            changed[one], changed[other] = changed[other], changed[one]
        case "cut":
            del changed[rng.randrange(len(data)) :]
        case "header":
            for _ in range(rng.randint(1, 4)):
                changed[rng.randrange(100)] = rng.randrange(256)
        case "range":
            start, length = rng.randrange(len(data)), rng.randint(1, 20_000)
            changed[start : start + length] = rng.randbytes(length)[: len(data) - start]
    return bytes(changed)
