"""Turn pairs of texts into token ids and the teacher's vectors. They are kept on disk in shards, so
that a run can be resumed.
"""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import numpy as np
import teacher
import texts

PHRASES = 30_000
MANUAL_PAIRS = 45_000
SHARD = 10_000  # texts


class Corpus:
    """texts: token ids of each distinct text; vectors: the teacher's; pairs: rows (query,
    document), -1 for none.
    """

    def __init__(self, work: Path, seed: int, limit: int | None = None) -> None:
        chosen = choose(texts.pairs(work, seed, PHRASES), seed)
        index: dict[str, int] = {}
        rows = [
            [index.setdefault(text, len(index)) if text else -1 for text in pair] for pair in chosen
        ]
        encodings = teacher.tokenizer().encode_batch(list(index), add_special_tokens=False)
        self.texts = [encoding.ids[: teacher.LONGEST - 2] for encoding in encodings]
        self.pairs = np.array(rows)
        print(
            f"corpus: {len(self.texts):,} texts, {sum(map(len, self.texts)):,} tokens, "
            f"{len(self.pairs):,} pairs",
            flush=True,
        )
        if limit:
            self.texts = self.texts[:limit]
            self.pairs = self.pairs[(self.pairs < limit).all(1)]
        self.vectors = self._taught(work / "teacher")

    def _taught(self, folder: Path) -> np.ndarray:
        folder.mkdir(parents=True, exist_ok=True)
        model = teacher.MiniLM()
        parts = []
        for start in range(0, len(self.texts), SHARD):
            shard = self.texts[start : start + SHARD]
            path = folder / (hashlib.sha256(repr(shard).encode()).hexdigest()[:24] + ".npy")
            if not path.exists():
                np.save(path, model.encode(shard))
                print(f"teacher: {start + len(shard):,} of {len(self.texts):,} texts", flush=True)
            parts.append(np.load(path))
        return np.concatenate(parts)


def choose(pairs: list[texts.Pair], seed: int) -> list[texts.Pair]:
    """All dictionaries and phrases and a sample of the manuals, in a random order, so that a prefix
    represents all of them.
    """
    rng = random.Random(seed + 1)
    manual = [pair for pair in pairs if "\n\n" in pair.document or "\n" in pair.document]
    other = [pair for pair in pairs if "\n" not in pair.document]
    bare = [pair for pair in other if not pair.document]
    chosen = rng.sample(manual, min(MANUAL_PAIRS, len(manual))) + [
        pair for pair in other if pair.document
    ]
    chosen += [pair for pair in bare if rng.random() < 0.6]
    rng.shuffle(chosen)
    return chosen
