"""The images shown in notes, served from the ingested folders.

A target is a path as written in a note: relative to the note, relative to the ingested folder, or,
as in Obsidian, the end of a path anywhere below that folder. Only images below the folder are
served, and none through a symbolic link. Hidden files, files excluded from the ingest, and files
outside the server's bounds are not found.
"""

import os
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...documents.files import BadFileError, Wanted, open_regular
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
    bounds.check_shown(store, doc_id)
    with store.storage.snapshot():
        if store.storage.catalog.by_id(doc_id) is None:
            raise NotFoundError(f"no document {doc_id!r} in this memory")
        note = store.storage.catalog.document(doc_id)
        sources = store.storage.sources.all(note.collection)
    media_type = TYPES.get(os.path.splitext(target)[1].lower())
    if media_type and note.path:
        for source in sources:
            if source.is_file or not source.has(doc_id, note.path):
                continue
            for path in _paths(source, note.path, target):
                if _is_shown(source, bounds, path):
                    image = _read(path, media_type)
                    if image:
                        return image
    raise NotFoundError(f"no image {target!r} beside {doc_id!r}")


def _paths(source: Source, note: str, target: str) -> Iterator[str]:
    """Yield the possible paths of a target, likeliest first."""
    relative = target.replace("\\", "/").lstrip("/")
    folder = os.path.dirname(note)
    yield os.path.normpath(os.path.join(folder, relative))
    yield os.path.normpath(os.path.join(source.path, relative))
    tail = "/" + os.path.normpath(relative).casefold()
    period = int(time.monotonic() / LISTED)
    images = _images_below(source.path, source.exclude, period)
    namesakes = [path for path in images if path.casefold().endswith(tail)]
    yield from sorted(namesakes, key=lambda path: (not is_in(path, folder), len(path), path))


def _is_shown(source: Source, bounds: Bounds, path: str) -> bool:
    """Whether a path is below the folder of a source, not excluded there, and within the bounds."""
    if not is_in(path, source.path) or path == source.path:
        return False
    wanted = Wanted(source.path, ("*",), source.exclude)
    names = path[len(os.path.join(source.path, "")) :].split(os.sep)
    for number, name in enumerate(names, 1):
        part = os.path.join(source.path, *names[:number])
        if name.startswith(".") or wanted.refusal(name, part, number < len(names)):
            return False
    return bounds.inside is None or is_inside(source.doc_id("/".join(names)), bounds.inside)


@lru_cache(8)
def _images_below(top: str, exclude: tuple[str, ...], period: int) -> list[str]:
    """Return the paths of all images below a folder. The result is cached for each `period`."""
    wanted = Wanted(top, ("*",), exclude)
    images: list[str] = []
    for folder, folders, names in os.walk(top):
        folders[:] = [
            name for name in folders if not wanted.refusal(name, os.path.join(folder, name), True)
        ]
        images += [
            os.path.join(folder, name)
            for name in names
            if os.path.splitext(name)[1].lower() in TYPES
        ]
    return images


def _read(path: str, media_type: str) -> Image | None:
    """Read an image from a regular file that is not reached by a symbolic link; None otherwise."""
    try:
        with open_regular(path, follow_symlinks=False) as stream:
            status = os.fstat(stream.fileno())
            if status.st_size > LARGEST:
                return None
            data = stream.read(LARGEST)
    except (OSError, ValueError, BadFileError):
        return None
    return Image(data, media_type, (path, status.st_mtime_ns, status.st_size))
