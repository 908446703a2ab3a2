"""What each part of the score is worth: `uv run benchmarks/parts.py COLLECTION[=PROVIDER]...`.

Every constant is left out in turn, and the mean of each collection is compared with that of the
formula as it is. A collection is as for benchmarks/cut.py; where queries have "conv", each folder of
docs/ is a separate memory, and "today" of a query is the day on which it is asked. A collection is
measured by nDCG@10 of documents or, where lines are judged, by the mean reciprocal rank of the
first right passage. The model is that of PROVIDER (default: builtin). What the store returned for a
question is kept, so that another variant only computes scores again.

A part is worth keeping if the mean of all collections loses 0.003 without it, or one of them 0.01.
"""

import argparse
import math
import multiprocessing
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import common
import cut

from hybrid_memory import HybridStore
from hybrid_memory.search import coverage, fusion, pipeline, stages
from hybrid_memory.storage import bm25, keyword
from hybrid_memory.sync.ingest import Ingest

DEPTH = 30  # chunks, nearly always of ten documents
Variant = dict[tuple[Any, str], Any]  # module and name of a constant -> its value


_weights = coverage._weights
_normalize_scores = pipeline.normalize_scores


def _by_rarity(query: Any, rarities: Any, near_words: Any) -> dict[str, float]:
    return _weights(query, rarities, None)


def _with_coverage(*args: Any, is_lookup: bool) -> Any:
    return _normalize_scores(*args)


VARIANTS: dict[str, Variant] = {
    "as it is": {},
    "BM25 without its third of coverage": {(fusion, "BM25_SHARE"): 1.0},
    "coverage without BM25": {(fusion, "BM25_SHARE"): 0.0},
    "strength not cubed": {(fusion, "SHARPNESS"): 1},
    "no strength": {(fusion, "SHARPNESS"): 0},
    "full score: all words": {(bm25, "CHANCE"): 1e9},
    "full score: the logarithm once": {(bm25, "CHANCE"): 1},
    "full score: front matter as text": {(pipeline, "OF_CONTEXT"): 1.0},
    "lookups: weights of questions": {(pipeline, "LOOKUP_WEIGHTS"): (0.5, 0.5)},
    "lookups: coverage": {(pipeline, "normalize_scores"): _with_coverage},
    "lookups: both": {
        (pipeline, "LOOKUP_WEIGHTS"): (0.5, 0.5),
        (pipeline, "normalize_scores"): _with_coverage,
    },
    "many languages: equal weights": {(pipeline, "MULTILINGUAL_WEIGHTS"): (0.5, 0.5)},
    "opening": {(fusion, "OPENING_SHARE"): 0.0},
    "opening: the first chunk": {(pipeline, "OPENING_CHUNKS"): 1},
    "document": {(stages, "DOCUMENT_SHARE"): 0.0},
    "document: its best chunk": {(stages, "BEST"): 1},
    "document: all its chunks": {(stages, "BEST"): 1000},
    "whole names": {(stages, "NAME_FACTOR"): 1.0},
    "dates": {(stages, "DATE_SHARE"): 0.0, (stages, "VAGUE_SHARE"): 0.0},
    "dates: vague ones in full": {(stages, "VAGUE_SHARE"): stages.DATE_SHARE},
    "dates: vague ones not at all": {(stages, "VAGUE_SHARE"): 0.0},
    "a note before sessions": {
        (pipeline, "ORDERING"): [
            stage for stage in pipeline.ORDERING if stage is not stages.note_first
        ]
    },
    "assistant": {(stages, "ASSISTANT_SHARE"): 1.0},
    "three of ten": {(stages, "MOST_OF_ONE"): 10**9},
    "coverage: other forms in full": {(coverage, "SAME_STEM"): 1.0},
    "coverage: near words": {(coverage, "_near_words"): lambda: None},
    "coverage: near words from 0": {(coverage, "UNRELATED"): 0.0},
    "coverage: rarity alone": {(coverage, "_weights"): _by_rarity},
    "agreement": {(stages, "AGREEMENT_SHARE"): 0.0},
}


class Memo:
    """The answers of the store to the question that is asked, so that no variant asks again."""

    def __init__(self) -> None:
        self.question = ""
        self.kept: dict[Any, Any] = {}

    def keep(self, owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def remembered(*args: Any, **options: Any) -> Any:
            parts = [each for each in args if not hasattr(each, "__dict__")]
            key = (self.question, name, repr(parts), repr(options))
            if key not in self.kept:
                self.kept[key] = original(*args, **options)
            return self.kept[key]

        setattr(owner, name, remembered)


class Asked:
    """A memory with its questions."""

    def __init__(self, store: HybridStore, root: Path, queries: list[Any], right: Any) -> None:
        self.store = store
        self.root = root
        self.queries = queries
        self.right = right


def gain(query: dict[str, Any], found: list[tuple[str, int, int]], right: set[Any]) -> float:
    """nDCG@10 of documents, or 1 / the rank of the first right passage among ten."""
    if any(line is not None for _, line in right):
        for rank, (name, start, end) in enumerate(found[:10], 1):
            if any(name == document and start <= line <= end for document, line in right):
                return 1 / rank
        return 0.0
    documents = {name for name, _ in right}
    ranking = list(dict.fromkeys(name for name, _, _ in found))[:10]
    own = sum(1 / math.log2(rank + 2) for rank, name in enumerate(ranking) if name in documents)
    return own / sum(1 / math.log2(rank + 2) for rank in range(min(len(documents), 10)))


def opened(collection: Path, provider: str, folder: Path, most: int) -> Iterator[Asked]:
    queries, right = cut.judged(collection)
    root = (collection / "docs").resolve()
    memories: dict[str, list[Any]] = defaultdict(list)
    for query in queries[: most or None]:
        memories[query.get("conv", "")].append(query)
    for name, own in memories.items():
        path = folder / f"{collection.name}-{provider}-{name}.db"
        is_new = not path.exists()
        store = HybridStore(str(path), {"provider": provider})
        if is_new:
            Ingest(store, patterns=["*.md", "*.jsonl"]).run([str(collection / "docs" / name)], None)
            store.embed()
        yield Asked(store, root, own, right)


def measured(
    task: tuple[Path, str, Path, int, list[str], bool],
) -> tuple[str, dict[str, list[float]]]:
    """The gain of each question, by variant."""
    collection, provider, folder, most, names, with_also = task
    memo = Memo()
    memories = list(opened(collection, provider, folder, most))
    remember(memo, memories[0].store)
    gains: dict[str, list[float]] = {}
    of_chunks = stages.of_chunks
    for name in names:
        variant = VARIANTS[name]
        before = {place: getattr(*place) for place in variant}
        for (module, constant), value in variant.items():
            setattr(module, constant, value)
        is_coverage = any(module is coverage for module, _ in variant)
        if is_coverage:
            stages.of_chunks = coverage.of_chunks
        gains[name] = []
        for memory in memories:
            for query in memory.queries:
                memo.question = query["id"]
                also = query.get("also", []) if with_also else None
                today = date.fromisoformat(query["today"]) if "today" in query else None
                hits = memory.store.search(query["text"], DEPTH, also=also, today=today)
                found = [
                    (
                        cut.document(Path(str(hit["path"])).relative_to(memory.root).as_posix()),
                        hit["start_line"],
                        hit["end_line"],
                    )
                    for hit in hits
                ]
                if "own" in query:
                    found = [hit for hit in found if hit[0] < query["own"]]
                gains[name].append(gain(query, found, memory.right[query["id"]]))
        for (module, constant), value in before.items():
            setattr(module, constant, value)
        stages.of_chunks = of_chunks
    return collection.name, gains


def remember(memo: Memo, store: HybridStore) -> None:
    index = type(store.storage.keyword())
    vectors = type(store.storage.vectors(None))
    chunks = type(store.storage.chunks)
    full_scores: dict[Any, Any] = {}

    def full_score(counts: Any, size: int) -> float:
        full_scores[memo.question] = (list(counts), size)
        return 0.0

    keyword.full_score = full_score
    original = index.ranked

    def ranked(self: Any, query: Any, limit: int, also: Any = ()) -> Any:
        key = (memo.question, "ranked", query.text, limit, tuple(also))
        if key not in memo.kept:
            full_scores.pop(memo.question, None)
            leg = original(self, query, limit, also)
            memo.kept[key] = leg, full_scores.get(memo.question)
        leg, counted = memo.kept[key]
        full = bm25.full_score(*counted) if counted else leg.full_score
        return keyword.KeywordLeg(
            leg.ranking, leg.searched, is_name=leg.is_name, full_score=full,
            further_scores=leg.further_scores,
        )  # fmt: skip

    index.ranked = ranked
    memo.keep(index, "rarities")
    for name in ("nearest", "cosines", "sample"):
        memo.keep(vectors, name)
    for name in ("candidates", "opening_chunks", "rows"):
        memo.keep(chunks, name)
    covered: dict[Any, Any] = {}

    def of_chunks(storage: Any, query: Any, rarities: Any, candidates: Any) -> Any:
        key = memo.question, query.text
        kept = covered.setdefault(key, {})
        new = [each for each in candidates if each.id not in kept]
        if new:
            kept |= coverage.of_chunks(storage, query, rarities, new)
        return {each.id: kept[each.id] for each in candidates}

    stages.of_chunks = of_chunks


def measure(args: argparse.Namespace) -> Iterator[common.Row]:
    variants = ["as it is", *args.only] if args.only else list(VARIANTS)
    if args.small:
        args.collections = [str(common.CHECKOUT / "tests" / "quality" / "held-out")]
        variants = ["as it is", "document"]
    with tempfile.TemporaryDirectory() as folder:
        work = args.work or Path(folder)
        work.mkdir(exist_ok=True)
        tasks = []
        for text in args.collections:
            path, _, provider = text.partition("=")
            most = 4 if args.small else args.queries
            tasks.append((Path(path), provider or "builtin", work, most, variants, args.also))
        with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
            found = dict(pool.imap_unordered(measured, tasks))
    for name in variants:
        means = {each: statistics.fmean(found[each][name]) for each in found}
        lost = {each: means[each] - statistics.fmean(found[each]["as it is"]) for each in means}
        worst, best = min(lost, key=lost.__getitem__), max(lost, key=lost.__getitem__)
        yield {
            "without": name,
            "mean": statistics.fmean(means.values()),
            "change": statistics.fmean(lost.values()),
            "worst": f"{worst} {lost[worst]:+.4f}",
            "best": f"{best} {lost[best]:+.4f}",
        }


if __name__ == "__main__":
    common.run(
        __doc__,
        "without worst best",
        measure,
        ("collections", {"nargs": "*", "metavar": "COLLECTION[=PROVIDER]"}),
        ("--queries", {"type": int, "default": 0, "help": "of each collection; 0: all"}),
        ("--only", {"nargs": "*", "default": [], "metavar": "PART", "help": "these alone"}),
        ("--work", {"type": Path, "help": "a folder for the memories, to use them again"}),
        ("--also", {"action": "store_true", "help": "with the other phrasings of the queries"}),
    )
