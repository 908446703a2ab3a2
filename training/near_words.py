#!/usr/bin/env python3
"""Write hybrid_memory/embedding/near_words.bin: the nearest words of each word of builtin.bin.

    python training/near_words.py

Needs numpy and a minute of CPU time. The result depends on builtin.bin alone.
hybrid_memory/embedding/near_words.py describes the layout.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from hybrid_memory.embedding.builtin import LEVELS, NO_ROW, BuiltinEmbedder, Table
from hybrid_memory.embedding.near_words import BLOCK, COSINES, DATA, HEADER, LEAST, MAGIC

NEAREST = 16  # words for each word; 8 rank a little worse, 32 no better
BATCH = 1024  # words compared at a time


def vectors_of(table: Table, rows: np.ndarray) -> np.ndarray:
    """The vectors of these rows of the table, as float32."""
    packed = np.frombuffer(table.packed_rows, np.uint8).reshape(-1, table.dims // 2)[rows]
    levels = np.array(table.levels, np.float32)
    scales = np.frombuffer(table.scales, np.uint16)[rows].astype(np.float32)
    return np.hstack([levels[packed % LEVELS], levels[packed // LEVELS]]) * scales[:, None]


def main() -> None:
    table = BuiltinEmbedder().table
    row_of = np.frombuffer(table.row_of, np.uint16)
    tokens = [table.token(index) for index in range(len(row_of))]
    lengths = np.linalg.norm(vectors_of(table, np.arange(len(table.scales))), axis=1)
    words = np.array(
        [
            index
            for index, token in enumerate(tokens)
            if row_of[index] != NO_ROW and token.isalpha() and len(token) > 1
        ]
    )
    unit = vectors_of(table, row_of[words])
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    counts = np.zeros(len(tokens), np.uint8)
    near: list[int] = []
    cosines: list[int] = []
    for start in range(0, len(words), BATCH):
        batch = unit[start : start + BATCH] @ unit.T
        batch[np.arange(len(batch)), start + np.arange(len(batch))] = -1  # itself
        best = np.argpartition(-batch, NEAREST, axis=1)[:, :NEAREST]
        for number, others in enumerate(best):
            found = sorted((-float(batch[number, other]), int(other)) for other in others)
            kept = [(-cosine, other) for cosine, other in found if -cosine >= LEAST]
            counts[words[start + number]] = len(kept)
            near += [int(words[other]) for _, other in kept]
            cosines += [round(cosine * COSINES) for cosine, _ in kept]
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.uint32)])[::BLOCK]
    Path(DATA).write_bytes(
        HEADER.pack(MAGIC, len(tokens), len(starts), len(near), float(np.median(lengths)))
        + starts.astype("<u4").tobytes()
        + np.array(near, "<u2").tobytes()
        + counts.tobytes()
        + bytes(cosines)
    )
    print(
        f"{DATA}: {Path(DATA).stat().st_size:,} bytes, {len(near):,} near words of {len(words):,} words"
    )


if __name__ == "__main__":
    main()
