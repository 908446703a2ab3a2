"""Read session transcripts of agents (.jsonl): the conversation of user and assistant, as chunks.

All forms have one JSON object on each line. OpenClaw and pi (docs/session.md of pi's coding-agent)
write {"type": "message", "message": {"role", "content"}}. Claude Code writes {"type": "user" |
"assistant", "message": {"content"}}. Codex (codex-rs/protocol) writes {"type": "response_item",
"payload": {"type": "message", "role", "content"}}, and wrote only the payload until 2025. Cursor
writes {"role", "message": {"content"}}, and Gemini CLI {"id", "type": "user" | "gemini",
"content"}, again with the same id if a message changes. The content is a string or a list of
blocks.

Tool calls and their results, thinking, messages of sub-agents, and text that programs added to a
user's message are left out. Secrets are masked before the text is used for anything else. White
space is simplified: pasted text has much of it, and citations need no exact copy of the file's
lines.
"""

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from ...documents.chunker import Chunk
from ...documents.files import open_regular
from ...documents.markdown import chunk_text
from ...storage.growing import Resumption
from ...text.characters import hasher, storable, with_plain_newlines
from ...text.dates import DATE_KEYS, Dated, document_date
from ...text.links import NO_LINKS
from ...text.roles import ASSISTANT, ROLES, USER, together
from .inserted import BRIEFING, words_in_part, words_of_user
from .redaction import redact
from .turns import TranscriptMessage, without_echoes

LONGEST_LINE = 8_000_000  # bytes; more is an image or the output of a tool
BLOCK_SIZE = 1_000_000  # bytes
QUIET = 3600.0  # seconds without a change until a session counts as ended
NEW_BYTES = 100_000  # with which a session that is still going on is read again

KNOWN_FORMS = "OpenClaw, pi, Claude Code, Codex, Cursor or Gemini CLI"
TITLES = {  # by type of record, the key of the session's title
    "session_info": "name",
    "summary": "summary",
    "ai-title": "aiTitle",
    "custom-title": "customTitle",
    "thread_name_updated": "thread_name",
}
LONGEST_TITLE = 200  # characters
TEXTS = ("text", "input_text", "output_text")  # the types of blocks with spoken text

# Replies of OpenClaw's assistants without content
EMPTY_REPLIES = {
    "NO_REPLY",
    "HEARTBEAT_OK",
    "No response requested.",
    "[assistant turn failed before producing content]",
}
BLANKS = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")  # within a line; indentation stays
NO_BREAK_SPACES = dict.fromkeys((0xA0, 0x2007, 0x202F), " ")
# Keys of Claude Code's records that are not messages of the user or the assistant
NOT_SPOKEN = ("isMeta", "isCompactSummary", "isApiErrorMessage")
ROLES_OF_GEMINI = {"user": USER, "gemini": ASSISTANT}
# Types of records that identify the form of a file without messages
SESSION_RECORDS = ("session", "session_meta", "response_item", "event_msg", "turn_context")

Record = dict[str, Any]


class Transcript:
    """An iterable of the messages in the first `size` bytes of a stream, read in one pass with only
    one line in memory at a time.

    After the pass, `left_out` is the number of lines that are not JSON or are too long, `records`
    the number of other lines, and `is_known` is true if any line has a known form. `date` is the
    day of the first message, `title` the last title, and `digest` the hash of the bytes.
    """

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.left_out = 0
        self.records = 0
        self.spoken = 0  # messages
        self.of_subagent = 0  # messages that an agent exchanged with another
        self.is_known = False
        self.date = ""
        self.title = ""
        self._is_subagent: bool | None = None  # None before the first message
        self._stream = stream
        self._end = size
        self._left = size
        self._hash = hasher()
        self._first_line = 1
        self._day: str | None = None  # of the last message

    @property
    def digest(self) -> bytes:
        return self._hash.digest()

    @property
    def hashed_size(self) -> int:
        return self._end - self._left

    @property
    def has_more(self) -> bool:
        return self._left > 0

    def skip_to(self, place: Resumption, size: int, digest: bytes) -> bool:
        """Go on at a line if the file still begins with `size` bytes that have this hash; else go
        back to the beginning.

        Files of Gemini CLI repeat messages that changed, so they are read whole.
        """
        offset = position = 0
        number = 1  # of the line at the position
        beginning = hasher()
        while part := self._stream.readline(min(BLOCK_SIZE, size - position)):
            beginning.update(part)
            position += len(part)
            if part.endswith(b"\n"):
                number += 1
                if number == place.line:
                    offset = position  # where the line begins
                    self._hash = beginning.copy()
        if beginning.digest() != digest or self._repeats_messages(offset):
            self._hash = hasher()
            self._stream.seek(0)
            return False
        self._left -= offset
        self._first_line = place.line
        self._day = place.date
        self._is_subagent = False
        self.title = place.title
        self.date = place.first_date
        self.is_known = True
        self.spoken = 1  # at least
        return True

    def _repeats_messages(self, offset: int) -> bool:
        """Whether the message on the line at this place is of Gemini CLI. Goes to that line."""
        self._stream.seek(offset)
        message = _message(_parsed(self._stream.readline(LONGEST_LINE)) or {})
        self._stream.seek(offset)
        return message is not None and "gemini_id" in message

    def __iter__(self) -> Iterator[TranscriptMessage]:
        return without_echoes(self._messages())

    def _messages(self) -> Iterator[tuple[bytes, TranscriptMessage | None]]:
        """Yield each line with a record, and the message on it."""
        seen: set[str] = set()  # ids of messages of Gemini CLI
        for number, line in enumerate(self._lines(), self._first_line):
            if not line.strip():
                continue
            record = self._record(line)
            if not record:
                continue
            self._take_notes(record)
            yield line, self._spoken(number, record, seen)

    def _spoken(self, number: int, record: Record, seen: set[str]) -> TranscriptMessage | None:
        """The message of a record, unless it was sent by a program or seen before."""
        message = _message(record)
        if message is None:
            return None
        if self._is_subagent or record.get("isSidechain"):
            self.of_subagent += 1
            return None
        if any(map(record.get, NOT_SPOKEN)):
            return None
        role = message.get("role")
        if role not in ROLES:
            return None
        if role == "user" and not self.spoken and any(map(BRIEFING.match, _texts(message)[:1])):
            self._is_subagent = True
            self.of_subagent += 1
            return None
        text = _text(message)
        if not text or message.get("gemini_id") in seen:
            return None
        if "gemini_id" in message:
            seen.add(message["gemini_id"])
        self._day = _date(record, message) or self._day
        self.date = self.date or self._day or ""
        self.spoken += 1
        if self._is_subagent is None:  # a later record does not change it
            self._is_subagent = False
        return TranscriptMessage(number, str(role), text, self.title, self._day)

    def has_known_form(self) -> bool:
        """Read up to the first record with a known form; return whether there is one."""
        for line in self._lines():
            record = self._record(line)
            if record:
                self._take_notes(record)
            if self.is_known:
                return True
        return False

    def _take_notes(self, record: Record) -> None:
        """Keep the session's title and form from a record."""
        self.records += 1
        payload = record.get("payload")
        about = payload if record.get("type") == "event_msg" else record
        title = _title(about) if isinstance(about, dict) else None
        if title is not None:
            self.title = title
        if not self.is_known:
            is_of_session = record.get("type") in SESSION_RECORDS or "sessionId" in record
            self.is_known = is_of_session or title is not None or _message(record) is not None
        if record.get("kind") == "subagent" and "sessionId" in record:  # Gemini CLI
            self._is_subagent = True
        if record.get("type") == "session_meta" and self._is_subagent is None:
            self._is_subagent = isinstance(payload, dict) and _is_subagent(payload)

    def _lines(self) -> Iterator[bytes]:
        """Yield every line, except a last line that is still being written. A line that is too long
        is cut, so it is not valid JSON.
        """
        while self._left > 0:
            line = self._read()
            rest = line
            while rest and not rest.endswith(b"\n"):
                rest = self._read()
            if not rest:  # the end of the file
                yield b"" if _parsed(line) is None else line
            else:
                yield line

    def _read(self) -> bytes:
        line = self._stream.readline(min(LONGEST_LINE, self._left))
        self._left -= len(line)
        if not line:  # the file has become shorter
            self._left = 0
        self._hash.update(line)
        return line

    def _record(self, line: bytes) -> Record:
        record = _parsed(line)
        if record is None:
            self.left_out += 1
        return record or {}


def chunks(
    messages: Iterable[TranscriptMessage], chunk_size: int, overlap: int, index: int = 0
) -> Iterator[Chunk]:
    """Join consecutive messages of a day into chunks of at most `chunk_size`. Long messages are cut
    like markdown. Each piece names its speaker. The first chunk has this `index`.

    A chunk depends only on the text up to its end, so a session that grows keeps all chunks except
    the last ones.
    """
    size = 0
    pieces: list[TranscriptMessage] = []
    for message in messages:
        for piece in _pieces(message, chunk_size, overlap):
            is_full = size + len(piece.text) > chunk_size
            if pieces and (is_full or _subject(piece) != _subject(pieces[0])):
                yield _chunk(pieces, index)
                index += 1
                size = 0
                pieces = []
            pieces.append(piece)
            size += len(piece.text) + len("\n\n")
    if pieces:
        yield _chunk(pieces, index)


def _subject(message: TranscriptMessage) -> tuple[str, str | None]:
    """The properties that all messages of a chunk share: the session's title, and the day."""
    return message.title, message.date


def _message(record: Record) -> Record | None:
    """The message in a record, with its `role`; None if it has no message."""
    kind = record.get("type")
    if kind == "message" and "role" in record:
        return record
    if kind == "response_item":
        message = record.get("payload")
        if isinstance(message, dict) and message.get("type") == "message":
            return message
        return None
    message = record.get("message")
    is_of_gemini = isinstance(kind, str) and kind in ROLES_OF_GEMINI
    if is_of_gemini and isinstance(record.get("id"), str) and "content" in record:
        role = ROLES_OF_GEMINI[str(kind)]
        return {"role": role, "content": record["content"], "gemini_id": record["id"]}
    if not isinstance(message, dict):
        return None
    if kind is None and record.get("role") in ROLES:
        return {**message, "role": record["role"]}
    if kind in ROLES:
        return {**message, "role": kind}
    if kind == "message":
        return message
    return None


def _is_subagent(session: Record) -> bool:
    """Whether this `session_meta` of Codex belongs to an agent started by another."""
    source = session.get("source")
    return session.get("thread_source") == "subagent" or (
        isinstance(source, dict) and "subagent" in source
    )


def _texts(message: Record) -> list[str]:
    """The blocks of text in a message."""
    content = message.get("content")
    blocks: list[Any] = [{"type": "text", "text": content}]
    if isinstance(content, list):
        blocks = content
    return [
        block["text"].strip()
        for block in blocks
        if isinstance(block, dict)
        and block.get("type", TEXTS[0]) in TEXTS
        and isinstance(block.get("text"), str)
    ]


def _text(message: Record) -> str:
    """The words spoken in a message, with secrets masked; "" without words."""
    texts = _texts(message)
    if message["role"] == "user":
        texts = [words_in_part(text) for text in texts]
        text = words_of_user("\n\n".join(filter(None, texts)))
    else:
        text = "\n\n".join(texts)
    text = BLANKS.sub(" ", with_plain_space(storable(text))).strip()
    if text in EMPTY_REPLIES:
        return ""
    return redact(text)


def _title(record: Record) -> str | None:
    """The session's title, if the record has one."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return None
    title = record.get(TITLES.get(kind, ""))
    if not isinstance(title, str):
        return None
    return storable(" ".join(redact(title).split())[:LONGEST_TITLE])


def _date(record: Record, message: Record) -> str:
    """The UTC day (YYYY-MM-DD) of an ISO 8601 time or of milliseconds since 1970; "" without a
    valid time.
    """
    value = record.get("timestamp") or message.get("timestamp")
    with suppress(TypeError, ValueError, OverflowError, OSError):
        value = time.strftime("%Y-%m-%d", time.gmtime(float(value) / 1000))  # type: ignore[arg-type]
    date = document_date("", {"date": value}) or ""
    if not _is_day(date):
        return ""
    return date


def _is_day(date: str) -> bool:
    return len(date) == len("YYYY-MM-DD")


def _pieces(message: TranscriptMessage, size: int, overlap: int) -> Iterator[TranscriptMessage]:
    if len(message.label) + len(message.text) <= size:
        yield message._replace(text=message.label + message.text)
        return
    room = max(size - len(message.label), 1)
    text = "\n" + message.text  # a message does not begin with front matter
    for chunk in chunk_text(text, room, min(overlap, room - 1)):
        yield message._replace(text=message.label + chunk.text.lstrip("\n"))


def _chunk(messages: list[TranscriptMessage], index: int) -> Chunk:
    title = messages[0].title
    text = "\n\n".join(message.text for message in messages)
    first = messages[0]
    role = together(message.role for message in messages)
    return Chunk(
        text, title, index, title, first.line, messages[-1].line, date=first.date, role=role
    )


def _parsed(line: bytes) -> Record | None:
    """The record on a line, empty if the line has another value; None if it is not JSON."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else {}


class TranscriptReading:
    """A transcript that is being read; implements `formats.GrowingReading`."""

    links = NO_LINKS
    extract = None

    def __init__(self, stream: BinaryIO, metadata: Mapping[str, Any]) -> None:
        status = os.fstat(stream.fileno())
        self.mtime = status.st_mtime
        self._stream = stream
        self._folder_metadata = metadata
        self._transcript = Transcript(stream, status.st_size)
        self._first_index = 0

    @property
    def digest(self) -> bytes:
        return self._transcript.digest

    @property
    def size(self) -> int:
        return self._transcript.hashed_size

    @property
    def has_more(self) -> bool:
        return self._transcript.has_more

    @property
    def metadata(self) -> dict[str, Any]:
        title = self._transcript.title
        if not title:
            return dict(self._folder_metadata)
        return {"title": title, **self._folder_metadata}

    @property
    def left_out(self) -> str | None:
        is_of_subagent = self._transcript.of_subagent and not self._transcript.spoken
        return "subagent" if is_of_subagent else None

    @property
    def warnings(self) -> list[tuple[str, str]]:
        transcript = self._transcript
        warnings = []
        if transcript.left_out:
            reason = f"lines left out because they are not JSON or too long: {transcript.left_out}"
            warnings.append((reason, "lines"))
        if transcript.records and not transcript.is_known:
            reason = f"no line has the form of a session transcript of {KNOWN_FORMS}: nothing was ingested"
            warnings.append((reason, "form"))
        return warnings

    def date(self, doc_id: str, keys: Sequence[str] = DATE_KEYS, order: str = "") -> Dated:
        """The day in the path or the metadata, or else the day of the first message, or else the
        month in the path.

        The month comes last because its digits may be part of a UUID.
        """
        of_path = document_date(doc_id, self._folder_metadata, (), keys)
        if of_path and _is_day(of_path):
            return Dated(of_path)
        return Dated(self._transcript.date or of_path)

    def skip_to(self, place: Resumption, size: int, digest: bytes) -> bool:
        if not self._transcript.skip_to(place, size, digest):
            return False
        self._first_index = place.number
        return True

    def chunks(self, chunk_size: int, overlap: int) -> Iterator[Chunk]:
        return chunks(self._transcript, chunk_size, overlap, self._first_index)

    def close(self) -> None:
        self._stream.close()


class Transcripts:
    """Implements `formats.GrowingFormat`."""

    collection = "sessions"
    is_text = True

    def has_enough_new(
        self, path: str, indexed_size: int, mtime: float, size: int, follow_symlinks: bool
    ) -> bool:
        """Whether there is enough new text, or the session counts as ended because it has not
        changed for a long time.
        """
        is_rewritten = size < indexed_size
        has_ended = time.time() - mtime >= QUIET
        return is_rewritten or has_ended or size - indexed_size >= NEW_BYTES

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> TranscriptReading:
        # Any size is allowed, because only one line is in memory.
        return TranscriptReading(open_regular(path, follow_symlinks), metadata)

    def lines(self, stream: BinaryIO, max_bytes: int) -> tuple[list[str], bytes]:
        """The message on each line, with secrets masked; "" for lines without a message."""
        transcript = Transcript(stream, os.fstat(stream.fileno()).st_size)
        lines: list[str] = []
        for message in transcript:
            lines += [""] * (message.line - 1 - len(lines))
            lines.append(message.label + message.text)
        return lines or [""], transcript.digest

    def headings(self, lines: Sequence[str]) -> tuple[()]:
        """A transcript has no headings."""
        return ()

    def joined(self, lines: Sequence[str]) -> str:
        return "\n\n".join(filter(None, lines))


FORMAT = Transcripts()


def with_plain_space(text: str) -> str:
    """Convert newlines and spaces to plain ones, and remove white space at line ends and repeated
    blank lines.

    Indentation is kept, because it is part of code.
    """
    lines = with_plain_newlines(text).translate(NO_BREAK_SPACES).split("\n")
    return re.sub("\n{3,}", "\n\n", "\n".join(map(str.rstrip, lines)))
