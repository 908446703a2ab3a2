"""The command `eval`: measure search quality in each search mode, from queries with judgements.

Queries are JSON lines of {"id", "text"}, perhaps with "also", a list of the same question in other
words; judgements are in the qrels format of TREC. A line of
qrels has the columns query, document, grade, or query, 0, document, grade. They are separated by
spaces, or by tabs if an id contains spaces. A citation in place of a document gives the lines with
the answer.

The figures measure how well the ranking of documents agrees with the judgements.
"""

import json
import math
import statistics
import time
from argparse import ArgumentTypeError, Namespace
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os.path import splitext
from typing import Any, NamedTuple, TextIO

from ...errors import EmbedderError, SourceError
from ...messages import Progress
from ...search.query_vector import query_vectors
from ...search.request import OPTIONS
from ...storage.targets import WHOLE, split_target
from ...store import HybridStore, Result
from ...surface.arguments import Parser, add_json, examples
from ...surface.opening import open_store
from ...surface.streams import print_advice, print_answer, single_line
from ...surface.terminal import Style, progress_line
from ...text.characters import plural
from ...text.query import Query

BUDGETS = (1000, 4000)  # characters of passages to read, about 250 and 1,000 tokens
FIRST = 10  # documents; a relevant document below these counts as missed


class Question(NamedTuple):
    """A query, and the same in other words."""

    text: str
    also: Sequence[str] = ()


Grades = dict[str, float]  # doc_id -> grade of its relevance, > 0
Figures = dict[str, float]  # name of a measure -> value


class JudgedLines(NamedTuple):
    """Lines first..last of a document."""

    document: str
    first: int
    last: int


def ndcg(ranking: Sequence[str], grades: Grades) -> float:
    """Normalised discounted cumulative gain of the first documents: the sum of their gains, each
    divided by log2(rank + 1), relative to the best possible order.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002; with the gain
    2^grade - 1 of Burges et al., "Learning to rank using gradient descent", 2005.
    """
    best = _discounted(sorted(grades.values(), reverse=True)[:FIRST])
    return _discounted(grades.get(document, 0) for document in ranking[:FIRST]) / best


def _discounted(grades: Iterable[float]) -> float:
    return sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def recall(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the relevant documents that are among the first k (Manning, Raghavan and
    Schütze, chapter 8).
    """
    return len(grades.keys() & set(ranking[:k])) / len(grades)


def reciprocal_rank(ranking: Sequence[str], grades: Grades, k: int = FIRST) -> float:
    """1 / rank of the first relevant document; 0 if it is not among the first k.

    The mean over queries is the MRR (Voorhees, TREC-8, 1999), and for k = 1 the hit rate.
    """
    place = rank(ranking[:k], grades)
    if place:
        return 1 / place
    return 0.0


def rank(ranking: Sequence[str], grades: Grades) -> int | None:
    """The rank of the first relevant document, counted from 1; None without one."""
    return next((place for place, document in enumerate(ranking, 1) if document in grades), None)


def evidence(
    results: Sequence[Mapping[str, Any]], wanted: Sequence[JudgedLines], characters: int
) -> float:
    """The share of the wanted lines that are in the first results, up to a total of `characters` of
    text.
    """
    found: set[JudgedLines] = set()
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
    """Return the mean of every measure over queries, given as pairs of ranking and judgements."""
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


MOST = 20.0  # the highest grade, as the gain grows exponentially


def read_queries(path: str) -> dict[str, Question]:
    """Read queries by id. Raises SourceError with the first invalid line."""
    queries: dict[str, Question] = {}
    for where, line in _lines(path):
        try:
            record = json.loads(line)
            id, text = str(record["id"]), record["text"]
            empty = not text.strip()
            also = OPTIONS["also"].check(record.get("also", []))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SourceError(
                f'{where}: a query has the form {{"id": "q1", "text": "what was asked", '
                '"also": ["in other words"]}; "also" may be missing'
            ) from None
        if empty or id in queries:
            raise SourceError(f"{where}: query {id} {'is empty' if empty else 'is a duplicate'}")
        queries[id] = Question(text, also)
    return queries


def read_qrels(path: str) -> dict[str, Grades]:
    """Read judgements, as a map of query id to relevant documents (with a grade above 0).

    Raises SourceError with the first invalid line.
    """
    qrels: dict[str, Grades] = defaultdict(dict)
    for where, line in _lines(path):
        match line.split("\t") if "\t" in line else line.split():
            case [query, document, grade] | [query, _, document, grade]:
                pass
            case columns:
                form = (
                    "use query, document, grade or query, 0, document, grade, "
                    "separated by tabs if an id contains spaces"
                )
                raise SourceError(f"{where}: {len(columns)} columns; {form}")
        try:
            number = float(grade)
        except ValueError:
            number = math.nan
        if not abs(number) <= MOST:
            raise SourceError(
                f"{where}: {grade!r} is not a grade; grades are numbers up to {MOST:.0f}"
            )
        if number > 0:
            qrels[query][document] = number
    return dict(qrels)


def without_lines(grades: Grades, names: Mapping[str, str]) -> tuple[Grades, list[JudgedLines]]:
    """Split judgements into documents, with the best grade of their lines, and cited lines. `names`
    has the ids of documents that are named otherwise.

    {"a.md#L3-L5": 2, "a.md#L9": 1, "b.md": 1} -> {"a.md": 2, "b.md": 1}, [("a.md", 3, 5), ("a.md",
    9, 9)]
    """
    documents: Grades = {}
    lines = set()
    for target, grade in grades.items():
        name, place = split_target(target) if "#L" in target else (target, WHOLE)
        document = names.get(name, name)
        if place.end:
            lines.add(JudgedLines(document, place.start, place.end))
        documents[document] = max(grade, documents.get(document, 0.0))
    return documents, sorted(lines)


def _lines(path: str) -> Iterator[tuple[str, str]]:
    """Yield (file:number, line) for each non-blank line."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", line.rstrip("\n")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read {path}: it is not UTF-8") from error


MODES = ("keyword", "vector", "hybrid")
# Chunks per ranking: as many as keyword and vector search return. They nearly always come from at
# least ten documents
DEPTH = 100


class Evaluation(NamedTuple):
    """The figures of each mode, and what they do not include."""

    queries: int  # queries that were run
    unjudged: int  # queries that were not run, because they have no relevant document
    # Relevant documents whose name matches none or several in the store; they count as missed
    unknown_documents: list[str]
    modes: dict[str, Figures]
    left_out: dict[str, str]  # mode -> why it could not run
    misses: list[dict[str, Any]]  # queries that the last mode missed

    def notes(self) -> list[str]:
        """Return remarks for the user about the figures, one per line."""
        notes = [f"left out mode {mode}: {reason}" for mode, reason in self.left_out.items()]
        if self.unjudged:
            queries = plural(self.queries + self.unjudged, "query", "queries")
            notes.append(f"{self.unjudged} of {queries} not run: no relevant document")
        if unknown := self.unknown_documents:
            some = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
            notes.append(
                f"{len(unknown)} relevant documents are not in the store, or their names are "
                f"ambiguous; they count as missed: {some}"
            )
        return notes


def evaluate(
    store: HybridStore,
    queries: Mapping[str, Question],
    qrels: Mapping[str, Grades],
    modes: Sequence[str] = MODES,
    *,
    misses: bool = False,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> Evaluation:
    """Run every query that has a relevant document, in each mode. A document ranks by its best
    chunk.

    If the judgements cite lines, `e@1000` and `e@4000` are the shares of these lines in the first
    1,000 and 4,000 characters of passages.

    Times are in milliseconds, for a search for 100 chunks, without embedding the query. With
    `misses`, the evaluation lists the queries for which the last mode has no relevant document
    among the first ten.

    Raises SourceError if no query has a relevant document, EmbedderError if no mode can run.
    """
    documents = _by_name(store)
    judged = {id: without_lines(qrels[id], documents) for id in queries if id in qrels}
    wanted = {id: grades for id, (grades, _) in judged.items()}
    if not wanted:
        raise SourceError(
            "no query has a judgement above 0; check that both files use the same query ids"
        )
    left_out: dict[str, str] = {}
    # Mode -> query id -> ranking
    found: dict[str, dict[str, list[str]]] = {mode: {} for mode in modes}
    times: dict[str, list[float]] = {mode: [] for mode in modes}
    # Mode -> for each query with cited lines, the shares by budget
    shares: dict[str, list[list[float]]] = {mode: [] for mode in modes}
    for number, (id, (_, lines)) in enumerate(judged.items(), 1):
        query = queries[id]
        if found.keys() - {"keyword"} and (problem := _without_vector(store, query)):
            left_out = dict.fromkeys((mode for mode in found if mode != "keyword"), problem)
            found = {mode: found[mode] for mode in found if mode == "keyword"}
        if not found:
            raise EmbedderError(
                f"mode {' and '.join(left_out)} cannot run: {' '.join({*left_out.values()})}"
            )
        for mode, rankings in found.items():
            started = time.perf_counter()
            hits = _hits(store, query, mode)
            times[mode].append((time.perf_counter() - started) * 1e3)
            rankings[id] = _documents(hits)
            if lines:
                shares[mode].append([evidence(hits, lines, budget) for budget in BUDGETS])
        progress(Progress("queries", number, len(wanted)))
    measured = {
        mode: figures([(ranking, wanted[id]) for id, ranking in rankings.items()])
        | _evidence(shares[mode])
        | _latency(times[mode])
        for mode, rankings in found.items()
    }
    known = {*documents.values()}
    return Evaluation(
        queries=len(wanted),
        unjudged=len(queries) - len(wanted),
        unknown_documents=sorted(
            {document for grades in wanted.values() for document in grades if document not in known}
        ),
        modes=measured,
        left_out=left_out,
        misses=list(_misses(store, queries, wanted, found, with_vector=not left_out))
        if misses
        else [],
    )


def _by_name(store: HybridStore) -> dict[str, str]:
    """Map each unambiguous name to a document id.

    The names of a document are its id and, for a file, the id without the extension, without the
    collection, and without both.
    """
    names: dict[str, set[str]] = defaultdict(set)
    rows = store.storage.catalog.names()
    for doc_id, collection, is_file in rows:
        if is_file:
            below = doc_id.removeprefix(f"{collection}/")
            for name in {below, splitext(below)[0], splitext(doc_id)[0]}:
                names[name].add(doc_id)
    return {name: doc_id for name, [doc_id, *others] in names.items() if not others} | {
        row[0]: row[0] for row in rows
    }


def _without_vector(store: HybridStore, query: Question) -> str | None:
    """Embed a query and its phrasings; return why it cannot be searched by meaning, or None.

    The embedding is cached, so that the measured time of a search does not include the model's.
    """
    phrasings = list(map(Query, [query.text, *query.also]))
    return query_vectors(
        store.storage, store.config, lambda: store.fitting_embedder, phrasings, "vector"
    ).problem


def _hits(store: HybridStore, query: Question, mode: str) -> list[Result]:
    """Return the results, best first, ignoring limits that the settings may impose on searches."""
    unlimited = {"min_score": 0.0, "min_confidence": 0.0, "stop": 0.0, "per_doc": 0}
    return store.search(query.text, DEPTH, mode, also=query.also, **unlimited)


def _documents(hits: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(hit["doc_id"] for hit in hits))


def _evidence(shares: Sequence[Sequence[float]]) -> Figures:
    columns = zip(BUDGETS, zip(*shares, strict=True), strict=False)
    return {f"e@{budget}": round(statistics.fmean(column), 4) for budget, column in columns}


def _latency(times: list[float]) -> Figures:
    percentile = sorted(times)[math.ceil(0.95 * len(times)) - 1]
    return {"median_ms": round(statistics.median(times), 2), "p95_ms": round(percentile, 2)}


def _misses(
    store: HybridStore,
    queries: Mapping[str, Question],
    wanted: Mapping[str, Grades],
    found: Mapping[str, Mapping[str, list[str]]],
    *,
    with_vector: bool,
) -> Iterator[dict[str, Any]]:
    """Yield the missed queries, with the rank of the first relevant document by keyword and by
    vector; None if it is not among the first 100 chunks.
    """
    missing = [*found][-1]
    for id, ranking in found[missing].items():
        if rank(ranking[:FIRST], wanted[id]):
            continue
        ranks = {
            leg: rank(
                found[leg][id] if leg in found else _documents(_hits(store, queries[id], leg)),
                wanted[id],
            )
            for leg in ("keyword", "vector")
            if leg != "vector" or with_vector
        }
        yield {
            "id": id,
            "text": queries[id].text,
            "wanted": sorted(wanted[id], key=lambda document: -wanted[id][document]),
            "first": ranking[:3],
            "rank": rank(ranking, wanted[id]),
            "keyword_rank": ranks["keyword"],
            "vector_rank": ranks.get("vector"),
        }


def modes_of(text: str) -> list[str]:
    """Parse a comma-separated list of modes."""
    modes = text.split(",")
    for mode in modes:
        if mode not in MODES:
            raise ArgumentTypeError(f"{mode!r} is not one of {', '.join(MODES)}")
    return modes


def eval_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] --queries FILE --qrels FILE"
    parser.add_argument(
        "--queries",
        required=True,
        metavar="FILE",
        help='queries, one per line: {"id": "q1", "text": "what was asked"}, perhaps with "also": '
        '["in other words"]',
    )
    parser.add_argument(
        "--qrels",
        required=True,
        metavar="FILE",
        help="judgements, one per line: query, document, grade; or the four columns of TREC",
    )
    parser.add_argument(
        "--modes",
        type=modes_of,
        metavar="MODES",
        default="keyword,vector,hybrid",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--misses",
        action="store_true",
        help="also show the queries that the last mode missed, and what it found",
    )
    add_json(parser)
    examples(
        parser,
        "eval --queries queries.jsonl --qrels qrels.tsv",
        "eval --queries queries.jsonl --qrels qrels.tsv --misses",
    )


def run_eval(args: Namespace) -> int:
    queries, qrels = read_queries(args.queries), read_qrels(args.qrels)
    with open_store(args) as store, progress_line(args.quiet) as progress:
        found = evaluate(store, queries, qrels, args.modes, misses=args.misses, progress=progress)
    answer = {
        key: value for key, value in found._asdict().items() if args.misses or key != "misses"
    }
    print_answer(args, answer, lambda stream: show_evaluation(found, stream))
    print_advice(args, *found.notes(), *store.warnings)
    return 0


def show_evaluation(evaluation: Evaluation, stream: TextIO) -> None:
    """Print a table with a line for each mode, followed by the missed queries."""
    style = Style(stream)
    for mode, values in evaluation.modes.items():
        if mode == next(iter(evaluation.modes)):
            print(
                f"{'':8}" + "".join(f"{name.replace('_ms', ' ms'):>10}" for name in values),
                file=stream,
            )
        cells = (
            f"{value:10.1f}" if name.endswith("_ms") else f"{value:10.4f}"
            for name, value in values.items()
        )
        print(f"{mode:8}" + "".join(cells), file=stream)
    for miss in evaluation.misses:
        ranks = ", ".join(f"{leg} {miss[f'{leg}_rank'] or '-'}" for leg in ("keyword", "vector"))
        print(
            f"\n{style.bold}{single_line(miss['id'])}: {single_line(miss['text'])}{style.off}",
            file=stream,
        )
        print(
            f"  wanted  {single_line(', '.join(miss['wanted']))}  {style.dim}{ranks}{style.off}",
            file=stream,
        )
        print(f"  first   {single_line(', '.join(miss['first'])) or 'nothing'}", file=stream)
