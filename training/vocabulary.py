"""Choose the tokens of the English table: BERT's word pieces, and the words that BERT takes apart.

BERT's vocabulary is that of an encyclopedia of 2018: "config" is "con ##fi ##g" there. A
transformer sees the three together; their sum says nothing of a configuration. So each word that
the texts have often gets a row of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Tokenizer

LEAST = 6  # occurrences of a word of letters
LEAST_OF_OTHERS = 24  # of one with digits or marks, as "sqlite3"
LONGEST = 24  # characters
MOST = 28_000  # words


def whole_words(pieces: Iterable[str]) -> list[list[str]]:
    """Return the pieces of each word: `con ##fi ##g file -> [[con, ##fi, ##g], [file]]`."""
    words: list[list[str]] = []
    for piece in pieces:
        if words and piece.startswith("##") and len(piece) > 2:
            words[-1].append(piece)
        else:
            words.append([piece])
    return words


def frequent_words(tokenized: Iterable[Sequence[str]]) -> list[str]:
    """Return the words of more than one piece that the texts have often, the commonest first."""
    counts: Counter[str] = Counter()
    for pieces in tokenized:
        for word in whole_words(pieces):
            if len(word) > 1:
                counts[word[0] + "".join(piece[2:] for piece in word[1:])] += 1
    chosen = [
        word
        for word, count in counts.most_common()
        if len(word) <= LONGEST and count >= (LEAST if word.isalpha() else LEAST_OF_OTHERS)
    ]
    return chosen[:MOST]


def extended(tokenizer: Tokenizer, words: Iterable[str]) -> Tokenizer:
    """Return the tokenizer with these words as further tokens, numbered after those it has."""
    made = json.loads(tokenizer.to_str())
    vocabulary = made["model"]["vocab"]
    for word in words:
        vocabulary.setdefault(word, len(vocabulary))
    return Tokenizer.from_str(json.dumps(made))
