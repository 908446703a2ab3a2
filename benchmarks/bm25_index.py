"""Try an index for BM25, of the extension pg_textsearch, as the proposer of candidates for the keyword
search in PostgreSQL.

    uv run benchmarks/bm25_index.py MEMORY.db postgresql://... [--questions 30] [--depths 50 100 200]

Both have the same memory (`hybrid-memory copy`). The server runs on this machine, with pg_textsearch
in shared_preload_libraries. A table gets the terms of each chunk by their ids, those of its heading
twice, and the index is made over it; both are dropped at the end. Questions of five kinds
(benchmarks/real_questions.py) are drawn from the notes. Compared are the statements that score
chunks, without looking up words and phrases: our own, and those that ask the index for `depth`
chunks, add the chunks that have a phrase, and score them all by our postings.

Printed: CPU seconds and MB of the index; for each kind the server's CPU in ms, first of our search,
then of the index and of scoring at each depth, with the share of questions whose first ten chunks
are the same.
"""

import argparse
from pathlib import Path

import real_questions

from hybrid_memory import HybridStore
from hybrid_memory.extras.postgres.connection import Connection
from hybrid_memory.extras.postgres.keyword import KeywordIndex
from hybrid_memory.storage.keyword import PROVEN
from hybrid_memory.storage.rows import best_first
from hybrid_memory.text.query import Query

TABLE = """
create schema bm25_index;
create table bm25_index.terms_of_chunks as
select chunk,
       array_to_string(sequence[: array_position(sequence, 0) - 1] || array_remove(sequence, 0), ' ') as terms
from   hybrid_memory.words
where  space = (select id from hybrid_memory.spaces where name = 'default')
"""
INDEX = """
create index terms_by_bm25 on bm25_index.terms_of_chunks using bm25 (terms)
with (text_config = 'simple', k1 = 1.2, b = 0.75)
"""
SIZE = "select pg_relation_size('bm25_index.terms_by_bm25') / 1e6"
PROPOSED = """
select chunk from bm25_index.terms_of_chunks
order by terms <@> to_bm25query(%(terms)s, 'bm25_index.terms_by_bm25') limit %(depth)s
"""


class Clock:
    """The CPU time of the server's process for a connection."""

    def __init__(self, conn: Connection) -> None:
        self._stat = Path(f"/proc/{conn.one('select pg_backend_pid()')[0]}/schedstat")
        self._last = 0.0
        self.lap()

    def lap(self) -> float:
        """Milliseconds since the last lap."""
        before = self._last
        self._last = int(self._stat.read_text().split()[0]) / 1e6
        return self._last - before


def proposed(
    conn: Connection, index: KeywordIndex, query: Query, depth: int, clock: Clock
) -> tuple[list[int], float, float]:
    """The first chunks by our scores among those that the index proposes, and ms of either part."""
    phrases = index._phrases.of(query.limited_terms)
    terms = " ".join(str(phrase.id) for phrase in phrases if phrase.id is not None)
    ids = {id for phrase in phrases if len(phrase.found) <= depth for id, *_ in phrase.found}
    clock.lap()
    ids.update(id for (id,) in conn.all(PROPOSED, {"terms": terms, "depth": depth}))
    of_index = clock.lap()
    scores = index.scores(query, ids)
    of_scores = clock.lap()
    return (
        [id for id, _ in best_first(scores.items(), index._in_order)][:PROVEN],
        of_index,
        of_scores,
    )


def compare(
    store: HybridStore, questions: list[str], depths: list[int], clock: Clock
) -> list[dict[str, float]]:
    """Totals of our search, and of each depth. Questions without a word of the memory are left out."""
    conn: Connection = store.storage.connection  # type: ignore[attr-defined]
    own = {"ms": 0.0, "asked": 0.0}
    of_depths = [{"index": 0.0, "scores": 0.0, "same": 0.0} for _ in depths]
    for text in questions:
        index: KeywordIndex = store.storage.keyword()  # type: ignore[assignment]
        query = index._with_forms(Query(text))
        if not any(index.frequencies(query.limited_terms)):
            continue
        own["asked"] += 1
        index.size()
        clock.lap()
        first = [id for id, _ in index._best_of(query.limited_terms, PROVEN, PROVEN)][:PROVEN]
        own["ms"] += clock.lap()
        for totals, depth in zip(of_depths, depths, strict=True):
            found, of_index, of_scores = proposed(conn, index, query, depth, clock)
            totals["index"] += of_index
            totals["scores"] += of_scores
            totals["same"] += found == first
    return [own, *of_depths]


def main() -> None:
    """Make the index, ask, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("memory")
    parser.add_argument("address")
    parser.add_argument("--questions", type=int, default=30, help="of each kind (default: 30)")
    parser.add_argument("--depths", type=int, nargs="+", default=[50, 100, 200])
    args = parser.parse_args()
    with HybridStore(args.memory, {"provider": "none"}) as lite:
        asked = real_questions.drawn(lite, args.questions)
    asked.pop("in a folder", None)
    with HybridStore(args.address, {"provider": "none"}) as store:
        conn: Connection = store.storage.connection  # type: ignore[attr-defined]
        clock = Clock(conn)
        conn.execute("create extension if not exists pg_textsearch")
        conn.execute(TABLE)
        try:
            conn.execute("set max_parallel_maintenance_workers = 0")
            clock.lap()
            conn.execute(INDEX)
            print(f"index: {clock.lap() / 1000:.1f} s, {conn.one(SIZE)[0]:.0f} MB")
            conn.execute("set enable_seqscan = off")
            for kind, questions in asked.items():
                texts = [text for text, _ in questions]
                compare(store, texts, args.depths, clock)  # not counted
                own, *of_depths = compare(store, texts, args.depths, clock)
                count = own["asked"]
                print(f"{kind}: {own['ms'] / count:.1f}", end="")
                for depth, totals in zip(args.depths, of_depths, strict=True):
                    parts = f"{totals['index'] / count:.1f} + {totals['scores'] / count:.1f}"
                    print(f"; {depth}: {parts}, same {totals['same']:.0f}/{count:.0f}", end="")
                print(flush=True)
        finally:
            conn.execute("drop schema bm25_index cascade")


if __name__ == "__main__":
    main()
