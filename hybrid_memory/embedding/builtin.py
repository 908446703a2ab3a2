"""The embedder without a server: a text's vector is the sum of its tokens' vectors, which are stored
in builtin.bin in the same folder.

Tokens are those of BERT's uncased WordPiece (Devlin et al., "BERT: Pre-training of Deep
Bidirectional Transformers", 2018). The tokens' vectors were trained so that their sum has the
direction of the text's vector from all-MiniLM-L6-v2, a static distillation as in Model2Vec (Tulkens
and van Dongen, 2024); training/ rebuilds them. The model is for English only: the few characters
of other scripts in the vocabulary have no vector, and a text that consists mostly of them gets [],
because its vector would be meaningless. The order of the words does not matter.

The file is little-endian; big-endian machines are not supported. It contains HEADER and then, for
n tokens, b boundaries and r rows:
    i8[16]       the levels: a component of a row is a level, times the row's scale
    u32[n + 1]   the offset of each token's UTF-8 in the strings below; the tokens are sorted
    u32[b]       the first code point of each run of characters that are treated alike
    u16[n]       each token's row, or NO_ROW
    u16[r]       each row's scale
    u8[b]        how a run's characters are treated: KEEP, DROP, SPACE or APART
    strings      the tokens, without separators
    u8[r, dims / 2]  the rows: the low four bits of a row's byte j are the level's number for
                 component j, the high four bits for component dims / 2 + j

minilm.bin is a matrix that converts a vector of this table to an approximation of the same text's
vector from all-MiniLM-L6-v2: i8[384, dims], with one scale.
"""

import mmap
import os
import struct
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain, repeat
from math import hypot
from operator import mul, truediv
from typing import TypeVar

# Magic, rule for cutting words into tokens, tokens, boundaries, rows, dims, bytes of strings
HEADER = struct.Struct("<8s6I")
MAGIC = b"hmtokve2"
WORDPIECE = 1  # the rule: the longest token that fits; those that continue a word begin with ##
FOLDED = 2  # the rule of multilingual.py
MODEL = "builtin-en-256-v3"
LEVELS = 16
NO_ROW = 0xFFFF
KEEP, DROP, SPACE, APART = range(4)

INFLECTIONS = frozenset(("##s", "##es", "##d", "##ed", "##ing", "##r", "##er", "##ers", "##ly"))
LONGEST_WORD = 100  # characters, as in BERT: a longer word is one unknown token
# Per text; the rest is ignored. 4096 * the largest level (127) * the largest scale (4095) just fits
# in a signed 32-bit lane
MOST_TOKENS = 4096
KNOWN_SHARE = 0.5  # the share of a text's tokens that must have a vector
MOST_LANES = 8192  # kept vectors of tokens, about 1.1 KiB each
MOST_WORDS = 32_768  # words whose tokens are kept, some 130 bytes each
MANY = 64  # from this number of texts on, read the whole vocabulary, which takes about 10 ms
# For bytes.translate: in ASCII, BERT ends words at white space and at punctuation marks, which are
# tokens, and drops control characters.
MARK = [bytes((code,)) for code in range(0x80)]
MARKS = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
SPACES = b"\t\n\r "
CONTROLS = bytes({*range(0x20), 0x7F}.difference(SPACES))
WORDS = bytes.maketrans(MARKS + SPACES, b" " * len(MARKS + SPACES)).lower()
NO_MARKS = bytes(range(0x100)).translate(None, MARKS)
# Lanes after the components: the number of tokens in the sum, and of tokens with a vector
COUNTS = 2


def minilm_vector(text: str) -> list[float]:
    """An approximation of the vector that all-MiniLM-L6-v2 gives to a text: 384 components, length
    1; [] if `BuiltinEmbedder` gives []. Its mean cosine with the model's vector is 0.7 for queries.
    """
    vector = BuiltinEmbedder().embed(text)
    if not vector:
        return []
    with open(os.path.join(os.path.dirname(__file__), "minilm.bin"), "rb") as file:
        matrix = memoryview(file.read()).cast("b")
    rows = range(0, len(matrix), len(vector))
    values = [sum(map(mul, vector, matrix[row : row + len(vector)])) for row in rows]
    length = hypot(*values)
    return [value / length for value in values]


def repeated_in_lanes(value: int, dims: int) -> int:
    """An integer that holds the value `dims` times, in 32 bits each."""
    return int.from_bytes(value.to_bytes(4, "little") * dims, "little")


def common_prefix_length(a: bytes, b: bytes) -> int:
    """The length in bytes of the longest common prefix: `b"car", b"cat" -> 2`."""
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


class Strings:
    """The sorted tokens as a sequence, for bisect."""

    def __init__(self, offsets: memoryview, strings: memoryview) -> None:
        self._offsets = offsets
        self._strings = strings

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> bytes:
        return bytes(self._strings[self._offsets[index] : self._offsets[index + 1]])


class Table:
    """The data file, mapped into memory: each page is read when it is first used. Raises ValueError
    for another file.
    """

    def __init__(self, path: "str | os.PathLike[str]", own_rule: int = WORDPIECE) -> None:
        with open(path, "rb") as file:
            self._map = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        header = bytes(self._map[: HEADER.size]).ljust(HEADER.size)
        magic, rule, tokens, boundaries, rows, dims, length = HEADER.unpack(header)
        if magic != MAGIC or rule != own_rule:
            raise ValueError(f"{path} is not a table of token vectors")
        self.dims: int = dims
        self._place = HEADER.size
        self.levels = self._next(LEVELS).cast("b")
        levels = [128 + level for level in self.levels]
        # Tables for bytes.translate: a row's byte -> its first and its second component, plus 128
        self._low = bytes(levels[byte % LEVELS] for byte in range(0x100))
        self._high = bytes(levels[byte // LEVELS] for byte in range(0x100))
        offsets = self._next(4 * (tokens + 1)).cast("I")
        self._boundaries = self._next(4 * boundaries).cast("I")
        self.row_of = self._next(2 * tokens).cast("H")
        self.scales = self._next(2 * rows).cast("H")
        self._kinds = self._next(boundaries)
        self._strings = Strings(offsets, self._next(length))
        self.packed_rows = self._next(rows * dims // 2)
        self._middle = repeated_in_lanes(128, dims)
        self._longest = 0
        self._vocabulary: dict[bytes, int] = {}

    def _next(self, size: int) -> memoryview:
        self._place += size
        return self._map[self._place - size : self._place]

    def kind(self, character: str) -> int:
        return self._kinds[bisect_right(self._boundaries, ord(character)) - 1]

    def token(self, index: int) -> str:
        return self._strings[index].decode()

    def index(self, token: str) -> int:
        """The index of a token, or -1."""
        data = token.encode()
        index = bisect_left(self._strings, data)
        if index < len(self._strings) and self._strings[index] == data:
            return index
        return -1

    def read_vocabulary(self) -> None:
        """Read all tokens into a dict, which makes `longest_prefix` ten times as fast. This takes
        as long as a thousand look-ups.
        """
        if not self._vocabulary:
            tokens = {self._strings[index]: index for index in range(len(self._strings))}
            self._longest = max(map(len, tokens))
            self._vocabulary = tokens

    def longest_prefix(self, text: bytes) -> tuple[int, int]:
        """The length in bytes of the longest token that is a prefix of the text, and its index;
        (0, -1) without one.
        """
        vocabulary = self._vocabulary
        if vocabulary:
            for end in range(min(len(text), self._longest), 0, -1):
                index = vocabulary.get(text[:end])
                if index is not None:
                    return end, index
            return 0, -1
        high = len(self._strings)
        while text:
            high = bisect_right(self._strings, text, 0, high)
            if not high:
                break
            before = self._strings[high - 1]
            if text.startswith(before):
                return len(before), high - 1
            # A shorter matching token is a prefix of both
            text = text[: common_prefix_length(text, before)]
        return 0, -1

    def lanes(self, index: int) -> int | None:
        """A token's vector as one integer with a component in every 32 bits, so that adding
        integers adds vectors.

        None if the token has no vector.
        """
        row = self.row_of[index]
        if row == NO_ROW:
            return None
        size = self.dims // 2
        packed = bytes(self.packed_rows[row * size : (row + 1) * size])
        spread = bytearray(4 * self.dims)
        spread[::4] = packed.translate(self._low) + packed.translate(self._high)
        return (int.from_bytes(spread, "little") - self._middle) * self.scales[row]


class Characters(dict[int, str]):
    """A table for str.translate that cleans a text as BERT does. Entries are made when a character
    is first used.

    The file lists which characters are dropped, are white space or become separate words, because
    unicodedata differs between versions of Python. Characters are decomposed and lower-cased one by
    one: Σ always becomes σ, as in BERT's tokenizer, although str.lower makes ς of it at the end of
    a word.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __missing__(self, code: int) -> str:
        kind = self._table.kind(chr(code))
        if kind in (DROP, SPACE):
            made = " " if kind == SPACE else ""
        else:
            pieces = [
                c.lower()
                for c in unicodedata.normalize("NFD", chr(code))
                if self._table.kind(c) != DROP
            ]
            made = "".join(f" {c} " if self._table.kind(c[0]) == APART else c for c in pieces)
            if kind == APART:
                made = f" {made} "
        self[code] = made
        return made


Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(dict[Key, Value]):
    """A cache of a function. It is cleared when it has `most` entries."""

    def __init__(self, make: Callable[[Key], Value], most: int) -> None:
        self._make = make
        self._most = most

    def __missing__(self, key: Key) -> Value:
        if len(self) >= self._most:
            self.clear()
        made = self[key] = self._make(key)
        return made


class BuiltinEmbedder:
    """Implements `interface.Embedder` without a server; cannot fail. A text gets [] if most of its
    tokens have no vector.
    """

    provider = "builtin"
    query_prompt = document_prompt = "{text}"
    wanted_dims: int | None = None
    is_final = True
    problem: str | None = None
    is_late = False

    def __init__(self, path: str | None = None, cache_size: int = 256) -> None:
        self.model = MODEL
        self.truncated: set[int] = set()
        self.path = path or os.path.join(os.path.dirname(__file__), "builtin.bin")
        self._batched = 0
        self._sum_of_path = lru_cache(1)(self._sum_of_all)
        self._lanes: BoundedCache[int, int] = BoundedCache(self._lanes_of, MOST_LANES)
        self._indexes: BoundedCache[bytes, tuple[int, ...]] = BoundedCache(
            self._indexes_in, MOST_WORDS
        )
        self._embed_query = lru_cache(cache_size)(self._vector)

    def embed(self, text: str) -> list[float]:
        """The vector of a query: 256 components, length 1."""
        return self._embed_query(text).copy()

    def embed_queries(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        return [self.embed(text) for text in texts]

    def embed_batch(
        self, texts: Sequence[str], *, seconds: float | None = None
    ) -> list[list[float]]:
        """The vectors of documents, in the order of the texts. `seconds` is ignored, because
        embedding takes milliseconds.
        """
        self._batched += len(texts)
        if self._batched >= MANY:
            self.table.read_vocabulary()
        return [self._vector(text) for text in texts]

    def dims(self) -> int:
        return self.table.dims

    def is_available(self) -> bool:
        return True

    def fingerprint(self) -> str | None:
        """None: the model's name changes with its table."""
        return None

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def tokenize(self, text: str) -> list[str]:
        """The text's tokens, with [UNK] for a word without tokens."""
        words = text.translate(self._characters).split()
        return [
            self.table.token(index) if index >= 0 else "[UNK]"
            for word in words
            for index in self._pieces(word)
        ]

    def has_word(self, word: str) -> bool:
        """Whether a lower-case word is in the vocabulary, or is a token with an ending.

        Misspelt words are not in it: the tokens are the most common words and parts of words. A
        word of combining marks alone has no tokens.
        """
        token, *rest = self.tokenize(word) or ["[UNK]"]
        return token != "[UNK]" and (not rest or (len(rest) == 1 and rest[0] in INFLECTIONS))

    def length(self, text: str) -> float:
        """The length of the sum of the text's token vectors; 0 if no token has a vector."""
        *lanes, _, _ = self._unpack(self._sum_of_all(text))
        return hypot(*lanes)

    @cached_property
    def table(self) -> Table:
        return Table(self.path)

    @cached_property
    def _characters(self) -> Characters:
        return Characters(self.table)

    def _pieces(self, word: str) -> list[int]:
        """The indexes of a word's tokens by WordPiece; [-1] if it has none.

        The first is the longest token at the beginning of the word, each next one the longest that
        continues it.
        """
        if len(word) > LONGEST_WORD:
            return [-1]
        rest = word.encode()
        prefix = b""
        pieces: list[int] = []
        while rest:
            length, index = self.table.longest_prefix(prefix + rest)
            if length <= len(prefix):  # at most the bare "##" fits
                return [-1]
            pieces.append(index)
            rest = rest[length - len(prefix) :]
            prefix = b"##"
        return pieces

    def _lanes_of(self, index: int) -> int:
        """A token's vector as in `Table.lanes`, followed by the COUNTS."""
        lanes = self.table.lanes(index) if index >= 0 else None
        of_token, of_both = self._counts
        return of_token if lanes is None else lanes + of_both

    @cached_property
    def _counts(self) -> tuple[int, int]:
        """The lanes of the COUNTS for a token without and with a vector."""
        of_token = 1 << 32 * self.table.dims
        return of_token, of_token | of_token << 32

    def _indexes_in(self, word: bytes) -> tuple[int, ...]:
        """The indexes of the tokens in a piece of UTF-8."""
        words = word.decode(errors="surrogatepass").translate(self._characters).split()
        return tuple(chain.from_iterable(map(self._pieces, words)))

    def _sum(self, indexes: Iterable[int]) -> int:
        return sum(map(self._lanes.__getitem__, indexes))

    def _sum_of_all(self, text: str) -> int:
        """The sum of a text's tokens. Characters are converted without regard to their neighbours,
        so the parts of a text can be added.
        """
        data = text.encode(errors="surrogatepass")
        words = data.translate(WORDS, CONTROLS).split()
        total = self._sum(chain.from_iterable(map(self._indexes.__getitem__, words)))
        # A few different marks make up a third of all tokens: multiplying is faster than adding
        marks = data.translate(None, NO_MARKS)
        for mark in set(map(MARK.__getitem__, marks)):
            total += marks.count(mark) * self._sum(self._indexes[mark])
        return total

    def _sum_of_first(self, text: str) -> int:
        """The sum of the first words, as long as they have at most MOST_TOKENS tokens."""
        total = tokens = 0
        for word in text.translate(self._characters).split():
            pieces = self._pieces(word)
            tokens += len(pieces)
            if tokens > MOST_TOKENS:
                break
            total += self._sum(pieces)
        return total

    def _vector(self, text: str) -> list[float]:
        path, _, content = text.partition("\n\n")  # consecutive texts often share a heading path
        *lanes, tokens, known = self._unpack(self._sum_of_path(path) + self._sum_of_all(content))
        if tokens > MOST_TOKENS:
            *lanes, tokens, known = self._unpack(self._sum_of_first(text))
        length = hypot(*lanes)
        if not length or known < KNOWN_SHARE * tokens:
            return []
        return list(map(truediv, lanes, repeat(length)))

    def _unpack(self, total: int) -> tuple[int, ...]:
        size = self.table.dims + COUNTS
        half = self._half
        # `half` makes every lane positive; negative lanes would borrow from the next.
        return struct.unpack(f"<{size}i", ((total + half) ^ half).to_bytes(4 * size, "little"))

    @cached_property
    def _half(self) -> int:
        return repeated_in_lanes(1 << 31, self.table.dims)
