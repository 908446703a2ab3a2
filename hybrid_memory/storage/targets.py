"""A target: the document that a user names, and which of its lines.

A target is an id, its end, a path, an alias, a title or a wikilink, with lines, a heading or a
block behind it.
"""

import os
import re
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from ..errors import NotFoundError, QueryError, WayOut
from ..text.characters import OF_PAGES, storable_name
from ..text.equality import spelled
from ..text.terms import WIKILINK

if TYPE_CHECKING:
    from .catalog import Catalog
    from .interface import Storage

NAMED = 5  # documents in an error message

# memory/a.md#L12-L30 as in a citation, or a.md:12-30 as on a terminal. #L12C501 begins at character
# 501 of a long line.
LINES = re.compile(
    r"(?P<name>.+)(?:#L|:)(?P<start>[1-9][0-9]{0,8})(?:C(?P<column>[1-9][0-9]{0,8}))?"
    r"(?:-L?(?P<end>[0-9]{1,9}))?" + OF_PAGES,
    re.DOTALL,
)


class Location(NamedTuple):
    """Lines counted from 1, from a column of the first on; or a `part` of a document: a heading, or
    ^ and the name of a block.
    """

    start: int = 1
    column: int = 1
    end: int | None = None  # None: the last
    part: str = ""


WHOLE = Location()


def find(storage: "Storage", target: str) -> tuple[str, Location]:
    """Return the id of the document, and the place in it. Raises QueryError if it may be several,
    NotFoundError if it is none.
    """
    link = WIKILINK.fullmatch(target.strip())
    if link:
        target = link["target"].strip()
    doc_id = _exactly(storage.catalog, target)
    if doc_id:
        return doc_id, WHOLE
    name, place = split_target(target)
    doc_id = _document(storage, name)
    if doc_id:
        return doc_id, place
    # A name may have a #, and a heading may end like lines: "Visit 14:13"
    for at in range(len(target) - 1, 0, -1):
        before, part = target[:at].strip(), target[at + 1 :]
        if target[at] == "#" and before and part:
            doc_id = _document(storage, before)
            if doc_id:
                return doc_id, Location(part=part)
    raise _not_found(storage.catalog, name)


def split_target(target: str) -> tuple[str, Location]:
    """Return the name in a target, and its place; the whole target without lines behind it."""
    lines = LINES.fullmatch(target)
    if not lines:
        return target, WHOLE
    start = int(lines["start"])
    return lines["name"], Location(start, int(lines["column"] or 1), int(lines["end"] or start))


def _document(storage: "Storage", name: str) -> str | None:
    """Return the document of this name. Raises QueryError if there are several."""
    doc_id = _exactly(storage.catalog, name)
    if doc_id:
        return doc_id
    name = storable_name(name).removeprefix("./")
    tail = f"/{name}"
    ids = (
        storage.catalog.by_tail(tail)
        or storage.catalog.by_tail(f"{tail}.md")
        or storage.links.named(name)
        or _with_path(storage, name)
    )
    if not ids:
        return None
    if len(ids) == 1:
        return ids[0]
    namesakes = ", ".join(ids[:NAMED])
    if len(ids) > NAMED:
        namesakes += f" and {len(ids) - NAMED} more"
    raise QueryError(f"{name!r} is ambiguous: {namesakes}. Use a longer id.")


def _with_path(storage: "Storage", path: str) -> list[str]:
    """Return the documents whose file has this path in another spelling."""
    with suppress(ValueError, OSError):  # as in `_exactly`
        wanted = spelled(os.path.abspath(os.path.expanduser(path)))
        ids = storage.links.named(os.path.basename(path))
        paths = {doc_id: storage.catalog.entry(doc_id)["path"] for doc_id in ids}
        return [
            doc_id for doc_id, own in paths.items() if own and spelled(os.fsdecode(own)) == wanted
        ]
    return []


def _exactly(catalog: "Catalog", name: str) -> str | None:
    """Return the document with this id, else the one whose file has this path, else the one whose file a
    link of this path leads to.
    """
    doc_id = catalog.by_id(storable_name(name))
    # ValueError: no file has such a name, because of a NUL or a surrogate. OSError: the working
    # directory no longer exists.
    with suppress(ValueError, OSError):
        path = os.path.abspath(os.path.expanduser(name))
        os.fsencode(path)
        real = os.path.realpath(path)
        doc_id = doc_id or catalog.by_path(path) or catalog.by_path(real)
    return doc_id


def _not_found(catalog: "Catalog", name: str) -> NotFoundError:
    close = _close(name, catalog.ids())
    problem = f"no document {name!r} in this memory"
    if close:
        return NotFoundError(f"{problem}; did you mean {' or '.join(close)}?")
    return NotFoundError(problem, WayOut("list", "list", "names all documents"))


def _close(name: str, ids: list[str]) -> list[str]:
    """Return the ids whose last part resembles that of the name."""
    names: dict[str, list[str]] = {}
    for doc_id in sorted(ids):
        names.setdefault(os.path.basename(doc_id).lower(), []).append(doc_id)
    return [
        doc_id
        for key in get_close_matches(os.path.basename(name).lower(), names, NAMED)
        for doc_id in names[key]
    ][:NAMED]
