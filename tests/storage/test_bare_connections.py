"""Keyword and vector search over connections to tables that another program made, or to none."""

import sqlite3
from collections.abc import Iterator

import pytest

from hybrid_memory.fts import FTSIndex
from hybrid_memory.vector import VectorSearch, encode_embedding
from tests.conftest import TopicEmbedder

TABLES = """
create table chunks (id {id} primary key, doc_id text, chunk_id text, heading text, content text, embedding blob,
                     created_at real, unique (doc_id, chunk_id));
create virtual table chunks_fts using fts5(doc_id unindexed, chunk_id unindexed, heading, content);
create table documents (doc_id text primary key, source_path text, file_mtime real, chunk_count integer, indexed_at real);
"""
TEXTS = {
    "dogs": "the puppy barks at night",
    "machines": "the gpu server and its password",
    "cats": "a kitten sleeps → here",
}


@pytest.fixture(params=["integer", "text"])
def plain(request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    """Three chunks whose row numbers differ from those of the index."""
    conn = sqlite3.connect(":memory:")
    conn.executescript(TABLES.format(id=request.param))
    for number, (doc_id, text) in enumerate(TEXTS.items(), 10):
        embedding = encode_embedding([2 * n for n in TopicEmbedder().embed(text)])
        conn.execute(
            "insert into chunks values (?, ?, ?, 'Home', ?, ?, 0)",
            (number, doc_id, f"{doc_id}-0", text, embedding),
        )
    for doc_id, text in reversed(TEXTS.items()):
        conn.execute(
            "insert into chunks_fts values (?, ?, 'Home', ?)", (doc_id, f"{doc_id}-0", text)
        )
    yield conn
    conn.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("gpu password", ["machines"]),
        ("dogs", []),  # a name, which is not among the indexed words
        ("→", ["cats"]),
        ("home", ["cats", "dogs", "machines"]),
        ("home -sleeps", ["cats", "dogs", "machines"]),
    ],
)
def test_other_tables_are_searched_for_words(
    plain: sqlite3.Connection, query: str, expected: list[str]
) -> None:
    index = FTSIndex(plain)
    for hits in (index.search(query), index.snippet(query)):
        assert sorted(hit["doc_id"] for hit in hits) == expected
        assert all(hit["text"] == TEXTS[hit["doc_id"]] and hit["score"] > 0 for hit in hits)


def test_the_index_of_other_tables_is_made_anew_from_their_chunks(
    plain: sqlite3.Connection,
) -> None:
    plain.execute("update chunks set content = 'a parrot' where doc_id = 'cats'")
    index = FTSIndex(plain)
    assert index.search("parrot") == []
    index.reindex()
    assert [hit["doc_id"] for hit in index.search("parrot")] == ["cats"]
    assert plain.in_transaction
    plain.rollback()


def test_other_tables_are_searched_by_meaning(plain: sqlite3.Connection) -> None:
    [hit] = VectorSearch(plain, TopicEmbedder()).search("puppy", limit=1)
    assert (hit["doc_id"], hit["heading"], hit["text"]) == ("dogs", "Home", TEXTS["dogs"])
    assert hit["score"] == pytest.approx(1.0)
    assert all(hit["score"] > 0 for hit in VectorSearch(plain, TopicEmbedder()).search("puppy"))


def test_embeddings_of_another_dimension_are_left_out(plain: sqlite3.Connection) -> None:
    plain.execute("update chunks set embedding = ?", (encode_embedding([1.0, 2.0]),))
    assert VectorSearch(plain, TopicEmbedder()).search("puppy") == []


def test_an_empty_connection_has_no_results() -> None:
    conn = sqlite3.connect(":memory:")
    assert VectorSearch(conn, TopicEmbedder()).search("puppy") == []
    assert FTSIndex(conn).search("puppy") == []
    assert VectorSearch(conn, TopicEmbedder()).search("puppy") == []
    conn.close()
