import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore, fts
from hybrid_memory.documents.document import Document
from hybrid_memory.errors import QueryError
from hybrid_memory.storage.fts_expressions import match_expression
from hybrid_memory.storage.keyword import LONG
from hybrid_memory.storage.rows import best_first
from hybrid_memory.storage.sqlite.chunks import in_order
from hybrid_memory.storage.sqlite.keyword import SEARCH, FTSIndex
from hybrid_memory.text.query import Query

Found = Callable[[str], list[str]]


@pytest.fixture
def keyword_store(engine: str, request: pytest.FixtureRequest) -> Iterator[HybridStore]:
    path = request.getfixturevalue("postgres_path") if engine == "postgres" else ":memory:"
    with HybridStore(path, {"chunk_overlap": 0, "provider": "none"}) as store:
        yield store


@pytest.fixture
def found(keyword_store: HybridStore) -> Found:
    """The ids of the documents found for a query, best first."""
    return lambda query: doc_ids(keyword_store, Query(query))


def doc_ids(store: HybridStore, query: Query, limit: int = 10) -> list[str]:
    with store.storage.snapshot():
        ids = [id for id, _ in store.storage.keyword().ranked(query, limit).ranking]
        rows = {row[0]: row[1] for row in store.storage.chunks.candidates(ids)}
    return [rows[id] for id in ids]


def put(store: HybridStore, collection: str | None = None, /, **texts: str) -> None:
    with store.storage.transaction():
        for doc_id, text in texts.items():
            document = Document(doc_id, text, {}, collection=collection)
            store.storage.documents.put(store.prepare(document))


def test_better_matches_rank_higher_with_positive_scores(keyword_store: HybridStore) -> None:
    put(
        keyword_store,
        one="gpu server in the rack",
        both="the gpu server password is set",
        none="a quiet garden",
    )
    hits = FTSIndex(keyword_store.storage.connection).search("gpu server password")
    assert [hit["doc_id"] for hit in hits] == ["both", "one"]
    assert hits[0]["score"] > hits[1]["score"] > 0
    assert {"doc_id", "chunk_id", "heading", "text", "score", "source"} == set(hits[0])
    assert hits[0]["source"] == "keyword"


def test_heading_path_counts_and_is_not_in_the_text(keyword_store: HybridStore) -> None:
    put(keyword_store, a="# GPU server\n\n## SSH\n\nport 2222", b="# Router\n\n## SSH\n\nport 22")
    hits = keyword_store.search("gpu ssh port", mode="keyword")
    assert hits[0]["doc_id"] == "a"
    assert hits[0]["heading"] == "SSH"
    assert "GPU server >" not in hits[0]["text"]


STRANGE = ["", "!?.", '"', "NEAR(", "-x", "z OR OR b", "x\0y", "\ud800", "'; drop table chunks; --",
           "\u202e\u200f", "x" * 100_000, "wörd " * 20_000, "qqсервер"]  # fmt: skip


@pytest.mark.both_engines
def test_no_query_raises(keyword_store: HybridStore) -> None:
    put(keyword_store, n="plain text", m="ok")
    for query in STRANGE:
        assert keyword_store.search(query, mode="keyword") == [], query[:20]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1))
@example("oggi")  # a day that no text writes
@example("\u0640")  # a letter that folding removes
@pytest.mark.both_engines
def test_a_text_is_found_by_itself(keyword_store: HybridStore, text: str) -> None:
    assume(text[0] != "-" and ":" not in text)  # -word leaves out, tag:word is a filter
    put(keyword_store, it=f"x {text} y")
    stripped = text.strip()
    if stripped:
        assert [hit["doc_id"] for hit in keyword_store.search(text, mode="keyword")] == ["it"]


@pytest.mark.parametrize("query", ["what's the password?", "password:", '"password'])
def test_punctuation_around_a_word_does_not_hide_it(
    keyword_store: HybridStore, found: Found, query: str
) -> None:
    put(keyword_store, a="the password is long")
    assert found(query) == ["a"]


@pytest.mark.parametrize(
    ("text", "query"),
    [("Lỗi kết nối", "loi ket noi"), ("IŞIK", "ışık"), ("مُحَمَّد", "محمد"),
     ("日本語の文章", "日本語"), ("用Docker部署服务", "部署"), ("ภาษาไทยง่าย", "ไทย"), ],
)  # fmt: skip
def test_every_script_is_found_with_and_without_marks(
    keyword_store: HybridStore, found: Found, text: str, query: str
) -> None:
    put(keyword_store, it=text, other="something else entirely")
    assert found(query) == ["it"]
    assert keyword_store.search(query, mode="keyword")[0]["text"] == text


@pytest.mark.both_engines
def test_fragments_are_found_as_substrings_when_no_word_matches(
    keyword_store: HybridStore, found: Found
) -> None:
    put(keyword_store, runs="Ollama runs", arrow="a → b", done="now 100% done", other="nothing")
    assert (found("ollam"), found("→"), found("100%")) == (["runs"], ["arrow"], ["done"])


def test_expression_quotes_every_term() -> None:
    assert (
        match_expression(Query('NOT "a-b" NEAR(猫').terms)
        == '"a b" OR "NEAR 猫" * OR "b" OR "NEAR" OR "猫" *'
    )


def test_snippet_marks_the_matched_words_in_the_original_text(keyword_store: HybridStore) -> None:
    put(keyword_store, a="Intro. " * 60 + "The Café server runs in Sữa street.")
    hit = FTSIndex(keyword_store.storage.connection).snippet("cafe servers sua")[0]
    assert "**Café** **server** runs in **Sữa**" in hit["snippet"]
    assert len(hit["snippet"]) < 350


def test_reindex_mends_a_damaged_index(keyword_store: HybridStore, found: Found) -> None:
    put(keyword_store, a="gpu server")
    keyword_store.storage.connection.execute(
        "update chunks_fts_data set block = x'00' where id > 1"
    )
    FTSIndex(keyword_store.storage.connection).reindex()
    assert found("gpu") == ["a"]


@pytest.fixture
def crowded(keyword_store: HybridStore, monkeypatch: pytest.MonkeyPatch) -> HybridStore:
    """Words of every frequency in 300 chunks, of which a search scores 20 first."""
    monkeypatch.setattr("hybrid_memory.storage.keyword.FIRST_ROWS", 100)
    monkeypatch.setattr("hybrid_memory.storage.keyword.LEAST_ROWS", 20)
    rng = random.Random(5)
    words = [f"w{i}" for i in range(60)]
    weights = [1 / (i + 1) for i in range(60)]
    put(
        keyword_store,
        **{
            f"d{number}": " ".join(rng.choices(words, weights, k=rng.randint(3, 40)))
            for number in range(300)
        },
    )
    return keyword_store


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.integers(0, 60).map(lambda i: f"w{i}"), min_size=1, max_size=8).map(" ".join),
    st.integers(1, 40),
    st.sets(st.integers(1, 300)),
)
def test_pruned_search_ranks_as_if_every_row_was_scored(
    crowded: HybridStore, query: str, limit: int, also: set[int]
) -> None:
    conn = crowded.storage.connection
    expression = match_expression(Query(query).limited_terms)
    everything = {"expression": expression, "also": "[]", "limit": -1}
    found = conn.execute(SEARCH.format(rows=""), everything).fetchall()
    expected = best_first(found, lambda ids: in_order(conn, ids))
    leg = FTSIndex(conn).ranked(Query(query), limit, also)
    assert leg.ranking[:10] == expected[: min(limit, 10)]  # those that people read
    assert len(leg.ranking) == min(limit, len(expected))
    ranked = dict(leg.ranking)
    assert leg.further_scores == {
        id: score for id, score in expected if id in also and id not in ranked
    }


def test_rows_of_common_words_alone_are_not_scored_when_rare_words_decide(
    crowded: HybridStore,
) -> None:
    put(crowded, **{f"rare{number}": "zebra w0" for number in range(30)})
    statements: list[str] = []
    crowded.storage.connection.set_trace_callback(statements.append)
    FTSIndex(crowded.storage.connection).ranked(Query("w0 zebra"), 5)
    (search,) = [
        statement for statement in statements if "bm25" in statement and "\uf8ff" not in statement
    ]
    assert """match '("zebra")'""" in search


def test_the_first_ten_of_long_questions_are_exact(crowded: HybridStore) -> None:
    """Here rows of common terms are left out on an estimate, which a text of common words refutes."""
    conn = crowded.storage.connection
    rng = random.Random(7)
    for _ in range(30):
        query = Query(" ".join(rng.sample([f"w{number}" for number in range(60)], LONG + 8)))
        expression = match_expression(query.limited_terms)
        everything = {"expression": expression, "also": "[]", "limit": -1}
        found = conn.execute(SEARCH.format(rows=""), everything).fetchall()
        expected = best_first(found, lambda ids: in_order(conn, ids))[:10]
        assert FTSIndex(conn).ranked(query, 10).ranking == expected


@pytest.mark.parametrize(
    "query",
    ["notes/getting-started.md", "getting-started.md", "Getting Started", "./notes/getting-started.md", ],
)  # fmt: skip
def test_document_of_that_name_is_first(
    keyword_store: HybridStore, found: Found, query: str
) -> None:
    text = "# Getting started\n\ngetting started: notes/getting-started.md getting started"
    put(keyword_store, "memory", **{f"memory/{number}.md": text for number in range(9)})
    named = {"memory/notes/getting-started.md": "Install it first. " * 100}
    put(keyword_store, "memory", **named)
    hits = FTSIndex(keyword_store.storage.connection).search(query)
    assert hits[0]["doc_id"] == "memory/notes/getting-started.md"
    assert hits[0]["chunk_id"].endswith("-0")
    assert hits[1]["doc_id"] != hits[0]["doc_id"] or hits[0]["score"] > hits[1]["score"]
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


def test_words_of_the_path_count_but_not_collection_and_extension(
    keyword_store: HybridStore, found: Found
) -> None:
    put(keyword_store, "memory", **{"memory/gardening/roses.md": "Cut them in spring."})
    assert found("gardening tips for roses") == ["memory/gardening/roses.md"]
    assert found("memory md files") == []


def test_query_of_stop_words_alone_finds_their_phrase_first(
    keyword_store: HybridStore, found: Found
) -> None:
    put(
        keyword_store,
        a="be to or not who the " * 3,
        hamlet="he said to be or not to be",
        band="I saw the Who live",
    )
    assert found("to be or not to be")[0] == "hamlet"
    assert found("the who")[0] == "band"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Wer ist Petra", ["person"]),
        ("où est la clé de Petra", ["person"]),
        ("war diary of Petra", ["person", "quotes"]),  # "war" alone makes no German question
        ("how did he die in the war", ["quotes"]),
    ],
)
def test_common_words_of_a_language_do_not_count_in_its_questions(
    keyword_store: HybridStore, found: Found, query: str, expected: list[str]
) -> None:
    put(
        keyword_store,
        person="Petra lives on the third floor.",
        quotes="Wer ist schon glücklich? Die war est la de.",
    )
    assert sorted(found(query)) == expected


@pytest.mark.both_engines
def test_exact_phrase_is_first(keyword_store: HybridStore, found: Found) -> None:
    put(
        keyword_store,
        **{f"o{i}": "phrase of the exact, exact and phrase" for i in range(20)},
        it="some exact phrase in a longer note of many words",
    )
    put(keyword_store, **{f"n{i}": "nothing of note" for i in range(20)})
    assert found('"exact phrase"')[0] == "it"
    assert found("where is “exact phrase” written")[0] == "it"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ollam*", ["a"]),
        ("NEAR(ollama server, 3)", ["a"]),
        ("server NOT ollama", ["b"]),
        ("content: servers NOT heading: servers", ["a"]),
        ('"Sữa 東京"', ["c"]),
        ("sữa AND 東*", ["c"]),
        ("→", []),
        ('""', []),
    ],
)
def test_fts5_syntax(keyword_store: HybridStore, expression: str, expected: list[str]) -> None:
    put(keyword_store, a="Ollama on its own server", b="# Servers\n\nThe rack.", c="sữa 東京都")
    assert doc_ids(keyword_store, Query(expression, fts_syntax=True)) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a b) c)", 'fts5: syntax error near ")"'),
        ('say "hello', "unterminated string"),
        ("a nothere: b", "no such column: nothere"),
    ],
)
def test_fts5_syntax_error_says_what(
    keyword_store: HybridStore, expression: str, message: str
) -> None:
    with pytest.raises(QueryError) as raised:
        doc_ids(keyword_store, Query(expression, fts_syntax=True))
    assert str(raised.value) == message


SYNTAX = [*'" a ữ 東京 NEAR( ) ( AND OR NOT * ^ : heading - { } , 5 +'.split(), " ", "\0", "\ud800"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from(SYNTAX) | st.text(max_size=3)).map("".join))
def test_fts5_syntax_answers_or_refuses(keyword_store: HybridStore, expression: str) -> None:
    with suppress(QueryError):
        doc_ids(keyword_store, Query(expression, fts_syntax=True))


def test_too_long_an_expression_is_refused(keyword_store: HybridStore) -> None:
    with pytest.raises(QueryError, match="characters"):
        doc_ids(keyword_store, Query(") " * 10_000, fts_syntax=True))


@pytest.mark.both_engines
def test_last_tier_ignores_case_and_marks_and_ranks_by_how_many_match(
    found: Found, keyword_store: HybridStore
) -> None:
    put(keyword_store, a="Ollama", b="Ollamas observe", c="Élastíka", d="ΑΘΉΝΑ")
    queries = ("ollam", "lastik muellx", "ΘΗΝ", "ollam serv")
    assert list(map(found, queries)) == [["a", "b"], ["c"], ["d"], ["b", "a"]]


def test_parts_of_a_long_query_come_before_its_phrases() -> None:
    wanted = Query(" ".join(f"w{i}-x{i}" for i in range(60))).limited_terms
    assert all(len(term.tokens) == 1 for term in wanted)
    assert len(wanted) > 90


def test_an_index_behind_a_bare_connection_makes_its_tables(tmp_path: Path) -> None:
    conn = sqlite3.connect(tmp_path / "bare.db")
    index = fts.FTSIndex(conn)
    assert (index.search("gpu"), index.snippet("→"), index.reindex()) == ([], [], None)
    conn.execute(
        "insert into chunks_fts (doc_id, chunk_id, heading, content) values ('a', 'a-0', 'Host', 'gpu server')"
    )
    [hit] = fts.FTSIndex(conn).search("servers")
    keys = ("doc_id", "chunk_id", "heading", "text")
    assert [hit[key] for key in keys] == ["a", "a-0", "Host", "gpu server"]
    conn.execute("delete from chunks_fts")
    conn.commit()
    conn.close()
    with HybridStore(tmp_path / "bare.db", {"provider": "none"}) as store:
        store.store("b", "a gpu")
        assert [hit["doc_id"] for hit in fts.FTSIndex(store.storage.connection).search("gpu")] == [
            "b"
        ]
