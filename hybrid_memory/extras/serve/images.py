"""The images shown in notes, served from the ingested folders.

A target is a path as written in a note: relative to the note, relative to the ingested folder, or,
as in Obsidian, the end of a path anywhere below that folder. The rules of the ingest apply: hidden
and excluded images, and images behind a symbolic link, are not found. Nor are those outside the
server's bounds.
"""

import os
import time
from functools import lru_cache
from typing import NamedTuple

from ...documents.files import BadFileError, FoundFile, Walk, open_regular
from ...errors import NotFoundError
from ...paths import is_in
from ...storage.source import Source
from ...storage.sqlite.selection import is_inside
from ...store import HybridStore
from .bounds import Bounds

# File extension -> media type
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".svg": "image/svg+xml",
}
# An SVG that is opened in its own tab is a document, which could contain scripts.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
LARGEST = 32 * 1024 * 1024  # bytes
PATTERNS = tuple(f"*{suffix}" for suffix in TYPES)
LISTED = 10.0  # seconds for which the list of images below a folder is cached


class Image(NamedTuple):
    """An image. `state` identifies the version of its file."""

    data: bytes
    media_type: str
    state: tuple[str, int, int]


def image_of(store: HybridStore, bounds: Bounds, doc_id: str, target: str) -> Image:
    """Return the image for a target in a document. Raises NotFoundError if it is missing or may
    not be shown.
    """
    with store.storage.snapshot():
        bounds.check_known(store, doc_id)
        note = store.storage.catalog.document(doc_id)
        sources = store.storage.sources.all(note.collection)
    for source in sources:
        if note.path and not source.is_file and source.has(doc_id, note.path):
            for found in _candidates(source, note.path, target):
                is_shown = bounds.inside is None or is_inside(
                    source.doc_id(found.relative), bounds.inside
                )
                if is_shown and (image := _read(found.path)):
                    return image
    raise NotFoundError(f"no image {target!r} beside {doc_id!r}")


def _candidates(source: Source, note: str, target: str) -> list[FoundFile]:
    """Return the images that a target of a note may name, likeliest first."""
    relative = target.replace("\\", "/").lstrip("/")
    folder = os.path.dirname(note)
    from_note = os.path.normpath(os.path.join(folder, relative))
    from_top = os.path.normpath(os.path.join(source.path, relative))
    tail = "/" + os.path.normpath(relative).casefold()
    period = int(time.monotonic() / LISTED)
    named = [
        found
        for found in _images_below(source.path, source.exclude, period)
        if found.path in (from_note, from_top) or found.path.casefold().endswith(tail)
    ]
    return sorted(
        named,
        key=lambda found: (
            found.path != from_note,
            found.path != from_top,
            not is_in(found.path, folder),
            len(found.path),
            found.path,
        ),
    )


@lru_cache(8)
def _images_below(top: str, exclude: tuple[str, ...], period: int) -> list[FoundFile]:
    """List all images below a folder. The result is cached for each `period`."""
    return list(Walk(top, PATTERNS, exclude))


def _read(path: str) -> Image | None:
    """Read an image from a regular file that is not reached by a symbolic link; None otherwise."""
    try:
        with open_regular(path, follow_symlinks=False) as stream:
            status = os.fstat(stream.fileno())
            data = stream.read(LARGEST + 1)
    except (OSError, BadFileError):
        return None
    if len(data) > LARGEST:
        return None
    media_type = TYPES[os.path.splitext(path)[1].lower()]
    return Image(data, media_type, (path, status.st_mtime_ns, status.st_size))
