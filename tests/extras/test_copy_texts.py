"""Texts without a file, saved from real databases whose pages are overwritten: each is as it was, or is named."""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run, answer

PAGE = 16384  # bytes
PAGE_OF_DOCS = Path(__file__).parents[2] / "docs/keeping-in-step.md"
WORDS = "gpu server password port backup mirror kettle garden violin ledger tide lantern marble orbit".split()
TEXTS = "select doc_id, content, metadata, date from documents where source_path is null"
ROOT = "select rootpage from sqlite_schema where name = ?"
BUILTIN = {"provider": "builtin"}

Texts = dict[str, tuple[str, str, str]]  # id -> text, metadata, date


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes, and their memory, which also has texts: short ones, a long one, an empty one."""
    top = tmp_path_factory.mktemp("scene")
    rng = random.Random(1)
    (top / "memory").mkdir()
    for number in range(40):
        parts = "\n\n".join(
            f"# Part {part}\n\n{' '.join(rng.choices(WORDS, k=60))}" for part in range(4)
        )
        (top / f"memory/{number}.md").write_text(f"---\ntags: [t{number}]\n---\n{parts}\n")
    with HybridStore(top / "sound.db", BUILTIN) as store:
        Ingest(store).run([str(top / "memory")])
        for number in range(120):
            text = f"# Text {number}\n\nunique{number} {' '.join(rng.choices(WORDS, k=90))}"
            store.store(f"stored/{number}", text, {"n": number})
        store.store("stored/long", f"---\ntitle: Long\n---\n{' '.join(rng.choices(WORDS, k=9000))}")
        store.store("stored/empty", "")
        store.storage.connection.execute("update documents set date = '2026-03-01'")
    return top


def texts(path: Path) -> Texts:
    with closing(sqlite3.connect(path)) as conn:
        return {doc_id: tuple(row) for doc_id, *row in conn.execute(TEXTS)}  # type: ignore[misc]


def overwritten(rng: random.Random, data: bytes, count: int) -> bytes:
    changed = bytearray(data)
    for page in rng.sample(range(1, len(data) // PAGE), count):
        noise = rng.choice([rng.randbytes(PAGE), bytes(PAGE), b"\xff" * PAGE])
        changed[page * PAGE : (page + 1) * PAGE] = noise
    return bytes(changed)


def without_root(data: bytes, path: Path, table: str) -> bytes:
    with closing(sqlite3.connect(path)) as conn:
        (page,) = conn.execute(ROOT, (table,)).fetchone()
    return data[: (page - 1) * PAGE] + bytes(PAGE) + data[page * PAGE :]


def assert_saved(answer: Any, saved: Texts, before: Texts) -> None:
    """Each text is as it was, or the answer names it as damaged."""
    named = {row["doc_id"] for row in answer["damaged"]}
    assert {doc_id: row for doc_id, row in saved.items() if doc_id not in named} == {
        doc_id: before[doc_id] for doc_id in saved.keys() - named
    }
    assert answer["documents"] == len(saved)


@pytest.mark.parametrize("count", [1, 4, 20])
@pytest.mark.parametrize("seed", range(6))
def test_a_text_of_a_damaged_file_is_as_it_was_or_named(
    scene: Path, run: Run, tmp_path: Path, seed: int, count: int
) -> None:
    data = overwritten(random.Random(seed), (scene / "sound.db").read_bytes(), count)
    (tmp_path / "damaged.db").write_bytes(data)
    done = run("copy", "--texts", str(tmp_path / "damaged.db"), str(tmp_path / "new.db"))
    before, saved = texts(scene / "sound.db"), texts(tmp_path / "new.db")
    assert_saved(json.loads(done.stdout), saved, before)
    assert done.returncode == (0 if done.stderr == "" else 1)
    assert done.returncode or saved == before
    assert (tmp_path / "damaged.db").read_bytes() == data


def test_a_sound_memory_gives_all_texts_and_the_commands_that_read_its_files(
    scene: Path, run: Run, tmp_path: Path
) -> None:
    new = tmp_path / "new.db"
    saved = answer(run("copy", "--texts", str(scene / "sound.db"), str(new)))
    assert texts(new) == texts(scene / "sound.db")
    assert saved["ingest"] == [f"hybrid-memory ingest --path {scene}/memory --incremental"]
    assert oct(new.stat().st_mode)[-3:] == "600"
    assert answer(run("update", "--db", str(new), "--provider", "builtin"))["pending"] == 0
    [hit] = answer(
        run("search", "unique7", "--limit", "1", "--db", str(new), "--provider", "builtin")
    )
    assert hit["doc_id"] == "stored/7"


def cut(conn: sqlite3.Connection) -> None:
    conn.execute("update documents set content = substr(content, 1, 50) where doc_id = 'b'")


def no_text(conn: sqlite3.Connection) -> None:
    conn.execute(
        "update documents set content = cast(x'ff' || substr(content, 2) as text) where doc_id = 'b'"
    )


def no_metadata(conn: sqlite3.Connection) -> None:
    conn.execute("update documents set metadata = '{' where doc_id = 'b'")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (cut, "only 50 of 100 bytes are left"),
        (no_text, "some of its bytes are not UTF-8"),
        (no_metadata, "its metadata cannot be read"),
    ],
)
def test_a_text_that_is_not_whole_is_named_and_replaces_none(
    run: Run, tmp_path: Path, damage: Callable[[sqlite3.Connection], None], told: str
) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with HybridStore(old, {"provider": "none"}) as store:
        store.store("a", "sound")
        store.store("b", "x" * 100)
    with closing(sqlite3.connect(old)) as conn:
        damage(conn)
        conn.commit()
    done = run("copy", "--texts", str(old), str(new))
    assert json.loads(done.stdout)["damaged"] == [{"doc_id": "b", "damage": told}]
    assert (done.returncode, done.stderr) == (1, f"hybrid-memory: b is damaged: {told}\n")
    with HybridStore(new, {"provider": "none"}) as store:
        store.store("b", "whole")
    assert answer(run("copy", "--texts", str(old), str(new)))["damaged"] == []
    assert {doc_id: row[0] for doc_id, row in texts(new).items()} == {"a": "sound", "b": "whole"}


def test_rows_whose_table_sqlite_could_not_find_are_read(
    scene: Path, run: Run, tmp_path: Path
) -> None:
    """A table as `.recover` makes it, of the rows of this version's table."""
    with closing(sqlite3.connect(scene / "sound.db")) as conn:
        names = [name for _, name, *_ in conn.execute("pragma table_info(documents)")]
        values = ", ".join(f"{name} as c{number}" for number, name in enumerate(names))
        conn.execute("attach ? as recovered", (str(tmp_path / "recovered.db"),))
        conn.execute(
            f"create table recovered.lost_and_found as select 0 as pgno, {len(names)} as nfield, {values} from documents"
        )
        conn.commit()
    answer(run("copy", "--texts", str(tmp_path / "recovered.db"), str(tmp_path / "new.db")))
    assert texts(tmp_path / "new.db") == texts(scene / "sound.db")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: None, "no database at {path}"),
        (lambda path: path.touch(), "{path} has no texts; is it a memory"),
        (lambda path: sqlite3.connect(path).execute("create table a (b)"), "{path} has no texts"),
        (lambda path: path.mkdir(), "cannot open {path}: "),
    ],
    ids=["missing", "empty", "of another program", "folder"],
)
def test_what_has_no_texts_is_told_and_no_memory_is_made(
    run: Run, tmp_path: Path, make: Callable[[Path], object], told: str
) -> None:
    path = tmp_path / "old.db"
    make(path)
    done = run("copy", "--texts", str(path), str(tmp_path / "new.db"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"hybrid-memory: {told.format(path=path)}")
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("address", ["postgresql://ann@db/memory", "host=db password=S3cr3t"])
def test_an_address_is_refused_without_its_text(run: Run, tmp_path: Path, address: str) -> None:
    done = run("copy", "--texts", address, str(tmp_path / "new.db"))
    line = "hybrid-memory: --texts works with SQLite files only (see hybrid-memory copy --help)\n"
    assert (done.returncode, done.stderr) == (2, line)


def shell_that_recovers() -> str:
    """The folder of a `sqlite3` that can recover: some are built without what that needs."""
    shell = shutil.which("sqlite3")
    if not shell:
        pytest.skip("SQLite's shell is not installed")
    if subprocess.run([shell, ":memory:", ".recover"], capture_output=True).returncode:
        pytest.skip("SQLite's shell has no working .recover")
    return str(Path(shell).parent)


def documented_commands() -> list[str]:
    """The blocks of shell commands of the section about damaged databases, in their order."""
    _, _, section = PAGE_OF_DOCS.read_text("utf-8").partition("## When the database is damaged\n")
    return re.findall(r"^ *```bash\n(.*?)^ *```$", section, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("damage", ["pages", "root of documents", "header", "first page"])
def test_the_documented_commands_save_all_texts(
    scene: Path, environ: dict[str, str], tmp_path: Path, damage: str
) -> None:
    folder = shell_that_recovers()
    save, recover, put_in_place, clear_first_page, pieces = documented_commands()
    data = (scene / "sound.db").read_bytes()
    damaged = {
        "pages": overwritten(random.Random(3), data, 3),
        "root of documents": without_root(data, scene / "sound.db", "documents"),
        "header": bytes(100) + data[100:],
        "first page": random.Random(1).randbytes(PAGE) + data[PAGE:],
    }[damage]
    (tmp_path / "damaged.db").write_bytes(damaged)
    path = os.pathsep.join([str(Path(sys.executable).parent), folder, environ["PATH"]])

    def shell(commands: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["bash", "-c", commands],
            cwd=tmp_path,
            env=environ | {"PATH": path},
            capture_output=True,
            text=True,
        )

    if shell(save).returncode:
        if damage == "first page":
            shell(clear_first_page)
        recovered = shell(recover)
        assert recovered.returncode == 0, recovered.stderr
        assert damage in ("header", "first page") or shell(pieces).returncode == 0
    assert texts(tmp_path / "new.db") == texts(scene / "sound.db")
    assert shell(put_in_place).returncode == 0
    with HybridStore(tmp_path / "damaged.db", BUILTIN, create=False) as store:
        assert store.search("unique7", 1)[0]["doc_id"] == "stored/7"
        assert store.reindex() == store.stats()["chunk_count"]
    assert oct((tmp_path / "damaged.db").stat().st_mode)[-3:] == "600"
