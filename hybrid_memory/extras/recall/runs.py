"""A log of the runs of each agent's hook, so that a hook that fails or never runs is noticed.

Each agent has a file with a line for each run: the time, what was asked, and the outcome. It
contains nothing of prompts or notes.
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
MOST_BYTES = 200_000  # of a log; then its older half is dropped
DAYS = 7


def note_run(host: str, kind: str, outcome: str) -> None:
    """Log a run that ends now. A full disk or a read-only home is no reason to fail."""
    path = _path(host)
    with suppress(OSError):
        append(path, f"{time.time():.0f} {kind} {outcome}\n")
        if os.stat(path).st_size > MOST_BYTES:
            _halve(path)


def summary(host: str) -> dict[str, Any]:
    """When an agent's hook last ran (seconds since 1970, None if never), how often in the last
    DAYS days with each outcome, and both as `text`.
    """
    runs = _runs(host)
    if not runs:
        return {"last": None, "counts": {}, "text": "its hook has never run"}
    last = runs[-1][0]
    oldest = time.time() - DAYS * 86400
    counts = Counter(outcome for when, _, outcome in runs if when >= oldest)
    text = f"its hook last ran {time.strftime('%Y-%m-%d %H:%M', time.localtime(last))}"
    if counts:
        parts = [f"{counts[key]:,} {words}" for key, words in OUTCOMES.items() if counts[key]]
        text += f"; of {counts.total():,} runs in {DAYS} days, {', '.join(parts)}"
    return {"last": last, "counts": dict(counts), "text": text}


def _path(host: str) -> str:
    return os.path.join(state_folder(), f"{RUNS}-{host}")


def _runs(host: str) -> list[tuple[int, str, str]]:
    runs = []
    with suppress(OSError), open(_path(host), encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError):  # a line that another process is writing
                when, kind, outcome = line.split()
                runs.append((int(when), kind, outcome))
    return runs


def _halve(path: str) -> None:
    with open(path, "rb") as file:
        lines = file.readlines()
    new = f"{path}-{os.getpid()}"
    with open(new, "wb") as file:
        file.writelines(lines[len(lines) // 2 :])
    os.replace(new, path)
