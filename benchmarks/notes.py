"""Notes as people and agents write them, made up: `uv run benchmarks/notes.py FOLDER --notes 1000`.

Words are as frequent as in English: the commonest first, then those of the built-in model's
vocabulary in an order that is drawn once (Zipf's law with Mandelbrot's offset). A section repeats a
few words of its note's topic, and those mean something alike, so passages are more and less near
each other. Notes have front matter, headings, lists, tables, code, identifiers, and links to each
other. A note depends on nothing but its number, so any number of them can be made, and any of them
again.
"""

import argparse
import os
import random
from bisect import bisect
from collections import Counter
from functools import cache
from itertools import accumulate, count
from operator import mul
from pathlib import Path

if __name__ == "__main__":
    os.environ.pop(
        "BENCHMARK_ROOT", None
    )  # the notes are this package's, whichever revision is measured

import common  # noqa: F401  # it puts the package on the path

from hybrid_memory.embedding.builtin import BuiltinEmbedder, Table

SEED = 2026
MODEL = BuiltinEmbedder()
COMMONEST = """the of and to a in is it for that on with as be this was by at are from or an not we have but
which you can if will they has all one when there use so no more then what do out up its into
only than other some how about them our new time my just after each also like where any should
need been who get make two before now because see does most over first their very""".split()
OFFSET = 2.7  # Mandelbrot's: the commonest words are less frequent than Zipf's law says
TOPICS, CANDIDATES, TOPIC_WORDS, SECTION_WORDS = 200, 1000, 60, 10
COMMON_SHARE, SECTION_SHARE = (
    0.45,
    0.4,
)  # of a text's words: the commonest of the language, and the section's own
PER_FOLDER = 500
QUESTIONS = (
    "how do we {} the {} of {}",
    "what is the {} {} {}",
    "{} {} {}",
    "where did {} see {} with {}",
    "{} {} for the {}?",
)


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """The words, the commonest first, and how often they come, added up."""
    table, found = Table(MODEL.path), []
    for index in count():
        try:
            found.append(table.token(index))
        except IndexError:
            break
    known = [
        word
        for word in found
        if len(word) > 2 and word.isascii() and word.isalpha() and word not in COMMONEST
    ]
    random.Random(SEED).shuffle(known)
    words = COMMONEST + known
    return words, list(accumulate(1 / (rank + OFFSET) for rank in range(1, len(words) + 1)))


@cache
def vector(word: str) -> list[float]:
    return MODEL.embed_batch([word])[0]


@cache
def topic(number: int) -> tuple[list[str], list[float]]:
    """Words that mean something like one of them, and how often they come, added up."""
    candidates = random.Random(f"{SEED} topic {number}").sample(
        vocabulary()[0][len(COMMONEST) :], CANDIDATES
    )
    middle = vector(candidates[0])
    words = sorted(candidates, key=lambda word: -sum(map(mul, middle, vector(word) or middle)))[
        :TOPIC_WORDS
    ]
    return words, list(accumulate(1 / (rank + OFFSET) for rank in range(1, TOPIC_WORDS + 1)))


class Writer:
    """Writes one note."""

    def __init__(self, number: int) -> None:
        self.number, self.chance = number, random.Random(f"{SEED} note {number}")
        self.topic = topic(self.chance.randrange(TOPICS))
        self.begin_section()

    def begin_section(self) -> None:
        """Choose the words that the next section is about."""
        words, weights = self.topic
        self.own = self.chance.choices(words, cum_weights=weights, k=SECTION_WORDS)

    def words(self, least: int, most: int) -> list[str]:
        words, weights = vocabulary()
        random, commonest, all_words, own = (
            self.chance.random,
            weights[len(COMMONEST) - 1],
            weights[-1],
            self.own,
        )
        found = []
        for _ in range(least + int(random() * (most - least + 1))):
            kind = random()
            if kind < SECTION_SHARE:
                found.append(own[int(random() * SECTION_WORDS)])
            else:
                found.append(
                    words[
                        bisect(
                            weights,
                            random()
                            * (commonest if kind < SECTION_SHARE + COMMON_SHARE else all_words),
                        )
                    ]
                )
        return found

    def phrase(self, least: int, most: int) -> str:
        return " ".join(self.words(least, most))

    def sentence(self) -> str:
        text, kind = self.phrase(6, 22), self.chance.random()
        if kind < 0.08:
            text += f" `{self.identifier()}`"
        elif kind < 0.12:
            text += f" [[{name(self.chance.randrange(self.number + 1))}]]"
        elif kind < 0.14:
            text += f" [{self.phrase(1, 3)}](../{path(self.chance.randrange(self.number + 1))})"
        elif kind < 0.18:
            text += f", {self.chance.randint(2, 9999)} of them"
        return f"{text.capitalize()}."

    def identifier(self) -> str:
        a, b = self.words(2, 2)
        form = self.chance.choice(
            (
                "{a}_{b}",
                "{a}-{b}",
                "--{a}-{b}",
                "{a}.{b}()",
                "src/{a}/{b}.py",
                "{a}{n}",
                "v{n}.{m}",
                "10.{n}.{m}.1",
            )
        )
        return form.format(a=a, b=b, n=self.chance.randint(0, 255), m=self.chance.randint(0, 99))

    def block(self) -> str:
        kind = self.chance.random()
        if kind < 0.2:
            return "\n".join(f"- {self.sentence()}" for _ in range(self.chance.randint(2, 6)))
        if kind < 0.26:
            lines = (
                f"{self.words(1, 1)[0]} {self.identifier()} --{self.words(1, 1)[0]}"
                for _ in range(self.chance.randint(1, 5))
            )
            return "```bash\n" + "\n".join(lines) + "\n```"
        if kind < 0.29:
            rows = (
                f"| {self.words(1, 1)[0]} | {self.phrase(2, 6)} |"
                for _ in range(self.chance.randint(2, 5))
            )
            return "| what | note |\n|---|---|\n" + "\n".join(rows)
        return " ".join(self.sentence() for _ in range(self.chance.randint(1, 5)))

    def note(self) -> str:
        parts = []
        if self.chance.random() < 0.3:
            day = f"{2020 + self.number % 6}-{self.chance.randint(1, 12):02}-{self.chance.randint(1, 28):02}"
            parts.append(f"---\ntags: [{', '.join(self.words(1, 3))}]\ndate: {day}\n---")
        parts.append(f"# {self.phrase(2, 5).title()}")
        for number in range(min(1 + int(self.chance.lognormvariate(0.9, 0.7)), 30)):
            self.begin_section()
            parts += (
                [f"{'#' * self.chance.choice((2, 2, 3))} {self.phrase(1, 4).capitalize()}"]
                if number
                else []
            )
            parts += [self.block() for _ in range(self.chance.randint(2, 6))]
        return "\n\n".join(parts) + "\n"


def name(number: int) -> str:
    return f"note-{number}"


def path(number: int) -> str:
    return f"{number // PER_FOLDER:03}/{name(number)}.md"


def write(folder: Path, notes: int, first: int = 0) -> int:
    """Write the notes with the numbers from `first` on; the bytes of them."""
    size = 0
    for number in range(first, first + notes):
        target = folder / path(number)
        target.parent.mkdir(parents=True, exist_ok=True)
        size += target.write_bytes(Writer(number).note().encode())
    return size


def queries(count: int, notes: int, seed: object = SEED) -> list[str]:
    """Questions, each with the three words that one note has most in one place, no two the same."""
    chance, found = random.Random(f"queries {seed}"), {}
    while len(found) < count:
        text = Writer(chance.randrange(notes)).note()
        words = [
            word
            for word in text.lower().split()
            if word.isalpha() and len(word) > 2 and word not in COMMONEST
        ]
        start = chance.randrange(max(len(words) - 40, 1))
        picked = [word for word, _ in Counter(words[start : start + 40]).most_common(3)]
        if len(picked) == 3:
            found[chance.choice(QUESTIONS).format(*picked)] = None
    return list(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    args = parser.parse_args()
    print(write(args.folder, args.notes, args.first))
