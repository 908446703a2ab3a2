"""An indexed document, or lines of it, as its file is now. Reads no file that was not indexed."""

import os
import re
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from . import catalog
from .errors import QueryError, SourceError
from .files import BadFileError, open_regular

if TYPE_CHECKING:
    from .store import HybridStore

NAMED = 5  # documents in an error message

# memory/a.md#L12-L30 of a citation, a.md:12-30 of a terminal; #L12C501 begins within a line, for one that is too long
LINES = re.compile(
    r"(?P<name>.+)(?:#L|:)(?P<start>[1-9][0-9]{0,8})(?:C(?P<column>[1-9][0-9]{0,8}))?(?:-L?(?P<end>[0-9]{1,9}))?", re.DOTALL
)

BY_ID = "select doc_id from documents where doc_id = ?"
BY_PATH = "select doc_id from documents where source_path in (?, ?) order by doc_id"
BY_TAIL = "select doc_id from documents where substr(doc_id, -length(:tail)) = :tail order by doc_id"
ALL_IDS = "select doc_id from documents"
DOCUMENT = "select source_path, content_hash, content, collection, date from documents where doc_id = ?"


def read(store: "HybridStore", target: str, *, max_lines: int = 200, max_chars: int = 20_000) -> dict[str, Any]:
    """The lines that `target` names: a document's id, the end of one, or a file's path, and then `#L10-L40` or nothing.

    Of a transcript, a line of the file is what was said in it, secrets masked as in the index, or nothing.

    `next` is the target of what is left of them, or None. `changed`: the file is not what was indexed. Raises QueryError for
    a target that is not one document or has no such lines, SourceError for a file that is gone or has become something else.
    """
    if max_lines < 1 or max_chars < 1:
        raise ValueError(f"max_lines ({max_lines}) and max_chars ({max_chars}) must be at least 1")
    with store.snapshot():
        doc_id, place = _find(store.connection, target)
        path, content_hash, content, collection, date = store.connection.execute(DOCUMENT, (doc_id,)).fetchone()
    path = catalog.path_from_column(path)
    limit = store.config["max_file_bytes"]
    lines, changed = _of_file(doc_id, path, content_hash, limit) if path else (_lines(content), False)
    start, column, end = _asked(doc_id, place, len(lines), changed)
    shown = [lines[start - 1][column - 1 :], *lines[start : min(end, start - 1 + max_lines)]]
    rest = None
    if len(shown[0]) > max_chars:
        shown = [shown[0][:max_chars]]
        rest = f"#L{start}C{column + max_chars}-L{end}"
    else:
        shown = shown[: _fitting(shown, max_chars)]
        if start + len(shown) <= end:
            rest = f"#L{start + len(shown)}-L{end}"
    last = start + len(shown) - 1
    return {
        "doc_id": doc_id,
        "path": path,
        "text": "\n\n".join(filter(None, shown)) if path and path.endswith(catalog.TRANSCRIPT) else "\n".join(shown),
        "start_line": start,
        "end_line": last,
        "total_lines": len(lines),
        "citation": f"{doc_id}#L{start}-L{last}",
        "collection": collection,
        "date": date,
        "changed": changed,
        "next": rest and doc_id + rest,
    }


def _find(conn: sqlite3.Connection, target: str) -> tuple[str, re.Match[str] | None]:
    """The id of the document, and which lines of it."""
    if doc_id := _exactly(conn, target):
        return doc_id, None
    place = LINES.fullmatch(target)
    name = place["name"] if place else target
    return _exactly(conn, name) or _by_tail(conn, catalog.as_text(name)), place


def _exactly(conn: sqlite3.Connection, name: str) -> str | None:
    paths: tuple[str | bytes, ...] = ("", "")
    with suppress(ValueError):  # a NUL, or a surrogate that stands for no byte: the name of no file
        path = os.path.abspath(os.path.expanduser(name))
        paths = catalog.path_to_column(path), catalog.path_to_column(os.path.realpath(path))
    row = conn.execute(BY_ID, (catalog.as_text(name),)).fetchone() or conn.execute(BY_PATH, paths).fetchone()
    return row and str(row[0])


def _by_tail(conn: sqlite3.Connection, name: str) -> str:
    tail = "/" + name.removeprefix("./")
    rows = conn.execute(BY_TAIL, {"tail": tail}).fetchall() or conn.execute(BY_TAIL, {"tail": f"{tail}.md"}).fetchall()
    found = [doc_id for (doc_id,) in rows]
    if len(found) == 1:
        return str(found[0])
    if found:
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise QueryError(f"{name!r} may be {', '.join(found[:NAMED])}{more}; give more of the id")
    close = _close(name, [doc_id for (doc_id,) in conn.execute(ALL_IDS)])
    way_out = f"did you mean {' or '.join(close)}?" if close else "`hybrid-memory list` names those there are"
    raise QueryError(f"no document {name!r} in this memory; {way_out}")


def _close(name: str, ids: list[str]) -> list[str]:
    """The ids whose last part is like that of the name."""
    from difflib import get_close_matches

    names: dict[str, list[str]] = {}
    for doc_id in sorted(ids):
        names.setdefault(os.path.basename(doc_id).lower(), []).append(doc_id)
    return [doc_id for key in get_close_matches(os.path.basename(name).lower(), names, NAMED) for doc_id in names[key]][:NAMED]


def _of_file(doc_id: str, path: str, indexed: bytes, max_bytes: int) -> tuple[list[str], bool]:
    """The file's lines, and whether it changed since it was indexed."""
    try:
        with open_regular(path, follow_symlinks=True) as stream:
            status = os.fstat(stream.fileno())
            of_file = _of_transcript(stream, status.st_size) if path.endswith(catalog.TRANSCRIPT) else _of_text(stream, max_bytes)
        # A link in its place may lead anywhere: what it leads to is shown only if it is the very text that was indexed.
        lines, digest = of_file
        if digest != indexed and not (os.path.realpath(path) == path and os.path.samestat(os.lstat(path), status)):
            raise SourceError(f"{path} is reached by a symbolic link and is not what was indexed; ingest it again to read it")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SourceError(f"{path} is gone; ingest its folder to take {doc_id} out of the memory") from error
    except (OSError, BadFileError) as error:
        raise SourceError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    return lines, digest != indexed


def _of_text(stream: BinaryIO, max_bytes: int) -> tuple[list[str], bytes]:
    import hashlib

    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise BadFileError(f"it has become larger than max_file_bytes ({max_bytes:,})")
    return _lines(data.decode(errors="replace")), hashlib.blake2b(data, digest_size=16).digest()


def _of_transcript(stream: BinaryIO, size: int) -> tuple[list[str], bytes]:
    from .transcripts import Transcript

    transcript = Transcript(stream, size)
    lines: list[str] = []
    for message in transcript:
        lines += [""] * (message.line - 1 - len(lines)) + [f"{message.role}: {message.text}"]
    return lines or [""], transcript.digest


def _lines(text: str) -> list[str]:
    """As the chunker counts them: neither a form feed nor Unicode's separators end a line."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _asked(doc_id: str, place: re.Match[str] | None, total: int, changed: bool) -> tuple[int, int, int]:
    """First line, first column, last line, all from 1; a last line beyond the end is the end."""
    if place is None:
        return 1, 1, total
    start, column = int(place["start"]), int(place["column"] or 1)
    end = int(place["end"] or start)
    if end < start:
        raise QueryError(f"{doc_id}: line {start} is after line {end}; write the first line first")
    if start > total:
        now = " now, changed since it was indexed" if changed else ""
        raise QueryError(f"{doc_id} has {total} lines{now}; there is no line {start}")
    return start, column, min(end, total)


def _fitting(lines: list[str], max_chars: int) -> int:
    """How many whole lines take `max_chars` characters at most."""
    size = -1
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > max_chars:
            return number
    return len(lines)
