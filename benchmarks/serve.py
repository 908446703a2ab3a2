"""Clients at once that search through `hybrid-memory serve` while an ingest writes: `uv run
benchmarks/serve.py`.

The store has about --chunks chunks of made-up notes (benchmarks/notes.py), embedded by the built-in
model, in a temporary folder. Each of --clients asks for --seconds, --pause seconds after each
answer. The queries are words of the notes; no two are the same. Beside them, one note after the
other is changed and ingested. `times_alone` is the p95 in proportion to the median of one client
alone on an idle server; the memory is the server's peak. The last row is a process for each search.
"""

import asyncio
import json
import random
import re
import statistics
import subprocess
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from urllib.parse import quote

import notes
from common import COMMAND, Row, environ, p95, process, run, spread_of

SEED = 5
ALONE = 30  # searches of one client alone
PROCESSES = 8


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
            writer.write(
                f"GET /api/search?q={query}&limit=5 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            )
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
        for failure in await asyncio.gather(
            *(self.ask(until, pause) for _ in range(count)), return_exceptions=True
        ):
            self.failures += [repr(failure)] if failure else []


def writing(folder: Path, environ: dict[str, str], stop: Event) -> None:
    """Change a note and ingest, again and again."""
    number = 0
    while not stop.wait(1):
        number += 1
        (folder / f"{number % 100:05}.md").write_text(
            f"# Changed\n\nThis is change {number} of the note.\n"
        )
        subprocess.run(
            [*COMMAND, "ingest", "--path", folder, "--incremental"],
            env=environ,
            capture_output=True,
            check=True,
        )


def peak(pid: int) -> float:
    """The peak of the resident set in MB, what is shared with files included; 0 where there is no
    /proc.
    """
    status = Path(f"/proc/{pid}/status")
    return (
        int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1000 if status.exists() else 0.0
    )


def measure(args: Namespace) -> Iterator[Row]:
    clients, seconds, pauses, chunks, alone_count, processes = (
        (3, 1.5, [0.0], 60, 3, 2)
        if args.small
        else (args.clients, args.seconds, args.pause, args.chunks, ALONE, PROCESSES)
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "notes"
        notes.write(folder, max(chunks // 10, 1))
        words = re.findall(
            r"[a-z]{4,}", " ".join(path.read_text() for path in sorted(folder.rglob("*.md"))[:500])
        )
        variables = environ(DB_PATH=f"{temporary}/memory.db", PROVIDER="builtin")
        process([*COMMAND, "--quiet", "ingest", "--path", str(folder)], variables)
        server = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0"], env=variables, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout
            port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
            warm, alone = Clients(port, words), Clients(port, words)
            asyncio.run(warm.ask(time.monotonic() + 60, 0, alone_count))
            asyncio.run(alone.ask(time.monotonic() + 60, 0, alone_count))
            yield said(server.pid, "one client", alone, sum(alone.latencies), alone)
            for pause in pauses:
                stop = Event()
                writer = Thread(target=writing, args=(folder, variables, stop))
                writer.start()
                many = Clients(port, words)
                asyncio.run(many.all(clients, seconds, pause))
                stop.set()
                writer.join()
                yield said(
                    server.pid, f"{clients} clients, pause {pause:g} s", many, seconds, alone
                )
        finally:
            server.terminate()
            server.communicate()
        search = [*COMMAND, "search", " ".join(words[:4]), "--limit", "5"]
        taken = [process(search, variables).wall for _ in range(processes)]
        yield {
            "who": "a process for each",
            "searches_a_second": len(taken) / sum(taken),
            **spread_of(taken),
        }


def said(server: int, who: str, clients: Clients, seconds: float, alone: Clients) -> Row:
    row = {
        "who": who,
        "searches_a_second": len(clients.latencies) / seconds,
        **spread_of(clients.latencies),
    }
    row["times_alone"] = p95(clients.latencies) / statistics.median(alone.latencies)
    return row | {"memory_mb": peak(server), "failed": len(clients.failures)}


if __name__ == "__main__":
    run(
        __doc__,
        "who",
        measure,
        ("--clients", {"type": int, "default": 50}),
        ("--seconds", {"type": float, "default": 30}),
        ("--pause", {"type": float, "nargs": "*", "default": [0.0, 5.0]}),
        ("--chunks", {"type": int, "default": 15_000}),
    )
