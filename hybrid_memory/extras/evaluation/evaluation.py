"""Measure how well a store is searched, for the command `eval`: from queries with judgements, the
figures of each search mode.
"""

import math
import statistics
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from os.path import splitext
from typing import Any, NamedTuple, TextIO

from ...errors import EmbedderError, SourceError
from ...messages import Progress
from ...search.pipeline import query_vector
from ...store import HybridStore
from ...surface import arguments
from ...surface.arguments import Parser, examples, open_store
from ...surface.streams import harmless, print_answer, tell
from ...surface.terminal import Style
from ...text.characters import plural
from ...text.query import Query
from .judgements import (
    BUDGETS,
    FIRST,
    Figures,
    Grades,
    Lines,
    evidence,
    figures,
    rank,
    without_lines,
)

MODES = ("keyword", "vector", "hybrid")
# Chunks that are ranked. Keyword and vector search find as many, and nearly always they are from
# ten documents
DEPTH = 100


class Evaluation(NamedTuple):
    """The figures of each mode, and what was left out of them."""

    queries: int  # queries that were asked
    unjudged: int  # queries that were not asked because no document is wanted
    unknown_documents: list[
        str
    ]  # wanted, but the store has none or several of that name; they count as missed
    modes: dict[str, Figures]
    left_out: dict[str, str]  # mode -> why it could not run
    misses: list[dict[str, Any]]  # queries that the last mode missed

    def notes(self) -> list[str]:
        """What the user should know about the figures, one line each."""
        notes = [f"left out mode {mode}: {reason}" for mode, reason in self.left_out.items()]
        if self.unjudged:
            queries = plural(self.queries + self.unjudged, "query", "queries")
            notes.append(f"{self.unjudged} of {queries} not asked: no wanted document")
        if unknown := self.unknown_documents:
            some = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
            notes.append(
                f"{len(unknown)} wanted documents are not in the store, or not under a "
                f"unique name; they count as missed: {some}"
            )
        return notes


def evaluate(
    store: HybridStore,
    queries: Mapping[str, str],
    qrels: Mapping[str, Grades],
    modes: Sequence[str] = MODES,
    *,
    misses: bool = False,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> Evaluation:
    """Ask every query that has a wanted document, in each mode. The rank of a document is the rank
    of its best chunk.

    Where the judgements cite lines, `e@1000` and `e@4000` are the shares of these lines in the
    first passages, of 1,000 and 4,000 characters.

    Times are in milliseconds, for a search for 100 chunks. They do not include the time that it
    takes to embed the query. With `misses`, the answer has the queries for which the last mode has
    no wanted document among the first ten.

    Raises SourceError if no document is wanted, EmbedderError if no mode can run.
    """
    documents = _by_name(store)
    judged = {id: without_lines(qrels[id]) for id in queries if id in qrels}
    wanted = {
        id: {documents.get(name, name): grade for name, grade in grades.items()}
        for id, (grades, _) in judged.items()
    }
    cited = {
        id: {Lines(documents.get(name, name), first, last) for name, first, last in lines}
        for id, (_, lines) in judged.items()
    }
    if not wanted:
        raise SourceError(
            "none of the queries has a judgement above 0; their ids must be the same in both files"
        )
    left_out: dict[str, str] = {}
    found: dict[str, dict[str, list[str]]] = {
        mode: {} for mode in modes
    }  # mode -> query id -> ranking
    times: dict[str, list[float]] = {mode: [] for mode in modes}
    shares: dict[str, list[list[float]]] = {
        mode: [] for mode in modes
    }  # mode -> of each query with cited lines, by budget
    for number, id in enumerate(wanted, 1):
        text = queries[id]
        if found.keys() - {"keyword"} and (problem := _without_vector(store, text)):
            left_out = dict.fromkeys((mode for mode in found if mode != "keyword"), problem)
            found = {mode: found[mode] for mode in found if mode == "keyword"}
        if not found:
            raise EmbedderError(
                f"mode {' and '.join(left_out)} cannot run: {' '.join({*left_out.values()})}"
            )
        for mode, rankings in found.items():
            started = time.perf_counter()
            hits = _hits(store, text, mode)
            times[mode].append((time.perf_counter() - started) * 1e3)
            rankings[id] = _documents(hits)
            if lines := sorted(cited[id]):
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
    """Name -> id, for all names that belong to one document only.

    The names of a document are its id and, if it came from a file, its id without the extension,
    without the collection, and without both.
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


def _without_vector(store: HybridStore, text: str) -> str | None:
    """Why the query cannot be searched by meaning, or None.

    This embeds the query. The embedding is cached, so that the time of the model does not count as
    time of the search.
    """
    return query_vector(
        store.storage, store.config, lambda: store.fitting_embedder, Query(text), "vector"
    ).problem


def _hits(store: HybridStore, text: str, mode: str) -> list[dict[str, Any]]:
    """The results, best first, with none of the limits that the config may set for searches."""
    return store.search(text, DEPTH, mode, min_score=0.0, min_confidence=0.0, per_doc=None)


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
    queries: Mapping[str, str],
    wanted: Mapping[str, Grades],
    found: Mapping[str, Mapping[str, list[str]]],
    *,
    with_vector: bool,
) -> Iterator[dict[str, Any]]:
    """The missed queries, with the rank of the first wanted document by keyword and by vector.

    The rank is None if the document is not among the first 100 chunks.
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
            "text": queries[id],
            "wanted": sorted(wanted[id], key=lambda document: -wanted[id][document]),
            "first": ranking[:3],
            "rank": rank(ranking, wanted[id]),
            "keyword_rank": ranks["keyword"],
            "vector_rank": ranks.get("vector"),
        }


def eval_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] --queries FILE --qrels FILE"
    parser.add_argument(
        "--queries",
        required=True,
        metavar="FILE",
        help='queries, one per line: {"id": "q1", "text": "what was asked"}',
    )
    parser.add_argument(
        "--qrels",
        required=True,
        metavar="FILE",
        help="judgements, one per line: query, document, grade; or the four columns of TREC",
    )
    parser.add_argument(
        "--modes",
        type=arguments.modes,
        metavar="MODES",
        default="keyword,vector,hybrid",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--misses",
        action="store_true",
        help="also show the queries that the last mode missed, and what it found",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(
        parser,
        "eval --queries queries.jsonl --qrels qrels.tsv",
        "eval --queries queries.jsonl --qrels qrels.tsv --misses",
    )


def run_eval(args: Namespace) -> int:
    from ...surface.terminal import progress_line
    from .judgements import read_qrels, read_queries

    queries, qrels = read_queries(args.queries), read_qrels(args.qrels)
    with open_store(args) as store, progress_line(args.quiet) as progress:
        found = evaluate(store, queries, qrels, args.modes, misses=args.misses, progress=progress)
    answer = {
        key: value for key, value in found._asdict().items() if args.misses or key != "misses"
    }
    print_answer(args, answer, lambda stream: show_evaluation(found, stream))
    tell(*found.notes(), *store.warnings)
    return 0


def show_evaluation(evaluation: Evaluation, stream: TextIO) -> None:
    """A table with a line for each mode. The queries that were missed follow it."""
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
            f"\n{style.bold}{harmless(miss['id'])}: {harmless(miss['text'])}{style.off}",
            file=stream,
        )
        print(
            f"  wanted  {harmless(', '.join(miss['wanted']))}  {style.dim}{ranks}{style.off}",
            file=stream,
        )
        print(f"  first   {harmless(', '.join(miss['first'])) or 'nothing'}", file=stream)
