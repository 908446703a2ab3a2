"""Write token vectors as builtin.bin, in the layout that hybrid_memory/embedding/builtin.py
describes.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

EMBEDDING = Path(__file__).resolve().parent.parent / "hybrid_memory" / "embedding"
DATA = EMBEDDING / "builtin.bin"
sys.path.insert(0, str(EMBEDDING))  # to import builtin.py alone, without its package
from builtin import (  # noqa: E402
    APART,
    DROP,
    HEADER,
    KEEP,
    MAGIC,
    NO_ROW,
    SPACE,
    WORDPIECE,
    BuiltinEmbedder,
    Table,
)

__all__ = [
    "DATA",
    "BuiltinEmbedder",
    "as_written",
    "is_known",
    "levels_of",
    "rotated",
    "rounded",
    "tokens_of",
    "write",
]

LARGEST_SCALE = 4095
# The 16 numbers that stand for a normally distributed one with the least squared error (Max,
# "Quantizing for minimum distortion", 1960), the half above 0, in standard deviations
NORMAL_LEVELS = (0.1284, 0.3881, 0.6568, 0.9424, 1.2562, 1.6181, 2.0691, 2.7326)
POSITIVE = np.round(np.array(NORMAL_LEVELS) / NORMAL_LEVELS[-1] * 127)
LEVELS = np.concatenate([-POSITIVE[::-1], POSITIVE]).astype(np.float32)
BOUNDS = (LEVELS[1:] + LEVELS[:-1]) / 2


def is_known(token: str) -> bool:
    """Whether a token gets a row: if it has ASCII or Latin letters. The rest of BERT's vocabulary
    (single CJK, Arabic, Indic and other characters) gets none.
    """
    bare = token.removeprefix("##")
    special = bare.startswith("[") and bare.endswith("]") and len(bare) > 1
    return not special and all(ord(c) < 0x250 or 0x2010 <= ord(c) < 0x2190 for c in bare)


def character_runs(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """What the tokenizer does with each code point, found by trying it: the first code points of
    runs, and their kinds.
    """

    def kind(code: int) -> int:
        if 0xD800 <= code < 0xE000:  # half of a surrogate pair is not text
            return DROP
        words = [
            w
            for w, _ in tokenizer.pre_tokenizer.pre_tokenize_str(
                tokenizer.normalizer.normalize_str(f"a{chr(code)}b")
            )
        ]
        if words == ["ab"]:
            return DROP
        return KEEP if len(words) == 1 else SPACE if len(words) == 2 else APART

    runs = [(kind, next(codes)) for kind, codes in groupby(range(0x110000), kind)]
    return [first for _, first in runs], [kind for kind, _ in runs]


def rotated(vectors: np.ndarray, seed: int = 1) -> np.ndarray:
    """Return the vectors turned at random, which changes no cosine.

    It makes the components of each row nearly normally distributed and of one variance, as LEVELS
    wants them. After a PCA the first components of most rows are much larger than the others.
    """
    dims = vectors.shape[1]
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((dims, dims)))
    return vectors @ turn.astype(np.float32)


def levels_of(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each component's level, and the scale of each row, by least squares."""
    scales = np.sqrt((vectors**2).mean(1, keepdims=True)) / 127 * NORMAL_LEVELS[-1] + 1e-12
    for _ in range(4):
        nearest = np.searchsorted(BOUNDS, vectors / scales)
        taken = LEVELS[nearest]
        scales = (vectors * taken).sum(1, keepdims=True) / (taken**2).sum(1, keepdims=True) + 1e-12
    return np.searchsorted(BOUNDS, vectors / scales), scales[:, 0]


def quantise(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the levels and the scales as integers up to LARGEST_SCALE: the length
    of a sum does not matter.
    """
    numbers, scales = levels_of(vectors)
    whole = np.maximum(1, np.round(scales / scales.max() * LARGEST_SCALE))
    return numbers.astype(np.uint8), whole.astype("<u2")


def rounded(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors as the file holds them, but for a common factor."""
    numbers, scales = quantise(vectors)
    return LEVELS[numbers] * scales[:, None].astype(np.float32)


def as_written(tokenizer: Tokenizer, vectors: np.ndarray) -> np.ndarray:
    """Return the tokens' vectors as a search adds them up, but for a common factor."""
    names = map(tokenizer.id_to_token, range(tokenizer.get_vocab_size()))
    return rounded(rotated(vectors)) * np.array([[is_known(name)] for name in names])


def tokens_of(path: Path) -> list[str]:
    """Return the tokens of a table in the order of its file."""
    table = Table(path)
    return [name.decode() for name in table._strings]


def write(path: Path, tokenizer: Tokenizer, vectors: np.ndarray) -> None:
    """vectors: one row for each token of the vocabulary, in its order."""
    names = [tokenizer.id_to_token(number) for number in range(tokenizer.get_vocab_size())]
    known = [number for number, name in enumerate(names) if is_known(name)]
    numbers, scales = quantise(rotated(vectors[known]))
    half = vectors.shape[1] // 2
    rows = numbers[:, :half] | numbers[:, half:] << 4
    row_of = dict(zip(known, range(len(known)), strict=True))
    order = sorted(range(len(names)), key=lambda number: names[number].encode())
    strings = [names[number].encode() for number in order]
    first, kinds = character_runs(tokenizer)
    parts = [
        HEADER.pack(
            MAGIC,
            WORDPIECE,
            len(names),
            len(first),
            len(known),
            vectors.shape[1],
            sum(map(len, strings)),
        ),
        LEVELS.astype("i1").tobytes(),
        np.cumsum([0, *map(len, strings)]).astype("<u4").tobytes(),
        np.array(first, "<u4").tobytes(),
        np.array([row_of.get(number, NO_ROW) for number in order], "<u2").tobytes(),
        scales.tobytes(),
        bytes(kinds),
        b"".join(strings),
        rows.tobytes(),
    ]
    path.write_bytes(b"".join(parts))
