"""Session transcripts of agents (.jsonl): what user and assistant said to each other, as chunks. Knows nothing of storage.

Two forms are known, both with one JSON object a line. OpenClaw and pi (docs/session.md of pi's coding-agent): {"type":
"message", "message": {"role", "content"}}. Claude Code: {"type": "user" | "assistant", "message": {"content"}}. Content is a
string or a list of blocks.

Left out are tool calls and their results, thinking, messages of sub-agents, and what a program put into a user's message.
Secrets are masked before anything else sees the text.
"""

import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from ..text.characters import storable
from ..text.dates import document_date
from ..text.digest import hasher
from ..text.redaction import redact
from .chunker import Chunk, chunk_text
from .files import open_regular

LONGEST_LINE = 8_000_000  # bytes; more is an image or the output of a tool
QUIET = 3600.0  # seconds without a change after which a session counts as ended
NEW_BYTES, NEW_MESSAGES = 100_000, 50  # of a session that goes on: with less, it is left for later
TITLES = {"session_info": "name", "summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
LONGEST_TITLE = 200  # characters

# Claude Code's wrappers, and those of OpenClaw around messages from a channel: a heading and a block of JSON; a time.
WRAPPER = re.compile(
    r"<(system-reminder|command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|task-notification|ide_[a-z_]+|user-prompt-submit-hook"
    r"|active_memory_plugin|relevant-memories)\b[^>]*>.*?</\1>"
    r"|^[^\n]*\(untrusted[^)\n]*\):\n```json\n.*?\n```$"
    r"|^\[Request interrupted by user[^\]\n]*\]$"
    r"|\A\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]*\] ?",
    re.DOTALL | re.MULTILINE,
)
SAYS_NOTHING = {"NO_REPLY", "HEARTBEAT_OK"}  # OpenClaw's assistants, when they keep quiet
NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")  # of Claude Code
DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Message(NamedTuple):
    """What was said in one line of a transcript."""

    line: int  # of the file, from 1
    role: str  # "User" or "Assistant"
    text: str
    title: str  # of the session as it was known by then, so that a later title does not change earlier chunks


class Transcript:
    """The messages of the first `size` bytes of a stream, read in one pass that holds only one line in memory.

    After the pass, `left_out` counts the lines that are not JSON or too long, `date` is the day of the first message, `title`
    the last title, and `digest` the hash of the bytes.
    """

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.left_out, self.date, self.title = 0, "", ""
        self._stream, self._left = stream, size
        self._hash = hasher()

    @property
    def digest(self) -> bytes:
        return self._hash.digest()

    def __iter__(self) -> Iterator[Message]:
        for number, line in enumerate(self._lines(), 1):
            record = self._record(line) if line.strip() else {}
            if key := TITLES.get(str(record.get("type"))):
                title = record.get(key)
                self.title = " ".join(redact(title).split())[:LONGEST_TITLE] if isinstance(title, str) else self.title
            elif (said := _said(record)) and said[1]:
                self.date = self.date or _date(record)
                yield Message(number, *said, self.title)

    def _lines(self) -> Iterator[bytes]:
        """Every line but a last one that is still being written. Of a line that is too long the beginning, which is not JSON."""
        while self._left > 0:
            line = self._read(LONGEST_LINE)
            complete = rest = line
            while rest and not rest.endswith(b"\n"):
                rest = self._read(LONGEST_LINE)
            if not rest:  # the end of the file
                complete = line if _is_json(line) else b""
            yield complete

    def _read(self, limit: int) -> bytes:
        line = self._stream.readline(min(limit, self._left))
        self._left = self._left - len(line) if line else 0
        self._hash.update(line)
        return line

    def _record(self, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            self.left_out += 1
            return {}
        return record if isinstance(record, dict) else {}


def chunks(messages: Iterable[Message], chunk_size: int, overlap: int) -> Iterator[Chunk]:
    """As many messages to a chunk as fit into `chunk_size`; long ones are cut as markdown is. Each piece names its speaker.

    A chunk depends only on what stands before it, so that a session that goes on keeps all but its last chunks.
    """
    index = 0
    held: list[Message] = []
    for piece in (piece for message in messages for piece in _pieces(message, chunk_size, overlap)):
        together = sum(len(other.text) + 2 for other in held) + len(piece.text)
        if held and (together > chunk_size or piece.title != held[0].title):
            yield _chunk(held, index)
            index += 1
            held = []
        held.append(piece)
    if held:
        yield _chunk(held, index)


def _said(record: dict[str, Any]) -> tuple[str, str] | None:
    """Who said what; None for a record that is not a message."""
    kind, message = record.get("type"), record.get("message")
    if not isinstance(message, dict) or any(record.get(key) for key in NOT_SAID):
        return None
    role = message.get("role") if kind == "message" else kind
    if role not in ("user", "assistant"):
        return None
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    text = "\n\n".join(text.strip() for text in texts if isinstance(text, str))
    if role == "user":
        text = WRAPPER.sub("", text)
    text = storable(text).strip()
    return role.capitalize(), "" if text in SAYS_NOTHING else redact(text)


def _date(record: dict[str, Any]) -> str:
    """The day (YYYY-MM-DD) of an ISO 8601 time or of milliseconds since 1970, both in UTC; "" if there is none."""
    value = record.get("timestamp") or record["message"].get("timestamp")
    if isinstance(value, str) and (found := DATE.match(value)):
        return found[0]
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(float(value) / 1000))
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def _pieces(message: Message, size: int, overlap: int) -> Iterator[Message]:
    said_by = f"{message.role}: "
    if len(said_by) + len(message.text) <= size:
        yield message._replace(text=said_by + message.text)
        return
    room = max(size - len(said_by), 1)
    for chunk in chunk_text("\n" + message.text, room, min(overlap, room - 1)):  # nor does it begin with front matter
        yield message._replace(text=said_by + chunk.text.lstrip("\n"))


def _chunk(messages: list[Message], index: int) -> Chunk:
    title = messages[0].title
    return Chunk("\n\n".join(message.text for message in messages), title, index, title, messages[0].line, messages[-1].line)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


class TranscriptReading:
    """A transcript that is being read; implements `formats.Reading`."""

    def __init__(self, stream: BinaryIO) -> None:
        status = os.fstat(stream.fileno())
        self.mtime, self.size = status.st_mtime, status.st_size
        self._stream = stream
        self._transcript = Transcript(stream, status.st_size)

    @property
    def digest(self) -> bytes:
        return self._transcript.digest

    @property
    def metadata(self) -> dict[str, str]:
        return {"title": self._transcript.title} if self._transcript.title else {}

    @property
    def warnings(self) -> list[str]:
        count = self._transcript.left_out
        return [f"lines left out because they are not JSON or too long: {count}"] if count else []

    def date(self, doc_id: str) -> str | None:
        """The day in the path, else that of the first message; a month in the path may be digits of a UUID and comes last."""
        of_path = document_date(doc_id, {})
        return of_path if of_path and len(of_path) == len("YYYY-MM-DD") else self._transcript.date or of_path

    def chunks(self, chunk_size: int, overlap: int) -> Iterator[Chunk]:
        return chunks(self._transcript, chunk_size, overlap)

    def close(self) -> None:
        self._stream.close()


class Transcripts:
    """Implements `formats.Format`."""

    collection = "sessions"
    grows = True

    def is_due(self, path: str, indexed_size: int, mtime: float, size: int) -> bool:
        """Whether enough is new, or the session has been quiet for so long that it counts as ended."""
        if size < indexed_size or size - indexed_size >= NEW_BYTES or time.time() - mtime >= QUIET:
            return True
        with open_regular(path, True) as stream:
            stream.seek(indexed_size)
            return sum(1 for _ in Transcript(stream, size - indexed_size)) >= NEW_MESSAGES

    def open(self, path: str, max_bytes: int, follow_symlinks: bool) -> TranscriptReading:
        return TranscriptReading(open_regular(path, follow_symlinks))  # of any size: no more than a line is in memory

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[list[str], bytes]:
        """What was said in each line, secrets masked, and "" for the other lines."""
        transcript = Transcript(stream, os.fstat(stream.fileno()).st_size)
        lines: list[str] = []
        for message in transcript:
            lines += [""] * (message.line - 1 - len(lines)) + [f"{message.role}: {message.text}"]
        return lines or [""], transcript.digest

    def joined(self, lines: list[str]) -> str:
        return "\n\n".join(filter(None, lines))


FORMAT = Transcripts()
