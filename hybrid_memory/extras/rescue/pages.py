"""Read the pages of a database file as they are, with what its -wal has newer. The files are opened
for reading only.

https://sqlite.org/fileformat2.html, sections 1 and 4.

The records of a page are read each by itself, so that a damaged one hides no other, and those of a
b-tree with its gaps (the same page, sections 1.5, 1.6 and 2).
"""

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

MAGIC = b"SQLite format 3\0"
WAL_MAGIC = (0x377F0682, 0x377F0683)  # the checksums' words are little-endian, big-endian
WAL_HEADER = 32  # bytes
FRAME_HEADER = 24
USUAL_SIZES = (16384, 4096)  # of our files since version 5 and before, if the header cannot be read


class Pages:
    """Pages by number, from 1. `wal_problem` says what of the -wal cannot be read, or is None. A
    context manager.
    """

    def __init__(self, path: str) -> None:
        """Raises OSError for a file that cannot be read."""
        self._wal_size = 0  # of the pages in the -wal
        self._file: BinaryIO = open(path, "rb")  # noqa: SIM115  # __exit__ closes both
        self._wal: BinaryIO | None = None
        if os.path.exists(path + "-wal"):
            self._wal = open(path + "-wal", "rb")  # noqa: SIM115
        self._newer: dict[int, int] = {}  # page number -> place in the -wal
        self.wal_problem: str | None = None
        if self._wal and self._length(self._wal):
            self.wal_problem = self._read_wal()
        self.use(USUAL_SIZES[0], 0)

    def __enter__(self) -> "Pages":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._wal:
            self._wal.close()

    def use(self, size: int, reserved: int) -> None:
        """Read pages of this size, which have so many bytes at their end for other purposes."""
        self.size = size
        self.usable = size - reserved
        self.count = max([self._length(self._file) // size, *self._newer])

    def layouts(self) -> Iterator[tuple[int, int]]:
        """Yield (page size, bytes reserved in each) as the header has them, and what they may be if
        it is damaged.
        """
        header = self._at(self._file, 0, 100)
        size = 0
        if len(header) == 100:
            (size,) = struct.unpack(">H", header[16:18])
        if size == 1:
            size = 65536
        if header.startswith(MAGIC) and size >= 512 and size & (size - 1) == 0:
            yield size, header[20]
            yield size, 0
        if self._newer:
            yield self._wal_size, 0
        yield from ((size, 0) for size in USUAL_SIZES)

    def state(self) -> list[tuple[int, int]]:
        """Return time and size of both files; another one later means that somebody writes."""
        state = []
        for file in (self._file, self._wal):
            if file:
                status = os.fstat(file.fileno())
                state.append((status.st_mtime_ns, status.st_size))
        return state

    def read(self, number: int) -> bytes:
        """Return a page; b"" if there is none of this number."""
        if not 1 <= number <= self.count:
            return b""
        if self._wal and number in self._newer:
            return self._at(self._wal, self._newer[number], self.size)
        page = self._at(self._file, (number - 1) * self.size, self.size)
        if len(page) < self.size:
            return b""
        return page

    def _read_wal(self) -> str | None:
        """Note where the committed pages are."""
        assert self._wal
        header = self._at(self._wal, 0, WAL_HEADER)
        if len(header) < WAL_HEADER:
            return "it is cut off"
        magic, _, size, _, salt1, salt2, *sums = struct.unpack(">8I", header)
        self._wal_size = size
        order = ">"
        if magic == WAL_MAGIC[0]:
            order = "<"
        checksum = _checksum(header[:24], (0, 0), order)
        if magic not in WAL_MAGIC or checksum != tuple(sums):
            return "its header is damaged"
        pending: dict[int, int] = {}
        place = WAL_HEADER
        while True:
            frame = self._at(self._wal, place, FRAME_HEADER + size)
            if len(frame) < FRAME_HEADER + size:
                return None
            number, commit, *salts, sum1, sum2 = struct.unpack(">6I", frame[:FRAME_HEADER])
            if salts != [salt1, salt2]:
                return None  # what is left of an earlier round
            checksum = _checksum(frame[:8], checksum, order)
            checksum = _checksum(frame[FRAME_HEADER:], checksum, order)
            if checksum != (sum1, sum2):
                return "a page in it is damaged"
            pending[number] = place + FRAME_HEADER
            if commit:
                self._newer.update(pending)
                pending = {}
            place += FRAME_HEADER + size

    @staticmethod
    def _at(file: BinaryIO, place: int, length: int) -> bytes:
        file.seek(place)
        return file.read(length)

    @staticmethod
    def _length(file: BinaryIO) -> int:
        return os.fstat(file.fileno()).st_size


def _checksum(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    """Return the checksum of a -wal, continued from `before`."""
    first, second = before
    for one, other in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


# Kinds of pages
INDEX_INTERIOR = 2
TABLE_INTERIOR = 5
INDEX_LEAF = 10
TABLE_LEAF = 13
MOST_COLUMNS = 20  # no table of ours has more

Value = int | float | str | bytes | None


class Lost:
    """Stands for a value that cannot be read."""


LOST = Lost()


class Place(NamedTuple):
    """The place of a cell."""

    page: int
    offset: int


class Record(NamedTuple):
    """A row of a table or of an index."""

    place: Place
    values: "list[Value | Lost]"


class DamageError(Exception):
    """Bytes that are not what the file format says."""


def records(pages: Pages, number: int) -> Iterator[Record | None]:
    """Yield the records of a page, None for one that cannot be read; nothing for a page of another
    kind. A value may be LOST.
    """
    page = pages.read(number)
    start = _start(number)
    kind = _kind(page, start)
    if kind not in (INDEX_INTERIOR, INDEX_LEAF, TABLE_LEAF):
        return
    for offset in _cells(page, start, kind):
        place = Place(number, offset)
        try:
            yield record(pages, place, page)
        except (DamageError, IndexError, struct.error):
            yield None


def record(pages: Pages, place: Place, page: bytes | None = None) -> Record:
    """Return the record at a place. Raises DamageError, IndexError or struct.error if there is none."""
    page = page or pages.read(place.page)
    kind = page[_start(place.page)]
    at = place.offset
    if kind == INDEX_INTERIOR:
        at += 4  # the number of the page below
    length, at = _varint(page, at)
    if kind == TABLE_LEAF:
        _, at = _varint(page, at)  # the rowid
    local = _local(pages.usable, length, kind == TABLE_LEAF)
    here = page[at : at + local]
    types = _types(here)
    if sum(map(_size, types)) + _varint(here, 0)[0] != length or length > pages.count * pages.size:
        raise DamageError
    payload = here
    if local < length:
        (overflow,) = struct.unpack_from(">I", page, at + local)
        payload += _overflow(pages, overflow, length - local)
    return Record(place, _values(payload, types))


def tree(pages: Pages, root: int) -> Iterator[Record | None]:
    """Yield the records of a b-tree, None for each page or record of it that cannot be read."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        number = waiting.pop()
        page = pages.read(number)
        start = _start(number)
        kind = _kind(page, start)
        if number in seen or kind not in (INDEX_INTERIOR, TABLE_INTERIOR, INDEX_LEAF, TABLE_LEAF):
            yield None
            continue
        seen.add(number)
        if kind in (INDEX_INTERIOR, TABLE_INTERIOR):
            for offset in [*_cells(page, start, kind), start + 8]:
                if offset + 4 <= len(page):
                    waiting += struct.unpack_from(">I", page, offset)
        yield from records(pages, number)


def _start(number: int) -> int:
    """Return where the header of a page begins: the first page has that of the file before it."""
    if number == 1:
        return 100
    return 0


def _kind(page: bytes, start: int) -> int:
    """Return the kind of a page; 0 for one that cannot be read."""
    if len(page) <= start:
        return 0
    return page[start]


def _cells(page: bytes, start: int, kind: int) -> list[int]:
    """Return where the cells of a page begin."""
    header = 8
    if kind in (INDEX_INTERIOR, TABLE_INTERIOR):
        header = 12
    (count,) = struct.unpack_from(">H", page, start + 3)
    pointers = page[start + header : start + header + 2 * count]
    return [offset for (offset,) in struct.iter_unpack(">H", pointers[: len(pointers) // 2 * 2])]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of 1 to 9 bytes, and where it ends."""
    number = 0
    for byte in data[at : at + 8]:
        number = number << 7 | byte & 0x7F
        at += 1
        if byte < 0x80:
            return number, at
    return number << 8 | data[at], at + 1


def _local(usable: int, length: int, is_table: bool) -> int:
    """Return how many bytes of a payload are in the page itself."""
    most = (usable - 12) * 64 // 255 - 23
    if is_table:
        most = usable - 35
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    rest = least + (length - least) % (usable - 4)
    if rest > most:
        return least
    return rest


def _overflow(pages: Pages, number: int, length: int) -> bytes:
    """Return the rest of a payload, as far as it can be read."""
    parts = []
    while length > 0:
        page = pages.read(number)
        if not page:
            break
        (number,) = struct.unpack_from(">I", page)
        part = page[4 : min(pages.usable, 4 + length)]
        length -= len(part)
        if (number == 0) != (length == 0):  # the last page is the only one without a next
            break
        parts.append(part)
    return b"".join(parts)


def _types(payload: bytes) -> list[int]:
    """Return the types of a record's values."""
    end, at = _varint(payload, 0)
    types: list[int] = []
    while at < end:
        kind, at = _varint(payload, at)
        types.append(kind)
        if len(types) > MOST_COLUMNS:
            raise DamageError
    if at != end:
        raise DamageError
    return types


def _size(kind: int) -> int:
    """Return the number of bytes that a value of a type takes."""
    if kind in (10, 11):
        raise DamageError
    if kind >= 12:
        return (kind - 12) // 2
    return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)[kind]


def _values(payload: bytes, types: list[int]) -> "list[Value | Lost]":
    at = _varint(payload, 0)[0]
    values: list[Value | Lost] = []
    for kind in types:
        size = _size(kind)
        data = payload[at : at + size]
        at += size
        if len(data) < size:
            values.append(LOST)
        else:
            values.append(_value(data, kind))
    return values


def _value(data: bytes, kind: int) -> "Value | Lost":
    if kind == 0:
        return None
    if kind < 7:
        return int.from_bytes(data, "big", signed=True)
    if kind == 7:
        number: float = struct.unpack(">d", data)[0]
        return number
    if kind < 10:
        return kind - 8
    if kind % 2 == 0:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return LOST
