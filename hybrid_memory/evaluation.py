"""How well a store is searched, by judgements of one's own: queries and their wanted documents in, figures of each mode out.

The files are those of the field: queries as JSON lines of {"id", "text"}, judgements as TREC's qrels, a line each of query,
document and grade (or query, 0, document, grade), with spaces between them, or tabs where an id holds spaces.
"""

import json
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os.path import splitext
from typing import Any, NamedTuple

from .errors import EmbedderError, SourceError
from .ingest import Progress
from .query_embedding import QueryEmbedding
from .store import HybridStore

MODES = ("keyword", "vector", "hybrid")
DEPTH = 100  # chunks that make a ranking of documents: as deep as each leg looks, and ten documents are nearly always in them
FIRST = 10  # documents; who wants another one has missed
MOST = 20.0  # 2^grade is a gain

DOCUMENTS = "select doc_id, collection, source_path is not null from documents"

Grades = dict[str, float]  # doc_id -> how well it answers, > 0
Figures = dict[str, float]


class Evaluation(NamedTuple):
    queries: int  # asked
    unjudged: int  # queries not asked: no document is wanted
    unknown_documents: list[str]  # wanted, and not in the store, or no name of just one document: they count as missed
    modes: dict[str, Figures]
    left_out: dict[str, str]  # mode -> why it could not run
    misses: list[dict[str, Any]]  # of the last of the modes


# The files


def read_queries(path: str) -> dict[str, str]:
    """Query id -> text. SourceError names the line that is none."""
    queries: dict[str, str] = {}
    for where, line in _lines(path):
        try:
            record = json.loads(line)
            id, text = str(record["id"]), record["text"]
            empty = not text.strip()
            text.encode()  # half a surrogate pair is no text
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SourceError(f'{where}: a query is written {{"id": "q1", "text": "what was asked"}}') from None
        if empty or id in queries:
            raise SourceError(f"{where}: query {id} {'has no words' if empty else 'is there twice'}")
        queries[id] = text
    return queries


def read_qrels(path: str) -> dict[str, Grades]:
    """Query id -> the documents that are wanted, those of a grade above 0. SourceError names the line that is none."""
    qrels: dict[str, Grades] = defaultdict(dict)
    for where, line in _lines(path):
        match line.split("\t") if "\t" in line else line.split():
            case [query, document, grade] | [query, _, document, grade]:
                pass
            case columns:
                form = "write query, document, grade or query, 0, document, grade, with tabs if an id holds spaces"
                raise SourceError(f"{where}: columns: {len(columns)}; {form}")
        try:
            number = float(grade)
        except ValueError:
            number = math.nan
        if not abs(number) <= MOST:
            raise SourceError(f"{where}: {grade!r} is no grade, a number up to {MOST:.0f}")
        if number > 0:
            qrels[query][document] = number
    return dict(qrels)


def _lines(path: str) -> Iterator[tuple[str, str]]:
    """(file:number, line) of each line that is not blank."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", line.rstrip("\n")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read {path}: not UTF-8") from error


# The measures, of one query's ranking of documents


def ndcg(ranking: Sequence[str], grades: Grades, k: int = FIRST) -> float:
    """Gains of the first k, each discounted by log2(rank + 1), over those of the best order there is.

    Normalised discounted cumulative gain: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques",
    2002; the gain 2^grade - 1 is that of Burges et al., "Learning to rank using gradient descent", 2005.
    """
    best = _discounted(sorted(grades.values(), reverse=True)[:k])
    return _discounted(grades.get(document, 0) for document in ranking[:k]) / best


def _discounted(grades: Iterable[float]) -> float:
    return sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def recall(ranking: Sequence[str], grades: Grades, k: int) -> float:
    """The share of the wanted documents that is among the first k (Manning, Raghavan and Schütze, chapter 8)."""
    return len(grades.keys() & set(ranking[:k])) / len(grades)


def reciprocal_rank(ranking: Sequence[str], grades: Grades, k: int = FIRST) -> float:
    """1 / rank of the first wanted document, 0 beyond k: MRR in the mean (Voorhees, TREC-8, 1999), for k = 1 the hit rate."""
    place = rank(ranking[:k], grades)
    return 1 / place if place else 0.0


def rank(ranking: Sequence[str], grades: Grades) -> int | None:
    """Of the first wanted document, from 1."""
    return next((place for place, document in enumerate(ranking, 1) if document in grades), None)


def figures(rankings: Sequence[tuple[Sequence[str], Grades]]) -> Figures:
    """Means over the queries."""
    measures: dict[str, Callable[[Sequence[str], Grades], float]] = {
        "ndcg@10": ndcg,
        "recall@5": lambda ranking, grades: recall(ranking, grades, 5),
        "recall@10": lambda ranking, grades: recall(ranking, grades, 10),
        "mrr@10": reciprocal_rank,
        "hit@1": lambda ranking, grades: reciprocal_rank(ranking, grades, 1),
    }
    return {name: round(statistics.fmean(measure(*pair) for pair in rankings), 4) for name, measure in measures.items()}


# The store


def evaluate(
    store: HybridStore,
    queries: Mapping[str, str],
    qrels: Mapping[str, Grades],
    modes: Sequence[str] = MODES,
    *,
    misses: bool = False,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> Evaluation:
    """Ask every query that has a wanted document, in each mode. A document's rank is that of its best chunk.

    Times are of a search for 100 chunks, in milliseconds, the embedding of its query being known. `misses` tells of the
    queries for which the last of the modes has no wanted document among the first ten.

    Raises SourceError if no document is wanted, EmbedderError if no mode can run.
    """
    documents = _by_name(store)
    wanted = {id: {documents.get(name, name): grade for name, grade in qrels[id].items()} for id in queries if id in qrels}
    if not wanted:
        raise SourceError("none of the queries has a judgement above 0; their ids must be the same in both files")
    left_out: dict[str, str] = {}
    found: dict[str, dict[str, list[str]]] = {mode: {} for mode in modes}  # mode -> query id -> ranking
    times: dict[str, list[float]] = {mode: [] for mode in modes}
    for number, id in enumerate(wanted, 1):
        text = queries[id]
        if found.keys() - {"keyword"} and (problem := _without_vector(store, text)):
            left_out = dict.fromkeys((mode for mode in found if mode != "keyword"), problem)
            found = {mode: found[mode] for mode in found if mode == "keyword"}
        if not found:
            raise EmbedderError(f"mode {' and '.join(left_out)} cannot run: {' '.join({*left_out.values()})}")
        for mode, rankings in found.items():
            started = time.perf_counter()
            rankings[id] = _ranking(store, text, mode)
            times[mode].append((time.perf_counter() - started) * 1e3)
        progress(Progress("queries", number, len(wanted), 0))
    measured = {
        mode: figures([(ranking, wanted[id]) for id, ranking in rankings.items()]) | _latency(times[mode])
        for mode, rankings in found.items()
    }
    known = {*documents.values()}
    return Evaluation(
        queries=len(wanted),
        unjudged=len(queries) - len(wanted),
        unknown_documents=sorted({document for grades in wanted.values() for document in grades if document not in known}),
        modes=measured,
        left_out=left_out,
        misses=list(_misses(store, queries, wanted, found, with_vector=not left_out)) if misses else [],
    )


def _by_name(store: HybridStore) -> dict[str, str]:
    """What names a document and no other -> its id: that, and a file's without extension, without the collection, or both."""
    names: dict[str, set[str]] = defaultdict(set)
    rows = store.connection.execute(DOCUMENTS).fetchall()
    for doc_id, collection, is_file in rows:
        if is_file:
            below = doc_id.removeprefix(f"{collection}/")
            for name in {below, splitext(below)[0], splitext(doc_id)[0]}:
                names[name].add(doc_id)
    return {name: doc_id for name, [doc_id, *others] in names.items() if not others} | {row[0]: row[0] for row in rows}


def _without_vector(store: HybridStore, text: str) -> str | None:
    """Why the query cannot be searched by meaning. Leaves its embedding where searches find it, or they would time the model."""
    try:
        return QueryEmbedding(store.connection, store.config, lambda: store.embedder).of(text, "vector")[1]
    except EmbedderError as error:
        return str(error)


def _ranking(store: HybridStore, text: str, mode: str) -> list[str]:
    return list(dict.fromkeys(hit["doc_id"] for hit in store.search(text, DEPTH, mode)))


def _latency(times: list[float]) -> Figures:
    percentile = sorted(times)[math.ceil(0.95 * len(times)) - 1]
    return {"median_ms": round(statistics.median(times), 2), "p95_ms": round(percentile, 2)}


def _misses(
    store: HybridStore,
    queries: Mapping[str, str],
    wanted: Mapping[str, Grades],
    found: Mapping[str, Mapping[str, list[str]]],
    *,
    with_vector: bool,
) -> Iterator[dict[str, Any]]:
    """Each with the rank of the first wanted document in either leg: None if it is not among the first 100 chunks."""
    missing = [*found][-1]
    for id, ranking in found[missing].items():
        if rank(ranking[:FIRST], wanted[id]):
            continue
        ranks = {
            leg: rank(found[leg][id] if leg in found else _ranking(store, queries[id], leg), wanted[id])
            for leg in ("keyword", "vector")
            if leg != "vector" or with_vector
        }
        yield {
            "id": id,
            "text": queries[id],
            "wanted": sorted(wanted[id], key=lambda document: -wanted[id][document]),
            "first": ranking[:3],
            "rank": rank(ranking, wanted[id]),
            "keyword_rank": ranks["keyword"],
            "vector_rank": ranks.get("vector"),
        }
