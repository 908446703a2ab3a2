"""A real store whose pages are overwritten at random: what is kept is as it was, and what is missing is named."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import examine
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run
from tests.kills import COUNTED

PAGE = 4096
BUILTIN = {"provider": "builtin"}
WORDS = "gpu server password port backup mirror kettle garden violin ledger tide lantern marble orbit".split()
DOCUMENTS = "select doc_id, source_path, file_size, content_hash, collection, date, metadata, chunking, chunk_count, content from documents"
CHUNKS = "select doc_id, chunk_id, heading, heading_path, content, start_line, end_line, content_hash, embedding from chunks order by id"

State = dict[str, tuple[Any, list[tuple[Any, ...]]]]  # document -> its row, its chunks


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sound store: notes, texts of `store` (one of them long), and a note whose file is gone and kept."""
    top = tmp_path_factory.mktemp("rescue")
    rng = random.Random(1)
    for name in ("memory", "kept"):
        (top / name).mkdir()
        for number in range(20):
            parts = "\n\n".join(
                f"# {rng.choice(WORDS)} {part}\n\n{' '.join(rng.choices(WORDS, k=60))}"
                for part in range(4)
            )
            (top / f"{name}/{number}.md").write_text(f"---\ntags: [t{number}]\n---\n{parts}\n")
    with HybridStore(top / "sound.db", BUILTIN) as store:
        Ingest(store).run([str(top / "memory")])
        Ingest(store, keep_missing=True).run([str(top / "kept")])
        for number in range(15):
            store.store(
                f"stored/{number}",
                f"# Text {number}\n\nunique{number} {' '.join(rng.choices(WORDS, k=90))}",
                {"n": number},
            )
        store.store(
            "stored/long",
            "---\ntitle: Long\n---\n"
            + "\n\n".join(" ".join(rng.choices(WORDS, k=70)) for _ in range(60)),
        )
        store.store("stored/empty", "")
    (top / "kept/7.md").unlink()
    return top


def state(path: Path) -> State:
    with closing(sqlite3.connect(path)) as conn:
        found: State = {row[0]: (row, []) for row in conn.execute(DOCUMENTS)}
        for row in conn.execute(CHUNKS):
            found[row[0]][1].append(row)
    return found


def overwritten(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    pages = len(data) // PAGE
    for page in rng.sample(range(pages), rng.choice([1, 2, 5, 15, pages // 4, pages // 2])):
        changed[page * PAGE : (page + 1) * PAGE] = rng.choice(
            [rng.randbytes(PAGE), bytes(PAGE), b"\xff" * PAGE]
        )
    return bytes(changed)


def rescue(run: Run, damaged: Path, out: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    out.unlink(missing_ok=True)
    return run("rescue", str(out), "--db", str(damaged), "--provider", "builtin", *options)


def problems(path: Path) -> list[str]:
    with HybridStore(path, BUILTIN, create=False) as store:
        return [
            finding.text
            for finding in examine(store, thorough=True)
            if not finding.ok and finding.check != "sources"
        ]


@pytest.mark.parametrize("seed", range(16))
def test_what_is_kept_is_as_it_was_and_what_is_missing_is_named(
    scene: Path, run: Run, tmp_path: Path, seed: int
) -> None:
    damaged, out = tmp_path / "damaged.db", tmp_path / "out.db"
    data = overwritten((scene / "sound.db").read_bytes(), random.Random(seed))
    damaged.write_bytes(data)
    done = rescue(run, damaged, out)
    assert damaged.read_bytes() == data
    assert not Path(f"{damaged}-wal").exists()
    answer = json.loads(done.stdout)
    lost = {entry["doc_id"] for entry in answer["lost"] if "doc_id" in entry}
    some_unnamed = any(entry.get("what") == "documents" for entry in answer["lost"])
    before, after = state(scene / "sound.db"), state(out)
    assert done.returncode == (1 if answer["lost"] else 0)
    assert set(after) <= set(before)
    for doc_id, was in before.items():
        if doc_id in after and doc_id not in lost:
            assert after[doc_id] == was, doc_id
        elif doc_id not in after:
            assert doc_id in lost or some_unnamed, doc_id
    assert (answer["documents"], answer["chunks"]) == (
        len(after),
        sum(len(chunks) for _, chunks in after.values()),
    )
    assert answer["embeddings_kept"] + answer["embedded"] == answer["chunks"]
    assert problems(out) == []
    assert oct(out.stat().st_mode)[-3:] == "600"
    with HybridStore(out, BUILTIN, create=False) as store:
        assert store.search("gpu server")
        for number in range(15):
            if f"stored/{number}" in set(after) - lost:
                assert store.search(f"unique{number}", 1)[0]["doc_id"] == f"stored/{number}"


def test_a_sound_store_loses_nothing_and_asks_no_model(
    scene: Path, run: Run, tmp_path: Path
) -> None:
    done = rescue(run, scene / "sound.db", tmp_path / "out.db")
    answer = json.loads(done.stdout)
    assert (
        done.returncode,
        answer["lost"],
        answer["embedded"],
        answer["pending"],
        answer["sources"],
    ) == (0, [], 0, 0, 2)
    assert state(tmp_path / "out.db") == state(scene / "sound.db")
    assert f"&& mv {tmp_path}/out.db {scene}/sound.db`" in done.stderr
    with (
        HybridStore(tmp_path / "out.db", BUILTIN) as store,
        HybridStore(scene / "sound.db", BUILTIN) as sound,
    ):
        assert store.storage.sources.all() == sound.storage.sources.all()
        assert store.storage.embeddings.identity() == sound.storage.embeddings.identity()


def test_the_header_and_the_first_page_are_not_needed(
    scene: Path, run: Run, tmp_path: Path
) -> None:
    data = bytearray((scene / "sound.db").read_bytes())
    data[:100] = bytes(100)
    (tmp_path / "damaged.db").write_bytes(data)
    answer = json.loads(rescue(run, tmp_path / "damaged.db", tmp_path / "out.db").stdout)
    assert answer["lost"] == []
    data[:PAGE] = bytes(PAGE)
    (tmp_path / "damaged.db").write_bytes(data)
    answer = json.loads(rescue(run, tmp_path / "damaged.db", tmp_path / "out.db").stdout)
    assert {entry.get("what") for entry in answer["lost"]} <= {"documents", "sources", None}
    assert state(tmp_path / "out.db") == state(scene / "sound.db")


def test_what_is_only_in_the_wal_is_kept(scene: Path, run: Run, tmp_path: Path) -> None:
    damaged, out = tmp_path / "damaged.db", tmp_path / "out.db"
    damaged.write_bytes((scene / "sound.db").read_bytes())
    code = "import os, sys; from hybrid_memory import HybridStore; HybridStore(sys.argv[1], {'provider': 'builtin'}).store('new', 'xylophone'); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(damaged)], check=False)
    files = [damaged, Path(f"{damaged}-wal")]
    before = [file.read_bytes() for file in files]
    data = bytearray(before[0])
    data[100:PAGE] = bytes(PAGE - 100)
    damaged.write_bytes(data)
    answer = json.loads(rescue(run, damaged, out).stdout)
    assert state(out)["new"][0][-1] == "xylophone"
    assert set(state(out)) == set(state(scene / "sound.db")) | {"new"}
    assert [file.read_bytes() for file in files] == [bytes(data), before[1]]
    files[1].write_bytes(before[1][:16] + b"\xff" * 8 + before[1][24:])
    answer = json.loads(rescue(run, damaged, out).stdout)
    assert {
        "what": "the newest changes: its header is damaged",
        "reason": "it cannot be read",
    } in answer["lost"]
    assert set(state(out)) == set(state(scene / "sound.db"))


@pytest.mark.parametrize(
    "data", [b"", b"x", b"# no database\n" * 1000, random.Random(1).randbytes(20 * PAGE)]
)
def test_where_nothing_can_be_read_one_line_says_so_and_no_file_is_made(
    run: Run, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "damaged.db").write_bytes(data)
    before = sorted(os.listdir(tmp_path))
    done = rescue(run, tmp_path / "damaged.db", tmp_path / "out.db")
    line = f"hybrid-memory: nothing can be read of {tmp_path}/damaged.db; `hybrid-memory ingest --path DIR` makes a new memory\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", line)
    assert sorted(os.listdir(tmp_path)) == before


def test_an_existing_file_is_refused_and_a_missing_store_is_named(
    scene: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "out.db").write_text("mine")
    done = run("rescue", str(tmp_path / "out.db"), "--db", str(scene / "sound.db"))
    assert (done.returncode, done.stderr) == (
        1,
        f"hybrid-memory: {tmp_path}/out.db exists already; name a new file\n",
    )
    assert (tmp_path / "out.db").read_text() == "mine"
    done = run("rescue", str(tmp_path / "new.db"), "--db", str(tmp_path / "none.db"))
    assert (done.returncode, done.stderr) == (
        1,
        f"hybrid-memory: no database at {tmp_path}/none.db\n",
    )


@pytest.fixture
def small(tmp_path: Path) -> Iterator[HybridStore]:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("# One\n\ngpu server\n\n# Two\n\npassword")
    with HybridStore(tmp_path / "small.db", BUILTIN) as store:
        Ingest(store).run([str(tmp_path / "notes")])
        store.store(
            "mine",
            "---\ntitle: T\n---\n# Cat\n\nthe puppy\n\n\nand the cat\n\n# Dog\n\nbarks",
            {"owner": "ann"},
        )
        yield store


def test_a_text_whose_row_is_lost_is_put_together_from_its_chunks(
    small: HybridStore, run: Run, tmp_path: Path
) -> None:
    small.storage.connection.execute("delete from documents where doc_id = 'mine'")
    small.close()
    done = rescue(run, tmp_path / "small.db", tmp_path / "out.db")
    [lost] = json.loads(done.stdout)["lost"]
    assert (lost["doc_id"], done.returncode) == ("mine", 1)
    assert lost["reason"].startswith("its text was put together from its chunks")
    assert (
        state(tmp_path / "out.db")["mine"][0][-1]
        == "\n\n\n# Cat\n\nthe puppy\n\n\nand the cat\n\n# Dog\n\nbarks"
    )


def test_a_text_that_its_chunks_contradict_is_not_taken(
    small: HybridStore, run: Run, tmp_path: Path
) -> None:
    small.storage.connection.execute(
        "update documents set content = replace(content, 'puppy', 'kitty') where doc_id = 'mine'"
    )
    small.close()
    done = rescue(run, tmp_path / "small.db", tmp_path / "out.db")
    assert [entry["doc_id"] for entry in json.loads(done.stdout)["lost"]] == ["mine"]
    row = state(tmp_path / "out.db")["mine"][0]
    assert "the puppy" in row[-1]
    assert json.loads(row[6]) == {"title": "T", "owner": "ann"}


def test_folders_that_the_table_no_longer_names_are_told(
    small: HybridStore, run: Run, tmp_path: Path
) -> None:
    small.storage.connection.execute("drop table folders")
    small.close()
    (tmp_path / "notes/a.md").unlink()
    done = rescue(run, tmp_path / "small.db", tmp_path / "out.db")
    lost = json.loads(done.stdout)["lost"]
    assert [entry["what"] for entry in lost if "what" in entry] == ["sources"]
    [folder] = [entry for entry in lost if "path" in entry]
    assert folder["path"] == str(tmp_path / "notes")
    assert (
        f"1 document came from here; `hybrid-memory ingest --path {tmp_path}/notes`"
        in folder["reason"]
    )
    assert "notes/a.md" in state(tmp_path / "out.db")


def test_embeddings_of_an_unknown_model_are_made_anew_and_told(
    small: HybridStore, run: Run, tmp_path: Path
) -> None:
    small.storage.connection.execute("delete from meta")
    small.close()
    answer = json.loads(rescue(run, tmp_path / "small.db", tmp_path / "out.db").stdout)
    assert (answer["embeddings_kept"], answer["embedded"]) == (0, answer["chunks"])
    assert answer["lost"] == [
        {"what": f"{answer['chunks']} embeddings", "reason": "which model made them cannot be read"}
    ]


def test_an_embedding_that_is_not_whole_is_made_anew(
    small: HybridStore, run: Run, tmp_path: Path
) -> None:
    small.storage.connection.execute(
        "update chunks set embedding = zeroblob(length(embedding)) where id = 1"
    )
    small.close()
    answer = json.loads(rescue(run, tmp_path / "small.db", tmp_path / "out.db").stdout)
    assert (answer["embedded"], answer["embeddings_kept"], answer["lost"]) == (
        1,
        answer["chunks"] - 1,
        [],
    )
    assert problems(tmp_path / "out.db") == []


@pytest.mark.parametrize("moment", [1, 40, 700])
def test_a_kill_leaves_no_half_store_and_the_next_rescue_succeeds(
    scene: Path, run: Run, tmp_path: Path, environ: dict[str, str], moment: int
) -> None:
    out = tmp_path / "out.db"
    command = ("rescue", str(out), "--db", str(scene / "sound.db"), "--provider", "builtin")
    killed = subprocess.run(
        [sys.executable, "-c", COUNTED, str(moment), *command],
        env=environ,
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    done = rescue(run, scene / "sound.db", out)
    assert done.returncode == 0
    assert state(out) == state(scene / "sound.db")
    assert [name for name in os.listdir(tmp_path) if name.startswith("out")] == ["out.db"]
