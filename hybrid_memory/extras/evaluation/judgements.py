"""Reads the files of an evaluation: queries as JSON lines of {"id", "text"}, and judgements in the
qrels format of TREC.

A line of qrels has query, document and grade, or query, 0, document and grade. They are separated
by spaces, or by tabs if an id contains spaces. In place of a document there may be a citation,
which says in which of its lines the answer stands.

The figures say how well a ranking of documents agrees with the judgements.
"""

import json
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import SourceError
from ...text.characters import OF_PAGES

BUDGETS = (1000, 4000)  # characters of passages that are read, some 250 and 1,000 tokens
FIRST = 10  # documents; a wanted document below them counts as missed

Grades = dict[str, float]  # doc_id -> how well it answers, > 0
Figures = dict[str, float]


class Lines(NamedTuple):
    """Lines first..last of a document."""

    document: str
    first: int
    last: int


def ndcg(ranking: Sequence[str], grades: Grades, k: int = FIRST) -> float:
    """The gains of the first k documents, each divided by log2(rank + 1), relative to those of the
    best possible order.

    Normalised discounted cumulative gain: Järvelin and Kekäläinen, "Cumulated gain-based evaluation
    of IR techniques", 2002; the gain 2^grade - 1 is that of Burges et al., "Learning to rank using
    gradient descent", 2005.
    """
    best = _discounted(sorted(grades.values(), reverse=True)[:k])
    return _discounted(grades.get(document, 0) for document in ranking[:k]) / best


def _discounted(grades: Iterable[float]) -> float:
    return sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def recall(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the wanted documents that are among the first k (Manning, Raghavan and Schütze,
    chapter 8).
    """
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


def evidence(
    results: Sequence[Mapping[str, Any]], wanted: Sequence[Lines], characters: int
) -> float:
    """The share of the wanted lines that stand in the first results, as many as together have so
    many characters of text.
    """
    found: set[Lines] = set()
    for result in results:
        characters -= len(result["text"])
        if characters < 0:
            break
        of_document = [lines for lines in wanted if lines.document == result["doc_id"]]
        found |= {
            lines
            for lines in of_document
            if lines.first <= result["end_line"] and lines.last >= result["start_line"]
        }
    return len(found) / len(wanted)


def figures(rankings: Sequence[tuple[Sequence[str], Grades]]) -> Figures:
    """The mean of every measure over the queries. Each query is given by its ranking and its
    judgements.
    """
    measures: dict[str, Callable[[Sequence[str], Grades], float]] = {
        "ndcg@10": ndcg,
        "recall@5": lambda ranking, grades: recall(ranking, grades, 5),
        "recall@10": lambda ranking, grades: recall(ranking, grades, 10),
        "mrr@10": reciprocal_rank,
        "hit@1": lambda ranking, grades: reciprocal_rank(ranking, grades, 1),
    }
    return {
        name: round(statistics.fmean(measure(*pair) for pair in rankings), 4)
        for name, measure in measures.items()
    }


MOST = 20.0  # the highest grade; the gain is 2^grade, which grows quickly


_CITATION = re.compile(r"(.+)#L([1-9][0-9]{0,8})(?:-L?([1-9][0-9]{0,8}))?" + OF_PAGES)


def read_queries(path: str) -> dict[str, str]:
    """Query id -> text. Raises SourceError with the line that is not a query."""
    queries: dict[str, str] = {}
    for where, line in _lines(path):
        try:
            record = json.loads(line)
            id, text = str(record["id"]), record["text"]
            empty = not text.strip()
            text.encode()  # fails for an unpaired surrogate
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SourceError(
                f'{where}: a query is written {{"id": "q1", "text": "what was asked"}}'
            ) from None
        if empty or id in queries:
            raise SourceError(f"{where}: query {id} {'is empty' if empty else 'is there twice'}")
        queries[id] = text
    return queries


def read_qrels(path: str) -> dict[str, Grades]:
    """Query id -> its wanted documents, which are those with a grade above 0.

    Raises SourceError with the line that is not a judgement.
    """
    qrels: dict[str, Grades] = defaultdict(dict)
    for where, line in _lines(path):
        match line.split("\t") if "\t" in line else line.split():
            case [query, document, grade] | [query, _, document, grade]:
                pass
            case columns:
                form = (
                    "write query, document, grade or query, 0, document, grade, "
                    "with tabs if an id contains spaces"
                )
                raise SourceError(f"{where}: there are {len(columns)} columns; {form}")
        try:
            number = float(grade)
        except ValueError:
            number = math.nan
        if not abs(number) <= MOST:
            raise SourceError(
                f"{where}: {grade!r} is not a grade, which is a number up to {MOST:.0f}"
            )
        if number > 0:
            qrels[query][document] = number
    return dict(qrels)


def without_lines(grades: Grades) -> tuple[Grades, list[Lines]]:
    """The documents, each with the best grade of its lines, and the lines that were cited.

    {"a.md#L3-L5": 2, "a.md#L9": 1, "b.md": 1} -> {"a.md": 2, "b.md": 1}, [("a.md", 3, 5), ("a.md",
    9, 9)]
    """
    documents: Grades = {}
    lines = []
    for name, grade in grades.items():
        if cited := _CITATION.fullmatch(name):
            name = cited[1]
            lines.append(Lines(name, int(cited[2]), int(cited[3] or cited[2])))
        documents[name] = max(grade, documents.get(name, 0.0))
    return documents, lines


def _lines(path: str) -> Iterator[tuple[str, str]]:
    """(file:number, line) for each line that is not blank."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", line.rstrip("\n")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read {path}: it is not UTF-8") from error
