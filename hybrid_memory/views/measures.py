"""Figures that say how well a ranking of documents agrees with judgements."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .judgements import Grades, Lines

BUDGETS = (1000, 4000)  # characters of passages that are read, some 250 and 1,000 tokens
FIRST = 10  # documents; a wanted document below them counts as missed

Figures = dict[str, float]


def ndcg(ranking: Sequence[str], grades: Grades, k: int = FIRST) -> float:
    """The gains of the first k documents, each divided by log2(rank + 1), relative to those of the best possible order.

    Normalised discounted cumulative gain: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques",
    2002; the gain 2^grade - 1 is that of Burges et al., "Learning to rank using gradient descent", 2005.
    """
    best = _discounted(sorted(grades.values(), reverse=True)[:k])
    return _discounted(grades.get(document, 0) for document in ranking[:k]) / best


def _discounted(grades: Iterable[float]) -> float:
    return sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def recall(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the wanted documents that are among the first k (Manning, Raghavan and Schütze, chapter 8)."""
    return len(grades.keys() & set(ranking[:k])) / len(grades)


def reciprocal_rank(ranking: Sequence[str], grades: Grades, k: int = FIRST) -> float:
    """1 / rank of the first wanted document, or 0 if the rank is greater than k.

    The mean over queries is the MRR (Voorhees, TREC-8, 1999), and for k = 1 the hit rate.
    """
    place = rank(ranking[:k], grades)
    return 1 / place if place else 0.0


def rank(ranking: Sequence[str], grades: Grades) -> int | None:
    """The rank of the first wanted document, counted from 1. None if there is none."""
    return next((place for place, document in enumerate(ranking, 1) if document in grades), None)


def evidence(results: Sequence[Mapping[str, Any]], wanted: Sequence[Lines], characters: int) -> float:
    """The share of the wanted lines that stand in the first results, as many as together have so many characters of text."""
    found: set[Lines] = set()
    for result in results:
        characters -= len(result["text"])
        if characters < 0:
            break
        of_document = [lines for lines in wanted if lines.document == result["doc_id"]]
        found |= {lines for lines in of_document if lines.first <= result["end_line"] and lines.last >= result["start_line"]}
    return len(found) / len(wanted)


def figures(rankings: Sequence[tuple[Sequence[str], Grades]]) -> Figures:
    """The mean of every measure over the queries. Each query is given by its ranking and its judgements."""
    measures: dict[str, Callable[[Sequence[str], Grades], float]] = {
        "ndcg@10": ndcg,
        "recall@5": lambda ranking, grades: recall(ranking, grades, 5),
        "recall@10": lambda ranking, grades: recall(ranking, grades, 10),
        "mrr@10": reciprocal_rank,
        "hit@1": lambda ranking, grades: reciprocal_rank(ranking, grades, 1),
    }
    return {name: round(statistics.fmean(measure(*pair) for pair in rankings), 4) for name, measure in measures.items()}
