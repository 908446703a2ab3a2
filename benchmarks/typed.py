"""What each key costs while one types a query on the page: `uv run benchmarks/typed.py`.

The store has about --chunks chunks of made-up notes (benchmarks/notes.py), embedded by the built-in
model; --db takes a store that is there, with the notes that `notes.py` makes. Each of --queries
queries is one to three words of the notes; every fifth has a letter left out. "key" is the CPU
time of the server for each key from the third letter on, and the time until its answer. "page" is
Chromium, in which every fourth query is typed with --pause ms between keys: the time from the last
key to the results of the whole query, and how often results of another query were shown without a
sign (`stale`). "page" needs playwright and Chromium, else it is left out.
"""

import json
import random
import re
import subprocess
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import notes
from common import COMMAND, Row, environ, process, run, spread_of

from tests.extras.page.chromium import chromium

SEED = 7
SLOWLY = 4  # every fourth query is typed in the browser
SHOWN = {"limit": 20, "explain": "true", "marks": "true", "rerank": "false", "per_doc": 4}
TYPED = {**SHOWN, "typed": "true", "mode": "keyword"}
LAST_KEY = 120  # seconds at most
# In the page: when the last key came, and when what is shown became the answer to it. An answer is
# looked at when it is drawn, by the sign that it is old.
WATCH = """
() => {
  const results = document.getElementById("results");
  const field = document.getElementById("q");
  window.typed = { last: 0, answered: 0, stale: 0, query: "" };
  field.addEventListener("input", () => {
    const query = field.value.trim();
    if (query === window.typed.query) return;
    Object.assign(window.typed, { last: performance.now(), answered: 0, query });
    const isShown = !results.hidden && results.hasChildNodes();
    if (isShown && !results.hasAttribute("data-old")) window.typed.stale += 1;
  });
  new MutationObserver(() => {
    if (results.hasAttribute("data-old") || window.typed.answered) return;
    requestAnimationFrame(() => { window.typed.answered = performance.now(); });
  }).observe(results, { attributes: true, attributeFilter: ["data-old"] });
}
"""


def queries(count: int, words: list[str]) -> list[str]:
    """Return queries of one to three words; every fifth has a letter left out of its longest."""
    chance = random.Random(SEED)
    made = []
    for number in range(count):
        chosen = chance.sample(words, chance.choice((1, 2, 2, 3)))
        if number % 5 == 0:
            word = max(chosen, key=len)
            at = len(word) // 2
            chosen[chosen.index(word)] = word[:at] + word[at + 1 :]
        made.append(" ".join(chosen))
    return made


def beginnings(query: str) -> list[str]:
    """Return what stands in the field after each key from the third on."""
    return [query[:end] for end in range(3, len(query) + 1)]


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of all threads of a process; Linux only: the clock's number is made as
    clock_getcpuclockid(3) makes it.
    """
    return time.clock_gettime((~pid << 3) | 2)


def of_keys(url: str, pid: int, asked: list[str]) -> Row:
    """Return what the server takes for each key, one after the other."""
    spent = []
    waited = []
    for query in asked:
        for text in beginnings(query):
            began = time.perf_counter()
            before = cpu_of(pid)
            with urlopen(f"{url}api/search?{urlencode({'q': text, **TYPED})}") as answer:
                json.load(answer)
            waited.append(time.perf_counter() - began)
            spent.append(cpu_of(pid) - before)
    return {
        "who": "key", "queries": len(asked), "keys": len(spent), **spread_of(spent, "cpu"),
        **spread_of(waited), "failed": 0,
    }  # fmt: skip


def of_page(url: str, asked: list[str], pause: float) -> Row | None:
    """Return how long the page takes after the last key; None without a browser."""
    program = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if program is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(bypass_csp=True)  # its policy forbids to wait for a condition
        page.set_default_timeout(1000 * LAST_KEY)
        page.goto(url)
        page.evaluate(WATCH)
        waited = [_typed(page, query, pause) for query in asked]
        stale = page.evaluate("window.typed.stale")
        browser.close()
    return {
        "who": "page", "queries": len(asked), **spread_of(waited), "stale": stale, "failed": stale,
    }  # fmt: skip


def _typed(page: Any, query: str, pause: float) -> float:
    page.fill("#q", "")
    page.wait_for_function("document.documentElement.dataset.view === 'overview'")
    page.type("#q", query, delay=pause)
    page.wait_for_function("window.typed.answered > 0")
    return float(page.evaluate("(window.typed.answered - window.typed.last) / 1000"))


def measure(args: Namespace) -> Iterator[Row]:
    count, chunks = (5, 60) if args.small else (args.queries, args.chunks)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "notes"
        notes.write(folder, max(min(chunks // 10, 500), 1))
        texts = " ".join(path.read_text() for path in sorted(folder.rglob("*.md")))
        words = sorted(set(re.findall(r"\b[a-z]{4,}\b", texts)))
        variables = environ(DB_PATH=args.db or f"{temporary}/memory.db", PROVIDER="builtin")
        if args.db is None or args.small:
            variables["HYBRID_MEMORY_DB_PATH"] = f"{temporary}/memory.db"
            notes.write(folder, max(chunks // 10, 1))
            process([*COMMAND, "--quiet", "ingest", "--path", str(folder)], variables)
        asked = queries(count, words)
        server = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0"], env=variables, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout
            port = re.search(r":(\d+)/", server.stdout.readline())[1]
            url = f"http://localhost:{port}/"
            of_keys(url, server.pid, asked[:2])  # imports and caches of the first search
            yield of_keys(url, server.pid, asked)
            row = of_page(url, asked[::SLOWLY], args.pause)
            if row:
                yield row
        finally:
            server.terminate()
            server.communicate()


if __name__ == "__main__":
    run(
        __doc__,
        "who",
        measure,
        ("--queries", {"type": int, "default": 200}),
        ("--chunks", {"type": int, "default": 66_000}),
        ("--pause", {"type": float, "default": 100.0, "help": "ms between two keys"}),
        ("--db", {"help": "a store of such notes that is there"}),
    )
