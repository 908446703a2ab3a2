"""Turn pairs of texts into the teacher's token ids and vectors. The vectors are kept on disk in
shards, so that a run can be resumed.
"""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import numpy as np
import teacher
import texts

PHRASES = 30_000
SHARD = 10_000  # texts


class Corpus:
    """texts: each distinct text; pieces: its tokens by the teacher's tokenizer; token_ids: their numbers;
    vectors: the teacher's; pairs: rows (query, document), -1 for none.
    """

    def __init__(self, work: Path, seed: int, limit: int | None = None) -> None:
        chosen = texts.pairs(work, seed, PHRASES)
        random.Random(seed + 1).shuffle(chosen)  # so that a prefix represents all of them
        index: dict[str, int] = {}
        rows = [
            [index.setdefault(text, len(index)) if text else -1 for text in pair] for pair in chosen
        ]
        self.texts = list(index)[:limit]
        encodings = teacher.tokenizer().encode_batch(self.texts, add_special_tokens=False)
        self.pieces = [encoding.tokens[: teacher.LONGEST - 2] for encoding in encodings]
        self.token_ids = [encoding.ids[: teacher.LONGEST - 2] for encoding in encodings]
        self.pairs = np.array(rows)
        print(
            f"corpus: {len(self.texts):,} texts, {sum(map(len, self.token_ids)):,} tokens, "
            f"{len(self.pairs):,} pairs",
            flush=True,
        )
        if limit:
            self.pairs = self.pairs[(self.pairs < limit).all(1)]
        self.vectors = self._taught(work / "teacher")

    def _taught(self, folder: Path) -> np.ndarray:
        folder.mkdir(parents=True, exist_ok=True)
        model = teacher.MiniLM()
        parts = []
        for start in range(0, len(self.token_ids), SHARD):
            shard = self.token_ids[start : start + SHARD]
            path = folder / (hashlib.sha256(repr(shard).encode()).hexdigest()[:24] + ".npy")
            if not path.exists():
                np.save(path, model.encode(shard))
                print(f"teacher: {start + len(shard):,} of {len(self.texts):,} texts", flush=True)
            parts.append(np.load(path))
        return np.concatenate(parts)
