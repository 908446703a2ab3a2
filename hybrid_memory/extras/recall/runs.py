"""A log of the runs of each agent's hook, so that a hook that fails or never runs is noticed.

Each agent has a file with a line for each run: the time and the outcome. It contains nothing of
prompts or notes.
"""

import os
import time
from collections import Counter
from contextlib import suppress
from typing import Any

from .state import RUNS, append, state_folder

ANSWERED = "answered"
SILENT = "silent"  # there was nothing to print
FAILED = "failed"
LATE = "late"  # the time limit ended it
NO_MEMORY = "no-memory"  # no workspace that `init` recorded has the folder
OUTCOMES = {
    ANSWERED: "answered",
    SILENT: "had nothing to print",
    FAILED: "failed",
    LATE: "ran out of time",
    NO_MEMORY: "in a folder without a memory",
}
MOST_BYTES = 200_000  # of a log, some 10,000 runs; then a new one begins
DAYS = 7


def note_run(host: str, outcome: str) -> None:
    """Log a run that ends now. A full disk or a read-only home is no reason to fail."""
    path = _path(host)
    with suppress(OSError):
        if os.path.exists(path) and os.stat(path).st_size > MOST_BYTES:
            os.unlink(path)
        append(path, f"{time.time():.0f} {outcome}\n")


def summary(host: str) -> dict[str, Any]:
    """When an agent's hook last ran (seconds since 1970, None if never), how often in the last
    DAYS days with each outcome, and both as `text`.
    """
    runs = _runs(host)
    if not runs:
        return {"last": None, "counts": {}, "text": "its hook has never run"}
    last = runs[-1][0]
    oldest = time.time() - DAYS * 86400
    counts = Counter(outcome for when, outcome in runs if when >= oldest)
    text = f"its hook last ran {time.strftime('%Y-%m-%d %H:%M', time.localtime(last))}"
    if counts:
        parts = [f"{counts[key]:,} {words}" for key, words in OUTCOMES.items() if counts[key]]
        text += f"; of {counts.total():,} runs in {DAYS} days, {', '.join(parts)}"
    return {"last": last, "counts": dict(counts), "text": text}


def _path(host: str) -> str:
    return os.path.join(state_folder(), f"{RUNS}-{host}")


def _runs(host: str) -> list[tuple[int, str]]:
    runs = []
    with suppress(OSError), open(_path(host), encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError):  # a line that another process is writing
                when, *_, outcome = line.split()  # between them, earlier versions had the event
                runs.append((int(when), outcome))
    return runs
