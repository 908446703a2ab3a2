"""The pages of a database file as they are, with what its -wal has newer. The files are opened for reading only.

https://sqlite.org/fileformat2.html, sections 1 and 4.
"""

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

MAGIC = b"SQLite format 3\0"
WAL_MAGIC = (0x377F0682, 0x377F0683)  # the checksums' words are little-endian, big-endian
WAL_HEADER, FRAME_HEADER = 32, 24
USUAL_SIZES = (16384, 4096)  # of our files since version 5 and before, if the header cannot be read


class Pages:
    """Pages by number, from 1. `wal_problem` says what of the -wal cannot be read, or is None. A context manager."""

    def __init__(self, path: str) -> None:
        """Raises OSError for a file that cannot be read."""
        self._wal_size = 0  # of the pages in the -wal
        self._file: BinaryIO = open(path, "rb")  # noqa: SIM115
        self._wal: BinaryIO | None = open(path + "-wal", "rb") if os.path.exists(path + "-wal") else None  # noqa: SIM115
        self._newer: dict[int, int] = {}  # page number -> place in the -wal
        self.wal_problem = self._read_wal() if self._wal and self._length(self._wal) else None
        self.use(USUAL_SIZES[0], 0)

    def __enter__(self) -> "Pages":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._wal:
            self._wal.close()

    def use(self, size: int, reserved: int) -> None:
        """Read pages of this size, which have so many bytes at their end for other purposes."""
        self.size, self.usable = size, size - reserved
        self.count = max([self._length(self._file) // size, *self._newer])

    def layouts(self) -> Iterator[tuple[int, int]]:
        """(page size, bytes reserved in each) as the header has them, and what they may be if it is damaged."""
        header = self._at(self._file, 0, 100)
        (size,) = struct.unpack(">H", header[16:18]) if len(header) == 100 else (0,)
        size = 65536 if size == 1 else size
        if header.startswith(MAGIC) and size >= 512 and size & (size - 1) == 0:
            yield size, header[20]
            yield size, 0
        if self._newer:
            yield self._wal_size, 0
        yield from ((size, 0) for size in USUAL_SIZES)

    def state(self) -> list[tuple[int, int]]:
        """Time and size of both files; another one later means that somebody writes."""
        files = [file for file in (self._file, self._wal) if file]
        return [(status.st_mtime_ns, status.st_size) for status in (os.fstat(file.fileno()) for file in files)]

    def read(self, number: int) -> bytes:
        """A page; b"" if there is none of this number."""
        if not 1 <= number <= self.count:
            return b""
        if self._wal and number in self._newer:
            return self._at(self._wal, self._newer[number], self.size)
        page = self._at(self._file, (number - 1) * self.size, self.size)
        return page if len(page) == self.size else b""

    def _read_wal(self) -> str | None:
        """Note where the committed pages are."""
        assert self._wal
        header = self._at(self._wal, 0, WAL_HEADER)
        if len(header) < WAL_HEADER:
            return "it is cut off"
        magic, _, size, _, salt1, salt2, *sums = struct.unpack(">8I", header)
        self._wal_size = size
        order = "<" if magic == WAL_MAGIC[0] else ">"
        sum_ = _checksum(header[:24], (0, 0), order)
        if magic not in WAL_MAGIC or sum_ != tuple(sums):
            return "its header is damaged"
        pending: dict[int, int] = {}
        place = WAL_HEADER
        while len(frame := self._at(self._wal, place, FRAME_HEADER + size)) == FRAME_HEADER + size:
            number, commit, *salts, sum1, sum2 = struct.unpack(">6I", frame[:FRAME_HEADER])
            if salts != [salt1, salt2]:
                return None  # what is left of an earlier round
            sum_ = _checksum(frame[FRAME_HEADER:], _checksum(frame[:8], sum_, order), order)
            if sum_ != (sum1, sum2):
                return "a page in it is damaged"
            pending[number] = place + FRAME_HEADER
            if commit:
                self._newer.update(pending)
                pending = {}
            place += FRAME_HEADER + size
        return None

    @staticmethod
    def _at(file: BinaryIO, place: int, length: int) -> bytes:
        file.seek(place)
        return file.read(length)

    @staticmethod
    def _length(file: BinaryIO) -> int:
        return os.fstat(file.fileno()).st_size


def _checksum(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    """The checksum of a -wal, continued from `before`."""
    first, second = before
    for one, other in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
