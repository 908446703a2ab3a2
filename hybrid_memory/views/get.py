"""Read an indexed document, or some of its lines, as its file is now. A file that was not indexed is never read."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..documents.files import BadFileError, open_regular
from ..documents.formats import format_of
from ..errors import NotFoundError, QueryError, SourceError
from ..text.characters import storable_name
from ..text.citation import citation
from ..text.lines import Lines

if TYPE_CHECKING:
    from ..storage.document_rows import DocumentRow
    from ..storage.protocol import Catalog
    from ..store import HybridStore

NAMED = 5  # documents in an error message

# memory/a.md#L12-L30 as in a citation, or a.md:12-30 as on a terminal. #L12C501 begins at character 501 of a long line.
LINES = re.compile(
    r"(?P<name>.+)(?:#L|:)(?P<start>[1-9][0-9]{0,8})(?:C(?P<column>[1-9][0-9]{0,8}))?(?:-L?(?P<end>[0-9]{1,9}))?", re.DOTALL
)


def read(store: "HybridStore", target: str, *, max_lines: int = 200, max_chars: int = 20_000) -> dict[str, Any]:
    """The lines that `target` names.

    A target is the id of a document, the end of an id or the path of a file. `#L10-L40` may follow. A line of a transcript is
    what was said in that line of the file, with its secrets masked as in the index. If nothing was said there, it is empty.

    In the answer, `next` is the target that reads on, or None at the end. `changed` says that the file has changed since it
    was indexed. Raises QueryError if the target does not name exactly one document, or lines that it does not have. Raises
    SourceError if the file is gone or was replaced.
    """
    with store.storage.snapshot():
        doc_id, place = find(store.storage.catalog, target)
        row = store.storage.catalog.document(doc_id)
    return _passage(store, doc_id, row, place, max_lines, max_chars)


def outlined(
    store: "HybridStore", doc_id: str, lines: str | None, *, max_lines: int = 200, max_chars: int = 20_000
) -> dict[str, Any]:
    """What `read` gives of the document with exactly this id, with its metadata and the places of its passages.

    `lines` are "12-30", "12", or "12C501-30"; `next_lines` are those that read on, or None. Raises as `read` does.
    """
    with store.storage.snapshot():
        if store.storage.catalog.by_id(doc_id) is None:
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        row, outline = store.storage.catalog.document(doc_id), store.storage.catalog.outline(doc_id)
    place = LINES.fullmatch(f"{doc_id}#L{lines}") if lines else None
    found = _passage(store, doc_id, row, place, max_lines, max_chars)
    rest = found["next"] and found["next"].removeprefix(f"{doc_id}#L").replace("-L", "-")
    return found | outline | {"next_lines": rest}


def _passage(
    store: "HybridStore", doc_id: str, row: "DocumentRow", place: re.Match[str] | None, max_lines: int, max_chars: int
) -> dict[str, Any]:
    if max_lines < 1 or max_chars < 1:
        raise ValueError(f"max_lines ({max_lines}) and max_chars ({max_chars}) must be at least 1")
    path, content_hash, content, collection, date = row
    lines: Sequence[str]
    if path:
        lines, changed = _of_file(doc_id, path, content_hash, store.config["max_file_bytes"])
    else:
        lines, changed = Lines(content or ""), False
    start, column, end = _asked(doc_id, place, len(lines), changed)
    most = min(max_lines, max_chars + 1)  # each line but the first takes at least the character of its line break
    shown = [lines[start - 1][column - 1 :], *lines[start : min(end, start - 1 + most)]]
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
        "text": format_of(path or "").joined(shown),
        "start_line": start,
        "end_line": last,
        "total_lines": len(lines),
        "citation": citation(doc_id, start, last),
        "collection": collection,
        "date": date,
        "changed": changed,
        "next": rest and doc_id + rest,
    }


def find(catalog: "Catalog", target: str) -> tuple[str, re.Match[str] | None]:
    """The id of the document, and the match of LINES that says which lines of it are asked for."""
    if doc_id := _exactly(catalog, target):
        return doc_id, None
    place = LINES.fullmatch(target)
    name = place["name"] if place else target
    return _exactly(catalog, name) or _by_tail(catalog, storable_name(name)), place


def _exactly(catalog: "Catalog", name: str) -> str | None:
    """The document with this id, else the one whose file has this path, else the one whose file a link of this path leads to."""
    found = catalog.by_id(storable_name(name))
    # ValueError: no file has such a name, because of a NUL or a surrogate. OSError: the working directory no longer exists.
    with suppress(ValueError, OSError):
        path = os.path.abspath(os.path.expanduser(name))
        os.fsencode(path)
        real = os.path.realpath(path)
        found = found or catalog.by_path(path, path) or catalog.by_path(real, real)
    return found


def _by_tail(catalog: "Catalog", name: str) -> str:
    tail = "/" + name.removeprefix("./")
    found = catalog.by_tail(tail) or catalog.by_tail(f"{tail}.md")
    if len(found) == 1:
        return found[0]
    if found:
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise QueryError(f"{name!r} may be {', '.join(found[:NAMED])}{more}; give more of the id")
    close = _close(name, catalog.ids())
    way_out = f"did you mean {' or '.join(close)}?" if close else "`hybrid-memory list` names all documents"
    raise NotFoundError(f"no document {name!r} in this memory; {way_out}")


def _close(name: str, ids: list[str]) -> list[str]:
    """The ids whose last part resembles that of the name."""
    from difflib import get_close_matches

    names: dict[str, list[str]] = {}
    for doc_id in sorted(ids):
        names.setdefault(os.path.basename(doc_id).lower(), []).append(doc_id)
    return [doc_id for key in get_close_matches(os.path.basename(name).lower(), names, NAMED) for doc_id in names[key]][:NAMED]


def _of_file(doc_id: str, path: str, indexed: bytes | None, max_bytes: int) -> tuple[Sequence[str], bool]:
    """The file's lines, and whether the file has changed since it was indexed."""
    try:
        with open_regular(path, follow_symlinks=True) as stream:
            status = os.fstat(stream.fileno())
            lines, digest = format_of(path).lines(stream, max_bytes)
        # A link in place of the file may lead anywhere. The text behind it is shown only if it is the one that was indexed.
        if digest != indexed and not (os.path.realpath(path) == path and os.path.samestat(os.lstat(path), status)):
            raise SourceError(f"{path} is reached by a symbolic link and is not what was indexed; ingest it again to read it")
    except (FileNotFoundError, NotADirectoryError) as error:
        delete = f"`hybrid-memory delete --doc-id {quote(doc_id)}`"
        raise SourceError(f"{path} is gone; {delete} removes it from the memory") from error
    except (OSError, BadFileError) as error:
        raise SourceError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    return lines, digest != indexed


def _asked(doc_id: str, place: re.Match[str] | None, total: int, changed: bool) -> tuple[int, int, int]:
    """First line, first column and last line, all counted from 1. A last line beyond the end of the text means its end."""
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
    """How many whole lines fit into `max_chars` characters."""
    size = -1
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > max_chars:
            return number
    return len(lines)
