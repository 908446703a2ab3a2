"""Reads the files of an evaluation: queries as JSON lines of {"id", "text"}, and judgements in the qrels format of TREC.

A line of qrels has query, document and grade, or query, 0, document and grade. They are separated by spaces, or by tabs if an
id contains spaces. In place of a document there may be a citation, which says in which of its lines the answer stands.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import SourceError
from ..text.citation import OF_PAGES

MOST = 20.0  # the highest grade; the gain is 2^grade, which grows quickly

Grades = dict[str, float]  # doc_id -> how well it answers, > 0

_CITATION = re.compile(r"(.+)#L([1-9][0-9]{0,8})(?:-L?([1-9][0-9]{0,8}))?" + OF_PAGES)


class Lines(NamedTuple):
    """Lines first..last of a document."""

    document: str
    first: int
    last: int


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
            raise SourceError(f'{where}: a query is written {{"id": "q1", "text": "what was asked"}}') from None
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
                form = "write query, document, grade or query, 0, document, grade, with tabs if an id contains spaces"
                raise SourceError(f"{where}: there are {len(columns)} columns; {form}")
        try:
            number = float(grade)
        except ValueError:
            number = math.nan
        if not abs(number) <= MOST:
            raise SourceError(f"{where}: {grade!r} is not a grade, which is a number up to {MOST:.0f}")
        if number > 0:
            qrels[query][document] = number
    return dict(qrels)


def without_lines(grades: Grades) -> tuple[Grades, list[Lines]]:
    """The documents, each with the best grade of its lines, and the lines that were cited.

    {"a.md#L3-L5": 2, "a.md#L9": 1, "b.md": 1} -> {"a.md": 2, "b.md": 1}, [("a.md", 3, 5), ("a.md", 9, 9)]
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
