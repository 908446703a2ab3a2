# /// script
# requires-python = ">=3.11"
# dependencies = ["requests"]
# ///
"""A week of a heartbeat: `uv run benchmarks/heartbeat.py` runs `update --quiet` every six hours of
seven made-up days.

Between two beats notes are written, edited, renamed, deleted and put back as they were, and agents
store texts. The embedding server is down on Tuesday and on Friday. On Wednesday another model is
chosen, and the server fails in the middle of the change. What each beat prints to standard error is
what cron would mail. After the week the store must hold what a fresh ingest gives, and no text may
have been embedded twice by one model. The exit code is 1 if not.
"""

import argparse
import random
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from torture import MODELS, Listener, Model, Scene  # it puts the package on the path

from hybrid_memory import HybridStore  # isort: skip
from hybrid_memory.storage.sqlite.engine import SQLiteStorage  # isort: skip

DAYS = "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
HOURS = "06:00", "12:00", "18:00", "24:00"
DOWN = "http://127.0.0.1:9"  # the discard port
CHANGED = 12  # files between two beats
FAILS_AFTER = 9  # requests, where the server fails midway

CONTENTS = """
select d.doc_id, d.content_hash, c.chunk_id, c.heading_path, c.content, c.start_line, c.embedding
from   documents d left join chunks c using (doc_id)
where  d.source_path is not null
order  by d.doc_id, c.id
"""


def contents(store: HybridStore) -> list[tuple[Any, ...]]:
    """Everything that a store has from files."""
    storage = store.storage
    assert isinstance(storage, SQLiteStorage)
    return storage.connection.execute(CONTENTS).fetchall()


class Failing(Model):
    """Fails after so many requests, until it is told not to."""

    requests_left = 10**9

    def do_POST(self) -> None:
        Failing.requests_left -= 1
        if Failing.requests_left < 0:
            self.send_error(404)
        else:
            super().do_POST()


class Week:
    def __init__(self, top: Path, url: str, seed: int) -> None:
        self.scene, self.url = Scene(top, url, random.Random(seed), None), url
        self.before: dict[Path, str] = {}  # texts as they were before their last change
        self.stored: dict[str, str] = {}

    def live(self) -> None:
        """What people and agents do between two beats."""
        chance = self.scene.chance
        paths = sorted(self.scene.folder.glob("*.md"))
        for path in chance.sample(paths, CHANGED // 3):
            self.before[path] = path.read_text()
        self.scene.change(CHANGED)
        for path in chance.sample(sorted(self.before), min(len(self.before), CHANGED // 4)):
            path.write_text(self.before[path])
        doc_id = f"d{chance.randrange(6)}"
        self.stored[doc_id] = self.scene.words(100)
        self.scene.run("store", "--doc-id", doc_id, "--text", self.stored[doc_id], "--quiet")

    def beat(self, day: str, hour: str) -> tuple[int, list[str]]:
        """The exit status, and the lines of standard error."""
        self.scene.environ["HYBRID_MEMORY_OLLAMA_URL"] = (
            DOWN if day in ("Tuesday", "Friday") else self.url
        )
        if (day, hour) == ("Wednesday", HOURS[0]):
            self.scene.another_model()
            Failing.requests_left = FAILS_AFTER
        status, _, error = self.scene.run("update", "--quiet")
        Failing.requests_left = 10**9
        return status, error.splitlines()

    def differences(self) -> list[str]:
        """What a fresh ingest would have made otherwise."""
        fresh = self.scene.db + ".fresh"
        self.scene.run("ingest", "--path", str(self.scene.folder), "--db", fresh)
        with (
            HybridStore(self.scene.db, {"provider": "none"}) as store,
            HybridStore(fresh, {"provider": "none"}) as other,
        ):
            ours = contents(store)
            theirs = contents(other)
            found = {id: store.storage.catalog.document(id).content for id in self.stored}
            pending = store.stats()["pending_count"]
        problems = (
            []
            if ours == theirs
            else [f"{len(set(ours) ^ set(theirs))} chunks are not those of a fresh ingest"]
        )
        problems += [
            f"the stored text {id} is another one"
            for id, text in self.stored.items()
            if found[id] != text
        ]
        return problems + ([f"{pending} chunks are pending"] if pending else [])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--small", action="store_true", help="two days instead of seven")
    args = parser.parse_args()
    days = DAYS[1:3] if args.small else DAYS
    server = Listener(("127.0.0.1", 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as top:
        week = Week(Path(top), f"http://127.0.0.1:{server.server_address[1]}", args.seed)
        week.scene.run("ingest", "--path", str(week.scene.folder))
        for day in days:
            for hour in HOURS:
                week.live()
                status, lines = week.beat(day, hour)
                failures += [f"{day} {hour}: exit {status}"] if status else []
                for line in lines:
                    print(f"{day:9} {hour}  {line}")
        twice = [text for text, count in Counter(Model.embedded).items() if count > 1]
        failures += [f"{len(twice)} texts were embedded twice by one model"] if twice else []
        failures += week.differences() + week.scene.damage()
    asked = Counter(model for model, _ in Model.embedded)
    print(
        f"{len(days) * len(HOURS)} beats; embedded by "
        f"{', '.join(f'{model} {asked[model]}' for model in MODELS)}"
    )
    for failure in failures:
        print(f"FAILED    {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
