"""Hostile queries for `fuzz.py queries`: each is answered, or refused by an error that says why."""

import random
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hybrid_memory import HybridMemoryError, HybridStore
from hybrid_memory.storage.filters import Filters

WORDS = [
    *"gpu server password ssh port 2222 192.168.1.5 src/store.ts C++ getUserName café naïve".split(),
    *"東京都 用Docker部署 ภาษาไทย हिन्दी".split(),
    "e\u0301", "\u200d", "\ufdfa", "\ud800", "\0", "\x1b[31m", "🎉", "→", "مُحَمَّد",
]  # fmt: skip
SYNTAX = ['"', *"()*+-^:'`[]/\\%_~|&$#@!?,;=<>.{}", "AND", "OR", "NOT", "NEAR("]


class Case(NamedTuple):
    """A query, the mode and the other options of the search."""

    query: str
    mode: str
    options: dict[str, Any]


def make(rng: random.Random) -> Case:
    filters = Filters(
        inside=query(rng)[:50] or None, tags=[query(rng)], since=rng.choice([None, "7d", "2026-01"])
    )
    half_life = rng.choice([1.0, 1e-9, 1e9])
    shares = {
        "fts_syntax": (0.1, True),
        "context": (0.05, 1),
        "explain": (0.02, True),
        "filters": (0.05, filters),
    }
    shares["half_life_days"] = (0.02, half_life)
    options = {name: value for name, (share, value) in shares.items() if rng.random() < share}
    return Case(query(rng), rng.choice(["keyword", "keyword", "hybrid", "vector"]), options)


def query(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.3:
        return " ".join(rng.choices(WORDS + SYNTAX, k=rng.randint(0, 8)))
    if kind < 0.6:
        return "".join(rng.choices([*SYNTAX, *WORDS, " ", "\t", "\n"], k=rng.randint(0, 20)))
    if kind < 0.8:
        return "".join(
            chr(rng.randrange(rng.choice([0x80, 0x3000, 0x110000])))
            for _ in range(rng.randint(0, 30))
        )
    if kind < 0.86:
        return rng.choice(WORDS + SYNTAX) * int(10 ** rng.uniform(0, 3.6))
    word = rng.choice(WORDS)
    return word[: rng.randint(0, len(word))] + rng.choice(SYNTAX)


def kept(case: Case) -> tuple[str, bytes]:
    return "query.txt", repr(case).encode()


@cache
def store() -> HybridStore:
    rng = random.Random(1)
    opened = HybridStore(":memory:", {"provider": "builtin"})
    for number in range(40):
        text = f"# {rng.choice(WORDS)}\n\n{' '.join(rng.choices(WORDS, k=40))}"
        opened.store(
            f"m/{number}.md", text, {"tags": ["a"], "date": f"2026-01-{number % 28 + 1:02}"}
        )
    return opened


def check(case: Case, folder: Path) -> None:
    try:
        results = store().search(case.query, 10, case.mode, **case.options)
    except HybridMemoryError:
        return
    assert all(0 <= result["score"] <= 1 and 0 <= result["confidence"] <= 1 for result in results)
