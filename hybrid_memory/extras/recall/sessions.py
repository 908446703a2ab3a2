"""What a session of an agent was shown, so that nothing is recalled twice; and when the last session
began.

Each session has a file of its own, to which a line is added for each passage. A file that nothing
was added to for a week is removed when another session begins.
"""

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

DAYS_KEPT = 7
LAST_START = "last-start"  # what the name of a file begins with that tells when a session began


def state_folder(environ: Mapping[str, str] = os.environ) -> str:
    """Return where the files of sessions are, by the XDG Base Directory Specification 0.8."""
    state = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "hybrid-memory", "recall")


class Session:
    """A session by its id, which may be any text. Without an id, nothing is remembered."""

    def __init__(self, session_id: str) -> None:
        self._path = _file("session", session_id) if session_id else ""
        self._shown: list[tuple[str, int, int]] = []
        if self._path:
            self._shown = list(_lines(self._path))

    def was_shown(self, result: Mapping[str, Any]) -> bool:
        """Return whether the session was shown any line of this passage."""
        return any(
            doc_id == result["doc_id"]
            and start <= result["end_line"]
            and end >= result["start_line"]
            for doc_id, start, end in self._shown
        )

    def note(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Note that these passages are shown now."""
        if not self._path:
            return
        if not self._shown:
            _remove_old()
        places = [
            [result["doc_id"], result["start_line"], result["end_line"]] for result in results
        ]
        _append(self._path, "".join(f"{json.dumps(place)}\n" for place in places))

    def forget(self) -> None:
        """Forget what was shown: the agent's context no longer has it."""
        if self._path:
            with suppress(FileNotFoundError):
                os.unlink(self._path)
        self._shown = []


def last_start(database: str) -> float | None:
    """Return when a session last began with this database, in seconds since 1970, and note that one
    begins now; None if none did.
    """
    path = _file(LAST_START, database)
    before = None
    with suppress(OSError):
        before = os.stat(path).st_mtime
    _append(path, "")
    os.utime(path)
    return before


def _file(kind: str, name: str) -> str:
    """Return the path of a file; of a long name, the end tells it from others."""
    return os.path.join(state_folder(), f"{kind}-{re.sub('[^A-Za-z0-9-]', '-', name)[-120:]}")


def _lines(path: str) -> Iterable[tuple[str, int, int]]:
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                with suppress(ValueError):  # a line that another process is writing
                    doc_id, start, end = json.loads(line)
                    yield doc_id, start, end
    except FileNotFoundError:
        return


def _append(path: str, text: str) -> None:
    """Add to a file that only its owner may read: ids of documents tell something of them."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _remove_old() -> None:
    oldest = time.time() - DAYS_KEPT * 86400
    with suppress(FileNotFoundError), os.scandir(state_folder()) as entries:
        for entry in entries:
            if not entry.name.startswith(LAST_START) and entry.stat().st_mtime < oldest:
                with suppress(FileNotFoundError):  # another session removed it
                    os.unlink(entry.path)
