import sqlite3
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.analyzer import terms
from hybrid_memory.fts import MAX_TERMS, FTSIndex, match_expression
from hybrid_memory.document import Document

Found = Callable[[str], list[str]]


@pytest.fixture
def keyword_store() -> Iterator[HybridStore]:
    with HybridStore(":memory:", {"chunk_overlap": 0}) as store:
        yield store


@pytest.fixture
def found(keyword_store: HybridStore) -> Found:
    """The ids of the documents found for a query, best first."""
    return lambda query: [hit["doc_id"] for hit in FTSIndex(keyword_store.connection).search(query)]


def put(store: HybridStore, **texts: str) -> None:
    for doc_id, text in texts.items():
        store.put(store.prepare(Document(doc_id, text, {})))


def test_better_matches_rank_higher_with_positive_scores(keyword_store: HybridStore) -> None:
    put(keyword_store, one="gpu server in the rack", both="the gpu server password is set", none="a quiet garden")
    hits = FTSIndex(keyword_store.connection).search("gpu server password")
    assert [hit["doc_id"] for hit in hits] == ["both", "one"]
    assert hits[0]["score"] > hits[1]["score"] > 0
    assert {"doc_id", "chunk_id", "heading", "text", "score", "source"} == set(hits[0])
    assert hits[0]["source"] == "keyword"


def test_absent_term_finds_nothing(keyword_store: HybridStore, found: Found) -> None:
    put(keyword_store, a="gpu server")
    assert found("zebra") == []


def test_one_matching_word_of_a_question_is_enough(keyword_store: HybridStore, found: Found) -> None:
    put(keyword_store, a="The password rotates monthly.", b="Dogs bark.")
    assert found("What's the password for a machine nobody wrote about?") == ["a"]


def test_heading_path_counts_and_is_not_in_the_text(keyword_store: HybridStore) -> None:
    put(keyword_store, a="# GPU server\n\n## SSH\n\nport 2222", b="# Router\n\n## SSH\n\nport 22")
    hits = FTSIndex(keyword_store.connection).search("gpu ssh port")
    assert hits[0]["doc_id"] == "a"
    assert hits[0]["heading"] == "SSH"
    assert "GPU server >" not in hits[0]["text"]


@pytest.mark.parametrize(
    "query",
    ["", "   ", "!?.", '"', "b AND", "NEAR(", "col:x", "-x", "*", "^", "or", "pl", "(((", "z OR OR b", "\0", "x\0y", "\ud800", "'; drop table chunks; --",
     "\u202e\u200f", "{heading}: y", "x" * 100_000, "wörd " * 20_000, "😀", "_", "%"],
)  # fmt: skip
def test_no_query_raises(keyword_store: HybridStore, query: str) -> None:
    put(keyword_store, n="plain text", m="ok")
    assert keyword_store.search(query, mode="keyword") == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text())
def test_no_query_raises_whatever_its_characters(keyword_store: HybridStore, query: str) -> None:
    keyword_store.search(query, mode="keyword")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1))
def test_a_text_is_found_by_itself(keyword_store: HybridStore, text: str) -> None:
    put(keyword_store, it=f"x {text} y")
    stripped = text.strip()
    if stripped:
        assert [hit["doc_id"] for hit in keyword_store.search(text, mode="keyword")] == ["it"]


@pytest.mark.parametrize("query", ["what's the password?", "(password)", "password:", "password!", '"password', "`password`"])
def test_punctuation_around_a_word_does_not_hide_it(keyword_store: HybridStore, found: Found, query: str) -> None:
    put(keyword_store, a="the password is long")
    assert found(query) == ["a"]


@pytest.mark.parametrize(
    ("text", "query"),
    [("Lỗi kết nối", "loi ket noi"), ("sữa đặc", "sua dac"), ("ΑΘΗΝΑ", "αθήνα"), ("IŞIK", "ışık"), ("مُحَمَّد", "محمد"),
     ("résumé", "RESUME"), ("日本語の文章", "日本語"), ("스키마를 바꾸다", "스키마"), ("用Docker部署服务", "部署"), ("ภาษาไทยง่าย", "ไทย"), ("हिन्दी में", "हिन्दी")],
)  # fmt: skip
def test_every_script_is_found_with_and_without_marks(keyword_store: HybridStore, found: Found, text: str, query: str) -> None:
    put(keyword_store, it=text, other="something else entirely")
    assert found(query) == ["it"]
    assert keyword_store.search(query, mode="keyword")[0]["text"] == text


@pytest.mark.parametrize(
    ("fragment", "text"), [("ollam", "Ollama runs"), ("🎉", "done 🎉"), ("→", "a → b"), ("100%", "now 100% done")]
)
def test_fragments_are_found_as_substrings_when_no_word_matches(
    keyword_store: HybridStore, found: Found, fragment: str, text: str
) -> None:
    put(keyword_store, it=text, other="nothing here")
    assert found(fragment) == ["it"]


def test_a_percent_sign_is_no_wildcard(keyword_store: HybridStore, found: Found) -> None:
    put(keyword_store, a="plain")
    assert found("p%n") == []


def test_long_query_is_cut_to_its_first_terms(keyword_store: HybridStore) -> None:
    statements: list[str] = []
    keyword_store.connection.set_trace_callback(statements.append)
    FTSIndex(keyword_store.connection).ranked(" ".join(f"w{i}" for i in range(5000)), 10)
    assert max(statement.count(" OR ") for statement in statements) == MAX_TERMS - 1


def test_expression_quotes_every_term() -> None:
    assert match_expression(terms('NOT "a-b" NEAR(猫')) == '"a b" OR "a\uf82db" OR "NEAR 猫" * OR "b" OR "NEAR" OR "猫" *'


def test_snippet_marks_the_matched_words_in_the_original_text(keyword_store: HybridStore) -> None:
    put(keyword_store, a="Intro. " * 60 + "The Café server runs in Sữa street.")
    hit = FTSIndex(keyword_store.connection).snippet("cafe servers sua")[0]
    assert "**Café** **server** runs in **Sữa**" in hit["snippet"]
    assert len(hit["snippet"]) < 350


def test_reindex_after_a_lost_index_finds_again(keyword_store: HybridStore, found: Found) -> None:
    put(keyword_store, a="gpu server", b="gpu farm")
    keyword_store.connection.execute("delete from chunks_fts")
    assert keyword_store.connection.execute("select count(*) from chunks_fts").fetchone() == (0,)
    FTSIndex(keyword_store.connection).reindex()
    assert sorted(found("gpu")) == ["a", "b"]


def test_reindex_after_delete_does_not_bring_back(keyword_store: HybridStore, found: Found) -> None:
    put(keyword_store, a="gpu server", b="gpu farm")
    keyword_store.delete("a")
    FTSIndex(keyword_store.connection).reindex()
    assert found("gpu") == ["b"]


def test_index_passes_fts5s_own_check(keyword_store: HybridStore) -> None:
    put(keyword_store, a="gpu server", b="東京都")
    keyword_store.delete("a")
    put(keyword_store, b="changed")
    keyword_store.connection.execute("insert into chunks_fts (chunks_fts) values ('integrity-check')")
    with pytest.raises(sqlite3.OperationalError):
        keyword_store.connection.execute("insert into chunks_fts (chunks_fts) values ('nonsense')")
