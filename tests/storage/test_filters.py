import json
import random
import re
import sqlite3
from collections.abc import Iterator
from datetime import date
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.browse.lists import documents
from hybrid_memory.documents.document import Document
from hybrid_memory.errors import NotFoundError, QueryError
from hybrid_memory.extras.doctor import examine
from hybrid_memory.indexing.pending import accepts, new_vectors
from hybrid_memory.storage import keyword, selection
from hybrid_memory.storage.filters import Filters
from hybrid_memory.storage.matching import have_values
from hybrid_memory.storage.rows import Vectors
from hybrid_memory.storage.sqlite import vectors as blocks
from hybrid_memory.storage.sqlite import vectors as index
from hybrid_memory.storage.sqlite.engine import SQLiteStorage
from hybrid_memory.text.links import filterable_tags
from hybrid_memory.text.query import Query
from tests.command import Run
from tests.conftest import TopicEmbedder

pytestmark = pytest.mark.both_engines

TODAY = date(2026, 3, 15)


def put(
    store: HybridStore, documents: dict[str, dict[str, Any]], collection: str | None = None
) -> None:
    """Documents by id, with their metadata."""
    write(
        store,
        [
            Document(doc_id, f"server {doc_id}", metadata, collection=collection)
            for doc_id, metadata in documents.items()
        ],
    )


def write(store: HybridStore, documents: list[Document]) -> None:
    prepared = [store.prepare(document) for document in documents]
    vectors: Vectors = {}
    if store.embedder:
        texts = {key: text for each in prepared for key, text in each.texts.items()}
        vectors = new_vectors(store.storage, store.embedder, texts).vectors
        assert accepts(store.storage, store.embedder, vectors)
    with store.storage.transaction():
        store.storage.documents.put_all(prepared, vectors)


def ids(store: HybridStore, filters: Filters, mode: str = "keyword") -> list[str]:
    return sorted(
        hit["doc_id"] for hit in store.search("server", 50, mode, filters=filters, today=TODAY)
    )


# Tags and metadata


@pytest.mark.parametrize(
    ("metadata", "tag", "has"),
    [
        ({"tags": ["ops", "gpu"]}, "gpu", True),
        ({"tags": ["ops", "gpu"]}, "#GPU", True),
        ({"tags": "#ops #gpu"}, "ops", True),
        ({"tag": "ops"}, "ops", True),
        ({"tags": ["infra/gpu"]}, "infra", True),
        ({"tags": [["gpu"]]}, "gpu", False),
        ({"title": '"tags": ["gpu"]'}, "gpu", False),
        ({"tags": ["a, b"]}, "a, b", False),
        ({"tags": ["infrared"]}, "infra", False),
        ({"tags": "machine learning, ops"}, "machine learning", True),
        ({"tags": ["machine learning"]}, "learning", True),
        ({"tags": ["Straße"]}, "STRASSE", True),
        ({"tags": [2026, True, None]}, "2026", True),
        ({"tags": {"a": "ops"}}, "ops", False),
        ({"tags": ""}, "", False),
    ],
)
def test_tags(metadata: dict[str, Any], tag: str, has: bool) -> None:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        put(store, {"it": metadata})
        assert ids(store, Filters(tags=[tag])) == ["it"] * has


@pytest.mark.parametrize(
    ("metadata", "value", "has"),
    [
        ({"key": "Ann"}, "ann", True),
        ({"key": "Ann Lee"}, "ann", False),
        ({"key": 3.5}, "3.5", True),
        ({"key": False}, "False", True),
        ({"key": [1, True]}, "true", True),
        ({"key": None}, "", False),
        ({"key": ""}, "", True),
        ({"key": ["x", "[[people/Steph Ango|Steph]]"]}, "Steph Ango", True),
        ({"key": "[[people/Steph Ango|Steph]]"}, "steph", True),
        ({"key": "[[Steph Ango]]"}, "ango", False),
    ],
)
def test_values(metadata: dict[str, Any], value: str, has: bool) -> None:
    assert have_values(json.dumps(metadata), [("key", value)]) is has


NESTED = {
    "server": {"port": 2222, "names": ["atlas", "rack"]},
    "people": [{"name": "Ann", "at": {"city": "Ulm"}}, {"name": "[[Bob]]"}, "Cid"],
    "a.b": "whole",
    "a": {"b": "nested", "b.c": 1},
}


def test_filters_by_dotted_keys(store: HybridStore) -> None:
    put(store, {"it": NESTED, "other": {"server": {"Port": 22}, "title": "server.port"}})
    assert ids(store, Filters(where={"server.port": "2222"})) == ["it"]
    assert ids(store, Filters(where={"server.port": "2222", "people.name": "Bob"})) == ["it"]
    assert ids(store, Filters(where={"server.port": "22"})) == ["other"]
    assert {hit["doc_id"] for hit in store.search("where:server.port=2222 server")} == {"it"}
    assert {hit["doc_id"] for hit in store.search("where:people.at.city=ulm server")} == {"it"}
    assert dict(store.storage.catalog.metadata_keys()) == {
        "server.port": 1,
        "server.names": 1,
        "server.Port": 1,
        "title": 1,
        "a.b": 1,
        "a.b.c": 1,
        "people": 1,
        "people.name": 1,
        "people.at.city": 1,
    }


def test_a_key_that_is_a_map_is_told_with_the_keys_below(store: HybridStore) -> None:
    put(store, {"it": {"server": {"port": 22}}})
    assert store.search("server", where={"server": "22"}) == []
    assert "no document has 'server' in its metadata; there are server.port" in store.warnings


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from(["tags", "tag", "x"]), values, max_size=3), st.text())
def test_no_metadata_makes_a_filter_fail(metadata: dict[str, Any], text: str) -> None:
    have_values(json.dumps(metadata), [("x", text)])
    filterable_tags(json.dumps(metadata), [])


def test_all_tags_and_all_values_are_wanted(store: HybridStore) -> None:
    put(
        store,
        {
            "both": {"tags": ["a", "b"], "who": ["ann", "bob"]},
            "one": {"tags": ["a"], "who": ["ann"]},
        },
    )
    assert ids(store, Filters(tags=["a", "b"])) == ["both"]
    assert ids(store, Filters(tags=["a"])) == ["both", "one"]
    assert ids(store, Filters(where={"who": "ann"})) == ["both", "one"]
    assert ids(store, Filters(where={"who": ["ann", "bob"]})) == ["both"]
    assert ids(store, Filters(where={"who": "ann", "tags": "b"})) == ["both"]
    assert ids(store, Filters(where={"who": "'; drop table chunks; --"})) == []


def test_tags_in_the_text_count_as_those_of_the_front_matter(store: HybridStore) -> None:
    store.store("inline", "server #work/Acme, #2026-q1 and #123")
    store.store(
        "code",
        "server `#work`\n\n```\n#work\n```\n\n# about work\n\nhttps://x.y/#work [a](#work) [[b#work]]",
    )
    assert (
        ids(store, Filters(tags=["Work"]))
        == ids(store, Filters(tags=["#work/acme", "2026-Q1"]))
        == ["inline"]
    )
    assert ids(store, Filters(tags=["123"])) == ids(store, Filters(tags=["acme"])) == []
    store.store("inline", "server")
    assert ids(store, Filters(tags=["work"])) == []


def test_documents_that_link_to_another_one(store: HybridStore) -> None:
    for doc_id, text in {
        "v/a.md": "server",
        "v/b.md": "server [[A]]",
        "v/c.md": "server [b](b.md)",
        "v/d.md": "`[[a]]` server",
    }.items():
        store.store(doc_id, text)
    assert ids(store, Filters(linked_to="v/a.md")) == ["v/b.md"]
    assert ids(store, Filters(linked_to="v/b.md")) == ["v/c.md"]
    assert ids(store, Filters(linked_to="v/c.md")) == []
    assert ids(store, Filters(linked_to="[[B]]")) == ["v/c.md"]
    with pytest.raises(NotFoundError, match="no document 'none' in this memory"):
        ids(store, Filters(linked_to="none"))


SECTIONS = {
    "a": "# Meeting\n\nserver\n\n## Costs\n\nserver costs\n\n### Power\n\nserver power\n",
    "b": "# Meeting → 東京\n\nserver\n\n## Costs of power\n\nserver costs\n",
    "c": "# ÜBUNG\n\nserver\n\n## meeting\n\nserver notes\n",
}


BELOW = {
    "Meeting": ["Costs", "Meeting", "Power", "meeting"],
    "meeting > costs": ["Costs", "Power"],
    "Meeting > Power": [],
    "übung": ["meeting", "ÜBUNG"],
    "Meeting → 東京": ["Costs of power", "Meeting → 東京"],
    "Cost": [],
}


@pytest.mark.parametrize("broad", [0.0, 1.1])
@pytest.mark.parametrize("mode", ["keyword", "vector"])
def test_passages_below_a_heading(store: HybridStore, broad: float, mode: str) -> None:
    for doc_id, text in SECTIONS.items():
        store.store(doc_id, text)
    for heading, expected in BELOW.items():
        hits = found(store, "server", mode, Filters(heading=heading), broad)
        assert sorted(hit["heading"] for hit in hits) == expected, heading
        hits = found(store, "server", mode, Filters(heading=heading, inside="a"), broad)
        assert {hit["doc_id"] for hit in hits} <= {"a"}, heading
    listed = documents(store, filters=Filters(heading="costs"))["documents"]
    assert [document["doc_id"] for document in listed] == ["a"]
    with pytest.raises(QueryError, match="has no word"):
        ids(store, Filters(heading="→"))


# Ids and collections

PATHS = [
    "memory/2026-01-05.md",
    "memory/2026-02-01.md",
    "memory/old/a.md",
    "memory2/a.md",
    "notes[1]/a.md",
    "notes1/a.md",
    "a?.md",
    "ab.md",
]


INSIDE = {
    "memory/": ["memory/2026-01-05.md", "memory/2026-02-01.md", "memory/old/a.md"],
    "memory/2026-0[2-9]*": ["memory/2026-02-01.md"],
    "*/a.md": ["memory/old/a.md", "memory2/a.md", "notes1/a.md", "notes[1]/a.md"],
    "Memory": ["memory/2026-01-05.md", "memory/2026-02-01.md", "memory/old/a.md"],
    "memory/old/a.md": ["memory/old/a.md"],
    "notes[1]/": ["notes1/a.md"],
    "notes[[]1]/": ["notes[1]/a.md"],
    "a?.md": ["a?.md", "ab.md"],
    "%": [],
    "[": [],
    "": [],
}


def test_inside_is_a_glob_on_ids(store: HybridStore) -> None:
    put(store, {path: {} for path in PATHS})
    for inside, expected in INSIDE.items():
        for mode in ("keyword", "vector"):
            assert ids(store, Filters(inside=inside), mode) == expected, inside


def test_collection_is_a_name_and_no_pattern(store: HybridStore) -> None:
    put(store, {"memory/a": {}}, "memory")
    put(store, {"mem*/a": {}}, "mem*")
    put(store, {"stored": {}})
    assert ids(store, Filters(collection="memory")) == ["memory/a"]
    assert ids(store, Filters(collection="mem*")) == ["mem*/a"]
    assert ids(store, Filters(collection="")) == []
    assert ids(store, Filters()) == ["mem*/a", "memory/a", "stored"]


# Dates

DATED = [
    "2026-01-05",
    "2026-01-31",
    "2026-02",
    "2026-02-28",
    "2026-03-08",
    "2026-03-15",
    "2027-01-01",
    "undated",
]


PERIODS = [
    ("2026-01-31", None, DATED[1:7]),
    (None, "2026-01-31", DATED[:2]),
    ("2026-02", "2026-02", ["2026-02", "2026-02-28"]),
    ("2026-02-10", None, DATED[2:7]),  # the month may have been meant
    (None, "2026-02-10", DATED[:3]),
    ("1w", "0d", DATED[4:6]),
    ("6d", None, DATED[5:7]),
    ("1m", None, DATED[2:7]),
    ("99999y", None, DATED[:7]),
    ("2026-03-16", "2026-01-01", []),
]


def test_dates_are_days_months_or_ages_and_the_undated_are_never_among_them(
    store: HybridStore,
) -> None:
    put(store, {f"{day}.md": {} for day in DATED})
    for since, until, days in PERIODS:
        filters, expected = Filters(since=since, until=until), sorted(f"{day}.md" for day in days)
        for mode in ("keyword", "vector"):
            assert ids(store, filters, mode) == expected, (since, until)


@pytest.mark.parametrize(
    ("option", "text"),
    [("--since", ""), ("--since", "soon"), ("--until", "2026-02-30"), ("--until", "-7d")],
)
def test_what_is_no_date_is_wrong_usage(run: Run, option: str, text: str) -> None:
    run("store", "--doc-id", "it", "--text", "server")
    done = run("search", "server", f"{option}={text}")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{text!r} is not a date: write 2026-01-05" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# Both legs


class NumberEmbedder(TopicEmbedder):
    """Gives a text that ends with a number its own direction; a query is nearest to low numbers."""

    def _vector(self, text: str) -> list[float]:
        rnd = random.Random(text.split()[-1])
        return [rnd.gauss(0.5, 1) for _ in range(8)]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Iterator[HybridStore]:
    """More chunks than a search scores first, in many blocks, with a word in all and a rarer word
    in few of the wanted ones.
    """
    for module in (blocks, index):
        monkeypatch.setattr(module, "PLACES", 64)
    monkeypatch.setattr(blocks, "EVERY_PLACE", (1 << 64) - 1)
    monkeypatch.setattr(keyword, "FIRST_ROWS", 200)
    embedder = NumberEmbedder()
    with HybridStore(":memory:", embedder=embedder) as store:
        documents = []
        for number in range(1050):
            is_wanted = number % 15 == 7
            is_rarer = number % (105 if is_wanted else 4) == (7 if is_wanted else 0)
            text = f"the server {'password' if is_rarer else 'garden'} {number}"
            folder = "wanted" if is_wanted else "other"
            documents.append(Document(f"{folder}/{number}", text, {}))
        write(store, documents)
        yield store


@pytest.mark.sqlite
def test_few_documents_of_a_large_store_are_ranked_as_if_they_were_all(large: HybridStore) -> None:
    wanted = Filters(inside="wanted/")
    allowed = {
        id
        for (id,) in large.storage.connection.execute(
            "select id from chunks where doc_id glob 'wanted/*'"
        )
    }
    assert len(allowed) == 70
    assert large.storage.connection.execute("select count(*) from vector_blocks").fetchone()[0] > 10

    def found(mode: str, limit: int, exact: bool) -> list[tuple[str, float]]:
        hits = large.search("server password", limit, mode, filters=wanted, exact=exact)
        return [(hit["doc_id"], hit["scores"][mode]) for hit in hits]

    expression = '"server" OR "password"'
    by_bm25 = "select doc_id, -bm25(chunks_fts, 0, 0, 2, 1, 0.25) from chunks_fts where chunks_fts match ? order by 2 desc, rowid"
    keyword = [
        row
        for row in large.storage.connection.execute(by_bm25, (expression,))
        if row[0].startswith("wanted/")
    ]
    query = large.embedder.embed("server password") if large.embedder else []
    cosines = index.VectorSearch(large.storage.connection, TopicEmbedder()).cosines(query, allowed)
    nearest = sorted((-cosine, id) for id, cosine in cosines.items() if cosine > 0)
    assert len(nearest) >= 30
    for limit, exact in product((1, 10, 30), (False, True)):
        assert [score for _, score in found("keyword", limit, exact)] == pytest.approx(
            [score for _, score in keyword[:limit]], rel=1e-5
        )
        assert [score for _, score in found("vector", limit, exact)] == pytest.approx(
            [-c for c, _ in nearest[:limit]], abs=1e-5
        )
        hybrid = large.search("server password", limit, filters=wanted, exact=exact)
        assert len(hybrid) == limit
        assert all(hit["doc_id"].startswith("wanted/") for hit in hybrid)


def test_a_fragment_and_a_name_are_looked_for_under_the_filter(store: HybridStore) -> None:
    put(store, {"a/x.md": {}, "b/x.md": {}})
    inside = Filters(inside="b/")
    for query in ("serve", "x.md", "b/x.md"):
        hits = store.search(query, mode="keyword", filters=inside)
        assert [hit["doc_id"] for hit in hits] == ["b/x.md"], query
    assert store.search("a/x.md", mode="keyword", filters=Filters(inside="c/")) == []
    if isinstance(store.storage, SQLiteStorage):
        hits = store.search("serv*", mode="keyword", filters=inside, fts_syntax=True)
        assert [hit["doc_id"] for hit in hits] == ["b/x.md"]


# The table of the chosen


def tables(store: HybridStore) -> list[str]:
    return [
        name for (name,) in store.storage.connection.execute("select name from sqlite_temp_schema")
    ]


@pytest.mark.sqlite
def test_nothing_is_left_behind(store: HybridStore) -> None:
    put(store, {"a": {}})
    for _ in range(2):
        assert ids(store, Filters(inside="a"), "hybrid") == ["a"]
        with pytest.raises(QueryError):
            store.search("a AND", filters=Filters(inside="a"), fts_syntax=True)
        assert tables(store) == []
        assert not store.storage.connection.in_transaction


@pytest.mark.sqlite
def test_inside_a_transaction_of_the_callers_nothing_is_left_either(store: HybridStore) -> None:
    put(store, {"a": {}})
    with store.storage.transaction():
        assert ids(store, Filters(inside="a")) == ["a"]
        assert tables(store) == []
        store.storage.documents.remove("a")
        assert ids(store, Filters(inside="a")) == []
    assert ids(store, Filters()) == []


def test_a_thousand_tags_and_values_are_one_condition(store: HybridStore) -> None:
    tags = [f"t{number}" for number in range(1001)]
    put(store, {"all": {"tags": tags, "k": tags}, "none": {"tags": tags[1:], "k": tags}})
    assert ids(store, Filters(tags=tags, where={"k": tags})) == ["all"]


def test_a_glob_that_sqlite_does_not_take_is_named(store: HybridStore) -> None:
    put(store, {"a": {}})
    with pytest.raises(QueryError, match="the glob has 60,000 characters"):
        store.search("server", filters=Filters(inside="*a" * 30_000))


# What is read, and how much


def notes_of(store: HybridStore, count: int) -> None:
    """Notes of several lengths, of which all, half or a few have the tag with that name."""
    tags = [
        ["all", "half" if number % 2 else "rest", "few" if number % 100 == 1 else "many"]
        for number in range(count)
    ]
    put(
        store,
        {
            f"{number % 2}/{number}": {
                "tags": own,
                "date": "2026-01-05",
                "said": "more " * (number % 97),
            }
            for number, own in enumerate(tags)
        },
    )


LOOKED_AT = re.compile(
    r"json_each\('(\[.*?\])'\) cross join chunks on chunks.id = value cross join main.documents"
)
BROADLY = [
    Filters(inside="1/*"),
    Filters(tags=["all"]),
    Filters(tags=["half"]),
    Filters(since="2025-01-01"),
    Filters(until="2026-01"),
]


@pytest.mark.sqlite
def test_a_filter_that_leaves_much_looks_only_at_what_is_found(store: HybridStore) -> None:
    notes_of(store, 600)
    statements: list[str] = []
    store.storage.connection.set_trace_callback(statements.append)
    for filters in BROADLY:
        for mode in ("keyword", "vector"):
            assert len(store.search("server", 10, mode, filters=filters, today=TODAY)) == 10
        assert [statement for statement in statements if "temp.chosen" in statement] == []
        statements.clear()
        store.search("server", 10, "keyword", filters=filters, today=TODAY)
        looked_at = [
            json.loads(ids) for statement in statements for ids in LOOKED_AT.findall(statement)
        ]
        assert 100 <= sum(map(len, looked_at)) <= 500, filters
        statements.clear()


@pytest.mark.sqlite
def test_a_filter_that_leaves_little_lists_it(many: HybridStore) -> None:
    statements: list[str] = []
    many.storage.connection.set_trace_callback(statements.append)
    assert len(ids(many, Filters(tags=["few"]))) == 4
    many.storage.connection.set_trace_callback(None)
    assert (
        len([statement for statement in statements if "insert into temp.chosen" in statement]) == 1
    )


@given(
    st.lists(st.sampled_from(["all", "half", "few", "none"]), max_size=2),
    st.sampled_from(["server", "server 7", "7", "ver 1"]),
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20
)
def test_both_ways_find_the_same(many: HybridStore, tags: list[str], query: str) -> None:
    filters = Filters(tags=tags)
    for mode in ("keyword", "vector"):
        broad, listed = (
            [(hit["doc_id"], hit["score"]) for hit in found(many, query, mode, filters, limit)]
            for limit in (0.0, 1.1)
        )
        assert broad == listed


def found(
    store: HybridStore, query: str, mode: str, filters: Filters, broad: float
) -> list[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "BROAD", broad)
        return store.search(query, 10, mode, filters=filters, today=TODAY)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HybridStore]:
    with HybridStore(tmp_path_factory.mktemp("many") / "m.db", embedder=TopicEmbedder()) as store:
        notes_of(store, 400)
        yield store


@pytest.mark.sqlite
def test_texts_of_documents_and_rows_of_chunks_are_not_read_to_count_or_list_them(
    store: HybridStore,
) -> None:
    notes_of(store, 50)
    read: set[tuple[str | None, str | None]] = set()
    statements: list[str] = []

    def note(action: int, table: str | None, column: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ:
            read.add((table, column))
        return sqlite3.SQLITE_OK

    conn = store.storage.connection
    conn.set_authorizer(note)
    conn.set_trace_callback(statements.append)
    store.stats()
    documents(store, filters=Filters(tags=["half"]))
    examine(store)
    for mode in ("keyword", "vector", "hybrid"):
        store.search("server", 10, mode, filters=Filters(tags=["few"]), context=2)
        store.search("server", 10, mode, filters=Filters(tags=["half"]), context=2)
    store.delete("1/7")
    conn.set_authorizer(None)
    conn.set_trace_callback(None)
    assert ("documents", "metadata") in read
    assert ("documents", "content") not in read
    counting = [
        statement for statement in statements if "count(" in statement and "chunks" in statement
    ]
    plans = [
        row[3] for statement in counting for row in conn.execute(f"explain query plan {statement}")
    ]
    scans = [line for line in plans if line.split()[:2] == ["SCAN", "chunks"]]
    assert scans
    assert [line for line in scans if "INDEX" not in line] == []


# Operators in the query


def answered(
    store: HybridStore, query: str, mode: str = "hybrid", filters: Filters | None = None
) -> list[str]:
    return sorted(hit["doc_id"] for hit in store.search(query, 50, mode, filters=filters))


@pytest.mark.parametrize("mode", ["keyword", "vector"])
def test_a_word_with_a_minus_leaves_out_the_passages_that_have_it(
    store: HybridStore, mode: str
) -> None:
    for name, text in {
        "a": "server of the processes",
        "b": "server and page cache",
        "c": "server, cache page",
        "processed": "server",
    }.items():
        store.store(name, text)
    assert answered(store, "server", mode) == ["a", "b", "c", "processed"]
    assert answered(store, 'server -"process"', mode) == ["b", "c"]
    assert answered(store, 'server -"page cache"', mode) == ["a", "c", "processed"]
    assert answered(store, 'server -"page cache" -"processes"', mode) == ["c"]
    assert answered(store, 'server -"karaoke"', mode) == ["a", "b", "c", "processed"]
    assert answered(store, "server -server", mode) == ["a", "b", "c", "processed"]  # a word
    assert answered(store, 'server -"server"', mode) == []
    without = Query('x -"server"').asked["without"]
    assert "server" in Filters(without=without).without[0].tokens


@pytest.mark.parametrize("mode", ["keyword", "vector"])
def test_a_filter_with_a_minus_leaves_out_the_documents_that_it_finds(
    store: HybridStore, mode: str
) -> None:
    put(
        store,
        {
            "vault/old/a.md": {"tags": ["ops/gpu"], "status": "done"},
            "vault/new/b.md": {"tags": ["ops"], "status": ["waiting", "done"]},
            "vault/new/c.md": {"tags": ["food"], "date": "2026-03-02"},
            "vault/older/d.md": {},
        },
        "vault",
    )
    a, b, c, d = "vault/old/a.md", "vault/new/b.md", "vault/new/c.md", "vault/older/d.md"
    assert answered(store, "-tag:ops server", mode) == [c, d]
    assert answered(store, "-tag:ops/gpu -tag:FOOD server", mode) == [b, d]
    assert answered(store, "-in:vault/old server", mode) == [b, c, d]
    assert answered(store, "-in:old server", mode) == [b, c, d]
    assert answered(store, "in:new -tag:ops server", mode) == [c]
    assert answered(store, "-where:status=waiting server", mode) == [c, a, d]
    assert answered(store, "-tag:nosuch -in:nowhere server", mode) == sorted([a, b, c, d])
    assert answered(store, "-in:* server", mode) == []
    for collection, expected in (("vault", []), ("other", [a, b, c, d])):
        filters = Filters(excluded=[Filters(collection=collection)])
        hits = store.search("server", mode=mode, filters=filters)
        assert {hit["doc_id"] for hit in hits} == set(expected)
    store.store("headed", "# Costs\n\nserver")
    hits = store.search("server", mode=mode, filters=Filters(excluded=[Filters(heading="costs")]))
    assert {hit["doc_id"] for hit in hits} == {a, b, c, d}


def test_any_number_of_operators_has_an_answer_or_an_error(store: HybridStore) -> None:
    put(store, {"a": {}, "b": {"tags": ["t7"]}})

    def query(operator: str, count: int) -> str:
        return " ".join(["server", *map(operator.format, range(count))])

    assert answered(store, query('-tag:"t{}"', 200)) == ["a"]
    assert answered(store, query('-in:"x{}"', 200)) == ["a", "b"]
    for operator in ('-tag:"t{}"', '-in:"x{}"', 'tag:"t{}"', 'where:"x{}=y"', '-"word{}"'):
        with pytest.raises(QueryError, match="more than 200 filters"):
            store.search(query(operator, 201))
    assert answered(store, query("tag:t{}", 300)) == ["a", "b"]  # words
    assert answered(store, query("-word{}", 300)) == ["a", "b"]


def test_a_period_with_a_minus_leaves_documents_without_a_date(store: HybridStore) -> None:
    put(store, {"march": {"date": "2026-03-02"}, "april": {"date": "2026-04-02"}, "ever": {}})
    assert answered(store, "-date:2026-03 server") == ["april", "ever"]
    assert answered(store, "-after:2026-04 server") == ["ever", "march"]
    assert answered(store, "-before:2026-04 server") == ["april", "ever"]


def test_many_passages_without_a_word_are_those_of_all_that_do_not_have_it(
    store: HybridStore,
) -> None:
    words = [("common" if number % 10 else "rare", number) for number in range(200)]
    write(store, [Document(f"n{number}", f"server {word} {number}", {}) for word, number in words])
    assert len(store.search('server -"common"', 50, "keyword")) == 20
    assert len(store.search('server -"rare"', 300, "keyword")) == 180


def test_where_compares_keys_and_values_as_the_option_does(store: HybridStore) -> None:
    put(store, {"a": {"Status": "done", "n": 3}, "b": {"Status": "open"}, "c": {"Été": "y"}})
    assert answered(store, "where:été=y server") == ["c"]
    assert answered(store, "where:status=done server") == ["a"]
    assert answered(store, "where:Status=OPEN server") == ["b"]
    assert answered(store, "where:n=3 where:status=done server") == ["a"]
    assert answered(store, "where:status=nowhere server") == []
    assert answered(store, "status:done server") == ["a", "b", "c"]
    found = store.search("where:status=done server", filters=Filters(where={"n": "3"}))
    assert [hit["doc_id"] for hit in found] == ["a"]


def test_one_of_several_words_with_or_between_them_makes_an_answer_sure(store: HybridStore) -> None:
    for name, text in {"a": "swap space", "b": "page cache", "c": "cache page"}.items():
        store.store(name, text)
    alone, with_or = (
        {
            hit["doc_id"]: hit["explain"]["coverage"]
            for hit in store.search(query, mode="keyword", explain=True)
        }
        for query in ("swap page", "swap OR page")
    )
    assert alone["a"] < 1.0
    assert with_or == {"a": 1.0, "b": 1.0, "c": 1.0}
    first = store.search('"page cache" OR swap', mode="keyword")
    assert [hit["doc_id"] for hit in first][2] == "c"
    assert store.warnings == []


def test_a_word_that_means_nothing_finds_nothing_under_a_filter(store: HybridStore) -> None:
    put(store, {"a": {"tags": ["x"]}, "b": {"tags": ["x"]}})
    assert answered(store, "tag:x gnarp") == []
    assert answered(store, "tag:x server") == ["a", "b"]
