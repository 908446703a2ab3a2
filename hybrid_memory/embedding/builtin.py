"""The embedder that needs no server: a text's vector is the sum of its tokens' vectors, kept in builtin.bin beside this file.

Tokens are those of BERT's uncased WordPiece (Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2018).
Their vectors were trained so that the sum points where all-MiniLM-L6-v2 puts the text, a static distillation as in Model2Vec
(Tulkens and van Dongen, 2024); training/ rebuilds them. English: the vocabulary's few characters of other scripts have no
vector, and a text that consists mostly of such gets [] rather than a vector that means nothing. Word order is lost.

The file is little-endian, and so must the machine be: HEADER, then for n tokens, b boundaries and r rows
    u32[n + 1]   where each token's UTF-8 begins in the strings below, which are sorted
    u32[b]       first code point of each run of characters that are treated alike
    u16[n]       each token's row, or NO_ROW
    u16[r]       each row's scale
    u8[b]        what is done with a run's characters: KEEP, DROP, SPACE or APART
    strings      the tokens, one after the other
    u8[r, dims]  the rows, 128 added
"""

import mmap
import operator
import struct
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import sqrt
from pathlib import Path
from typing import NamedTuple

HEADER = struct.Struct("<8s5I")  # magic, tokens, boundaries, rows, dims, bytes of strings
MAGIC = b"hmtokvec"
MODEL = "builtin-en-256-v1"
NO_ROW = 0xFFFF
KEEP, DROP, SPACE, APART = range(4)

LONGEST_WORD = 100  # characters, as in BERT: a longer word is one unknown token
MOST_TOKENS = 4096  # read of one text: 127 * the largest scale (4095) * so many just fits in a signed 32-bit lane
KNOWN_SHARE = 0.5  # of a text's tokens must have a vector
WORDS_KEPT = 4096  # some 1.1 KiB each


def lanes_of(value: int, dims: int) -> int:
    """The same value in every 32 bits."""
    return int.from_bytes(value.to_bytes(4, "little") * dims, "little")


def shared(a: bytes, b: bytes) -> int:
    """How many bytes two strings begin with alike."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


class Strings:
    """The sorted tokens, as bisect wants them."""

    def __init__(self, offsets: memoryview, strings: memoryview) -> None:
        self._offsets, self._strings = offsets, strings

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> bytes:
        return bytes(self._strings[self._offsets[index] : self._offsets[index + 1]])


class Table:
    """The data file, mapped: a page is read when it is first touched."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        magic, tokens, boundaries, rows, dims, length = HEADER.unpack_from(self._map)
        if magic != MAGIC:
            raise ValueError(f"{path} is no table of token vectors")
        self.dims: int = dims
        self._place = HEADER.size
        offsets = self._next(4 * (tokens + 1)).cast("I")
        self._boundaries = self._next(4 * boundaries).cast("I")
        self._row_of = self._next(2 * tokens).cast("H")
        self._scales = self._next(2 * rows).cast("H")
        self._kinds = self._next(boundaries)
        self._strings = Strings(offsets, self._next(length))
        self._rows = self._next(rows * dims)
        self._middle = lanes_of(128, dims)

    def _next(self, size: int) -> memoryview:
        self._place += size
        return self._map[self._place - size : self._place]

    def kind(self, character: str) -> int:
        return self._kinds[bisect_right(self._boundaries, ord(character)) - 1]

    def token(self, index: int) -> str:
        return self._strings[index].decode()

    def longest_prefix(self, text: bytes) -> int:
        """The index of the longest token that the text begins with, or -1."""
        high = len(self._strings)
        while text:
            high = bisect_right(self._strings, text, 0, high)
            if not high:
                break
            before = self._strings[high - 1]
            if text.startswith(before):
                return high - 1
            text = text[: shared(text, before)]  # a shorter token is a prefix of both
        return -1

    def lanes(self, index: int) -> int | None:
        """A token's vector as one integer, a component in every 32 bits: such integers add up as vectors do."""
        row = self._row_of[index]
        if row == NO_ROW:
            return None
        spread = bytearray(4 * self.dims)
        spread[::4] = self._rows[row * self.dims : (row + 1) * self.dims]
        return (int.from_bytes(spread, "little") - self._middle) * self._scales[row]


class Characters(dict[int, str]):
    """For str.translate: BERT's cleaning, one character at a time, each worked out when first met.

    Which characters are dropped, white or set apart comes from the file and not from unicodedata, whose version differs from
    Python to Python. Characters are decomposed and lower-cased one by one: a final sigma stays a plain one, as in the tokenizer.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __missing__(self, code: int) -> str:
        kind = self._table.kind(chr(code))
        if kind in (DROP, SPACE):
            made = " " if kind == SPACE else ""
        else:
            pieces = [c.lower() for c in unicodedata.normalize("NFD", chr(code)) if self._table.kind(c) != DROP]
            made = "".join(f" {c} " if self._table.kind(c[0]) == APART else c for c in pieces)
            if kind == APART:
                made = f" {made} "
        self[code] = made
        return made


class Word(NamedTuple):
    tokens: int
    known: int  # tokens that have a vector
    lanes: int  # their sum


class BuiltinEmbedder:
    """Implements `protocol.Embedder`. A text whose tokens mostly have no vector gets []. Never fails and needs no server."""

    provider = "builtin"
    query_prompt = document_prompt = "{text}"
    wanted_dims: int | None = None
    is_final = True
    problem: str | None = None

    def __init__(self, path: str | None = None, cache_size: int = 256) -> None:
        self.model = MODEL
        self.truncated: set[int] = set()
        self._path = Path(path) if path else Path(__file__).with_name("builtin.bin")
        self._word = lru_cache(WORDS_KEPT)(self._summed)
        self._embed_query = lru_cache(cache_size)(self._vector)

    def embed(self, text: str) -> list[float]:
        """The vector of a query."""
        return self._embed_query(text).copy()

    def embed_batch(self, texts: Sequence[str], *, seconds: float | None = None) -> list[list[float]]:
        """The vectors of documents, in their order. They take milliseconds, so `seconds` is not looked at."""
        return [self._vector(text) for text in texts]

    def dims(self) -> int:
        return self._table.dims

    def is_available(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing is held but the mapped file."""

    def tokenize(self, text: str) -> list[str]:
        """What the text's tokens are, [UNK] for a word that has none."""
        found = []
        for word in text.translate(self._characters).split():
            found += [self._table.token(index) if index >= 0 else "[UNK]" for index in self._pieces(word)]
        return found

    @cached_property
    def _table(self) -> Table:
        return Table(self._path)

    @cached_property
    def _characters(self) -> Characters:
        return Characters(self._table)

    def _pieces(self, word: str) -> list[int]:
        """WordPiece: the longest token that the word begins with, then the longest that continues it; [-1] if that fails."""
        if len(word) > LONGEST_WORD:
            return [-1]
        rest, prefix = word.encode(), b""
        found = []
        while rest:
            index = self._table.longest_prefix(prefix + rest)
            length = len(self._table.token(index).encode()) - len(prefix) if index >= 0 else 0
            if length <= 0:  # nothing, or the bare "##"
                return [-1]
            found.append(index)
            rest, prefix = rest[length:], b"##"
        return found

    def _summed(self, word: str) -> Word:
        pieces = self._pieces(word)
        vectors = [lanes for index in pieces if index >= 0 and (lanes := self._table.lanes(index)) is not None]
        return Word(len(pieces), len(vectors), sum(vectors))

    def _vector(self, text: str) -> list[float]:
        tokens = known = total = 0
        for word in text.translate(self._characters).split():
            more, have, lanes = self._word(word)
            tokens += more
            if tokens > MOST_TOKENS:
                break
            known += have
            total += lanes
        if not known or known < KNOWN_SHARE * tokens:
            return []
        dims = self._table.dims
        lifted = total + lanes_of(1 << 31, dims)  # no lane is negative any more, so none borrows from the next
        vector = [float(lane - (1 << 31)) for lane in struct.unpack(f"<{dims}I", lifted.to_bytes(4 * dims, "little"))]
        length = sqrt(sum(map(operator.mul, vector, vector)))
        return [component / length for component in vector] if length else []
