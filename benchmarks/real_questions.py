"""Questions of six kinds, drawn from the passages of a memory: what people paste and type."""

import random
import re
from collections import Counter
from collections.abc import Iterable

import common  # noqa: F401  # it puts the package on the path

from hybrid_memory import HybridStore

SEED = 5
SAMPLE = 20_000  # passages
COMMON, RARE = 0.08, 2  # share of the sample with a common word; passages of it with a rare one
PASSAGES = """
select c.heading, c.content, d.doc_id from chunks c join documents d using (doc_id)
where  c.id in (select id from chunks order by id * 2654435761 % 4294967296 limit ?)
"""


def drawn(store: HybridStore, count: int) -> dict[str, list[tuple[str, str | None]]]:
    """At most `count` questions of each kind, each with the folder to search, if it has one.

    `store` is a SQLite file. Headings have three words or more, sentences seven, paragraphs 250 to
    900 characters; one to three common or rare words make a question. The filtered questions are
    sentences, searched in the folder of their note.
    """
    rows = store.storage.connection.execute(PASSAGES, (SAMPLE,)).fetchall()  # type: ignore[attr-defined]
    chance = random.Random(SEED)
    chance.shuffle(rows)
    headings = [heading for heading, *_ in rows if len(re.findall(r"\w{2,}", heading)) > 2]
    sentences = [
        (sentence, f"{doc_id.rpartition('/')[0]}/*")
        for _, text, doc_id in rows
        if "/" in doc_id
        for sentence in re.split(r"(?<=[.!?])\s+", text)
        if 40 <= len(sentence) <= 220 and len(re.findall(r"[^\W\d_]{2,}", sentence)) > 6
    ]
    chance.shuffle(sentences)
    paragraphs = [
        paragraph
        for _, text, _ in rows
        for paragraph in text.split("\n\n")
        if 250 <= len(paragraph) <= 900 and len(re.findall(r"[^\W\d_]{2,}", paragraph)) > 29
    ]
    counts = Counter(word for _, text, _ in rows for word in words(text))
    often = sorted(word for word, number in counts.items() if number > COMMON * len(rows))
    seldom = sorted(word for word, number in counts.items() if number <= RARE)
    questions = {
        "headings": [(heading, None) for heading in dict.fromkeys(headings)],
        "sentences": [(sentence, None) for sentence, _ in sentences],
        "paragraphs": [(paragraph, None) for paragraph in dict.fromkeys(paragraphs)],
        "common words": [(some(chance, often), None) for _ in range(count)],
        "rare words": [(some(chance, seldom), None) for _ in range(count)],
        "in a folder": list(sentences),
    }
    return {kind: found[:count] for kind, found in questions.items() if found}


def words(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return set(re.findall(r"[^\W\d_]{3,}", text.lower()))


def some(chance: random.Random, of: Iterable[str]) -> str:
    """One to three of these words."""
    known = list(of)
    return " ".join(chance.sample(known, min(chance.randint(1, 3), len(known))))
