"""Write token vectors as builtin.bin, in the layout that hybrid_memory/embedding/builtin.py
describes.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

PROVIDERS = Path(__file__).resolve().parent.parent / "hybrid_memory" / "providers"
DATA = PROVIDERS / "builtin.bin"
sys.path.insert(0, str(PROVIDERS))  # to import builtin.py alone, without its package
from builtin import APART, DROP, HEADER, KEEP, MAGIC, NO_ROW, SPACE, BuiltinEmbedder  # noqa: E402

__all__ = ["DATA", "BuiltinEmbedder", "is_known", "rounded", "write"]

LARGEST_SCALE = 4095


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


def quantise(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 rows (128 added) and the scale of each, an integer up to LARGEST_SCALE: the length of a
    sum does not matter.
    """
    largest = np.abs(vectors).max(1)
    scales = np.maximum(1, np.round(largest / largest.max() * LARGEST_SCALE))
    unit = largest.max() / LARGEST_SCALE / 127
    return np.clip(np.round(vectors / (scales[:, None] * unit)), -127, 127).astype(
        np.int16
    ) + 128, scales.astype("<u2")


def rounded(vectors: np.ndarray) -> np.ndarray:
    """The vectors as the file holds them, but for a common factor."""
    rows, scales = quantise(vectors)
    return (rows - 128) * scales[:, None].astype(np.float32)


def write(path: Path, tokenizer: Tokenizer, vectors: np.ndarray) -> None:
    """vectors: one row for each token of the vocabulary, in its order."""
    names = [tokenizer.id_to_token(number) for number in range(tokenizer.get_vocab_size())]
    known = [number for number, name in enumerate(names) if is_known(name)]
    rows, scales = quantise(vectors[known])
    row_of = dict(zip(known, range(len(known)), strict=True))
    order = sorted(range(len(names)), key=lambda number: names[number].encode())
    strings = [names[number].encode() for number in order]
    first, kinds = character_runs(tokenizer)
    parts = [
        HEADER.pack(
            MAGIC, len(names), len(first), len(known), vectors.shape[1], sum(map(len, strings))
        ),
        np.cumsum([0, *map(len, strings)]).astype("<u4").tobytes(),
        np.array(first, "<u4").tobytes(),
        np.array([row_of.get(number, NO_ROW) for number in order], "<u2").tobytes(),
        scales.tobytes(),
        bytes(kinds),
        b"".join(strings),
        rows.astype(np.uint8).tobytes(),
    ]
    path.write_bytes(b"".join(parts))
