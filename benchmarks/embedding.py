"""Measure what hybrid-memory itself costs in addition to an embedding server. The server here
answers at once.

    uv run python benchmarks/embedding.py

Ingest: the user and system time of the whole command, divided by the number of its chunks,
including JSON, FTS and bit planes. Search: the wall time of `hybrid-memory search` in a new process
over 1,000 chunks with a query that is not cached. Each search is followed by a script that imports
requests, posts the same request and runs one FTS5 query. The median of the ratios counts.
"""

import json
import math
import random
import statistics
import sys
import tempfile
import threading
from argparse import Namespace
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from common import COMMAND, Row, environ, process, run

DIMS, FILES, SECTIONS, RUNS = 768, 200, 10, 15
NUMBERS = random.Random(1)
CENTERS = [
    [NUMBERS.gauss(0, 1) for _ in range(DIMS)] for _ in range(32)
]  # the vectors are clustered, as those of real texts are


def unit(center: list[float]) -> list[float]:
    """A vector as Ollama sends it: of length 1, each number with as many digits as a float32 has."""
    vector = [x + NUMBERS.gauss(0, 1) for x in center]
    length = math.hypot(*vector)
    return [float(f"{x / length:.8g}") for x in vector]


VECTORS = [json.dumps(unit(center)) for center in CENTERS for _ in range(32)]
WORDS = [
    f"{a}{b}"
    for a in ("ma", "to", "ri", "ke", "su", "lo")
    for b in ("ner", "dal", "pin", "vos", "tem", "gra", "bil", "hun")
]

SCRIPT = """
import json, sqlite3, sys, requests
url, db, query = sys.argv[1:]
requests.post(url + "/api/embed", json={"model": "m", "input": ["search_query: " + query]}, timeout=10).json()
conn = sqlite3.connect(db)
select = "select content from chunks_fts where chunks_fts match ? order by rank limit 10"
rows = conn.execute(select, (query,))
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


def write(folder: Path, files: int, sections: int) -> None:
    folder.mkdir()
    for number in range(files):
        parts = (
            f"# Part {i}\n\n{' '.join(NUMBERS.choices(WORDS, k=70))}\n" for i in range(sections)
        )
        (folder / f"{number}.md").write_text("\n".join(parts))


def measure(args: Namespace) -> Iterator[Row]:
    files, sections, runs = (4, 3, 2) if args.small else (FILES, SECTIONS, RUNS)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Instant)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write(scratch / "many", files, sections)
        variables = environ(PROVIDER="ollama", OLLAMA_URL=url, DB_PATH=str(scratch / "many.db"))
        spent = process([*COMMAND, "--quiet", "ingest", "--path", str(scratch / "many")], variables)
        report = json.loads(spent.output)
        assert report["pending"] == 0, report
        yield {
            "command": "ingest",
            "chunks": report["chunks"],
            "cpu_ms_a_chunk": 1e3 * spent.cpu / report["chunks"],
        }

        write(scratch / "few", files // 2, sections)
        few = scratch / "few.db"
        variables |= {"HYBRID_MEMORY_DB_PATH": str(few)}
        report = json.loads(
            process(
                [*COMMAND, "--quiet", "ingest", "--path", str(scratch / "few")], variables
            ).output
        )
        ours, theirs = [], []
        for number in range(runs + 1):
            query = f"{WORDS[number]} {WORDS[-number]}"
            ours.append(process([*COMMAND, "search", query], variables))
            theirs.append(process([sys.executable, "-c", SCRIPT, url, str(few), query], variables))
    server.shutdown()
    pairs = list(zip(ours[1:], theirs[1:], strict=True))
    yield {
        "command": "search",
        "chunks": report["chunks"],
        "median_ms": 1e3 * statistics.median(each.wall for each in ours),
        "script_median_ms": 1e3 * statistics.median(each.wall for each in theirs),
        "times_the_script": statistics.median(a.wall / b.wall for a, b in pairs),
        "times_its_cpu": statistics.median(a.cpu / b.cpu for a, b in pairs),
    }


if __name__ == "__main__":
    run(__doc__, "command", measure)
