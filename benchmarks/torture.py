# /// script
# requires-python = ">=3.11"
# dependencies = ["requests"]
# ///
"""Kill the command at random moments, and run many of it in parallel: `uv run
benchmarks/torture.py`.

kills    In each round, files change, and `ingest`, `store`, `delete` or `reindex`, or an ingest by
another model, is killed with
         SIGKILL after a random part (seeded) of the time that it takes. Then the integrity checks
         of SQLite, FTS5 and `doctor` must pass, a search must answer, every embedding must be of
         one model, and no text that had one may have lost it. The command is run again. Then
         nothing may be lost, and no text may have been embedded a second time.
load     A number of `search` processes run at all times, together with a loop of `ingest` with
changing files and a loop of
         `store`. Every process must succeed, and every search must find something.
waiting  Searches while another process holds the write lock all the time take turns with searches
while none does.

A stub in this process replaces the embedding server. With --engine postgres, the memory is on a
server that is started for it (`uv run benchmarks/torture.py --engine postgres`). The exit code is 1
if anything failed.
"""

import argparse
import hashlib
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection
from contextlib import ExitStack, nullcontext, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import sub
from pathlib import Path
from typing import Any

from common import reported

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hybrid_memory import HybridStore  # noqa: E402
from hybrid_memory.errors import StoreError  # noqa: E402
from hybrid_memory.extras.doctor import examine  # noqa: E402
from hybrid_memory.storage.encoding import decode_embedding  # noqa: E402
from hybrid_memory.text.characters import digest  # noqa: E402
from hybrid_memory.text.terms import embedded_text  # noqa: E402

DIMS = 32
FILES = 120
MODELS = "alpha", "beta"
WHOLE = {"integrity", "keyword index", "tables", "indexed", "documents", "vector index"}
WORDS = (
    "gpu server password port backup mirror kettle garden violin ledger tide lantern marble orbit heron"
).split()
PENDING = "have no embedding yet"  # what a search may say while an ingest goes on
HELD = 20  # number of searches while the write lock is held, and of those while it is not

SPARE = """
select heading_path, content from chunks
where  content_hash in (select content_hash from spare_embeddings where model = {model})
"""
OF_DOCUMENT = ("doc_id", "source_path", "file_size", "content_hash", "content", "chunk_count")
OF_CHUNK = ("chunk_id", "heading_path", "content", "start_line")
FRESH = "fresh"  # the space, or what the name of the file ends with, of a second memory


class UndoneError(Exception):
    """Ends a transaction that is not to be committed."""


class Model(BaseHTTPRequestHandler):
    """Answers POST /api/embed with vectors that are a hash of the text."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    embedded: list[tuple[str, str]] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = body["model"]
        Model.embedded += [(model, text) for text in body["input"] if text != "probe"]
        self.answer({"embeddings": [vector(model, text) for text in body["input"]]})

    def do_GET(self) -> None:
        self.answer({"models": [{"name": f"{model}:latest", "digest": model} for model in MODELS]})

    def answer(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


class Listener(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, *args: object) -> None:
        pass  # clients are killed by this script


def vector(model: str, text: str) -> list[float]:
    components = [
        byte - 127.5
        for byte in hashlib.blake2b(f"{model} {text}".encode(), digest_size=DIMS).digest()
    ]
    length = math.hypot(*components)
    return [component / length for component in components]


class Scene:
    def __init__(self, top: Path, url: str, chance: random.Random, address: str | None) -> None:
        self.folder, self.db, self.chance = (
            top / "memory",
            address or str(top / "memory.db"),
            chance,
        )
        self.is_file = address is None
        self.folder.mkdir()
        self.stored: dict[str, str] = {}
        (top / "config.json").write_text("{}")
        self.environ = {
            k: v for k, v in os.environ.items() if not k.startswith(("HYBRID_MEMORY_", "OLLAMA_"))
        } | {
            "HYBRID_MEMORY_CONFIG": str(top / "config.json"),
            "HYBRID_MEMORY_DB_PATH": self.db,
            "HYBRID_MEMORY_PROVIDER": "ollama",
            "HYBRID_MEMORY_OLLAMA_URL": url,
            "HYBRID_MEMORY_MODEL": MODELS[0],
            # The stub shares the processors with all searches
            "HYBRID_MEMORY_QUERY_TIMEOUT": "120",
        }
        self.change(FILES)

    def words(self, count: int) -> str:
        return " ".join([*self.chance.choices(WORDS, k=count), str(self.chance.randrange(10**9))])

    def change(self, count: int) -> None:
        """Write this number of files again, and remove, rename or swap a few."""
        for number in self.chance.sample(range(FILES), count):
            path, other = self.folder / f"{number}.md", self.folder / f"{number * 7 % FILES}.md"
            kind = self.chance.random()
            if path.exists() and kind < 0.15:
                path.unlink()
            elif path.exists() and kind < 0.3:
                path.replace(other)
            else:
                path.write_text("".join(f"# Part {i}\n\n{self.words(60)}\n\n" for i in range(3)))

    def start(self, *command: str) -> "subprocess.Popen[str]":
        arguments = [sys.executable, "-m", "hybrid_memory", *command]
        return subprocess.Popen(
            arguments,
            env=self.environ,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str) -> tuple[int, str, str]:
        process = self.start(*command)
        out, error = process.communicate()
        return process.returncode, out, error

    def open(self, *, fresh: bool = False) -> HybridStore:
        settings = {"provider": "none"} | ({"space": FRESH} if fresh and not self.is_file else {})
        return HybridStore(
            self.db + FRESH if fresh and self.is_file else self.db, settings, create=False
        )

    def damage(self) -> list[str]:
        with self.open() as store:
            store.search("gpu server")
            return [
                finding.text
                for finding in examine(store)
                if finding.check in WHOLE and finding.ok is False
            ]

    def another_model(self) -> None:
        """Choose the other model from now on."""
        self.environ["HYBRID_MEMORY_MODEL"] = MODELS[
            self.environ["HYBRID_MEMORY_MODEL"] == MODELS[0]
        ]

    def embedded(self) -> tuple[str, dict[str, list[float]]]:
        """The model of the store, and the embedding of each text."""
        found = {
            embedded_text(row[7], row[8]): decode_embedding(row[10])
            for row in self.contents()
            if row[10]
        }
        with self.open() as store:
            return (store.storage.embeddings.identity() or {"model": ""})["model"], found

    def of_next_model(self) -> set[tuple[str, str]]:
        """Model and text of the embeddings that do not answer yet."""
        with self.open() as store:
            following = store.storage.embeddings.spare.next_identity()
            if following is None:
                return set()
            key = digest(json.dumps(following, sort_keys=True).encode())
            statement = SPARE.format(model="?" if self.is_file else "%(model)s")
            rows = store.storage.connection.execute(
                statement, (key,) if self.is_file else {"model": key}
            )
            return {(following["model"], embedded_text(*row)) for row in rows}

    def contents(self, *, fresh: bool = False) -> list[Any]:
        """Every chunk with its document, and its embedding; a document without chunks once."""
        found: list[Any] = []
        with self.open(fresh=fresh) as store, store.storage.snapshot():
            for doc_id in sorted(store.storage.catalog.ids()):
                whole = store.storage.documents.whole(doc_id)
                document = [whole.prepared.row[key] for key in OF_DOCUMENT]
                chunks = whole.prepared.chunks or [dict.fromkeys((*OF_CHUNK, "content_hash"))]
                found += [
                    (
                        *document,
                        *(chunk[key] for key in OF_CHUNK),
                        whole.vectors.get(chunk["content_hash"], (None,))[0] or None,
                    )
                    for chunk in chunks
                ]
        return found

    def has_tables(self) -> bool:
        try:
            self.open().close()
        except StoreError:
            return False
        return True


def kills(scene: Scene, rounds: int) -> list[str]:
    ingest = ("ingest", "--path", str(scene.folder))
    longest: dict[str, float] = {}
    killed, wal, failures = Counter[str](), 0, []
    for number in range(rounds):
        doc_id, text = f"d{scene.chance.randrange(3)}", scene.words(400)
        name = ("ingest", "incremental", "store", "delete", "reindex", "model", "embeddings")[
            number % 7
        ]
        command = {
            "ingest": ingest, "incremental": (*ingest, "--incremental"), "reindex": ("reindex",),
            "store": ("store", "--doc-id", doc_id, "--text", text), "delete": ("delete", "--doc-id", doc_id),
            "model": ("update",), "embeddings": ("reindex", "--embeddings"),
        }[name]  # fmt: skip
        scene.change(30)
        before = (
            scene.run(*ingest, "--incremental") if number % 3 else None
        )  # otherwise the killed command has more to do
        scene.change(20 if name in ("ingest", "incremental") else 0)
        had = scene.embedded()[1].keys() if scene.has_tables() else set()
        if name == "model":
            scene.another_model()
        wait = scene.chance.uniform(0.2, 1.0) * longest.get(name, 0.8)
        process = scene.start(*command)
        try:
            process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed[name] += 1
        where = f"round {number}, {name}, {wait:.3f} s"
        if os.path.exists(scene.db + "-wal"):
            wal += os.path.getsize(scene.db + "-wal") > 0
        committed: set[tuple[str, str]] = set()
        if scene.has_tables():
            failures += [f"{where}: {line}" for line in [*scene.damage(), *incomplete(scene, had)]]
            model, texts = scene.embedded()
            committed = scene.of_next_model() | (
                {(model, text) for text in texts} if name != "embeddings" else set()
            )
        Model.embedded.clear()
        started = time.perf_counter()
        status, _, error = scene.run(*command)
        longest[name] = time.perf_counter() - started
        if status or (before and before[0]):
            failures.append(f"{where}: exit {status} when run again: {error}")
        asked = Counter(Model.embedded)
        twice = [text for text in asked if text in committed or asked[text] > 1]
        failures += [f"{where}: {len(twice)} texts embedded twice"] if twice else []
        if name == "store":
            scene.stored[doc_id] = text
        elif name == "delete":
            scene.stored.pop(doc_id, None)
        failures += [f"{where}: {line}" for line in [*scene.damage(), *lost(scene, name)]]
        if number % 25 == 24:
            failures += (
                [f"{where}: not what a fresh ingest gives"] if not same_as_fresh(scene) else []
            )
    counts = ", ".join(f"{name} {count}" for name, count in sorted(killed.items()))
    print(
        f"kills    {sum(killed.values())} of {rounds} commands killed before their end "
        f"({counts}); {wal} left a -wal behind"
    )
    return failures


def incomplete(scene: Scene, had: Collection[str]) -> list[str]:
    """Whether texts that had an embedding have none, or have one of another model than the store's."""
    model, embedded = scene.embedded()
    without = {
        embedded_text(row[7], row[8]) for row in scene.contents() if row[6] and row[10] is None
    }
    problems = (
        [f"{len(without & set(had))} texts lost their embedding"] if without & set(had) else []
    )
    wrong = [
        text
        for text, found in embedded.items()
        if max(map(abs, map(sub, found, vector(model, text)))) > 1e-6
    ]
    return problems + ([f"{len(wrong)} embeddings are not of {model}"] if wrong else [])


def lost(scene: Scene, name: str) -> list[str]:
    documents = {row[0]: row[4] for row in scene.contents()}
    stored = {id: text for id, text in documents.items() if text is not None}
    problems = [] if stored == scene.stored else ["a stored document is lost or not deleted"]
    if name in ("ingest", "incremental"):
        files = {f"memory/{path.name}" for path in scene.folder.iterdir()}
        problems += (
            [] if files == documents.keys() - stored.keys() else ["documents and files differ"]
        )
    return problems


def same_as_fresh(scene: Scene) -> bool:
    where = ("--db", scene.db + FRESH) if scene.is_file else ("--space", FRESH)
    scene.run("ingest", "--path", str(scene.folder), "--incremental")
    scene.run("ingest", "--path", str(scene.folder), *where)
    same = [row for row in scene.contents() if row[4] is None] == scene.contents(fresh=True)
    scene.run("delete", "--collection", "memory", *where)
    if scene.is_file:
        os.remove(scene.db + FRESH)
    return same


def load(scene: Scene, searchers: int, seconds: float) -> list[str]:
    failures: list[str] = []
    done: Counter[str] = Counter()
    scene.run("ingest", "--path", str(scene.folder))
    end = time.monotonic() + seconds

    def searching(number: int) -> None:
        chance = random.Random(number)
        while time.monotonic() < end:
            status, out, error = scene.run(
                "search",
                *chance.sample(WORDS, 2),
                "--quiet",
                "--mode",
                chance.choice(("hybrid", "keyword")),
            )
            if status or (error and PENDING not in error) or not json.loads(out):
                failures.append(f"search: exit {status} {error}")
            done["search"] += 1

    def ingesting() -> None:
        while time.monotonic() < end:
            scene.change(60)
            status, _, error = scene.run("ingest", "--path", str(scene.folder), "--incremental")
            failures.extend([f"ingest: {error}"] if status else [])
            done["ingest"] += 1

    def storing() -> None:
        while time.monotonic() < end:
            status, _, error = scene.run(
                "store",
                "--doc-id",
                f"d{done['store'] % 5}",
                "--text",
                f"gpu server {done['store']} " * 50,
            )
            failures.extend([f"store: {error}"] if status else [])
            done["store"] += 1

    threads = [threading.Thread(target=searching, args=(number,)) for number in range(searchers)]
    threads += [threading.Thread(target=ingesting), threading.Thread(target=storing)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failures += scene.damage()
    left = {path.name for path in scene.folder.parent.iterdir()} - {
        "config.json",
        "memory",
        "memory.db",
    }
    failures += [f"left behind: {left}"] if left else []
    counts = ", ".join(f"{count} {name}" for name, count in sorted(done.items()))
    print(
        f"load     {searchers} at a time for {seconds:.0f} s: {counts} processes; {len(failures)} failed"
    )
    return failures


def waiting(scene: Scene) -> list[str]:
    times: dict[bool, list[float]] = {False: [], True: []}
    with scene.open() as writer:
        for number in range(2 * HELD):
            held = number % 2 == 1
            with suppress(UndoneError), writer.storage.transaction() if held else nullcontext():
                if held:
                    writer.storage.documents.touch(writer.storage.catalog.ids()[0], 0.0, 0)
                with scene.open() as reader:
                    started = time.perf_counter()
                    reader.search("gpu server")
                    times[held].append(time.perf_counter() - started)
                raise UndoneError
    free, beside = (statistics.median(times[held]) * 1000 for held in (False, True))
    print(
        f"waiting  a search takes {free:.1f} ms, beside a held write lock {beside:.1f} "
        f"ms: ratio {beside / free:.2f}"
    )
    return []


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=240, help="rounds of a command that is killed")
    parser.add_argument("--searchers", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of the parallel load")
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seed", type=int, default=2026)
    args = parser.parse_args()
    server = Listener(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as top, ExitStack() as stack:
        address = None
        if args.engine == "postgres":
            from tests.extras.postgres_server import PostgresServer

            postgres = PostgresServer()
            stack.callback(postgres.stop)
            address = postgres.database("torture")
        scene = Scene(
            Path(top),
            f"http://127.0.0.1:{server.server_address[1]}",
            random.Random(args.seed),
            address,
        )
        failures += kills(scene, args.kills)
        failures += load(scene, args.searchers, args.seconds)
        failures += waiting(scene)
    return reported(failures)


if __name__ == "__main__":
    sys.exit(main())
