"""Time the first ingest of a folder: `uv run benchmarks/ingest.py --docs DIR --against REV`.

    keyword      with `--provider none`
    builtin      with the built-in model
    floor        SQLite alone, writing the rows of that database into tables of the same form, in one process

`--against` measures another revision of this repository, too, in a temporary worktree and with the same Python; the two take
turns, so that a noisy machine affects both equally. Without --docs, the files are random markdown (seeded): --files of 4 KB.
Seconds are wall time and, behind it, CPU time of all processes; each figure is the median of --rounds. Memory is the highest sum
of the proportional set sizes (PSS) of all processes, looked at ten times a second; Linux only. --small takes a few seconds.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SMALL_FILES = 300
GROUP = 2000  # rows of the floor in one transaction
PROVIDERS = {"keyword": "none", "builtin": "builtin"}
WRITTEN = ("chunks", "chunks_fts", "documents", "vector_blocks", "meta", "folders")


def memory(pid: int) -> int:
    """The bytes of a process and its children, shared pages counted once; 0 where that cannot be seen."""
    found = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                found = int(line.split()[1]) * 1024
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += sum(memory(int(child)) for child in (task / "children").read_text().split())
    except OSError:  # it has ended
        pass
    return found


def ingest(root: Path, folder: Path, db: Path, provider: str) -> dict[str, float]:
    """Run the command of the checkout at `root` into a new database."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("HYBRID_MEMORY_", "OLLAMA_"))}
    environ |= {"PYTHONPATH": str(root), "HYBRID_MEMORY_CONFIG": str(db.with_name("config.json"))}
    arguments = ["--quiet", "--db", str(db), "ingest", "--path", str(folder), "--provider", provider]
    before, began, peak = os.times(), time.perf_counter(), 0
    process = subprocess.Popen(
        [sys.executable, "-m", "hybrid_memory", *arguments], env=environ, cwd=root, stdout=subprocess.DEVNULL
    )
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.1):
            peak = max(peak, memory(process.pid))

    watching = threading.Thread(target=watch)
    watching.start()
    status = process.wait()
    seconds = time.perf_counter() - began
    ended.set()
    watching.join()
    if status:
        raise SystemExit(f"{root}: the ingest ended with {status}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall": seconds, "cpu": cpu, "megabytes": peak / 1e6, "database": size(db) / 1e6}


def size(db: Path) -> int:
    return sum(path.stat().st_size for path in db.parent.glob(f"{db.name}*"))


def floor(db: Path, copy: Path) -> dict[str, float]:
    """Write the rows of a database into a new one, table by table, through nothing but sqlite3."""
    with closing(sqlite3.connect(db)) as source:
        schema = source.execute("select sql from sqlite_schema where sql is not null and name not like 'chunks_fts_%'").fetchall()
        has_rows = {name for (name,) in source.execute("select name from sqlite_schema where type = 'table'")} & set(WRITTEN)
        rows = {
            table: source.execute(f"select {'rowid, ' * (table == 'chunks_fts')}* from {table}").fetchall() for table in has_rows
        }
        names = {table: columns(source, table) for table in has_rows}
        (page,) = source.execute("pragma page_size").fetchone()
    before, began = os.times(), time.perf_counter()
    with closing(sqlite3.connect(copy, isolation_level=None)) as conn:
        conn.execute(f"pragma page_size = {page}")
        conn.execute("pragma journal_mode = wal")
        for (statement,) in schema:
            if not statement.startswith("CREATE TABLE 'chunks_fts"):
                conn.execute(statement)
        for table, all_rows in rows.items():
            insert = f"insert into {table} ({', '.join(names[table])}) values ({', '.join('?' * len(names[table]))})"
            for start in range(0, len(all_rows), GROUP):
                conn.execute("begin immediate")
                conn.executemany(insert, all_rows[start : start + GROUP])
                conn.execute("commit")
    after = os.times()
    cpu = after.user + after.system - before.user - before.system
    return {"wall": time.perf_counter() - began, "cpu": cpu, "megabytes": 0.0, "database": size(copy) / 1e6}


def columns(conn: sqlite3.Connection, table: str) -> list[str]:
    """The columns that a select of everything gives, with the rowid of the keyword index, which is that of the chunk."""
    names = [name for _, name, *_ in conn.execute(f"pragma table_info({table})")]
    return ["rowid", *names] if table == "chunks_fts" else names


@contextmanager
def worktree(revision: str, top: Path) -> Iterator[Path]:
    """Another revision of the repository, checked out into a temporary folder."""
    place = top / "against"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(place), revision], check=True)
    try:
        yield place
    finally:
        subprocess.run([*git, "remove", "--force", str(place)], check=True)


def generated(folder: Path, files: int) -> None:
    """Files of 4 KB, as benchmarks/sync.py makes them; in its own process, because memory is measured."""
    subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "sync.py"), "--files", str(files), "--make", str(folder)], check=True
    )


def measured(
    sides: dict[str, Path], folder: Path, top: Path, rounds: int, kinds: list[str]
) -> dict[str, dict[str, dict[str, float]]]:
    """kind -> side -> figures. The sides take turns."""
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for number in range(rounds):
        for kind in kinds:
            for side, root in sides.items():
                db = top / f"{kind}.{side}.{number}.db"
                found.setdefault((kind, side), []).append(ingest(root, folder, db, PROVIDERS[kind]))
            copy = top / "floor.db"
            found.setdefault((kind, "floor"), []).append(floor(top / f"{kind}.now.{number}.db", copy))
            for path in top.glob("*.db*"):
                path.unlink()
    return {
        kind: {
            side: {key: statistics.median(one[key] for one in found[kind, side]) for key in found[kind, side][0]}
            for side in [*sides, "floor"]
        }
        for kind in kinds
    }


def show(answer: dict[str, Any]) -> None:
    print(f"{answer['files']:,} files, {answer['bytes'] / 1e6:.1f} MB, {answer['cores']} cores, {answer['rounds']} rounds\n")
    print("| | | wall s | CPU s | MB/s | memory MB | database MB | times as fast | times the floor |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind, by_side in answer["kinds"].items():
        for side, at in by_side.items():
            rate, ratio = answer["bytes"] / 1e6 / at["wall"], at["wall"] / by_side["now"]["wall"]
            faster = f"now {ratio:.2f}" if side == "against" else ""
            floors = at["wall"] / by_side["floor"]["wall"]
            figures = f"{at['wall']:.2f} | {at['cpu']:.2f} | {rate:.1f} | {at['megabytes']:.0f} | {at['database']:.0f}"
            print(f"| {kind} | {side} | {figures} | {faster} | {floors:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, metavar="DIR", help="folder of markdown files (default: generated ones)")
    parser.add_argument("--copies", type=int, default=1, help="ingest the folder so many times over, each copy a subfolder")
    parser.add_argument("--files", type=int, default=5000, help="generated files of 4 KB (default: 5000)")
    parser.add_argument("--against", metavar="REV", help="a revision to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind", choices=PROVIDERS, action="append", help="only this one (default: all)")
    parser.add_argument("--small", action="store_true", help=f"{SMALL_FILES} files, one round")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    rounds = 1 if args.small else args.rounds
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        (top / "config.json").write_text("{}")
        folder = top / "memory"
        if args.docs:
            folder.mkdir()
            for number in range(args.copies):
                subprocess.run(["cp", "-r", str(args.docs), str(folder / str(number))], check=True)
        else:
            generated(folder, SMALL_FILES if args.small else args.files)
        sizes = [path.stat().st_size for path in folder.rglob("*.md")]
        kinds = args.kind or list(PROVIDERS)
        if args.against:
            with worktree(args.against, top) as other:
                found = measured({"now": ROOT, "against": other}, folder, top, rounds, kinds)
        else:
            found = measured({"now": ROOT}, folder, top, rounds, kinds)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    answer = {"files": len(sizes), "bytes": sum(sizes), "cores": cores, "rounds": rounds, "kinds": found}
    if args.json:
        print(json.dumps(answer, indent=2))
    else:
        show(answer)


if __name__ == "__main__":
    main()
