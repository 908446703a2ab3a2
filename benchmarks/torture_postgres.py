"""Write to a memory on PostgreSQL from many processes that are killed now and then, and search it
all the while.

    uv run benchmarks/torture_postgres.py [--seconds 60] [--writers 10] [--readers 20] [--restart]

A server is started for it. Every writer stores and deletes texts of its own, and notes what was
acknowledged; it is killed at random moments and started again. With --restart, the server itself is
stopped and started now and then. In the end what was acknowledged must be there, whole and
searchable, every search must have answered, and `doctor --thorough` must be content.
"""

import argparse
import multiprocessing
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import common  # noqa: F401  # it puts the package and the tests on the path

from hybrid_memory import HybridStore
from hybrid_memory.errors import StoreError
from hybrid_memory.extras.doctor import examine
from tests.extras.postgres_server import PostgresServer

SETTINGS = {"provider": "builtin"}
PAUSE = 5.0  # seconds between two kills, at most
WORDS = (
    "gpu server password port backup mirror kettle garden violin ledger tide lantern marble orbit heron"
).split()
STORED, DELETED, TRIED = "stored", "deleted", "tried"


def write(address: str, number: int, notes: str, seed: int) -> None:
    """Store and delete texts until killed; a line of the notes is written before and after each."""
    chance = random.Random(seed)
    with open(notes, "a", encoding="utf-8", buffering=1) as file, opened(address) as store:
        while True:
            doc_id = f"w{number}-{chance.randrange(20)}"
            text = "\n\n".join(
                f"# Part {n}\n\n{' '.join(chance.choices(WORDS, k=40))} x{chance.randrange(10**9)}"
                for n in range(3)
            )
            line = text.replace("\n", "|")
            is_stored = chance.random() < 0.8
            file.write(f"{TRIED} {doc_id} {line if is_stored else ''}\n")
            try:
                _ = store.store(doc_id, text) if is_stored else store.delete(doc_id)
            except StoreError as error:
                if "was lost" not in str(error):
                    raise
                continue
            file.write(f"{STORED if is_stored else DELETED} {doc_id} {line if is_stored else ''}\n")


def opened(address: str) -> HybridStore:
    """The store, as soon as the server is there."""
    while True:
        try:
            return HybridStore(address, SETTINGS)
        except StoreError:
            time.sleep(0.2)


def search(address: str, failures: str, until: float, seed: int) -> None:
    """Search until it is time; what fails is noted."""
    chance = random.Random(seed)
    count = 0
    with (
        HybridStore(address, SETTINGS, create=False) as store,
        open(failures, "a", encoding="utf-8", buffering=1) as file,
    ):
        while time.time() < until:
            try:
                found = store.search(
                    " ".join(chance.sample(WORDS, 3)),
                    mode=chance.choice(("keyword", "vector", "hybrid")),
                )
                count += 1
                if not found:
                    file.write("a search found nothing\n")
            except Exception as error:
                file.write(f"{type(error).__name__}: {error}\n")
        file.write(f"count {count}\n")


def states(path: Path) -> dict[str, set[str]]:
    """What each text of a writer may be: the last that was acknowledged, or one that was tried
    after it ("" if deleted).
    """
    may: dict[str, set[str]] = {}
    for line in path.read_text("utf-8").split("\n")[:-1]:
        what, doc_id, text = line.split(" ", 2)
        if what == TRIED:
            may.setdefault(doc_id, {""}).add(text)
        else:
            may[doc_id] = {text}
    return may


def run(
    server: PostgresServer,
    folder: Path,
    *,
    seconds: float,
    writers: int,
    readers: int,
    restart: bool,
) -> list[str]:
    """Everything that went wrong."""
    address = server.database("torture")
    with HybridStore(address, SETTINGS) as store:
        store.store("always", " ".join(WORDS))
    context = multiprocessing.get_context("spawn")
    until = time.time() + seconds
    chance = random.Random(1)
    notes = [folder / f"writer-{number}" for number in range(writers)]
    failures = [folder / f"reader-{number}" for number in range(readers)]

    def writer(number: int) -> multiprocessing.process.BaseProcess:
        return context.Process(
            target=write, args=(address, number, str(notes[number]), chance.randrange(10**9))
        )

    of_readers = [
        context.Process(target=search, args=(address, str(path), until, n))
        for n, path in enumerate(failures)
    ]
    of_writers = [writer(number) for number in range(writers)]
    for process in (*of_readers, *of_writers):
        process.start()
    problems = []
    kills = restarts = 0
    while time.time() < until:
        time.sleep(PAUSE * chance.random())
        number = chance.randrange(writers)
        if of_writers[number].exitcode is not None:
            problems.append(f"writer {number} ended with {of_writers[number].exitcode}")
        of_writers[number].kill()
        of_writers[number].join()
        kills += 1
        of_writers[number] = writer(number)
        of_writers[number].start()
        if restart and chance.random() < 0.05:
            server.halt()
            server.start()
            restarts += 1
    for process in of_writers:
        process.kill()
        process.join()
    for process in of_readers:
        process.join()
    count = 0
    for path in failures:
        *told, last = path.read_text("utf-8").strip().split("\n")
        problems += told
        count += int(last.removeprefix("count "))
    stored = 0
    with HybridStore(address, SETTINGS, create=False) as store:
        for path in notes:
            for doc_id, may in states(path).items() if path.exists() else ():
                row = (
                    store.storage.catalog.document(doc_id)
                    if store.storage.catalog.by_id(doc_id)
                    else None
                )
                text = (row.content or "").replace("\n", "|") if row else ""
                stored += bool(text)
                if text not in may:
                    problems.append(
                        f"{doc_id} is {text[:60]!r}, and should be one of {len(may)} others"
                    )
                elif text and doc_id not in [
                    hit["doc_id"] for hit in store.search(text.rsplit(" ", 1)[1], mode="keyword")
                ]:
                    problems.append(f"{doc_id} is not found by its last word")
        problems += [
            finding.text for finding in examine(store, thorough=True) if finding.ok is False
        ]
    tried = sum(path.read_text("utf-8").count(TRIED) for path in notes if path.exists())
    print(
        f"{count} searches, {tried} writes, {kills} killed writers, {restarts} restarts, "
        f"{stored} texts in the end",
        file=sys.stderr,
    )
    return problems


def main() -> int:
    """Run it, and print what went wrong."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--writers", type=int, default=10)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--restart", action="store_true")
    args = parser.parse_args()
    server = PostgresServer()
    try:
        with tempfile.TemporaryDirectory() as folder:
            problems = run(server, Path(folder), **vars(args))
    finally:
        server.stop()
    print("\n".join(problems) or "nothing went wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
