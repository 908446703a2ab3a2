"""Read a file while others may write it: its bytes are those of one moment."""

import os
import stat
import time
from typing import BinaryIO, NamedTuple

SNIFF = 8192  # bytes in which a NUL tells a binary file
TICK = 0.01  # seconds: two changes within a tick of the kernel's clock give a file the same time
READS = 3  # of a file that changes while it is read


class BadFileError(Exception):
    """A file that cannot be indexed. It is reported, and the other files are not affected."""


def open_regular(path: str, follow_symlinks: bool) -> BinaryIO:
    """Open a regular file for reading, without waiting and without following a link in its place.

    Raises BadFileError or OSError if something else has been put in the file's place since it was listed.
    """

    def opener(path: str, flags: int) -> int:  # must neither block us nor lead elsewhere
        nofollow = 0 if follow_symlinks else getattr(os, "O_NOFOLLOW", 0)
        return os.open(path, flags | nofollow | getattr(os, "O_NONBLOCK", 0))

    stream = open(path, "rb", opener=opener)  # noqa: SIM115  # the caller closes it
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise BadFileError("not a regular file any more")
    return stream


class FileBytes(NamedTuple):
    """A file's content, with its time of modification (seconds since 1970) and size (bytes) at that moment."""

    data: bytes
    mtime: float
    size: int


def read(path: str, max_bytes: int, follow_symlinks: bool) -> FileBytes:
    """The file's bytes, all of one state. Raises OSError, or BadFileError for a binary, oversized or changing file."""

    with open_regular(path, follow_symlinks) as stream:
        for _ in range(READS):
            before = os.fstat(stream.fileno())
            if before.st_size > max_bytes:
                raise BadFileError(f"{before.st_size:,} bytes, over max_file_bytes ({max_bytes:,})")
            if 0 <= time.time() - before.st_mtime < TICK:
                time.sleep(TICK)
            stream.seek(0)
            data = stream.read(max_bytes + 1)
            after = os.fstat(stream.fileno())
            if (before.st_mtime, before.st_size) == (after.st_mtime, after.st_size) and len(data) == after.st_size:
                break
        else:
            raise BadFileError("changed while it was read; the next ingest takes it")
    if b"\0" in data[:SNIFF]:
        raise BadFileError("binary: it has NUL bytes")
    return FileBytes(data, after.st_mtime, after.st_size)
