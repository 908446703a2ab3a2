"""Fit what turns a vector of the table into about the teacher's: minilm.bin, with which a query can
be compared with documents that all-MiniLM-L6-v2 has embedded, while its server is down.

The file has a row of signed bytes for each of the teacher's 384 dimensions, with a number for each
of the table's. The rows have one scale, since only directions count.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import table

FITTED = 60_000  # texts
DATA = table.EMBEDDING / "minilm.bin"


def fitted(texts: list[list[int]], rows: np.ndarray, vectors: np.ndarray, seed: int) -> np.ndarray:
    """Return the matrix [384, dims] with the least squared error (int8). `texts` has the token ids
    of each text, `rows` the tokens' vectors, and `vectors` those that the teacher gives the texts.
    """
    known = [number for number, ids in enumerate(texts) if ids]
    chosen = np.random.default_rng(seed).permutation(known)[:FITTED]
    sums = np.stack([rows[texts[number]].sum(0) for number in chosen]).astype(np.float64)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    sums /= np.maximum(lengths, 1e-9)
    matrix = np.linalg.lstsq(sums, vectors[chosen].astype(np.float64), rcond=None)[0].T
    rounded = np.round(matrix / np.abs(matrix).max() * 127).astype(np.int8)
    made = sums @ rounded.T.astype(np.float64)
    made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)
    cosines = (made * vectors[chosen]).sum(1)
    print(f"stand-in: cosine with the teacher {cosines.mean():.4f} on average", flush=True)
    return rounded


def write(path: Path, matrix: np.ndarray) -> None:
    path.write_bytes(matrix.tobytes())
