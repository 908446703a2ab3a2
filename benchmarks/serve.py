# /// script
# requires-python = ">=3.11"
# dependencies = ["requests", "mcp>=2"]
# ///
"""Clients at once that search through `hybrid-memory serve` while an ingest writes: `uv run benchmarks/serve.py`.

The store has --chunks chunks of random markdown, embedded by the built-in model, in a temporary folder. Each of --clients asks
for --seconds, --pause seconds after each answer. The queries are words of the notes; no two are the same. Beside them, one note
after the other is changed and ingested. Printed: failures, searches in a second, the latency in milliseconds, its ratio to the
median of one client alone on an idle server, the server's peak memory; and the median of starting a process for each search.
"""

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from urllib.parse import quote

from sync import prose

SEED = 5
PER_NOTE = 10  # chunks, about
ALONE = 30  # searches of one client alone
PROCESSES = 8
COMMAND = [sys.executable, "-m", "hybrid_memory"]


def notes(folder: Path, chunks: int) -> list[str]:
    """Write notes that make about so many chunks; give their words."""
    parts, words = prose(random.Random(SEED)), []
    for number in range(chunks // PER_NOTE):
        text = "\n".join(f"## Part {part}\n\n{body_of(parts)}\n" for part in range(PER_NOTE))
        (folder / f"{number:05}.md").write_text(text)
        words += re.findall(r"[a-z]{4,}", text)[:40]
    return words


def body_of(parts: Iterator[str]) -> str:
    body = ""
    while len(body) < 250:
        body += re.sub(r"^#+ ", "", next(parts).strip(), flags=re.MULTILINE) + "\n\n"
    return body[:450]


class Clients:
    """Ask an address, each over a connection of its own that stays open."""

    def __init__(self, port: int, words: list[str]) -> None:
        self._port, self._words, self._chance = port, words, random.Random(SEED)
        self.latencies: list[float] = []
        self.failures: list[str] = []

    async def ask(self, until: float, pause: float, most: int = 10**9) -> None:
        """Search until then, or so many times."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        for _ in range(most):
            if time.monotonic() >= until:
                break
            query = quote(" ".join(self._chance.sample(self._words, 4)))
            started = time.perf_counter()
            writer.write(f"GET /api/search?q={query}&limit=5 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"content-length: (\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            self.latencies.append(time.perf_counter() - started)
            if " 200 " not in head.split("\r\n")[0] or not json.loads(body)["results"]:
                self.failures.append(head.split("\r\n")[0])
            await asyncio.sleep(pause * self._chance.uniform(0.5, 1.5))
        writer.close()

    async def all(self, count: int, seconds: float, pause: float) -> None:
        until = time.monotonic() + seconds
        for failure in await asyncio.gather(*(self.ask(until, pause) for _ in range(count)), return_exceptions=True):
            self.failures += [repr(failure)] if failure else []


def writing(folder: Path, environ: dict[str, str], stop: Event) -> None:
    """Change a note and ingest, again and again."""
    number = 0
    while not stop.wait(1):
        number += 1
        (folder / f"{number % 100:05}.md").write_text(f"# Changed\n\nThis is change {number} of the note.\n")
        subprocess.run([*COMMAND, "ingest", "--path", folder, "--incremental"], env=environ, capture_output=True, check=True)


def peak(pid: int) -> float:
    """The peak of the resident set in MB, what is shared with files included; 0 where there is no /proc."""
    status = Path(f"/proc/{pid}/status")
    return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1000 if status.exists() else 0.0


def milliseconds(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"p50 {1000 * statistics.median(ordered):.0f} ms, p95 {1000 * ordered[int(0.95 * (len(ordered) - 1))]:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--pause", type=float, nargs="*", default=[0.0, 5.0])
    parser.add_argument("--chunks", type=int, default=15_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "notes"
        folder.mkdir()
        environ = os.environ | {"HYBRID_MEMORY_DB_PATH": f"{temporary}/memory.db", "HYBRID_MEMORY_PROVIDER": "builtin"}
        words = notes(folder, args.chunks)
        report = subprocess.run([*COMMAND, "ingest", "--path", folder, "--quiet"], env=environ, capture_output=True, check=True)
        print(f"{json.loads(report.stdout)['chunks']:,} chunks")
        server = subprocess.Popen([*COMMAND, "serve", "--port", "0"], env=environ, stdout=subprocess.PIPE, text=True)
        assert server.stdout
        port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
        print(f"memory after the start: {peak(server.pid):.0f} MB")

        warm, alone = Clients(port, words), Clients(port, words)
        asyncio.run(warm.ask(time.monotonic() + 60, 0, ALONE))
        asyncio.run(alone.ask(time.monotonic() + 60, 0, ALONE))
        one = statistics.median(alone.latencies)
        print(f"one client on an idle server: {milliseconds(alone.latencies)}")
        for pause in args.pause:
            stop = Event()
            writer = Thread(target=writing, args=(folder, environ, stop))
            writer.start()
            many = Clients(port, words)
            asyncio.run(many.all(args.clients, args.seconds, pause))
            stop.set()
            writer.join()
            p95 = sorted(many.latencies)[int(0.95 * (len(many.latencies) - 1))]
            print(
                f"{args.clients} clients beside an ingest, {pause:g} s between searches: {len(many.failures)} failures, "
                f"{len(many.latencies) / args.seconds:.0f} searches/s, {milliseconds(many.latencies)}: "
                f"the p95 is {p95 / one:.1f} times the median of one alone"
            )
            for failure in many.failures[:3]:
                print("   ", failure)
        print(f"peak memory: {peak(server.pid):.0f} MB")
        server.terminate()
        server.wait()

        times = []
        for _ in range(PROCESSES):
            started = time.perf_counter()
            query = " ".join(random.Random(SEED).sample(words, 4))
            subprocess.run([*COMMAND, "search", query, "--limit", "5"], env=environ, capture_output=True, check=True)
            times.append(time.perf_counter() - started)
        print(f"a process for each search: {milliseconds(times)}")


if __name__ == "__main__":
    main()
