"""Measure what hybrid-memory itself costs in addition to an embedding server. The server here answers at once.

    uv run python benchmarks/embedding.py

Ingest: the user and system time of the whole command, divided by the number of its chunks, including JSON, FTS and bit planes.
Search: the wall time of `hybrid-memory search` in a new process over 1,000 chunks with a query that is not cached. Each search
is followed by a script that imports requests, posts the same request and runs one FTS5 query. The median of the ratios counts.
"""

import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DIMS, FILES, SECTIONS, RUNS = 768, 200, 10, 15
NUMBERS = random.Random(1)
CENTERS = [[NUMBERS.gauss(0, 1) for _ in range(DIMS)] for _ in range(32)]  # the vectors are clustered, as those of real texts are


def unit(center: list[float]) -> list[float]:
    """A vector as Ollama sends it: of length 1, each number with as many digits as a float32 has."""
    vector = [x + NUMBERS.gauss(0, 1) for x in center]
    length = math.hypot(*vector)
    return [float(f"{x / length:.8g}") for x in vector]


VECTORS = [json.dumps(unit(center)) for center in CENTERS for _ in range(32)]
WORDS = [
    f"{a}{b}" for a in ("ma", "to", "ri", "ke", "su", "lo") for b in ("ner", "dal", "pin", "vos", "tem", "gra", "bil", "hun")
]

SCRIPT = """
import json, sqlite3, sys, requests
url, db, query = sys.argv[1:]
requests.post(url + "/api/embed", json={"model": "m", "input": ["search_query: " + query]}, timeout=10).json()
conn = sqlite3.connect(db)
rows = conn.execute("select content from chunks_fts where chunks_fts match ? order by rank limit 10", (query,))
print(json.dumps(rows.fetchall()))
"""


class Instant(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        vectors = ",".join(VECTORS[hash(text) % len(VECTORS)] for text in texts)
        body = b'{"model":"m","embeddings":[' + vectors.encode() + b"]}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_response(200)
        body = b'{"models":[{"name":"nomic-embed-text:latest"}]}'
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def write(folder: Path, files: int) -> None:
    folder.mkdir()
    for number in range(files):
        sections = (f"# Part {i}\n\n{' '.join(NUMBERS.choices(WORDS, k=70))}\n" for i in range(SECTIONS))
        (folder / f"{number}.md").write_text("\n".join(sections))


def command(url: str, db: Path, *args: str) -> list[str]:
    return [sys.executable, "-m", "hybrid_memory", "--provider", "ollama", "--ollama-url", url, "--db", str(db), *args]


def seconds(args: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, every process would compile the package again
    server = ThreadingHTTPServer(("127.0.0.1", 0), Instant)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write(scratch / "many", FILES)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command(url, scratch / "many.db", "ingest", "--path", str(scratch / "many")),
            check=True,
            capture_output=True,
            text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = json.loads(done.stdout)
        assert report["pending"] == 0, report
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(
            f"ingest: {report['chunks']} chunks of {DIMS} dimensions, {spent / report['chunks'] * 1e3:.2f} ms of CPU time a chunk"
        )

        write(scratch / "few", 100)
        few = scratch / "few.db"
        seconds(command(url, few, "ingest", "--path", str(scratch / "few")))
        ours, theirs = [], []
        for run in range(RUNS + 1):
            query = f"{WORDS[run]} {WORDS[-run]}"
            ours.append(seconds(command(url, few, "search", query)))
            theirs.append(seconds([sys.executable, "-c", SCRIPT, url, str(few), query]))
        ratios = [a / b for a, b in zip(ours[1:], theirs[1:], strict=True)]
        print(
            f"search over 1,000 chunks: {statistics.median(ours) * 1e3:.0f} ms, "
            f"the script {statistics.median(theirs) * 1e3:.0f} ms, "
            f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {RUNS} pairs)"
        )
    os._exit(0)


if __name__ == "__main__":
    main()
