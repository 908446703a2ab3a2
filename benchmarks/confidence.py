"""How often the first result of a search is right, by the word that is said of its confidence.

    uv run benchmarks/confidence.py COLLECTION ... [--prompts FILE] [--questions 250]

A collection is a folder with docs/ and queries.jsonl, and with qrels.tsv (id, document, grade), or in
queries.jsonl with `conv`, the folder of docs/ that is asked, and `current` and `outdated`, lists of a
file and a line that answer. Each memory is asked its own questions, which it answers, and those of the
other collections, of its other memories and of --prompts, which it does not. The model is the
built-in one.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hybrid_memory import HybridStore, Result
from hybrid_memory.extras.evaluation.evaluation import read_qrels
from hybrid_memory.search.result import FLOOR, match
from hybrid_memory.sync.ingest import Ingest

WORDS = ("strong", "some", "faint")
FIRST = 10  # results of an answer


class Question(NamedTuple):
    """A question, the folder that answers it, and what tells a right result."""

    text: str
    folder: Path
    is_right: Callable[[Result], bool]


class Outcome(NamedTuple):
    """What a search said of a question: the confidences of its results, and which were right."""

    is_answered: bool
    confidences: list[float]
    right: list[bool]

    @property
    def word(self) -> str:
        """What is said of the first result; "" if there is none."""
        return match(self.confidences[0]) if self.confidences else ""


def questions_of(collection: Path) -> Iterator[Question]:
    qrels_path = collection / "qrels.tsv"
    qrels = read_qrels(str(qrels_path)) if qrels_path.exists() else {}
    for line in (collection / "queries.jsonl").read_text("utf-8").splitlines():
        query = json.loads(line)
        if "conv" in query:
            places = [*(query.get("current") or []), *(query.get("outdated") or [])]
            folder = collection / "docs" / query["conv"]
            yield Question(query["text"], folder, has_line(places))
        else:
            grades = qrels.get(str(query["id"]), {})
            documents = {stem(name) for name, grade in grades.items() if grade > 0}
            yield Question(query["text"], collection / "docs", is_of(documents))


def stem(name: str) -> str:
    return name.removesuffix(".md").removesuffix(".jsonl")


def is_of(documents: set[str]) -> Callable[[Result], bool]:
    return lambda result: any(stem(result["doc_id"]).endswith(name) for name in documents)


def has_line(places: Iterable[tuple[str, int]]) -> Callable[[Result], bool]:
    names = [(stem(name.rpartition("/")[2]), line) for name, line in places]

    def is_right(result: Result) -> bool:
        return any(
            stem(result["doc_id"]).endswith(name)
            and result["start_line"] <= line <= result["end_line"]
            for name, line in names
        )

    return is_right


def texts_of(file: Path) -> list[str]:
    lines = file.read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines] if file.suffix == ".jsonl" else lines


def sample(items: list[Any], most: int) -> list[Any]:
    return random.Random(1).sample(items, most) if len(items) > most else items


def outcomes(
    folder: Path, questions: Iterable[Question], others: Iterable[str]
) -> Iterator[Outcome]:
    """Ask one memory its own questions, and others."""
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        Ingest(store, patterns=["*.md", "*.jsonl"]).run([str(folder)], None)
        for question in questions:
            results = store.search(question.text, FIRST)
            right = [question.is_right(result) for result in results]
            yield Outcome(True, [result["confidence"] for result in results], right)
        for text in others:
            results = store.search(text, FIRST)
            yield Outcome(
                False, [result["confidence"] for result in results], [False] * len(results)
            )


def report(results: list[Outcome]) -> dict[str, Any]:
    """Return the shares by word, and what the floor of MCP keeps back."""
    answered = [outcome for outcome in results if outcome.is_answered]
    right = Counter(outcome.word for outcome in answered if outcome.right and outcome.right[0])
    own = Counter(outcome.word for outcome in answered)
    every = Counter(outcome.word for outcome in results)
    kept_back = [outcome for outcome in results if max(outcome.confidences, default=0.0) < FLOOR]
    found = [outcome for outcome in answered if any(outcome.right)]
    return {
        "words": {
            word: {"right": right[word], "answered": own[word], "all": every[word]}
            for word in WORDS
        },
        "floor": FLOOR,
        "unanswered": len(results) - len(answered),
        "unanswered kept back": sum(not outcome.is_answered for outcome in kept_back),
        "found among the first ten": len(found),
        "found and kept back": sum(any(outcome.right) for outcome in kept_back),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", type=Path, metavar="COLLECTION")
    parser.add_argument(
        "--questions", type=int, default=250, help="of each at most (default: %(default)s)"
    )
    parser.add_argument(
        "--prompts",
        type=Path,
        metavar="FILE",
        help="texts that nothing answers, one a line; or a queries.jsonl",
    )
    args = parser.parse_args()
    chosen: list[Question] = []
    for collection in args.collections:
        chosen += sample(list(questions_of(collection)), args.questions)
    prompts = sample(texts_of(args.prompts), args.questions) if args.prompts else []
    results: list[Outcome] = []
    for folder in dict.fromkeys(question.folder for question in chosen):
        own = [question for question in chosen if question.folder == folder]
        others = [question.text for question in chosen if question.folder != folder]
        results += outcomes(folder, own, others + prompts)
    print(json.dumps(report(results), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
