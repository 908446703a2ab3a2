"""Time searches with filters against the same searches without: `uv run benchmarks/filters.py`.

Two stores are made in a temporary folder, of words that are drawn at random (seeded):

    long     a few texts of several megabytes, put in by `store`
    short    many notes of a few short sections, with tags, dates and collections

Every filter chooses all, half or 1 % of the documents. The searches take turns in one process, and
the time is that of the processor, so that a noisy machine affects all of them equally; the first
round is not counted. `times_without` is the median of a search with the filter, divided by the
median without. Then the time of one call each of what looks at documents or counts chunks.
"""

import random
import re
import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from common import Row, run

from hybrid_memory import HybridStore
from hybrid_memory.browse.lists import documents
from hybrid_memory.browse.passage import read
from hybrid_memory.documents.document import Document
from hybrid_memory.extras import doctor
from hybrid_memory.indexing.pending import embed_pending
from hybrid_memory.search.request import Request
from hybrid_memory.storage.filters import Filters

SEED = 7
PAGES = Path(__file__).resolve().parents[1] / "docs"
GROUP = 500  # documents of a transaction
QUERIES = ("hello", "hello password", "how long does an embedding server wait")
WORD = re.compile(r"[a-z]{2,}")
RARE = {"hello": 1 / 300, "password": 1 / 50}  # word -> share of all words

LONG = {"--in '*'": Filters(inside="*"), "--in 'long/1*'": Filters(inside="long/1*")}
SHORT = {
    "--in '*'": Filters(inside="*"),
    "--in 'notes/0*' (half)": Filters(inside="notes/0*"),
    "--in 'notes/[01]00*' (1 %)": Filters(inside="notes/[01]00*"),
    "--tag all": Filters(tags=["all"]),
    "--tag half": Filters(tags=["half"]),
    "--tag few (1 %)": Filters(tags=["few"]),
    "--since 2000": Filters(since="2000-01-01"),
    "--since 2025-07 (half)": Filters(since="2025-07"),
    "--since 2025-12-28 (1 %)": Filters(since="2025-12-28"),
    "--collection notes (half)": Filters(collection="notes"),
    "--collection few (1 %)": Filters(collection="few"),
    "--where kind=note (all)": Filters(where={"kind": "note"}),
}


class Words:
    """Texts of a given number of words, which are as frequent as in this project's own pages, so
    that the model knows them.
    """

    def __init__(self) -> None:
        self._rng = random.Random(SEED)
        pages = [page.read_text("utf-8").lower() for page in sorted(PAGES.glob("*.md"))]
        self._words = [word for page in pages for word in WORD.findall(page)]
        self._words += [
            word for word, share in RARE.items() for _ in range(round(share * len(self._words)))
        ]

    def text(self, count: int) -> str:
        return " ".join(self._rng.choices(self._words, k=count))


def long_documents(count: int, chunks: int) -> Iterator[Document]:
    words = Words()
    for number in range(count):
        sections = (f"# {words.text(3)}\n\n{words.text(70)}" for _ in range(chunks // count))
        yield Document(f"long/{number}", "\n\n".join(sections), {})


def short_notes(count: int, chunks: int) -> Iterator[Document]:
    words = Words()
    for number in range(count):
        text = "\n\n".join(f"# {words.text(3)}\n\n{words.text(15)}" for _ in range(chunks))
        tags = ["all", *["half"] * (number % 2), *["few"] * (number % 100 == 1), words.text(1)]
        day = 365 * number // count
        collection = "few" if number % 100 == 1 else "notes" if number % 2 else "other"
        date = f"2025-{day // 31 + 1:02}-{day % 28 + 1:02}"
        metadata = {"tags": tags, "kind": "note", "title": words.text(4), "date": date}
        yield Document(
            f"notes/{number % 2}{number // 2 % 100:02}/{number}.md",
            text,
            metadata,
            collection=collection,
        )


def fill(store: HybridStore, documents: Iterator[Document]) -> None:
    while group := [store.prepare(document) for document in islice(documents, GROUP)]:
        with store.storage.transaction():
            for prepared in group:
                store.storage.documents.put(prepared)
    embed_pending(store.storage, store.embedder)


def searches(
    store: HybridStore, filters: dict[str, Filters], mode: str, rounds: int
) -> Iterator[Row]:
    sides: dict[str, Filters | None] = {"no filter": None, **filters}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(rounds + 1):
        for query in QUERIES:
            for side, chosen in sides.items():
                began = time.process_time()
                store.answer(query, Request(10, mode, filters=chosen))
                if number:
                    seconds[side].append(time.process_time() - began)
    plain = statistics.median(seconds["no filter"])
    for side, taken in seconds.items():
        middle = statistics.median(taken)
        yield {
            "what": f"{mode}: {side}",
            "median_ms": 1e3 * middle,
            "times_without": middle / plain,
        }


def others(store: HybridStore, doc_id: str) -> Iterator[Row]:
    calls: dict[str, Callable[[], object]] = {
        "search --context 2": lambda: store.answer(QUERIES[0], Request(10, context=2)),
        "list": lambda: documents(store),
        "list --in 'long/1*'": lambda: documents(store, filters=Filters(inside="long/1*")),
        "stats": store.stats,
        "get, 200 lines": lambda: read(store, doc_id),
        "get, the last line": lambda: read(store, f"{doc_id}#L3"),
        "doctor": lambda: doctor.examine(store),
        "delete of another": lambda: store.delete("small"),
    }
    for name, call in calls.items():
        taken = []
        for _ in range(5):
            store.store("small", "a few words")
            began = time.process_time()
            call()
            taken.append(time.process_time() - began)
        yield {"what": name, "median_ms": 1e3 * statistics.median(taken)}


def measure(args: Namespace) -> Iterator[Row]:
    long, long_chunks, count, per_note, rounds = (
        (2, 40, 200, 2, 1)
        if args.small
        else (args.long, args.long_chunks, args.notes, args.note_chunks, args.turns)
    )
    made = {
        "long": (LONG, lambda: long_documents(long, long_chunks)),
        "short": (SHORT, lambda: short_notes(count, per_note)),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (filters, documents) in made.items():
            path = Path(args.keep or folder) / f"{name}.db"
            is_new = not path.exists()
            with HybridStore(path, {"provider": "builtin"}) as store:
                if is_new:
                    fill(store, documents())
                for mode in args.mode.split(","):
                    yield from (
                        {"store": name} | row for row in searches(store, filters, mode, rounds)
                    )
                if name == "long":
                    yield from ({"store": name} | row for row in others(store, "long/0"))


if __name__ == "__main__":
    run(
        __doc__,
        "store what",
        measure,
        ("--long", {"type": int, "default": 13, "help": "long texts (default: %(default)s)"}),
        (
            "--long-chunks",
            {
                "type": int,
                "default": 43_000,
                "help": "chunks of all of them (default: %(default)s)",
            },
        ),
        ("--notes", {"type": int, "default": 22_000, "help": "short notes (default: %(default)s)"}),
        (
            "--note-chunks",
            {"type": int, "default": 3, "help": "chunks of each (default: %(default)s)"},
        ),
        (
            "--mode",
            {
                "default": "keyword,hybrid",
                "help": "modes, with commas between them (default: %(default)s)",
            },
        ),
        (
            "--turns",
            {
                "type": int,
                "default": 7,
                "help": "how often each search is timed (default: %(default)s)",
            },
        ),
        (
            "--keep",
            {"metavar": "DIR", "help": "keep the stores here, or measure those that are here"},
        ),
    )
