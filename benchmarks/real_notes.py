"""How often a search finds the passage that answers a question about real notes: `uv run
benchmarks/real_notes.py DIR`.

real_notes.jsonl has sources (a public repository, a commit, the folder with its notes) and
questions. `also` has each question in two other wordings, by somebody who has not seen the notes;
the search "hybrid, also" is given them. An answer is a file, a line and a few words of that line;
a question whose `answers` are null is about something that nobody noted. All were written before
any search. DIR has a folder for each source, named after it: a checkout of the commit, or its
markdown files. Nothing is downloaded. Without DIR, the notes and questions of tests/quality are used.

Each source is a separate store with the built-in model and default settings. A passage is right if
it comes from the file of an answer and contains its words. "fts5" is plain FTS5 over the same
chunks: an OR of the question's words, bm25 over heading path and text, porter stems; "fts5 with
names" searches file names, too, with twice the weight of the text for names and headings.

- passage first, document first: how many questions have the right passage, or the right document,
  in the first place
- passage mrr: 1 divided by the rank of the first right passage, 0 if it is not among the first ten;
  the mean over all questions
- strong, strong and right: how many of these questions have a first result with a strong
  confidence, and how many of those results are from a right document
- unanswered, unanswered strong: how many questions are about something that nobody noted, and how
  many of them have a first result with a strong confidence

A hash of its id puts each question into one of two halves: tune with one, and use the other to see
whether the gain holds.
"""

import json
import re
import sqlite3
import statistics
import sys
import zlib
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from common import CHECKOUT, Row, run

from hybrid_memory import HybridStore
from hybrid_memory.config import MODES
from hybrid_memory.search.result import match
from hybrid_memory.sync.ingest import Ingest

QUESTIONS = Path(__file__).with_name("real_notes.jsonl")
QUALITY = CHECKOUT / "tests" / "quality"
SMALL = 12  # questions
FIRST = 10  # results of a search

CHUNKS = """
select source_path, heading_path, chunks.content from chunks join documents using (doc_id)
"""
SEARCH = """
select file, text from "{table}" where "{table}" match :words
order by bm25("{table}", {weights}) limit :limit
"""
PLAIN = {  # table of the search: the weights of its columns
    "fts5": {"heading": 1, "text": 1},
    "fts5 with names": {"name": 2, "heading": 2, "text": 1},
}


class Answer(NamedTuple):
    """A place that answers a question. Without a line, the words may be anywhere in the file."""

    file: str  # relative to the folder of the source
    words: str
    line: int | None = None


class Question(NamedTuple):
    """A question, and every place that answers it."""

    id: str
    text: str
    answers: list[Answer]
    also: list[str]

    @property
    def half(self) -> str:
        return "tuning half" if zlib.crc32(self.id.encode()) % 2 else "held-out half"


class Source(NamedTuple):
    """Notes with questions about them."""

    name: str
    root: Path
    notes: Path
    questions: list[Question]


class Passage(NamedTuple):
    """A result. Plain FTS5 has no confidence."""

    file: str  # relative to the folder of the source
    text: str
    match: str = ""


class Outcome(NamedTuple):
    """The quality of one answer."""

    rank: int  # of the first right passage, from 1; 0: not among the first ten
    is_document_first: bool
    match: str  # of the first passage
    is_answered: bool  # by the notes


Search = Callable[[Question], list[Passage]]


def sources(folder: Path | None, small: bool) -> Iterator[Source]:
    if folder is None:
        yield Source(
            "quality", QUALITY / "notes", QUALITY / "notes", list(quality_questions(small))
        )
        return
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    for source in (row for row in rows if "repository" in row):
        name, root = source["source"], folder / source["source"]
        questions = [
            Question(
                row["id"], row["text"], list(map(answer_of, row["answers"] or [])), row["also"]
            )
            for row in rows
            if "id" in row and row["source"] == name
        ]
        check(root, questions, "{repository} at {commit}".format_map(source))
        yield Source(name, root, root / source["folder"], questions[: SMALL if small else None])


def answer_of(row: dict[str, Any]) -> Answer:
    return Answer(row["file"], row["needle"], row["line"])


def quality_questions(small: bool) -> Iterator[Question]:
    """The questions of tests/quality that have the words of a passage."""
    best: dict[str, tuple[int, list[str]]] = {}
    for line in (QUALITY / "qrels.tsv").read_text("utf-8").splitlines():
        id, file, grade = line.split("\t")
        highest, files = best.get(id, (0, []))
        if int(grade) >= highest:
            best[id] = int(grade), [*(files if int(grade) == highest else []), file]
    lines = (QUALITY / "queries.jsonl").read_text("utf-8").splitlines()
    queries = [query for query in map(json.loads, lines) if "passage" in query]
    rows = map(json.loads, (QUALITY / "phrasings.jsonl").read_text("utf-8").splitlines())
    also = {row["id"]: row["also"] for row in rows}
    for query in queries[: SMALL if small else None]:
        answers = [Answer(file, query["passage"]) for file in best[query["id"]][1]]
        yield Question(query["id"], query["text"], answers, also[query["id"]])


def check(root: Path, questions: Iterable[Question], wanted: str) -> None:
    """Exit if a file is not as it was when the questions were written."""
    for answer in (answer for question in questions for answer in question.answers):
        path = root / answer.file
        if not path.is_file():
            sys.exit(f"{path} does not exist; {root} must contain the files of {wanted}")
        lines = path.read_text("utf-8").split("\n")
        if answer.line and answer.words not in "".join(lines[answer.line - 1 : answer.line]):
            sys.exit(
                f"{path}: line {answer.line} does not contain {answer.words!r}; {root} must contain "
                f"the files of {wanted}"
            )


def searches(store: HybridStore, root: Path, plain: sqlite3.Connection) -> dict[str, Search]:
    """Every way to search these notes."""

    def relative(path: str) -> str:
        return Path(path).relative_to(root).as_posix()

    def in_mode(mode: str, *, with_also: bool = False) -> Search:
        return lambda question: [
            Passage(relative(str(result["path"])), result["text"], match(result["confidence"]))
            for result in store.search(
                question.text, FIRST, mode, also=question.also if with_also else []
            )
        ]

    def by_fts5(table: str) -> Search:
        weights = ", ".join(map(str, PLAIN[table].values()))
        statement = SEARCH.format(table=table, weights=weights)

        def search(question: Question) -> list[Passage]:
            words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
            found = plain.execute(statement, {"words": words, "limit": FIRST})
            return [Passage(relative(file), content) for file, content in found]

        return search

    chunks = store.storage.connection.execute(CHUNKS).fetchall()  # type: ignore[attr-defined]
    for table, weights in PLAIN.items():
        fill(plain, table, list(weights), chunks)
    return (
        {mode: in_mode(mode) for mode in MODES}
        | {"hybrid, also": in_mode("hybrid", with_also=True)}
        | {table: by_fts5(table) for table in PLAIN}
    )


def fill(
    plain: sqlite3.Connection, table: str, columns: list[str], chunks: list[tuple[str, str, str]]
) -> None:
    plain.execute(
        f"""create virtual table "{table}" using fts5({", ".join(columns)}, file unindexed, """
        "tokenize = 'porter unicode61')"
    )
    rows = [
        {"file": file, "name": Path(file).stem, "heading": heading, "text": text}
        for file, heading, text in chunks
    ]
    names = [*columns, "file"]
    values = ", ".join(f":{name}" for name in names)
    plain.executemany(f'insert into "{table}" ({", ".join(names)}) values ({values})', rows)


def is_right(passage: Passage, question: Question) -> bool:
    text = " ".join(passage.text.split())
    return any(
        passage.file == answer.file and " ".join(answer.words.split()) in text
        for answer in question.answers
    )


def outcome(question: Question, passages: list[Passage]) -> Outcome:
    right = [is_right(passage, question) for passage in passages]
    files = {answer.file for answer in question.answers}
    return Outcome(
        right.index(True) + 1 if any(right) else 0,
        bool(passages) and passages[0].file in files,
        passages[0].match if passages else "",
        bool(question.answers),
    )


def figures(outcomes: list[Outcome]) -> Row:
    answered = [each for each in outcomes if each.is_answered]
    found = {
        "questions": len(answered),
        "passage_first": sum(each.rank == 1 for each in answered),
        "passage_mrr": statistics.fmean(1 / each.rank if each.rank else 0 for each in answered),
        "document_first": sum(each.is_document_first for each in answered),
    }
    return found | (confidence(outcomes) if any(each.match for each in outcomes) else {})


def confidence(outcomes: list[Outcome]) -> Row:
    unanswered = [each for each in outcomes if not each.is_answered]
    strong = [each for each in outcomes if each.match == "strong"]
    return {
        "strong": sum(each.is_answered for each in strong),
        "strong_and_right": sum(each.is_document_first for each in strong),
        "unanswered": len(unanswered),
        "unanswered_strong": sum(not each.is_answered for each in strong),
    }


def measure(args: Namespace) -> Iterator[Row]:
    groups: dict[tuple[str, str], list[Outcome]] = {}
    names = ["all", "tuning half", "held-out half"]
    for source in sources(args.folder and args.folder.resolve(), args.small):
        names.append(source.name)
        with (
            HybridStore(":memory:", {"provider": "builtin"}) as store,
            closing(sqlite3.connect(":memory:")) as plain,
        ):
            Ingest(store).run([str(source.notes)])
            for search, run_search in searches(store, source.root, plain).items():
                for question in source.questions:
                    found = outcome(question, run_search(question))
                    for group in ("all", question.half, source.name):
                        groups.setdefault((group, search), []).append(found)
    for name in names:
        yield from (
            {"group": group, "search": search} | figures(outcomes)
            for (group, search), outcomes in groups.items()
            if group == name
        )


if __name__ == "__main__":
    run(
        __doc__,
        "group search",
        measure,
        (
            "folder",
            {
                "nargs": "?",
                "type": Path,
                "metavar": "DIR",
                "help": "with a folder for each source (default: the notes of tests/quality)",
            },
        ),
    )
