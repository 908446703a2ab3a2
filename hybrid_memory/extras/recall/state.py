"""The state files of `recall`, kept between calls.

Each session has a file with a line for each passage shown. Each database has a file whose
modification time is the last start of a session. Each agent has a log of its hook's runs. Each
refused transcript has a file, each transcript that is being ingested, which remains if the process
is killed, and each session whose agent is answering a prompt. Only the owner can read the files.
Files that did not change for a week are removed, except the start times and the logs.
"""

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

DAYS_KEPT = 7
COMPACTED = ""  # as document id: the end line is the number of compacted lines in the transcript
LAST_START = "last-start"  # prefix of the files with the start times of sessions
RUNS = "runs"  # prefix of the logs of hooks
BEGUN = "begun"  # prefix of the files of sessions that are being ingested
TURN = "turn"  # prefix of the files of sessions whose agent is answering a prompt
TURN_SECONDS = 600.0  # without a change of its transcript: then the agent was ended
REFUSED = "refused"  # prefix of the files of refused transcripts
LONGEST_NAME = 300  # characters kept of a refused name


def state_folder() -> str:
    """Return the folder of the state files, by the XDG Base Directory Specification 0.8."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "hybrid-memory", "recall")


class RecallSession:
    """A session, by its id (any text), and its transcript. Nothing is stored for an empty id."""

    def __init__(self, session_id: str, transcript: str | None = None) -> None:
        self._path = _file("session", session_id) if session_id else ""
        self.transcript = os.path.realpath(transcript) if transcript else ""
        # How agents name the transcript of a session
        self._names = (f"/{session_id}.jsonl", f"-{session_id}.jsonl") if session_id else ()
        self._shown: list[tuple[str, int, int]] = []
        if self._path:
            self._shown = list(_lines(self._path))
        self._compacted = max((end for name, _, end in self._shown if name == COMPACTED), default=0)

    @property
    def is_compacted(self) -> bool:
        """Whether the context of the session lacks a part of its transcript."""
        return self._compacted > 0

    def was_shown(self, result: Mapping[str, Any]) -> bool:
        """Whether the context of the session has this passage: any of its lines was shown, or it
        comes from the transcript and was not compacted.
        """
        path = result.get("path") or ""
        if path and (path == self.transcript or path.endswith(self._names)):
            return bool(result["end_line"] > self._compacted)
        return any(
            doc_id == result["doc_id"]
            and start <= result["end_line"]
            and end >= result["start_line"]
            for doc_id, start, end in self._shown
        )

    def note(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Record that these passages are shown now."""
        if not self._path:
            return
        if not self._shown:
            _remove_old()
        places = [
            [result["doc_id"], result["start_line"], result["end_line"]] for result in results
        ]
        append(self._path, "".join(f"{json.dumps(place)}\n" for place in places))

    def forget(self) -> None:
        """Forget what was shown, and mark the transcript so far as compacted: the agent's context
        was cleared.
        """
        if not self._path:
            return
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        self._shown = []
        if os.path.isfile(self.transcript):
            with open(self.transcript, "rb") as file:
                lines = sum(1 for _ in file)
            append(self._path, f"{json.dumps([COMPACTED, 0, lines])}\n")


def note_turn(session_id: Any, transcript: Any) -> None:
    """Record that the agent of a session begins to answer a prompt. Without a place to write, it is
    not recorded. The transcript is as the hook named it.
    """
    with suppress(OSError):
        record = json.dumps([str(session_id), str(transcript)])
        _write(_file(TURN, str(transcript)), record, "w")


def end_turn(transcript: Any) -> None:
    with suppress(OSError):
        os.unlink(_file(TURN, str(transcript)))


def answering() -> list[RecallSession]:
    """The sessions whose agents are answering a prompt."""
    since = time.time() - TURN_SECONDS
    return [
        RecallSession(session_id, transcript)
        for path, (session_id, transcript) in _records(TURN)
        if max(_modified(path), _modified(transcript)) >= since
    ]


def last_start(database: str) -> float | None:
    """Return when a session with this database last began (seconds since 1970, None if never), and
    record that one begins now.
    """
    path = _file(LAST_START, database)
    before = None
    with suppress(OSError):
        before = os.stat(path).st_mtime
    append(path, "")
    os.utime(path)
    return before


class Begun(NamedTuple):
    """A session whose ingest began and has not ended."""

    path: str
    workspace: str
    transcript: Any  # as the hook named it

    def end(self) -> None:
        with suppress(OSError):
            os.unlink(self.path)


def note_begun(workspace: str, transcript: Any) -> Begun:
    """Record that the ingest of a session begins. Without a place to write, it is not recorded."""
    path = _file(BEGUN, f"{transcript}-{os.getpid()}")
    with suppress(OSError):
        _write(path, json.dumps([workspace, transcript]), "w")
    return Begun(path, workspace, transcript)


def begun() -> list[Begun]:
    """The sessions whose ingest began and has not ended: it was killed, or it still runs."""
    return [Begun(path, *record) for path, record in _records(BEGUN)]


def _records(prefix: str) -> Iterator[tuple[str, list[Any]]]:
    """The state files whose names begin so, and the list in each."""
    with suppress(FileNotFoundError), os.scandir(state_folder()) as entries:
        for entry in entries:
            if entry.name.startswith(f"{prefix}-"):
                with suppress(OSError, ValueError), open(entry.path, encoding="utf-8") as file:
                    yield entry.path, json.load(file)


def _modified(path: str) -> float:
    with suppress(OSError):
        return os.stat(path).st_mtime
    return 0.0


def _file(kind: str, name: str) -> str:
    """Return the path of a state file. Long names are cut at the front: their ends differ more."""
    return os.path.join(state_folder(), f"{kind}-{re.sub('[^A-Za-z0-9-]', '-', name)[-120:]}")


def _lines(path: str) -> Iterator[tuple[str, int, int]]:
    with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        for line in file:
            with suppress(ValueError):  # a line that another process is writing
                doc_id, start, end = json.loads(line)
                yield doc_id, start, end


def append(path: str, text: str) -> None:
    """Append to a state file."""
    _write(path, text, "a")


def _write(path: str, text: str, mode: str) -> None:
    """Write to a file that only its owner may read: document ids reveal something of the notes."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, mode, encoding="utf-8", opener=partial(os.open, mode=0o600)) as file:
        file.write(text)


def _remove_old() -> None:
    oldest = time.time() - DAYS_KEPT * 86400
    with suppress(FileNotFoundError), os.scandir(state_folder()) as entries:
        for entry in entries:
            if not entry.name.startswith((LAST_START, RUNS)) and entry.stat().st_mtime < oldest:
                with suppress(FileNotFoundError):  # another session removed it
                    os.unlink(entry.path)


class RefusedTranscript(NamedTuple):
    """The last refusal of a file that a hook named as a transcript."""

    time: float  # seconds since 1970
    named: str
    reason: str


def refusals(database: str) -> list[RefusedTranscript]:
    """Return the refusals of the last week for a database, latest first."""
    oldest = time.time() - DAYS_KEPT * 86400
    found = [
        RefusedTranscript(_modified(path), named, reason)
        for path, (of, named, reason) in _records(REFUSED)
        if of == database and _modified(path) >= oldest
    ]
    return sorted(found, reverse=True)


def note_refusal(database: str, named: str, reason: str) -> None:
    """Record that a file was refused now."""
    record = json.dumps([database, named[:LONGEST_NAME], reason])
    _write(_file(REFUSED, f"{database}-{named}"), record, "w")
