#!/usr/bin/env python3
"""Rebuild hybrid_memory/embedding/builtin.bin. README.md in this folder explains how, and from
what.

    python training/train.py --work ~/builtin-training

Everything that takes long is kept below --work, so that a run can be interrupted and resumed. With
the same seed, packages and kind of processor, the result is the same file. Another kind of
processor rounds differently and gives an equivalent file.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np
import stand_in
import student
import table
import teacher
import torch
import vocabulary
from corpus import Corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--work",
        type=Path,
        required=True,
        help="folder for packages and the teacher's vectors (3 GB)",
    )
    parser.add_argument("--out", type=Path, default=table.DATA)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--threads", type=int, default=1, help="more than one changes the last bits of the result"
    )
    parser.add_argument(
        "--limit", type=int, help="use only this number of texts, for a quick trial"
    )
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    corpus = Corpus(args.work.expanduser(), args.seed, args.limit)
    tokenizer = teacher.tokenizer()
    pieces = [[number] for number in range(tokenizer.get_vocab_size())]
    words = vocabulary.frequent_words(corpus.pieces)
    print(f"vocabulary: {len(pieces):,} word pieces and {len(words):,} words", flush=True)
    pieces += [tokenizer.encode(word, add_special_tokens=False).ids for word in words]
    alone = teacher.MiniLM().encode(pieces)
    tokenizer = vocabulary.extended(tokenizer, words)
    encodings = tokenizer.encode_batch(corpus.texts, add_special_tokens=False)
    token_ids = [encoding.ids[: teacher.LONGEST - 2] for encoding in encodings]
    recipe = student.Recipe(seed=args.seed)
    print(recipe, flush=True)
    vectors = student.train(token_ids, corpus.pairs, corpus.vectors, alone, recipe)
    table.write(args.out, tokenizer, vectors)
    rounded = table.rounded(vectors)
    matrix = stand_in.fitted(
        token_ids, table.as_written(tokenizer, vectors), corpus.vectors, args.seed
    )
    stand_in.write(args.out.with_name(stand_in.DATA.name), matrix)
    cosines = (
        (rounded * vectors).sum(1)
        / np.linalg.norm(rounded, axis=1)
        / np.linalg.norm(vectors, axis=1)
    )
    print(f"rounding to four bits: a token's cosine with itself is {cosines.mean():.5f} on average")
    print(
        f"{args.out}: {args.out.stat().st_size:,} bytes, sha256 "
        f"{hashlib.sha256(args.out.read_bytes()).hexdigest()}"
    )


if __name__ == "__main__":
    main()
