"""Choose the tokens of the table for many languages from the pieces of the teacher's tokenizer.

A piece is taken as hybrid_memory/embedding/multilingual.py sees texts: folded, in lower case. The
teacher's own log-probability says how frequent it is in a hundred languages; a piece that occurs in
the training texts, which are in LANGUAGES, is preferred. Each script has a quota.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hybrid_memory.embedding.multilingual import CONTINUES, LONGEST_TOKEN, UNSPACED, WORD
from hybrid_memory.text.characters import fold, pattern
from hybrid_memory.text.scripts import HAN

SPECIAL = 4  # pieces that are no text
OCCURRING = 2.5  # what occurring in the training texts is worth, in log-probability
QUOTAS = {
    "han": 5_600,
    "pairs": 13_500,
    "kana": 2_500,
    "joined": 1_700,
    "cyrillic": 5_500,
    "arabic": 3_200,
    "hangul": 3_200,
    "devanagari": 1_700,
    "greek": 1_600,
    "hebrew": 1_400,
    "latin": 24_700,
}
RANGES = {
    "kana": "\u3041-\u30ff",
    "joined": "\u0e00-\u0eff\ue500-\ue5ff",
    "cyrillic": "\u0400-\u052f",
    "arabic": "\u0600-\u06ff",
    "hangul": "\uac00-\ud7ff",
    "devanagari": "\u0900-\u097f\ue000-\ue07f",
    "greek": "\u0370-\u03ff",
    "hebrew": "\u0590-\u05ff",
    "latin": "0-9a-z\u00df-\u024f",
}


class Choice(NamedTuple):
    """A token: its text ("##" before one that continues a word), the ids of the teacher's pieces
    that say what it means, and how frequent it is.
    """

    token: str
    pieces: list[int]
    probability: float


def script(text: str) -> str | None:
    if re.fullmatch(f"[{HAN}]+", text):
        return {1: "han", 2: "pairs"}.get(len(text))
    return next(
        (name for name, letters in RANGES.items() if re.fullmatch(f"[{letters}]+", text)), None
    )


def choose(
    pieces: Sequence[str], scores: np.ndarray, counts: np.ndarray, tokenizer, jieba: Path
) -> list[Choice]:
    """`counts`: how often each piece occurs in the training texts."""
    best: dict[str, tuple[float, int]] = {}
    probabilities: dict[str, float] = {}
    for number, piece in enumerate(pieces):
        token = fold(piece.removeprefix("\u2581")).lower()
        if number < SPECIAL or len(token) > LONGEST_TOKEN - 2 or not pattern(WORD).fullmatch(token):
            continue
        if not (piece.startswith("\u2581") or re.match(f"[{HAN}{UNSPACED}]", token)):
            token = CONTINUES + token
        worth = float(scores[number]) + (OCCURRING if counts[number] else 0.0)
        best[token] = max(best.get(token, (-math.inf, 0)), (worth, number))
        probability = math.exp(scores[number])
        probabilities[token] = probabilities.get(token, 0.0) + probability
    ranked: dict[str, list[tuple[float, str, list[int]]]] = {name: [] for name in QUOTAS}
    for token, (worth, number) in best.items():
        name = script(token.removeprefix(CONTINUES))
        if name:
            ranked[name].append((worth, token, [number]))
    for line in jieba.read_text("utf-8").splitlines():
        word, frequency, *_ = line.split(" ")
        if script(word) == "pairs" and word not in best and int(frequency) > 2:
            worth = math.log(int(frequency) / 6e7)  # of all words; a little below the pieces' own
            ids = tokenizer.encode(word).ids
            ranked["pairs"].append((worth, word, [id for id in ids if pieces[id] != "\u2581"]))
            probabilities[word] = int(frequency) / 6e8
    chosen = []
    for name, quota in QUOTAS.items():
        ranked[name].sort(reverse=True)
        for _, token, ids in ranked[name][:quota]:
            chosen.append(Choice(token, ids, probabilities[token]))
        print(
            f"vocabulary: {name} {len(ranked[name][:quota]):,} of {len(ranked[name]):,}, "
            f"down to {ranked[name][:quota][-1][:2]}"
        )
    return chosen
