"""Read session transcripts of agents (.jsonl): what user and assistant said to each other, as
chunks.

There are two forms, both with one JSON object on each line. OpenClaw and pi (docs/session.md of
pi's coding-agent) write {"type": "message", "message": {"role", "content"}}. Claude Code writes
{"type": "user" | "assistant", "message": {"content"}}. The content is a string or a list of blocks.

Tool calls and their results, thinking, messages of sub-agents, and what a program put into a user's
message are left out. Secrets are masked before the text is used for anything else. White space is
made plain: what was said has no lines in the file that a citation must match, and pasted text is
full of it.

MERGED Take out of a user's message what a program put into it. Takes time in proportion to the
length of the message.

Claude Code puts text between tags and adds a line when the user interrupts it. OpenClaw begins a
message from a channel with its time, and adds lines that end in "(untrusted …):", each with a block
of JSON below it.
"""

import json
import os
import re
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any, BinaryIO, NamedTuple

from ..text.characters import hasher, storable, with_plain_space
from ..text.dates import DATE_KEYS, document_date
from ..text.redaction import redact
from .chunker import Chunk
from .files import open_regular
from .links import NO_LINKS
from .markdown import chunk_text

LONGEST_LINE = 8_000_000  # bytes; more is an image or the output of a tool
QUIET = 3600.0  # seconds without a change after which a session counts as ended
NEW_BYTES, NEW_MESSAGES = (
    100_000,
    50,
)  # a session that is still going on is not read again before it has so much new
TITLES = {
    "session_info": "name",
    "summary": "summary",
    "ai-title": "aiTitle",
    "custom-title": "customTitle",
}
LONGEST_TITLE = 200  # characters

SAYS_NOTHING = {
    "NO_REPLY",
    "HEARTBEAT_OK",
}  # what OpenClaw's assistants write if they have nothing to say
NOT_SAID = (
    "isMeta",
    "isSidechain",
    "isCompactSummary",
    "isApiErrorMessage",
)  # links of Claude Code's other records


class Message(NamedTuple):
    """What was said in one line of a transcript."""

    line: int  # of the file, from 1
    role: str  # "User" or "Assistant"
    text: str
    # The session's title at this line, so that a later title does not change earlier chunks
    title: str


class Transcript:
    """The messages of the first `size` bytes of a stream, read in one pass with only one line in
    memory at a time.

    After the pass, `left_out` is the number of lines that are not JSON or are too long, `date` is
    the day of the first message, `title` is the last title, and `digest` is the hash of the bytes.
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
            kind = record.get("type")
            if key := TITLES.get(kind) if isinstance(kind, str) else None:
                title = record.get(key)
                self.title = _title(title) if isinstance(title, str) else self.title
            elif (said := _said(record)) and said[1]:
                self.date = self.date or _date(record)
                yield Message(number, *said, self.title)

    def _lines(self) -> Iterator[bytes]:
        """Every line, except a last one that is still being written. A line that is too long is
        cut, and so it is not JSON.
        """
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
    """Put as many messages into a chunk as fit into `chunk_size`. Long ones are cut like markdown.
    Each piece names its speaker.

    A chunk depends only on what comes before its end, so that a session that grows keeps all chunks
    except the last ones.
    """
    index = size = 0
    held: list[Message] = []
    for piece in (piece for message in messages for piece in _pieces(message, chunk_size, overlap)):
        if held and (size + len(piece.text) > chunk_size or piece.title != held[0].title):
            yield _chunk(held, index)
            index += 1
            held, size = [], 0
        held.append(piece)
        size += len(piece.text) + len("\n\n")
    if held:
        yield _chunk(held, index)


def _said(record: dict[str, Any]) -> tuple[str, str] | None:
    """Who said what in a record; None if it is not a message."""
    kind, message = record.get("type"), record.get("message")
    if not isinstance(message, dict) or any(record.get(key) for key in NOT_SAID):
        return None
    role = message.get("role") if kind == "message" else kind
    if role not in ("user", "assistant"):
        return None
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [
        block.get("text")
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    text = "\n\n".join(text.strip() for text in texts if isinstance(text, str))
    if role == "user":
        text = without_wrappers(text)
    text = with_plain_space(storable(text)).strip()
    return role.capitalize(), "" if text in SAYS_NOTHING else redact(text)


def _title(text: str) -> str:
    return storable(" ".join(redact(text).split())[:LONGEST_TITLE])


def _date(record: dict[str, Any]) -> str:
    """The day (YYYY-MM-DD) of an ISO 8601 time or of milliseconds since 1970, both in UTC; "" if
    there is none.
    """
    value = record.get("timestamp") or record["message"].get("timestamp")
    with suppress(TypeError, ValueError, OverflowError, OSError):
        value = time.strftime("%Y-%m-%d", time.gmtime(float(value) / 1000))
    found = document_date("", {"date": value}) or ""
    return found if _is_day(found) else ""


def _is_day(date: str) -> bool:
    return len(date) == len("YYYY-MM-DD")


def _pieces(message: Message, size: int, overlap: int) -> Iterator[Message]:
    said_by = f"{message.role}: "
    if len(said_by) + len(message.text) <= size:
        yield message._replace(text=said_by + message.text)
        return
    room = max(size - len(said_by), 1)
    for chunk in chunk_text(
        "\n" + message.text, room, min(overlap, room - 1)
    ):  # a message does not begin with front matter
        yield message._replace(text=said_by + chunk.text.lstrip("\n"))


def _chunk(messages: list[Message], index: int) -> Chunk:
    title = messages[0].title
    return Chunk(
        "\n\n".join(message.text for message in messages),
        title,
        index,
        title,
        messages[0].line,
        messages[-1].line,
    )


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


class TranscriptReading:
    """A transcript that is being read; implements `formats.Reading`."""

    links = NO_LINKS
    extract = None

    def __init__(self, stream: BinaryIO, metadata: Mapping[str, Any]) -> None:
        status = os.fstat(stream.fileno())
        self.mtime, self.size = status.st_mtime, status.st_size
        self._stream, self._given = stream, metadata
        self._transcript = Transcript(stream, status.st_size)

    @property
    def digest(self) -> bytes:
        return self._transcript.digest

    @property
    def metadata(self) -> dict[str, Any]:
        return ({"title": self._transcript.title} if self._transcript.title else {}) | dict(
            self._given
        )

    @property
    def warnings(self) -> list[tuple[str, str]]:
        count = self._transcript.left_out
        return (
            [(f"lines left out because they are not JSON or too long: {count}", "lines")]
            if count
            else []
        )

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS) -> str | None:
        """The day in the path or the metadata, or else that of the first message, or else the month
        in the path.

        The month comes last because it may be digits of a UUID.
        """
        of_path = document_date(doc_id, self._given, (), keys)
        return of_path if of_path and _is_day(of_path) else self._transcript.date or of_path

    def chunks(self, chunk_size: int, overlap: int) -> Iterator[Chunk]:
        return chunks(self._transcript, chunk_size, overlap)

    def close(self) -> None:
        self._stream.close()


class Transcripts:
    """Implements `formats.Format`."""

    collection = "sessions"
    grows = True
    is_text = True

    def is_due(
        self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
    ) -> bool:
        """Whether enough is new, or the session has not changed for so long that it counts as
        ended.
        """
        if size < indexed_size or size - indexed_size >= NEW_BYTES or time.time() - mtime >= QUIET:
            return True
        with open_regular(path, follow_symlinks) as stream:
            stream.seek(indexed_size)
            return sum(1 for _ in Transcript(stream, size - indexed_size)) >= NEW_MESSAGES

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> TranscriptReading:
        stream = open_regular(
            path, follow_symlinks
        )  # any size is allowed, because only one line is in memory
        return TranscriptReading(stream, metadata)

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[list[str], bytes]:
        """What was said in each line, with secrets masked, and "" for the other lines."""
        transcript = Transcript(stream, os.fstat(stream.fileno()).st_size)
        lines: list[str] = []
        for message in transcript:
            lines += [""] * (message.line - 1 - len(lines)) + [f"{message.role}: {message.text}"]
        return lines or [""], transcript.digest

    def joined(self, lines: Sequence[str]) -> str:
        return "\n\n".join(filter(None, lines))


FORMAT = Transcripts()


NAME = (
    "system-reminder|command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|task-notification|ide_[a-z_]+|user-prompt-submit-hook"
    "|active_memory_plugin|relevant-memories"
)
OPENING = re.compile(rf"<({NAME})\b")
CLOSING = re.compile(rf"</({NAME})>")
BLOCK = re.compile(r"\):\n```json\n")
END_OF_BLOCK = re.compile(r"\n```$", re.MULTILINE)
INTERRUPTED = re.compile(r"^\[Request interrupted by user[^\]\n]*\]$", re.MULTILINE)
TIME = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]*\] ?")

Span = tuple[int, int]


def without_wrappers(text: str) -> str:
    """'[Mon 2026-03-05 10:00 UTC] hello <bash-stdout>a</bash-stdout>' -> 'hello '"""
    spans = [
        *_tagged(text),
        *_blocks(text),
        *(found.span() for found in INTERRUPTED.finditer(text)),
    ]
    if time := TIME.match(text):
        spans.append(time.span())
    kept, pos = [], 0
    for start, end in sorted(spans, key=itemgetter(0)):
        if start >= pos:
            kept.append(text[pos:start])
            pos = end
    return "".join([*kept, text[pos:]])


def _tagged(text: str) -> Iterator[Span]:
    """From each opening tag to the next closing tag of the same name."""
    closing: dict[str, list[Span]] = {}
    for tag in CLOSING.finditer(text):
        closing.setdefault(tag[1], []).append(tag.span())
    content = 0  # behind the ">" of the opening tag
    for tag in OPENING.finditer(text):
        if content <= tag.end():
            content = text.find(">", tag.end()) + 1
            if not content:
                return
        tags = closing.get(tag[1], [])
        number = bisect_left(tags, (content, 0))
        if number < len(tags):
            yield tag.start(), tags[number][1]


def _blocks(text: str) -> Iterator[Span]:
    """From the beginning of each line that ends in "(untrusted …):" to the end of the block of JSON
    below it.
    """
    ends = [found.span() for found in END_OF_BLOCK.finditer(text)]
    for block in BLOCK.finditer(text):
        line = text.rfind("\n", 0, block.start()) + 1
        bracket = text.rfind(")", line, block.start())
        number = bisect_left(ends, (block.end(), 0))
        if number < len(ends) and text.find("(untrusted", max(bracket, line), block.start()) >= 0:
            yield line, ends[number][1]
