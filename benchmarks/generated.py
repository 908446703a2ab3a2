"""Generated notes for measurements at any size: the same files for the same number, in every run and on every machine.

Words are those of the built-in model's vocabulary, so that passages have embeddings. They are as frequent as Zipf's law has it,
common English words make up four in ten, and a third comes from the subject of the note: some words of one of 500 topics, to some
of which each paragraph keeps. One word in forty is made of two others, and is rare, as names are.
"""

import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from hybrid_memory.embedding.builtin import BuiltinEmbedder

COMMON = (
    "the of and to a in is was for it that on with as be at this by from are have not they which or had we but were their one "
    "all been has when who will more if no out so up said what about into than its only other time some could them then now"
).split()
PARAGRAPHS = 12  # of a note, each a chunk of the default size
SENTENCES, LENGTH = 5, (7, 20)  # of a paragraph; words of a sentence
TOPICS, OF_TOPIC = 500, 150  # topics; words of each
SUBJECT, THEME = 30, 10  # words of its topic that a note returns to; of those, words that a paragraph keeps to
FOLDER = 500  # notes


class Words:
    """Draws words."""

    def __init__(self) -> None:
        table = BuiltinEmbedder()._table
        tokens = [table.token(number) for number in range(len(table._strings))]
        known = {token for token in tokens if len(token) > 2 and token.isascii() and token.isalpha()} - set(COMMON)
        self.rare = sorted(known)
        random.Random(0).shuffle(self.rare)
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self.rare))))
        self._common = list(accumulate(1 / (rank + 2) for rank in range(len(COMMON))))
        chance = random.Random(1)
        self._topics = [chance.sample(self.rare, OF_TOPIC) for _ in range(TOPICS)]

    def some(self, chance: random.Random, count: int) -> list[str]:
        """Words that carry meaning."""
        return chance.choices(self.rare, cum_weights=self._weights, k=count)

    def note(self, number: int) -> str:
        """The note of this number, as markdown."""
        chance = random.Random(number)
        subject = chance.sample(chance.choice(self._topics), SUBJECT)
        lines = [f"# {' '.join(subject[:3]).capitalize()}", ""]
        for paragraph in range(PARAGRAPHS):
            if paragraph % 4 == 0:
                lines += [f"## {' '.join(chance.choices(subject, k=2)).capitalize()}", ""]
            theme = chance.sample(subject, THEME)
            lines += [" ".join(self._sentence(chance, theme) for _ in range(SENTENCES)), ""]
        return "\n".join(lines)

    def _sentence(self, chance: random.Random, theme: list[str]) -> str:
        length = chance.randint(*LENGTH)
        common = chance.choices(COMMON, cum_weights=self._common, k=length)
        others = self.some(chance, length)
        words = []
        for n in range(length):
            kind = chance.random()
            if kind < 0.4:
                words.append(common[n])
            elif kind < 0.73:
                words.append(chance.choice(theme))
            elif kind < 0.755:
                words.append(others[n] + others[n - 1])
            else:
                words.append(others[n])
        return f"{' '.join(words).capitalize()}."


def write(folder: Path, first: int, last: int) -> None:
    """Write the notes of these numbers, without the last, below the folder."""
    words = Words()
    for number in range(first, last):
        path = folder / f"{number // FOLDER:04}" / f"{number:06}.md"
        if number % FOLDER == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words.note(number), encoding="utf-8")


def questions(count: int, notes: int, seed: int = 1) -> Iterator[str]:
    """Questions about some of the first so many notes: words of a sentence, mostly with common ones between them."""
    words, chance = Words(), random.Random(seed)
    for _ in range(count):
        paragraphs = [line for line in words.note(chance.randrange(notes)).split("\n") if line and line[0] != "#"]
        sentence = chance.choice(chance.choice(paragraphs).split(". ")).rstrip(".").split()
        start = chance.randrange(max(1, len(sentence) - 8))
        yield " ".join(sentence[start : start + chance.randint(3, 8)])
