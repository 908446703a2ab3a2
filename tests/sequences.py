"""Random sequences of what users, agents and cron jobs do to a memory, as a state machine for Hypothesis.

After each step, the documents in the database must equal those of a model, which is a dict of contents by id. At the end, all
tables, the keyword index, the embeddings and the rankings must equal those of a new database of the same files and texts.

`test_sequences.py` runs a few short sequences, `benchmarks/sequences.py` long ones. Hypothesis prints the shortest sequence that
fails as a list of calls of the rules.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import date
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hybrid_memory.text.characters import digest
from tests.command import NO_SERVER, in_process
from tests.fake_ollama import FakeOllama
from tests.kills import COUNTED

HEADS = (
    "",
    "---\ntitle: Boiler\ntags: [heating, home]\nstatus: done\ncreated: 2026-01-02\ndate: 2026-03-04\n---\n",
    "---\naliases: [Kettle]\nsuperseded_by: '[[n1]]'\n---\n",
)
BLOCKS = (
    "# Valve\n\nThe boiler valve holds a pressure of 2 bar.",
    "## Harbour\n\nThe tide gauge in the harbour is read at noon. " * 8,
    "- [ ] call the sailmaker #rigging\n- [x] pay the invoice #money\n- buy oak",
    "| part | euro |\n|---|---|\n" + "\n".join(f"| lamp {n} | {n} |" for n in range(20)),
    "```\nssh -p 2222 heron\nrsync -a notes heron:\n```",
    "See [[n1]], [the plan](n2.md) and ![[n3#Valve]]; it was on 2026-03-05.",
    "### Friday, 6 March\n\nДокумент о насосе. 日本語のメモ。 Cafe\u0301 \u200b.",
    "A paragraph about the boiler valve that stands in many notes.",
    "Fuse wire lamp. " * 60,
)
TEXTS = st.builds(
    lambda head, blocks: head + "\n\n".join(blocks) + "\n",
    st.sampled_from(HEADS),
    st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5),
)
FOLDERS = {"memory": ("*.md", "*.txt", "*.org"), "work": ("*.md",), "sessions": ("*.jsonl",)}
PLACES = st.sampled_from(("memory", "memory/sub", "memory/.hidden", "work", "loose"))
NAMES = st.sampled_from(
    ("n1.md", "n2.md", "n3.md", "N1.md", "2026-03-04.md", "ä ö.md", "#1%20'$.md", "line\nbreak.md", "-d.md", "a.txt", "b.org")
)  # fmt: skip
PATHS = st.builds(lambda place, name: f"{place}/{name}", PLACES, NAMES)
IDS = st.sampled_from(("plain", "decisions/1", "memory/stored", "dé cisions/x"))
FILE_IDS = st.sampled_from(("file/1", "file/2"))
PICKS = st.integers(0, 20)  # of whatever there is to choose from
OWNERS = st.sampled_from(("", "ann", "bo"))
SIZES = st.sampled_from(((512, 50), (300, 0), (900, 120)))
SETTINGS = st.sampled_from(
    (
        {"date_keys": ["created", "date"]},
        {"date_keys": ["date"]},
        {"old_embeddings_mb": 0},
        {"query_cache_size": 0},
    )
)
MODELS = st.sampled_from(("builtin-english", "alpha", "beta", "none", "down"))
MOMENTS = st.integers(1, 600)  # statements of SQL before the kill
QUERIES = (
    "boiler valve",
    "harbour tide 2026-03-05",
    "sailmaker",
    "日本語",
    "heron ssh",
    "lamp 7 euro",
)

TABLES = {
    "documents": """select doc_id, source_path, file_size, content_hash, collection, date, metadata, chunking, chunk_count,
                    content from documents""",
    "chunks": """select doc_id, chunk_id, heading, heading_path, content, start_line, end_line, date, content_hash, truncated,
                 unembeddable, indexed, embedding from chunks""",
    "extracts": "select doc_id, pages, content from extracts",
    "names": "select doc_id, key, kind, name from names",
    "links": "select doc_id, line, target, kind, key from links",
    "tags": "select doc_id, tag from tags",
    "identity": """select value from meta where key = 'embeddings'
                   and exists (select 1 from chunks where embedding is not null)""",
}
POSTINGS = """
select chunks.doc_id, chunks.chunk_id, term, col, offset
from   temp.words join chunks on chunks.id = doc
"""


class Memory:
    """A folder of notes, a config file and a database, used through the command."""

    def __init__(self, top: Path, url: str) -> None:
        self.top = top
        self.db = top / "memory.db"
        self._config = top / "config.json"
        self._url = url
        self._settings: dict[str, Any] = {}
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HYBRID_MEMORY_", "OLLAMA_"))
        } | {"HYBRID_MEMORY_CONFIG": str(self._config), "HOME": str(top)}
        self.set(provider="builtin-english")

    def set(self, **settings: Any) -> None:
        self._settings = self._settings | settings
        self._config.write_text(json.dumps(self._settings))

    def use(self, model: str) -> None:
        """Choose a model; "down" is one whose server does not answer."""
        if model in ("alpha", "beta", "down"):
            url = NO_SERVER if model == "down" else self._url
            dims = 32 if model == "beta" else 48
            self.set(provider="ollama", model="alpha", dims=dims, ollama_url=url)
        else:
            self.set(provider=model, model=None, dims=None)

    def run(self, *args: str, db: Path | None = None, may_fail: bool = False) -> str:
        done = in_process(args, self._environ(db), self.top)
        assert "Traceback" not in done.stderr, done.stderr
        failure = args, done.returncode, done.stdout, done.stderr
        assert done.returncode == 0 or may_fail, failure
        return done.stdout

    def start(self, *args: str) -> "subprocess.Popen[str]":
        return self._process(["-m", "hybrid_memory", *args])

    def killed(self, moment: int, *args: str) -> bool:
        """Run the command until the moment; return whether it was killed rather than done before."""
        process = self._process(["-c", COUNTED, str(moment), *args])
        _, err = process.communicate(timeout=120)
        assert "Traceback" not in err, err
        assert process.returncode in (0, 1, -signal.SIGKILL), (args, process.returncode, err)
        return process.returncode == -signal.SIGKILL

    def rows(self, statement: str, db: Path | None = None) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{db or self.db}?mode=ro", uri=True)) as conn:
            return conn.execute(statement).fetchall()

    def documents(self) -> dict[str, Any]:
        """The text of each document without a file, and the hash of each with one."""
        if not self.db.exists() or not self.rows("select 1 from sqlite_schema"):
            return {}
        rows = self.rows("select doc_id, content, content_hash, source_path from documents")
        return {id: (content if path is None else hash) for id, content, hash, path in rows}

    def contents(self, db: Path) -> dict[str, Any]:
        """All that must be equal in two databases of the same files and texts."""
        found: dict[str, Any] = {
            name: sorted(map(repr, self.rows(statement, db))) for name, statement in TABLES.items()
        }
        with closing(sqlite3.connect(db)) as conn:
            conn.execute(
                "create virtual table temp.words using fts5vocab('main', 'chunks_fts', 'instance')"
            )
            found["postings"] = sorted(conn.execute(POSTINGS).fetchall())
        for mode in ("keyword", "vector", "hybrid"):
            for query in QUERIES:
                out = self.run(
                    "search", query, "--mode", mode, "--limit", "30", "--json", "--full", db=db
                )
                found[f"{mode} search for {query}"] = [
                    (hit["citation"], hit["score"], hit["confidence"], hit["text"])
                    for hit in json.loads(out)
                ]
        return found

    def _process(self, command: list[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *command],
            env=self._environ(None),
            cwd=self.top,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _environ(self, db: Path | None) -> dict[str, str]:
        return self.environ | {"HYBRID_MEMORY_DB_PATH": str(db or self.db)}


class Sequences(RuleBasedStateMachine):
    """The rules; each runs a command or changes files, and changes the model alike."""

    memory_class = Memory

    def __init__(self) -> None:
        super().__init__()
        self.server = FakeOllama("alpha", dims=64)
        self.server.start()
        self.top = Path(tempfile.mkdtemp(prefix="hm-sequence-"))
        self.memory = self.memory_class(self.top, self.server.url)
        for place in ("memory/sub", "work", "sessions", "loose"):
            (self.top / place).mkdir(parents=True)
        self.model = "builtin-english"
        # What the database must hold
        self.texts: dict[str, str] = {}
        self.owners: dict[str, str] = {}
        self.files: dict[str, bytes] = {}  # as of their last ingest
        self.ingested: set[str] = set()  # folders
        self.singles: dict[str, str] = {}  # id -> path of a file stored by itself
        self.planted = 0
        self.steps = 0

    # Files

    @rule(path=PATHS, text=TEXTS)
    def write(self, path: str, text: str) -> None:
        self.place(path).write_text(f"{text}\n{self.plant()}\n")

    @precondition(lambda self: self.notes())
    @rule(pick=PICKS)
    def add_to_note(self, pick: int) -> None:
        with self.note_at(pick).open("a") as file:
            file.write(f"\n\n## Later\n\nThe lamp is off, {self.plant()}.\n")

    @precondition(lambda self: self.notes())
    @rule(pick=PICKS)
    def cut_note(self, pick: int) -> None:
        path = self.note_at(pick)
        text = path.read_text()
        path.write_text(text[: len(text) // 2])

    @precondition(lambda self: self.notes())
    @rule(pick=PICKS)
    def remove_note(self, pick: int) -> None:
        self.note_at(pick).unlink()

    @precondition(lambda self: self.notes())
    @rule(pick=PICKS, path=PATHS)
    def move_note(self, pick: int, path: str) -> None:
        os.replace(self.note_at(pick), self.place(path))

    @precondition(lambda self: len(self.notes()) > 1)
    @rule(pick=PICKS)
    def exchange_notes(self, pick: int) -> None:
        one, other = self.note_at(pick), self.note_at(pick + 1)
        aside = self.top / "aside"
        os.replace(one, aside)
        os.replace(other, one)
        os.replace(aside, other)

    @precondition(lambda self: self.notes())
    @rule(pick=PICKS)
    def touch_note(self, pick: int) -> None:
        self.note_at(pick).touch()

    @precondition(lambda self: self.notes())
    @rule(pick=PICKS, mode=st.sampled_from((0o600, 0o644)))
    def change_mode(self, pick: int, mode: int) -> None:
        self.note_at(pick).chmod(mode)

    @rule()
    def rename_folder(self) -> None:
        one, other = self.top / "memory/sub", self.top / "memory/old"
        if one.exists() and not other.exists():
            one.rename(other)
        elif other.exists() and not one.exists():
            other.rename(one)

    @rule(number=st.integers(1, 2), count=st.sampled_from((1, 30)))
    def talk(self, number: int, count: int) -> None:
        path = self.top / f"sessions/{number}.jsonl"
        lines = []
        if not path.exists():
            lines.append(
                {
                    "type": "session",
                    "version": 3,
                    "id": str(number),
                    "timestamp": "2026-05-01T10:00:00Z",
                    "cwd": "/x",
                }
            )
        for at in range(count):
            role = "assistant" if at % 2 else "user"
            said = [
                {"type": "text", "text": f"{self.plant()} the boiler and the valve, {at} times"}
            ]
            lines.append(
                {
                    "type": "message",
                    "id": f"m{self.planted}",
                    "timestamp": "2026-05-01T10:00:00Z",
                    "message": {"role": role, "content": said},
                }
            )
        with path.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    # Texts without a file

    @rule(id=IDS, text=TEXTS, owner=OWNERS)
    def store(self, id: str, text: str, owner: str) -> None:
        text = f"{text}\n{self.plant()}"
        self.memory.run(*self.storing(id, text, owner))
        self.stored(id, text, owner)

    @precondition(lambda self: self.texts)
    @rule(pick=PICKS)
    def append(self, pick: int) -> None:
        id = sorted(self.texts)[pick % len(self.texts)]
        more = f"{self.plant()} is appended."
        self.memory.run("store", "--doc-id", id, "--append", "--text", more)
        self.texts[id] = f"{self.texts[id].rstrip()}\n\n{more}"

    @precondition(lambda self: any((self.top / "loose").iterdir()))
    @rule(id=FILE_IDS, pick=PICKS)
    def store_file(self, id: str, pick: int) -> None:
        loose = sorted((self.top / "loose").iterdir())
        path = loose[pick % len(loose)]
        if id in self.singles or str(path) in self.singles.values():
            return
        self.memory.run("store", "--doc-id", id, "--file", str(path))
        self.singles[id] = str(path)
        self.files[id] = path.read_bytes()

    @precondition(lambda self: self.texts or self.files)
    @rule(pick=PICKS)
    def delete(self, pick: int) -> None:
        ids = sorted({*self.texts, *self.files})
        id = ids[pick % len(ids)]
        self.memory.run("delete", "--doc-id", id)
        self.forget(id)

    @precondition(lambda self: self.ingested)
    @rule(pick=PICKS)
    def delete_folder(self, pick: int) -> None:
        folder = sorted(self.ingested)[pick % len(self.ingested)]
        self.memory.run("delete", "--path", str(self.top / folder))
        self.forget_folder(folder)

    # Ingests

    @rule(folder=st.sampled_from(sorted(FOLDERS)), incremental=st.booleans())
    def ingest(self, folder: str, incremental: bool) -> None:
        if folder in self.ingested or self.matching(folder):
            self.ingest_folder(folder, *["--incremental"] * incremental)

    @precondition(lambda self: self.ingested or self.files)
    @rule()
    def update(self) -> None:
        self.memory.run("update", "--all", may_fail=True)
        self.sync()

    @precondition(lambda self: self.ingested)
    @rule()
    def search_with_refresh(self) -> None:
        self.memory.run("search", "boiler", "--refresh")
        self.sync()

    @precondition(lambda self: "memory" in self.ingested)
    @rule()
    def note(self) -> None:
        self.memory.run(*self.noting())
        assert self.word() in self.todays_note().read_text()
        self.sync("memory")

    # Settings and upkeep

    @rule(sizes=SIZES)
    def change_sizes(self, sizes: tuple[int, int]) -> None:
        self.memory.set(chunk_size=sizes[0], chunk_overlap=sizes[1])

    @rule(settings=SETTINGS)
    def change_settings(self, settings: dict[str, Any]) -> None:
        self.memory.set(**settings)

    @rule(model=MODELS)
    def change_model(self, model: str) -> None:
        self.model = model
        self.memory.use(model)

    @precondition(lambda self: self.texts or self.files)
    @rule(embeddings=st.booleans())
    def reindex(self, embeddings: bool) -> None:
        self.memory.run("reindex", *["--embeddings"] * embeddings, may_fail=True)

    @precondition(lambda self: self.texts or self.files)
    @rule()
    def continue_with_a_copy(self) -> None:
        self.memory.run(*self.copying())
        copy = Path(self.copying()[-1])
        self.drop_database(self.memory.db)
        os.replace(copy, self.memory.db)
        for suffix in ("-wal", "-shm"):
            if Path(f"{copy}{suffix}").exists():
                os.replace(f"{copy}{suffix}", f"{self.memory.db}{suffix}")

    # Bad luck

    @rule(id=IDS, text=TEXTS, moment=MOMENTS)
    def kill_store(self, id: str, text: str, moment: int) -> None:
        text = f"{text}\n{self.plant()}"
        killed = self.memory.killed(moment, *self.storing(id, text, ""))
        if not killed or self.memory.documents().get(id) == text:
            self.stored(id, text, "")

    @precondition(lambda self: self.texts)
    @rule(pick=PICKS, moment=MOMENTS)
    def kill_delete(self, pick: int, moment: int) -> None:
        id = sorted(self.texts)[pick % len(self.texts)]
        killed = self.memory.killed(moment, "delete", "--doc-id", id)
        if not killed or id not in self.memory.documents():
            self.forget(id)

    @rule(folder=st.sampled_from(sorted(FOLDERS)), moment=MOMENTS)
    def kill_ingest_and_run_it_again(self, folder: str, moment: int) -> None:
        if folder in self.ingested or self.matching(folder):
            self.memory.killed(moment, *self.ingesting(folder))
            self.ingest_folder(folder)

    @precondition(lambda self: self.ingested)
    @rule(moment=MOMENTS)
    def kill_update(self, moment: int) -> None:
        self.memory.killed(moment, "update", "--all")
        self.sync_partly()

    @precondition(lambda self: "memory" in self.ingested)
    @rule(moment=MOMENTS)
    def kill_note(self, moment: int) -> None:
        path = self.todays_note()
        before = path.read_text() if path.exists() else ""
        killed = self.memory.killed(moment, *self.noting())
        after = path.read_text() if path.exists() else ""
        lines = after.removeprefix(before).rstrip("\n").split("\n")
        assert after.startswith(before)
        assert lines[-1].endswith(self.word()) or (killed and after == before)
        self.sync_partly()

    @precondition(lambda self: self.texts or self.files)
    @rule(moment=MOMENTS)
    def kill_copy_and_run_it_again(self, moment: int) -> None:
        self.memory.killed(moment, *self.copying())
        self.continue_with_a_copy()

    @precondition(lambda self: self.texts or self.files)
    @rule(embeddings=st.booleans(), moment=MOMENTS)
    def kill_reindex(self, embeddings: bool, moment: int) -> None:
        self.memory.killed(moment, "reindex", *["--embeddings"] * embeddings)

    @rule(one=TEXTS, other=TEXTS)
    def write_from_two_processes(self, one: str, other: str) -> None:
        one, other = f"{one}\n{self.plant()}", f"{other}\n{self.plant()}"
        processes = [self.memory.start(*self.storing("plain", one, ""))]
        if self.ingested:
            processes.append(self.memory.start("update", "--all"))
        self.memory.run(*self.storing("decisions/1", other, ""))
        for process in processes:
            _, err = process.communicate(timeout=120)
            assert "Traceback" not in err, err
            assert process.returncode == 0 or process is not processes[0], err
        self.stored("plain", one, "")
        self.stored("decisions/1", other, "")
        if self.ingested:
            self.sync()

    # What must hold

    @invariant()
    def the_database_equals_the_model(self) -> None:
        self.steps += 1
        expected: dict[str, Any] = dict(self.texts)
        for id, content in self.files.items():
            expected[id] = digest(content)
        found = self.memory.documents()
        for id in self.files:
            if id.endswith(".jsonl") and id in found:  # a file that grew may be read later
                expected[id] = found[id]
        assert found == expected

    @invariant()
    def the_last_word_is_found_where_it_is(self) -> None:
        word = self.word()
        having = {id for id, text in self.texts.items() if word in text}
        having |= {id for id, content in self.files.items() if word.encode() in content}
        if having and not any(id.endswith(".jsonl") for id in having):
            out = self.memory.run(
                "search",
                word,
                "--mode",
                "keyword",
                "--limit",
                "50",
                "--per-doc",
                "0",
                "--json",
                "--full",
            )
            assert {hit["doc_id"] for hit in json.loads(out) if word in hit["text"]} == having

    def teardown(self) -> None:
        try:
            if self.memory.db.exists():
                self.compare_with_a_new_database()
        finally:
            self.server.stop()
            shutil.rmtree(self.top, ignore_errors=True)

    def compare_with_a_new_database(self) -> None:
        if self.memory.documents() == {}:
            return
        if self.model in ("none", "down"):
            self.memory.use("builtin-english")
        for folder in sorted(self.ingested):
            if not self.matching(folder):  # an empty folder keeps its documents
                self.memory.run("delete", "--path", str(self.top / folder))
                self.forget_folder(folder)
        for id, path in list(self.singles.items()):
            if not Path(path).exists():
                self.memory.run("delete", "--doc-id", id)
                self.forget(id)
        self.memory.run("update", "--all")
        self.memory.run("reindex")
        self.memory.run("doctor", "--thorough")
        new = self.top / "new.db"
        for folder in sorted(self.ingested):
            self.memory.run(*self.ingesting(folder), db=new)
        for id, path in self.singles.items():
            self.memory.run("store", "--doc-id", id, "--file", path, db=new)
        for id, text in self.texts.items():
            self.memory.run(*self.storing(id, text, self.owners.get(id, "")), db=new)
        if not new.exists():
            return
        old_contents, new_contents = self.memory.contents(self.memory.db), self.memory.contents(new)
        for part, content in new_contents.items():
            assert old_contents[part] == content, part

    # Files and the model

    def place(self, path: str) -> Path:
        found = self.top / path
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def notes(self) -> list[Path]:
        """All notes, of any folder, whether ingested or not."""
        places = ("memory", "work", "loose")
        return sorted(
            path for place in places for path in (self.top / place).rglob("*") if path.is_file()
        )

    def note_at(self, pick: int) -> Path:
        notes = self.notes()
        return notes[pick % len(notes)]

    def word(self) -> str:
        return f"planted{self.planted}x"

    def plant(self) -> str:
        """A word that stands nowhere else."""
        self.planted += 1
        return self.word()

    def storing(self, id: str, text: str, owner: str) -> list[str]:
        metadata = ["--metadata", f"owner={owner}"] if owner else []
        return ["store", "--doc-id", id, "--text", text, *metadata]

    def noting(self) -> list[str]:
        return ["note", self.plant(), "--dir", str(self.top)]

    def todays_note(self) -> Path:
        return self.top / f"memory/{date.today()}.md"

    def copying(self) -> list[str]:
        return ["copy", str(self.memory.db), str(self.top / "copy.db")]

    def ingesting(self, folder: str) -> list[str]:
        patterns = [word for pattern in FOLDERS[folder] for word in ("--pattern", pattern)]
        return ["ingest", "--path", str(self.top / folder), *patterns, "--all"]

    def ingest_folder(self, folder: str, *options: str) -> None:
        is_empty = not self.matching(folder)  # reported; its documents are kept
        self.memory.run(*self.ingesting(folder), *options, may_fail=is_empty)
        self.ingested.add(folder)
        self.sync(folder)

    def matching(self, folder: str) -> dict[str, bytes]:
        """The contents of the files that an ingest of the folder indexes, by document id."""
        top = self.top / folder
        return {
            f"{folder}/{path.relative_to(top)}": path.read_bytes()
            for path in sorted(top.rglob("*"))
            if path.is_file()
            and any(fnmatch(path.name, pattern) for pattern in FOLDERS[folder])
            and not any(part.startswith(".") for part in path.relative_to(top).parts)
        }

    def sync(self, *folders: str) -> None:
        """The model after an ingest of these folders, or of everything."""
        for folder in folders or sorted(self.ingested):
            found = self.matching(folder)
            if found:
                for id in [id for id in self.files if id.startswith(f"{folder}/")]:
                    del self.files[id]
                self.files |= found
        if not folders:
            for id, path in self.singles.items():
                if Path(path).exists():
                    self.files[id] = Path(path).read_bytes()

    def sync_partly(self) -> None:
        """The model after a killed update: each document is the former or the new one."""
        before = dict(self.files)
        self.sync()
        after = self.files
        found = self.memory.documents()
        self.files = {}
        for id in {*before, *after}:
            for state in (before, after):
                if id in state and found.get(id) == digest(state[id]):
                    self.files[id] = state[id]
            if id.endswith(".jsonl") and id in found:
                self.files[id] = after.get(id, b"")

    def stored(self, id: str, text: str, owner: str) -> None:
        self.texts[id] = text
        if owner:
            self.owners[id] = owner

    def forget(self, id: str) -> None:
        self.texts.pop(id, None)
        self.owners.pop(id, None)
        self.files.pop(id, None)
        self.singles.pop(id, None)

    def forget_folder(self, folder: str) -> None:
        self.ingested.discard(folder)
        for id in [id for id in self.files if id.startswith(f"{folder}/")]:
            del self.files[id]

    @staticmethod
    def drop_database(path: Path) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
