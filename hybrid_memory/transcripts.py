"""Session transcripts of agents (.jsonl) -> what user and assistant said to each other, as chunks. Knows nothing of storage.

Two forms, a JSON object a line. OpenClaw and pi (docs/session.md of pi's coding-agent): {"type": "message", "message": {"role",
"content"}}. Claude Code: {"type": "user" | "assistant", "message": {"content"}}. Content is a string or a list of blocks.

But: no tool calls and results, no thinking, nothing that a program put into a user's mouth, no talk of sub-agents. Secrets are
masked before anything else sees the text.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from .chunker import Chunk, chunk_text
from .files import open_regular
from .redaction import redact
from .schema import storable

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
    line: int  # of the file, from 1
    role: str  # "User" or "Assistant"
    text: str
    title: str  # of the session, as far as it was known by then: what comes later must not change what was said before


class Transcript:
    """The messages of the first `size` bytes of a stream, in one pass that holds no more than a line of it.

    After the pass, `left_out` is the number of lines that are no JSON or too long, `date` that of the first message, `title`
    the last one, and `digest` a hash of the bytes.
    """

    def __init__(self, stream: BinaryIO, size: int) -> None:
        import hashlib

        self.left_out, self.date, self.title = 0, "", ""
        self._stream, self._left = stream, size
        self._hash = hashlib.blake2b(digest_size=16)

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
        """Without the last one if it has no end yet; one that is too long comes as its beginning, which is no JSON."""
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
    """Messages together as long as they fit into `chunk_size`, long ones cut as markdown is, each piece with who said it.

    A chunk depends on what stands before it alone, so that a session that goes on keeps all but its last ones.
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


def is_due(path: str, known_size: int, mtime: float, size: int) -> bool:
    """Is there enough news in a transcript of which the first `known_size` bytes are indexed? Always so, once it is quiet.

    Raises OSError and BadFileError.
    """
    if size < known_size or size - known_size >= NEW_BYTES or time.time() - mtime >= QUIET:
        return True
    with open_regular(path, True) as stream:
        stream.seek(known_size)
        return sum(1 for _ in Transcript(stream, size - known_size)) >= NEW_MESSAGES


def _said(record: dict[str, Any]) -> tuple[str, str] | None:
    """Who said what; None if it is no message."""
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
    """YYYY-MM-DD of an ISO 8601 time, or of milliseconds since 1970; in UTC, as both are."""
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
