"""Both engines behave the same: the same words, the same frequencies, the same ranking."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.documents.document import Document, prepare
from hybrid_memory.extras.postgres.selection import glob_pattern
from hybrid_memory.search.coverage import of_chunks
from hybrid_memory.storage import keyword as index
from hybrid_memory.storage.filters import Filters
from hybrid_memory.storage.growing import Resumption
from hybrid_memory.storage.prepared import Extract
from hybrid_memory.text.query import Query
from tests.conftest import NUMBERS, TEMPLATE, TopicEmbedder
from tests.extras.postgres_server import PostgresServer

Pair = tuple[HybridStore, HybridStore]

WORDS = (
    "server servers serving serve gpu GPU host hosts hosted password passwords café Lỗi kết nối naïve straße 東京都 日本語 部署服务 "
    "스키마를 ภาษาไทยง่าย हिन्दी مُحَمَّد ΑΘΗΝΑ v2.0 boss-api src/store.ts bob@example.com --maxfail payment_processor getUserName C++ "
    "192.168.1.5 сервер серверами настройки настройка ρυθμίσεις المكتبات مكتبة relational relate running ran national nationality the what is of a and x² ½ ﬁle Ǆ 🎉 don't HEAD~3"
).split()

pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def pair(postgres: PostgresServer) -> Iterator[Pair]:
    """The same 400 documents in both engines."""
    rng = random.Random(7)
    with (
        HybridStore(":memory:", embedder=TopicEmbedder()) as a,
        HybridStore(
            postgres.database(f"pair{next(NUMBERS)}", TEMPLATE), embedder=TopicEmbedder()
        ) as b,
    ):
        documents = []
        for number in range(400):
            words = rng.choices(
                WORDS,
                [1 / (n + 1) for n in rng.sample(range(len(WORDS)), len(WORDS))],
                k=rng.randint(1, 60),
            )
            cut = rng.randint(0, len(words))
            doc = Document(
                f"notes/{rng.choice('abc')}/n-{number}.md",
                f"# {' '.join(words[:cut][:6])}\n\n{' '.join(words)}",
                {"tags": rng.sample("xyz", 2)},
                collection="notes",
            )
            documents.append(doc)
        for store in (a, b):
            for start in range(0, 400, 20):
                with store.storage.transaction():
                    store.storage.documents.put_all(
                        map(store.prepare, documents[start : start + 20])
                    )
            with store.storage.transaction():
                store.storage.documents.remove(
                    *(f"notes/a/n-{number}.md" for number in range(0, 400, 7))
                )
        yield a, b


def scores(
    store: HybridStore, query: str, filters: Filters | None = None, limit: int = 30
) -> list[tuple[str, float]]:
    storage = store.storage
    with storage.snapshot():
        if filters is None:
            return named(store, storage.keyword().ranked(Query(query), limit).ranking)
        with storage.selection(filters) as chosen:
            return named(store, storage.keyword(chosen).ranked(Query(query), limit).ranking)


def named(store: HybridStore, found: list[tuple[int, float]]) -> list[tuple[str, float]]:
    chunk = {row[0]: row[2] for row in store.storage.chunks.candidates([id for id, _ in found])}
    return [(chunk[id], score) for id, score in found]


def test_both_have_the_same_terms_in_the_same_number_of_chunks(pair: Pair) -> None:
    a, b = (store.storage.connection for store in pair)  # type: ignore[attr-defined]
    a.execute("create virtual table temp.vocabulary using fts5vocab(main, chunks_fts, row)")
    assert dict(a.execute("select term, doc from temp.vocabulary")) == dict(
        b.execute("select term, frequency from terms").fetchall()
    )
    tokens = "select sum(cnt) from temp.vocabulary"
    assert a.execute(tokens).fetchone()[0] == b.execute("select tokens from spaces").fetchone()[0]


queries = st.lists(
    st.sampled_from(
        [
            *WORDS,
            '"gpu server"',
            '"the host"',
            "n-12",
            "notes/b/n-12.md",
            "ollam",
            "servi",
            "东",
            "京",
            "passw",
        ]
    ),
    min_size=1,
    max_size=7,
).map(" ".join)


@pytest.mark.parametrize("first_rows", [4000, 20])
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
@given(query=queries | st.text(max_size=20))
def test_both_rank_alike(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, first_rows: int, query: str
) -> None:
    monkeypatch.setattr(index, "FIRST_ROWS", first_rows)
    a, b = (scores(store, query) for store in pair)
    assert [chunk for chunk, _ in a[:10]] == [chunk for chunk, _ in b[:10]]
    assert [score for _, score in a[:10]] == pytest.approx([score for _, score in b[:10]], rel=1e-6)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15
)
@given(
    query=queries,
    inside=st.sampled_from(["notes/a", "*[bc]*", "notes/?/n-1*", "notes/[^a]/*"]),
    tag=st.sampled_from("xyz"),
)
def test_both_rank_alike_under_a_filter(pair: Pair, query: str, inside: str, tag: str) -> None:
    filters = Filters(inside=inside, tags=[tag])
    a, b = (scores(store, query, filters, 10) for store in pair)
    assert a == [(chunk, pytest.approx(score, rel=1e-6)) for chunk, score in b]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=10
)
@given(query=queries)
def test_both_see_the_same_words_covered(pair: Pair, query: str) -> None:
    in_sqlite, in_postgres = (covered(store, query) for store in pair)
    assert in_postgres == in_sqlite


@pytest.mark.parametrize(
    "query",
    [
        "настройка настройки",
        "настройки сервер настройка",
        "настройка настройки gpu v2.0",
        "server servers gpu",
    ],
)
def test_both_count_two_forms_of_one_word_alike(pair: Pair, query: str) -> None:
    in_sqlite, in_postgres = (covered(store, query) for store in pair)
    assert any(terms for _, terms, _ in in_sqlite[1])
    assert in_postgres == in_sqlite


def covered(store: HybridStore, query: str) -> tuple[float, list[tuple[float, list[str], float]]]:
    """The score of a full match, and the coverage and BM25 of the best ten chunks."""
    with store.storage.snapshot():
        keyword = store.storage.keyword()
        ranked = keyword.ranked(Query(query), 20)
        ids = [id for id, _ in ranked.ranking][:10]
        chunks = store.storage.chunks.candidates(ids)
        words = ranked.searched
        coverage = of_chunks(store.storage, words, keyword.rarities(words), chunks)
        leg = keyword.ranked(Query(query), 1, ids)
        scores = {**dict(leg.ranking), **leg.further_scores}
    shares = [
        (round(coverage[id].share, 9), sorted(coverage[id].terms), round(scores.get(id, 0.0), 9))
        for id in ids
    ]
    return round(ranked.full_score, 9), shares


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80
)
@given(glob=st.text("ab-]^[*?/.\\!c", max_size=8), name=st.text("ab-]^[/.\\!c\n", max_size=6))
@example(glob="?[[-?]?", name="[[[")
@example(glob="[]-a]", name="^")
@example(glob="[a-]", name="-")
def test_a_glob_means_what_sqlite_means(pair: Pair, glob: str, name: str) -> None:
    connection: Any = pair[1].storage.connection  # type: ignore[attr-defined]
    sqlite = sqlite3.connect(":memory:")
    expected = sqlite.execute("select ? glob ?", (name, glob)).fetchone()[0]
    sqlite.close()
    assert connection.one(
        'select %(name)s::text collate "C" ~ %(pattern)s',
        {"name": name, "pattern": glob_pattern(glob)},
    )[0] == bool(expected)


def test_importing_the_command_imports_no_postgres(process: Any, tmp_path: Path) -> None:
    assert process("store", "--doc-id", "a", "--text", "gpu", "--provider", "none").returncode == 0
    done = process("search", "gpu", "--provider", "none", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0
    assert "hybrid_memory.storage.sqlite" in done.stderr
    assert "psycopg" not in done.stderr and "storage.postgres" not in done.stderr


@pytest.mark.both_engines
def test_the_first_chunks_of_a_document_are_known_of_each_of_its_chunks(store: HybridStore) -> None:
    text = "\n\n".join(f"# Part {number}\n\n{f'word{number} ' * 40}" for number in range(12))
    for doc_id in (
        "long",
        "long-1",
    ):  # the second's id begins as the first's do, and the text of "-10" comes before that of "-2"
        store.store(doc_id, text)
    store.store("short", "one passage")
    chunks = store.storage.chunks
    ids = {
        name: [chunks.at(name, line, line)[0] for line in range(1, 48, 4)]
        for name in ("long", "long-1")
    }
    [short] = chunks.at("short", 1, 1)
    leads = chunks.opening_chunks([ids["long"][11], ids["long-1"][0], short], 2)
    assert {id: sorted(each) for id, each in leads.items()} == {
        ids["long"][11]: ids["long"][:2],
        ids["long-1"][0]: ids["long-1"][:2],
        short: [short],
    }
    assert chunks.opening_chunks([], 2) == {}


@pytest.mark.both_engines
def test_a_document_that_grows_keeps_its_beginning_and_is_found_by_its_new_metadata(
    store: HybridStore,
) -> None:
    def write(text: str, metadata: dict[str, Any]) -> int | None:
        prepared = store.prepare(
            Document("log", text, metadata, "/log", 0.0, len(text), b"x", "logs")
        )
        documents = store.storage.documents
        growing = documents.growing("log", "logs")
        growing.compare(prepared.chunks)
        with store.storage.transaction():
            return growing.write(prepared.row)

    first, second = "# One\n\nthe gpu server\n", "# Two\n\nthe dog\n"
    assert write(first, {"topic": "machines"}) == 1
    assert write(first + second, {"topic": "pets", "place": "Lisbon", "aliases": ["Journal"]}) == 1
    for query in ("gpu", "dog", "lisbon", "journal"):
        assert [hit["doc_id"] for hit in store.search(query, mode="keyword")][:1] == ["log"], query
    assert store.search("machines", mode="keyword") == []
    assert store.storage.links.named("journal") == ["log"]
    assert store.reindex() == 2
    assert store.search("lisbon", mode="keyword")[0]["chunk_id"] == "log-0"


@pytest.mark.both_engines
def test_a_document_that_grows_is_read_on_from_its_last_chunk_that_begins_a_line(
    store: HybridStore,
) -> None:
    def grow(text: str) -> tuple[Resumption | None, int | None]:
        document = Document("log", text, {}, "/log", 0.0, len(text), b"x", "logs")
        prepared = prepare(document, chunk_size=60, overlap=0)
        growing = store.storage.documents.growing("log", "logs")
        place = growing.resumption()
        first = place.number if place else 0
        assert growing.compare(prepared.chunks[first:], first) == len(prepared.chunks)
        with store.storage.transaction():
            return place, growing.write(prepared.row)

    text = "# One\n\nthe gpu server\n\n# 2026-03-05\n\n" + "the dog sleeps, " * 12
    assert grow(text) == (None, 6)
    place = Resumption(
        number=1, line=5, title="2026-03-05", date="2026-03-05", first_date="2026-03-05"
    )
    assert grow(f"{text}\n\n# Three\n\nthe cat\n") == (place, 1)
    assert store.search("cat", mode="keyword")[0]["chunk_id"] == "log-6"


@pytest.mark.both_engines
def test_text_and_pages_of_a_file_that_is_not_text_are_kept_until_it_is_replaced(
    store: HybridStore,
) -> None:
    def put(text: str, extract: Extract | None) -> None:
        with store.storage.transaction():
            store.storage.documents.put(
                store.prepare(Document("a.pdf", text, {}, "/a.pdf", 0.0, 1, b"x", None, extract))
            )

    text = "the gpu server\n\nthe dog"
    put(text, Extract(text, [1, 3], {}))
    row = store.storage.catalog.document("a.pdf")
    assert (row.path, row.content, list(row.pages)) == ("/a.pdf", text, [1, 3])
    [hit] = store.search("dog", mode="keyword")
    assert "p" in hit["citation"]
    put(text, None)
    row = store.storage.catalog.document("a.pdf")
    assert (row.content, list(row.pages)) == (None, [])
    assert store.delete("a.pdf") == 1


@pytest.mark.both_engines
def test_what_a_reranker_said_is_kept(store: HybridStore) -> None:
    asked: list[list[str]] = []

    def score(texts: list[str]) -> list[float]:
        asked.append(texts)
        return [float(len(text)) for text in texts]

    cache = store.storage.query_cache(10)
    assert cache.scores("model", "q", ["a", "bb"], score) == [1.0, 2.0]
    assert cache.scores("model", "q", ["bb", "ccc"], score) == [2.0, 3.0]
    assert cache.scores("model", "q", ["a", "ccc"], score) == [1.0, 3.0]
    assert asked == [["a", "bb"], ["ccc"]]


@pytest.mark.both_engines
def test_a_store_that_is_opened_to_be_read_is_not_written(
    store: HybridStore, db_path: str, embedder: TopicEmbedder
) -> None:
    store.store("a", "gpu server")
    with HybridStore(db_path, embedder=embedder, create=False, read_only=True) as reader:
        assert [hit["doc_id"] for hit in reader.search("server")] == ["a"]
        assert [hit["doc_id"] for hit in reader.search("servre")] == ["a"]
        with pytest.raises(StoreError):
            reader.store("b", "dog")
    assert store.stats()["doc_count"] == 1


def test_a_passage_inside_a_list_is_found_by_the_item_around_it(store: HybridStore) -> None:
    outline = f"- Garage\n  - box {'and more ' * 45}\n  - the hammer {'and so on ' * 20}"
    store.store("tools", outline, {"kind": "a"})
    [hit] = [hit for hit in store.search("garage hammer") if hit["start_line"] == 3]
    assert "Garage" not in hit["text"]
    assert hit["end_line"] == 3
    store.store("tools", outline.replace("Garage", "Attic"))
    assert not [hit for hit in store.search("garage", mode="keyword") if hit["start_line"] == 3]
    assert store.search("attic hammer", mode="keyword")[0]["start_line"] == 3
