"""Read files that other programs may change or replace meanwhile: the bytes are those of one moment."""

import errno
import os
import stat
import time

from ..typed.names import BinaryIO, NamedTuple

SNIFF = 8192  # a file with a NUL among its first bytes is binary
TICK = 0.01  # seconds: two changes within a tick of the kernel's clock give a file the same time
READS = 3  # attempts to read a file that changes while it is read

NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # opening a FIFO does not wait for a writer
WHOLE_PATH = getattr(os, "O_NOFOLLOW_ANY", 0)  # macOS: the kernel refuses links in the whole path
# Flags that open a folder of a path, on Linux and FreeBSD: not to read it, because its owner may allow passing through it only.
BY_FOLDERS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW if hasattr(os, "O_PATH") else 0


class BadFileError(Exception):
    """A file that cannot be indexed. It is reported, and the other files are not affected.

    `kind` says why in a word: "size", "encoding", "changing" (while it is read), "special" (not a regular file), or of
    documents that are not text "damaged", "encrypted" or "package" (one is missing).
    """

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.kind = kind


def open_in_place(path: str, flags: int) -> int:
    """Open a path and give its file descriptor. If any part of the path is a symbolic link, this raises OSError.

    The path is opened folder by folder, so that no folder can be replaced by a link in the meantime. Only where the operating
    system offers no way to do that, a folder that is a link is followed.
    """
    nofollow = flags | getattr(os, "O_NOFOLLOW", 0)
    if WHOLE_PATH or not BY_FOLDERS or os.open not in os.supports_dir_fd:
        return os.open(path, nofollow | WHOLE_PATH)
    names = [name for name in path.split("/") if name] or ["."]
    folder = os.open("/" if path.startswith("/") else ".", BY_FOLDERS)
    try:
        for name in names[:-1]:
            above, folder = folder, os.open(name, BY_FOLDERS, dir_fd=folder)
            os.close(above)  # last: an interrupt in between must not make `finally` close it once more
        return os.open(names[-1], nofollow, dir_fd=folder)
    except OSError as error:
        if isinstance(error, NotADirectoryError) and os.path.realpath(path) != path:
            raise OSError(errno.ELOOP, "a folder of its path has become a symbolic link", path) from error
        error.filename = path
        raise
    finally:
        os.close(folder)


def open_regular(path: str, follow_symlinks: bool) -> BinaryIO:
    """Open a regular file for reading, without waiting. Without `follow_symlinks`, no part of the path may be a link.

    Raises BadFileError or OSError if something else has been put in the file's place since it was listed.
    """
    open_path = os.open if follow_symlinks else open_in_place
    stream = open(path, "rb", opener=lambda path, flags: open_path(path, flags | NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise BadFileError("not a regular file any more", "special")
    return stream


class FileBytes(NamedTuple):
    """A file's content, with its time of modification (seconds since 1970) and size (bytes) at that moment."""

    data: bytes
    mtime: float
    size: int


def read(path: str, max_bytes: int, follow_symlinks: bool, binary: bool = False) -> FileBytes:
    """The file's bytes, all of one state. Raises OSError, or BadFileError for a file that is too large or changing.

    So does a file that is binary, unless it may be.
    """
    with open_regular(path, follow_symlinks) as stream:
        for _ in range(READS):
            before = os.fstat(stream.fileno())
            if before.st_size > max_bytes:
                raise BadFileError(f"{before.st_size:,} bytes, over max_file_bytes ({max_bytes:,})", "size")
            if 0 <= time.time() - before.st_mtime < TICK:
                time.sleep(TICK)
            stream.seek(0)
            data = stream.read(before.st_size + 1)
            after = os.fstat(stream.fileno())
            if (before.st_mtime, before.st_size) == (after.st_mtime, after.st_size) and len(data) == after.st_size:
                break
        else:
            raise BadFileError("changed while it was read; the next ingest takes it", "changing")
    if not binary and b"\0" in data[:SNIFF]:
        raise BadFileError("binary: it has NUL bytes", "encoding")
    return FileBytes(data, after.st_mtime, after.st_size)
