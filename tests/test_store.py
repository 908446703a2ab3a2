import json
import os
import random
import sqlite3
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import ConfigError, HybridStore, QueryError, Result, SourceError, StoreError
from hybrid_memory.documents.document import Document
from hybrid_memory.embedding import identity
from hybrid_memory.extras.doctor import examine
from hybrid_memory.indexing.documents import delete_collection, delete_path
from hybrid_memory.indexing.pending import embed_pending
from hybrid_memory.search.request import Budget
from hybrid_memory.storage.filters import Filters
from hybrid_memory.storage.sqlite import engine, keyword, schema
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.conftest import TopicEmbedder
from tests.fake_ollama import FakeOllama
from tests.traces import evaluated, step

NOTE = """\
---
title: Machines
tags: [infra, gpu]
date: 2026-01-05
---
# GPU server

The machine under the desk.

## SSH

The password is hunter2.
"""


def rows(store: HybridStore, table: str) -> int:
    return int(store.storage.connection.execute(f"select count(*) from {table}").fetchone()[0])


def counts(store: HybridStore) -> dict[str, int]:
    names = ("doc", "chunk", "embedded", "pending", "unembeddable")
    return {name: store.stats()[f"{name}_count"] for name in names}


def test_config_holds_for_what_a_search_does_not_give(embedder: TopicEmbedder) -> None:
    with HybridStore(":memory:", {"limit": 3, "per_doc": 2}, embedder=embedder) as store:
        for name in "ab":
            store.store(
                name,
                "".join(f"# Part {number}\n\nserver {name} {number}\n\n" for number in range(12)),
            )
        assert [
            len(store.search("server")),
            len(store.search("server", 10)),
            len(store.search("server", limit=1)),
        ] == [3, 4, 1]
        assert len(store.search("server", 10, per_doc=0)) == 10
        assert len(store.search("server", per_doc=1)) == 2
    with HybridStore(":memory:", {"min_confidence": 1.0}, embedder=embedder) as store:
        store.store("a", "cat")
        assert store.search("server") == []
        assert len(store.search("cat", min_confidence=0.0)) == 1


def test_the_type_of_results_has_what_results_have(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# GPU server\n\nSSH listens on port 2222.\n")
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        Ingest(store).run([str(tmp_path / "a.md")], None)
        store.store("b", "The gpu server is named atlas.")
        results = store.search("gpu servr", explain=True, typed=True)
    assert len(results) == 2
    for result in results:
        assert Result.__required_keys__ <= set(result)
        assert set(result) <= Result.__required_keys__ | Result.__optional_keys__
        assert set(result["scores"]) == {"keyword", "vector"}
    assert "explain" in results[0]
    assert "instead" in results[0]


def test_keywords_say_in_which_documents_to_look(embedder: TopicEmbedder) -> None:
    with HybridStore(":memory:", embedder=embedder) as store:
        store.store("work/a", "# Costs\n\nserver #gpu", {"owner": "ann", "date": "2026-01-05"})
        store.store("work/b", "server [[work/a]]", {"owner": "ben", "date": "2026-02-05"})
        store.store("home/c", "server", {"date": "2026-03-05"})

        def ids(**keywords: Any) -> set[str]:
            return {result["doc_id"] for result in store.search("server", **keywords)}

        assert ids() == {"work/a", "work/b", "home/c"}
        assert ids(collection="work") == {"work/a", "work/b"}
        assert ids(inside="home/*") == {"home/c"}
        assert ids(inside="c") == {"home/c"}  # below its collection
        assert ids(inside="nowhere") == set()
        assert ids(tags=["gpu"]) == {"work/a"}
        assert ids(where={"owner": "ben"}) == {"work/b"}
        assert ids(since="2026-02", until="2026-02") == {"work/b"}
        assert ids(modified_since="2100-01-01") == set()
        assert ids(heading="Costs") == {"work/a"}
        assert ids(linked_to="work/a") == {"work/b"}
        assert ids(filters=Filters(collection="work"), since="2026-02") == {"work/b"}
        assert ids(filters=Filters(collection="work"), collection="home") == {"home/c"}
        assert len(store.search("server", budget=Budget(10))) == 1
        with pytest.raises(TypeError, match="colection"):
            ids(colection="work")


@pytest.mark.both_engines
def test_stored_text_is_found_with_everything_a_result_has(store: HybridStore) -> None:
    assert store.store("notes/gpu", NOTE, {"source": "chat"}) == 2
    first = store.search("gpu ssh password")[0]
    assert 0.5 < first.pop("score") <= 1
    scores = first.pop("scores")
    assert scores["keyword"] > 0 and 0 < scores["vector"] <= 1
    assert 0.5 < first.pop("confidence") <= 1
    datetime.fromisoformat(first.pop("modified"))
    assert first == {
        "doc_id": "notes/gpu",
        "chunk_id": "notes/gpu-1",
        "heading": "SSH",
        "heading_path": "Machines > GPU server > SSH",
        "text": "## SSH\n\nThe password is hunter2.",
        "source": "hybrid",
        "path": None,
        "start_line": 10,
        "end_line": 12,
        "citation": "notes/gpu#L10-L12",
        "also": [],
        "also_dates": [],
        "newer": None,
        "role": None,
        "collection": None,
        "date": "2026-01-05",
        "metadata": {
            "title": "Machines",
            "tags": ["infra", "gpu"],
            "date": "2026-01-05",
            "source": "chat",
        },
    }


def test_storing_again_replaces_the_document_in_every_table(store: HybridStore) -> None:
    store.store("a", NOTE)
    store.store("b", "another dog")
    assert store.store("a", "only a puppy now") == 1
    assert store.search("hunter2", mode="keyword") == []
    assert [hit["doc_id"] for hit in store.search("puppy", mode="vector")][:2] in (
        ["a", "b"],
        ["b", "a"],
    )
    assert rows(store, "chunks") == rows(store, "chunks_fts") == rows(store, "documents") == 2


@pytest.mark.both_engines
def test_a_text_can_replace_another_document(store: HybridStore) -> None:
    store.store("plans/port", "The ssh port of heron is 22.", {"owner": "ann"})
    store.store("plans/ports", "Ports of heron: 2222 for ssh.", {"owner": "bo"})
    store.store("plans/ports", "Ports of heron: 2222 for ssh, 80.", replaces="plans/port")
    results = {result["doc_id"]: result for result in store.search("ssh port of heron")}
    assert results["plans/ports"]["metadata"] == {"owner": "bo", "supersedes": "plans/port"}
    assert results["plans/port"]["newer"] == results["plans/ports"]["citation"]
    for wrong in ("plans/ports", "nothing", "port"):
        with pytest.raises(QueryError, match="must be the id of another document"):
            store.store("plans/ports", "New.", replaces=wrong)


def test_deleted_document_leaves_every_table(store: HybridStore) -> None:
    store.store("a", NOTE)
    assert store.delete("a") == 2
    assert store.delete("a") == 0
    assert store.search("password") == []
    assert rows(store, "chunks") == rows(store, "chunks_fts") == rows(store, "documents") == 0


def test_a_store_may_be_closed_twice(store: HybridStore) -> None:
    store.store("a", "gpu server")
    store.close()
    store.close()


def test_keyword_mode_asks_no_embedder(store: HybridStore, embedder: TopicEmbedder) -> None:
    store.store("a", "gpu server")
    assert store.search("server", mode="keyword")[0]["source"] == "keyword"
    assert embedder.queries == []


@pytest.mark.both_engines
def test_vector_mode_finds_by_meaning_with_the_cosine_as_score(store: HybridStore) -> None:
    store.store("pets", "A puppy.")
    store.store("infra", "A host.")
    hits = store.search("dog", mode="vector")
    assert [hit["doc_id"] for hit in hits] == ["pets", "infra"]
    assert hits[0]["source"] == "vector"
    assert hits[0]["scores"] == {"keyword": None, "vector": pytest.approx(1.0, abs=1e-5)}


def test_hybrid_score_is_the_weighted_sum_of_bm25_with_coverage_and_nearness(
    db_path: str, embedder: TopicEmbedder
) -> None:
    config = {"keyword_weight": 1, "vector_weight": 3}
    with HybridStore(db_path, config, embedder=embedder) as store:
        store.store("both", "dog")
        store.store("word", "dog food, dog bed, password password password password")
        for number in range(9):
            store.store(f"n{number}", f"gpu {number}")
        hits = [hit for hit in store.search("dog", explain=True) if hit["scores"]["keyword"]]
        top_bm25 = max(hit["scores"]["keyword"] for hit in hits)
        assert {hit["doc_id"] for hit in hits} == {"both", "word"}
        for hit in hits:
            why = hit["explain"]
            bm25 = hit["scores"]["keyword"] / top_bm25
            legs = 0.25 * why["coverage"] * (2 * bm25 + 1) / 3 + 0.75 * why["nearness"]
            assert step(hit, "keyword")["strength"] == 1
            assert step(hit, "keyword")["add"] + step(hit, "vector")["add"] == pytest.approx(
                legs, abs=1e-3
            )


def test_query_that_the_model_knows_no_word_of_is_answered_by_keywords_without_a_warning() -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store("base", "The panda base opens at half past seven. 大熊猫基地")
        assert [hit["source"] for hit in store.search("大熊猫")] == ["keyword"]
        assert store.search("大熊猫", mode="vector") == []
        assert store.warnings == []


def test_first_results_do_not_depend_on_the_limit(store: HybridStore) -> None:
    for i in range(30):
        store.store(f"d{i}", f"dog {'food ' * i} server number {i}")
    assert store.search("dog server", limit=3) == store.search("dog server", limit=30)[:3]


def test_embedder_that_fails_stores_without_embeddings_and_says_why(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    embedder.problem = "cannot connect; run `ollama serve`"
    store.store("a", "gpu server password")
    assert store.warnings == ["cannot connect; run `ollama serve`"]
    assert store.stats()["pending_count"] == 1
    assert [hit["source"] for hit in store.search("password")] == ["keyword"]
    assert store.search("password")[0]["score"] == 1.0


def test_query_that_cannot_be_embedded_is_answered_by_keyword(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("a", "gpu server password")
    embedder.problem = "the server is down"
    assert [hit["source"] for hit in store.search("password")] == ["keyword"]
    assert store.warnings == ["the server is down; meanwhile, searches answer by keyword"]
    assert store.search("password", mode="vector") == []
    assert store.warnings[1:] == ["the server is down"]


def test_vector_mode_without_any_embedding_is_empty_and_says_why(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    embedder.problem = "down"
    store.store("a", "gpu server")
    assert store.search("gpu", mode="vector") == []
    assert store.warnings[-1] == "no chunk has an embedding yet; `hybrid-memory update` makes them"
    assert embedder.queries == []


@pytest.mark.both_engines
def test_embed_pending_heals_what_was_stored_without_a_server(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    embedder.problem = "down"
    store.store("a", NOTE)
    embedder.problem = None
    batches: list[int] = []
    assert embed_pending(store.storage, store.embedder, batches.append).chunks == 2
    assert batches == [2]
    assert store.stats()["pending_count"] == 0
    assert embed_pending(store.storage, store.embedder).chunks == 0


def test_what_waits_for_its_embedding_is_ranked_by_its_words(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("old/pets.md", "The cat naps.")
    store.store("old/keys.md", "A secret.")
    embedder.problem = "down"
    store.store("new/heron.md", "The heron ate the cake on the machine.")
    store.store("new/cake.md", "We had cake.")
    embedder.problem = None
    found = store.search("who ate the cake, the heron or the puppy?", explain=True)
    assert [result["doc_id"] for result in found][:2] == [
        "new/heron.md",
        "old/pets.md",
    ]  # not the nearest of what has a vector
    assert found[0]["source"] == "keyword" and found[0]["scores"]["vector"] is None
    for result in found:
        assert evaluated(result) == pytest.approx(result["score"], abs=1e-5)


@pytest.mark.both_engines
def test_equal_text_is_embedded_once_whatever_its_document(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("a", NOTE)
    asked = len(embedder.documents)
    store.store("b", NOTE)
    store.store("a", NOTE)
    store.reindex()
    assert len(embedder.documents) == asked
    assert store.stats()["embedded_count"] == 4


def test_heading_path_is_in_what_is_embedded_and_not_in_the_text(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("a", NOTE)
    assert (
        embedder.documents[1] == "Machines > GPU server > SSH\n\n## SSH\n\nThe password is hunter2."
    )


def test_another_model_gets_no_vectors_into_the_store_until_it_is_embedded_anew(
    store: HybridStore, embedder: TopicEmbedder, db_path: str
) -> None:
    store.store("a", "gpu server")
    other = TopicEmbedder()
    other.model = "animals"
    with HybridStore(db_path, embedder=other) as second:
        assert [hit["source"] for hit in second.search("gpu")] == ["keyword"]
        assert "'topics', not 'animals'" in second.warnings[0]
        assert other.queries == []
        second.store("b", "puppy")
        assert second.stats()["pending_count"] == 1
        assert second.embed().chunks == 2
        assert second.stats()["embeddings"]["model"] == "animals"
        assert second.search("gpu")[0]["source"] == "hybrid"


def test_a_model_that_does_not_answer_costs_no_embeddings(store: HybridStore, db_path: str) -> None:
    store.store("a", "gpu server")
    other = TopicEmbedder()
    other.model, other.problem = "animals", "not pulled; run `ollama pull animals`"
    with HybridStore(db_path, embedder=other) as second:
        embedded = second.embed()
        assert (embedded.chunks, embedded.problems, embedded.fits) == (
            0,
            ["not pulled; run `ollama pull animals`"],
            False,
        )
        assert second.stats()["embedded_count"] == 1


def test_a_model_that_changes_its_dimension_is_noticed(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("a", "gpu server")
    whole = embedder._vector
    embedder._vector = lambda text: whole(text)[:4]  # type: ignore[method-assign]
    assert store.search("gpu")[0]["source"] == "keyword"
    store.store("b", "dog")
    assert store.warnings == [identity.MISFIT]
    assert store.stats()["pending_count"] == 1
    assert store.embed().fits
    assert store.stats()["embeddings"]["dims"] == 4
    assert store.search("dog")[0]["source"] == "hybrid"


def test_latest_is_the_same_model_as_no_tag(store: HybridStore, db_path: str) -> None:
    store.store("a", "gpu server")
    tagged = TopicEmbedder()
    tagged.model = "topics:latest"
    with HybridStore(db_path, embedder=tagged) as second:
        assert second.search("gpu")[0]["source"] == "hybrid"


def test_reindex_rebuilds_what_derives_from_the_chunks(store: HybridStore) -> None:
    store.store("a", NOTE)
    before = store.search("ssh password")
    for table in ("chunks_fts", "vector_blocks"):
        store.storage.connection.execute(f"delete from {table}")
    assert store.reindex() == 2
    assert store.search("ssh password") == before


@pytest.mark.both_engines
def test_reindex_of_the_embeddings_asks_the_model_again(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("a", NOTE)
    store.embed(anew=True)
    assert len(embedder.documents) == 2 + 1 + 2  # a probe first
    embedder.problem = "down"
    embedded = store.embed(anew=True)
    assert (embedded.fits, embedded.problems) == (False, ["down"])
    assert store.stats()["embedded_count"] == 2


@pytest.mark.both_engines
def test_stats_counts(store: HybridStore, db_path: str) -> None:
    store.store("a", NOTE)
    stats = store.stats()
    assert counts(store) == {"doc": 1, "chunk": 2, "embedded": 2, "pending": 0, "unembeddable": 0}
    assert stats["db_size_bytes"] > 0
    assert (
        stats["db_path"] == db_path.partition("?")[0]
    )  # the address of a server without its parameters
    assert stats["embeddings"]["dims"] == 8


@pytest.mark.both_engines
def test_a_document_without_text_is_a_document_without_chunks(store: HybridStore) -> None:
    assert store.store("empty", " \n\n") == 0
    assert store.stats()["doc_count"] == 1
    assert store.delete("empty") == 0
    assert store.stats()["doc_count"] == 0


@pytest.mark.both_engines
def test_failed_write_leaves_the_old_document(store: HybridStore) -> None:
    store.store("a", "gpu server")
    with pytest.raises(RuntimeError), store.storage.transaction():
        store.storage.documents.remove("a")
        raise RuntimeError
    assert store.search("gpu")[0]["doc_id"] == "a"


def test_database_is_readable_by_its_owner_only(store: HybridStore, db_path: str) -> None:
    store.store("a", "gpu server")
    for name in (db_path, db_path + "-wal", db_path + "-shm"):
        assert stat.S_IMODE(os.stat(name).st_mode) == 0o600


def test_memory_database_works(embedder: TopicEmbedder) -> None:
    with HybridStore(":memory:", embedder=embedder) as store:
        store.store("a", "gpu server")
        assert store.search("gpu")[0]["doc_id"] == "a"
    assert not os.path.exists(":memory:")


@pytest.mark.both_engines
def test_text_with_unpaired_surrogates_and_nul_is_stored(store: HybridStore) -> None:
    store.store("a\ud800", "gpu \udcff server \0 end")
    text = store.search("gpu \ud800")[0]["text"]
    assert text.replace("\ufffd", "\0") == "gpu ? server \0 end"  # PostgreSQL holds no NUL


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": -1}, "limit"),
        ({"mode": "fuzzy"}, "mode"),
        ({"min_score": 2}, "min_score: 2.0 is more than 1"),
        ({"min_confidence": -0.1}, "min_confidence: -0.1 is less"),
    ],
)
def test_misuse_is_a_value_error(store: HybridStore, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        store.search("x", **options)


def test_empty_id_is_a_value_error(store: HybridStore) -> None:
    with pytest.raises(ValueError, match="doc_id"):
        store.store("", "text")


def test_bad_config_is_refused(db_path: str) -> None:
    with pytest.raises(ConfigError, match="unknown key 'chunksize'"):
        HybridStore(db_path, {"chunksize": 5})


def test_config_may_name_the_database(tmp_path: Path) -> None:
    with HybridStore(config={"db_path": str(tmp_path / "named.db")}) as store:
        assert store.path == str(tmp_path / "named.db")


def test_provider_none_is_keyword_search_without_a_word(db_path: str) -> None:
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("a", "gpu server")
        assert store.search("gpu")[0]["source"] == "keyword"
        assert store.embed().chunks == 0
        assert store.warnings == []
        assert store.search("gpu", mode="vector") == []
        assert store.warnings == ['the provider is "none": there is no search by meaning']


@pytest.mark.parametrize("provider", ["ollama", "openai", "gemini", "voyage", "local"])
def test_provider_names_the_embedder(db_path: str, provider: str) -> None:
    with HybridStore(db_path, {"provider": provider, "base_url": "http://127.0.0.1:9/v1"}) as store:
        assert store.embedder is not None
        assert store.embedder.provider == provider
        assert store.embedder.model


class Plain:
    """Only the methods of MinimalEmbedder."""

    def embed(self, text: str) -> list[float]:
        return [float(len(text)), 1.0]

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def test_embedder_of_the_callers_own_needs_only_its_methods(db_path: str) -> None:
    with HybridStore(db_path, embedder=Plain()) as store:  # type: ignore[arg-type]
        store.store("a", "gpu server")
        assert store.stats()["embedded_count"] == 1
        assert store.search("anything", mode="vector")[0]["doc_id"] == "a"
        assert store.warnings == []


# Deleting by collection and by path


@pytest.fixture
def filled(store: HybridStore, tmp_path: Path) -> HybridStore:
    for name, text in {
        "memory/a.md": "gpu",
        "memory/sub/b.md": "dog\n\n# Two\n\ncat",
        "memory2/c.md": "host",
        "TOOLS.md": "printer",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    Ingest(store).run([str(tmp_path / name) for name in ("memory", "memory2", "TOOLS.md")])
    store.store("memory/mine", "by hand")
    return store


def remaining(store: HybridStore) -> list[str]:
    return [
        doc_id
        for (doc_id,) in store.storage.connection.execute(
            "select doc_id from documents order by doc_id"
        )
    ]


def test_deleting_a_collection_leaves_other_documents_and_frees_its_name(
    filled: HybridStore, tmp_path: Path
) -> None:
    assert delete_collection(filled.storage, "memory")[:2] == (2, 3)
    assert remaining(filled) == ["TOOLS.md", "memory/mine", "memory2/c.md"]
    assert rows(filled, "chunks") == rows(filled, "chunks_fts") == 3
    assert filled.storage.checks.vectors(thorough=True) == []
    (tmp_path / "elsewhere/memory").mkdir(parents=True)
    (tmp_path / "elsewhere/memory/new.md").write_text("x")
    assert Ingest(filled).run([str(tmp_path / "elsewhere/memory")]).errors == []
    assert delete_collection(filled.storage, "unknown")[:2] == (0, 0)


@pytest.mark.parametrize(
    ("path", "deleted", "left"),
    [
        ("memory", (2, 3), ["TOOLS.md", "memory/mine", "memory2/c.md"]),
        ("memory/", (2, 3), ["TOOLS.md", "memory/mine", "memory2/c.md"]),
        (
            "memory2/../memory/sub",
            (1, 2),
            ["TOOLS.md", "memory/a.md", "memory/mine", "memory2/c.md"],
        ),
        ("TOOLS.md", (1, 1), ["memory/a.md", "memory/mine", "memory/sub/b.md", "memory2/c.md"]),
        (
            "mem",
            (0, 0),
            ["TOOLS.md", "memory/a.md", "memory/mine", "memory/sub/b.md", "memory2/c.md"],
        ),
        (".", (4, 5), ["memory/mine"]),
    ],
)
@pytest.mark.both_engines
def test_deleting_a_path_takes_what_came_from_below_it(
    filled: HybridStore, tmp_path: Path, path: str, deleted: tuple[int, int], left: list[str]
) -> None:
    assert delete_path(filled.storage, f"{tmp_path}/{path}")[:2] == deleted
    assert remaining(filled) == left


def test_deleting_a_folder_that_is_gone_forgets_it(filled: HybridStore, tmp_path: Path) -> None:
    (tmp_path / "memory").rename(tmp_path / "moved")
    (tmp_path / "TOOLS.md").unlink()
    assert len(refresh(filled).warnings) == 2
    for name in ("memory", "TOOLS.md"):
        delete_path(filled.storage, str(tmp_path / name))
    assert refresh(filled).warnings == []
    assert Ingest(filled).run([str(tmp_path / "moved")], "memory").files == 2
    with pytest.raises(SourceError, match="the path is empty"):
        delete_path(filled.storage, "")


def test_deleted_file_comes_back_only_from_a_folder_and_that_is_told(
    filled: HybridStore, tmp_path: Path
) -> None:
    filled.delete("TOOLS.md")
    delete_path(filled.storage, str(tmp_path / "memory2"))
    assert (refresh(filled).files, filled.warnings) == (0, [])
    filled.delete("memory/a.md")
    [warning] = filled.warnings
    assert warning.startswith(f"{tmp_path}/memory/a.md still exists, and the next ingest")
    assert refresh(filled).files == 1
    (tmp_path / "memory/notes.txt").write_text("kettle")
    Ingest(filled).run([str(tmp_path / "memory/notes.txt")])
    filled.delete("notes.txt")  # the folder's pattern is *.md
    assert (refresh(filled).files, filled.warnings) == (0, [warning])


class EnglishOnly(TopicEmbedder):
    """Has no vector for other scripts, as the built-in embedder has none."""

    is_final = True

    def _vector(self, text: str) -> list[float]:
        return super()._vector(text) if text.isascii() else []


def test_texts_that_the_model_has_no_vector_for_are_tried_once_and_hold_up_no_others(
    db_path: str,
) -> None:
    embedder = EnglishOnly()
    with HybridStore(db_path, {"provider": "none"}) as store:
        for number in range(200):  # more than a batch
            store.store(f"zh/{number}", f"第{number}台服务器的密码")
        store.store("en", "the password of the server")
    with HybridStore(db_path, embedder=embedder) as store:
        assert embed_pending(store.storage, store.embedder).chunks == 1
        found = counts(store)
        assert (found["embedded"], found["pending"], found["unembeddable"]) == (1, 0, 200)
        embedder.documents.clear()
        assert embed_pending(store.storage, store.embedder).chunks == 0
        assert embedder.documents == []
        store.store("zh/7", "a server")
        assert store.stats()["unembeddable_count"] == 199


def test_model_that_is_not_the_stores_says_nothing_of_what_has_no_vector(
    db_path: str, embedder: TopicEmbedder
) -> None:
    with HybridStore(db_path, embedder=embedder) as store:
        store.store("en", "the password")
    other = EnglishOnly()
    other.model = "another"
    with HybridStore(db_path, embedder=other) as store:
        store.store("new", "the server")
        assert (store.stats()["pending_count"], store.stats()["unembeddable_count"]) == (1, 0)


@pytest.mark.both_engines
def test_another_model_tries_what_one_had_no_vector_for(
    db_path: str, embedder: TopicEmbedder
) -> None:
    with HybridStore(db_path, embedder=EnglishOnly()) as store:
        store.store("zh", "服务器的密码")
        store.store("en", "the password")
        embed_pending(store.storage, store.embedder)
        assert store.stats()["unembeddable_count"] == 1
    embedder.model = "another"
    with HybridStore(db_path, embedder=embedder) as store:
        assert store.embed().chunks == 2
        assert store.stats()["unembeddable_count"] == 0


def test_a_store_of_nothing_but_such_texts_is_open_to_any_model(
    db_path: str, embedder: TopicEmbedder
) -> None:
    with HybridStore(db_path, embedder=EnglishOnly()) as store:
        store.store("zh", "服务器的密码")
        embed_pending(store.storage, store.embedder)
        assert store.stats()["pending_count"] == 0
    with HybridStore(db_path, embedder=embedder) as store:
        assert embed_pending(store.storage, store.embedder).chunks == 1


def test_search_tells_when_much_has_no_embedding_yet(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    for number in range(20):
        store.store(f"old/{number}", f"the server {number}")
    embedder.problem = "down"
    for number in range(2):
        store.store(f"new/{number}", f"the host {number}")
    embedder.problem = None
    store.warnings.clear()
    store.search("server")
    assert store.warnings == []  # 2 of 22
    embedder.problem = "down"
    store.store("new/2", "one more host")
    embedder.problem = None
    store.warnings.clear()
    store.search("server")
    assert [warning.partition(":")[0] for warning in store.warnings] == [
        "3 of 23 chunks have no embedding yet"
    ]


def test_store_in_which_nothing_can_be_embedded_is_searched_without_a_word(db_path: str) -> None:
    with HybridStore(db_path, embedder=EnglishOnly()) as store:
        store.store("zh", "服务器的密码")
        assert [hit["doc_id"] for hit in store.search("密码")] == ["zh"]
        assert store.warnings == []
        store.store("en", "the password of the server")
        assert store.search("server")[0]["scores"]["vector"] is not None
        assert store.warnings == []  # half of the chunks have no embedding, but none is pending


@pytest.mark.parametrize("copies", [150, 300])
def test_a_text_that_many_notes_share_is_embedded_for_all_of_them(
    db_path: str, copies: int
) -> None:
    with HybridStore(db_path, embedder=EnglishOnly()) as store:
        with store.storage.transaction():
            for number in range(copies):
                text = f"# Agenda\n\nthe password of the server\n\n# Note {number}\n\nthe server {number}"
                store.storage.documents.put(store.prepare(Document(f"{number}", text, {})))
        embed_pending(store.storage, store.embedder)
        found = counts(store)
        assert (found["embedded"], found["pending"], found["unembeddable"]) == (2 * copies, 0, 0)


def test_a_text_is_marked_only_if_the_model_was_asked_about_it(db_path: str) -> None:
    english = EnglishOnly()
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("waiting", "the server")
    with HybridStore(db_path, embedder=english) as store:
        store.store("zh", "服务器的密码")
        assert store.stats()["unembeddable_count"] == 1
        store.store("again", "the server")
        assert (store.stats()["pending_count"], store.stats()["unembeddable_count"]) == (1, 1)
        embed_pending(store.storage, store.embedder)
        assert (store.stats()["pending_count"], store.stats()["unembeddable_count"]) == (0, 1)


def test_folders_made_for_the_database_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        HybridStore(tmp_path / "a/b/memory.db").close()
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")] == [
        0o700,
        0o700,
    ]


def in_the_file(db_path: str, word: bytes) -> bool:
    """Whether any part of the word is in the database's files: FTS5 leaves out what a word shares with the one before it."""
    return any(word[3:] in path.read_bytes() for path in Path(db_path).parent.glob("memory.db*"))


def test_words_of_a_deleted_text_are_nowhere_in_the_file(
    db_path: str, embedder: TopicEmbedder
) -> None:
    with HybridStore(db_path, embedder=embedder) as store:
        for number in range(20):
            store.store(f"d{number}", f"some words {number}")
        store.store("secret", "# Zebrafishpw42\n\nthe word is zebrafishpw42")
    assert in_the_file(db_path, b"zebrafishpw42")
    with HybridStore(db_path, embedder=embedder) as store:
        store.delete("secret")
        assert store.search("words", mode="keyword")
    assert not in_the_file(db_path, b"zebrafishpw42")


def test_words_that_a_busy_memory_or_a_large_index_still_has_are_erased_by_the_next_commands(
    db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "ERASES_WORDS", False)
    monkeypatch.setattr(keyword, "MERGED_PAGES", 1)
    monkeypatch.setattr(engine, "ERASURES", 2)
    settings = {"provider": "none"}
    other = random.Random(7)
    with HybridStore(db_path, settings) as store:
        for number in range(40):
            text = " ".join(f"w{other.randrange(10**9)}" for _ in range(400))
            store.store(f"d{number}", text)
        store.store("secret", "the word is zebrafishpw42")
    store = HybridStore(db_path, settings)
    store.delete("secret")
    writer = sqlite3.connect(db_path, isolation_level=None)
    writer.execute("begin immediate")
    store.close()
    writer.close()
    assert in_the_file(db_path, b"zebrafishpw42")
    commands = 0
    while in_the_file(db_path, b"zebrafishpw42"):
        with HybridStore(db_path, settings) as store:
            store.delete("another")
            assert store.search("word") == []
        commands += 1
        assert commands < 100
    assert commands > 1


def test_words_of_a_file_that_is_gone_are_nowhere_in_the_file(
    db_path: str, embedder: TopicEmbedder, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("a dog")
    secret = tmp_path / "notes/b.md"
    secret.write_text("the word is zebrafishpw42")
    with HybridStore(db_path, embedder=embedder) as store:
        Ingest(store).run([str(tmp_path / "notes")])
        secret.unlink()
        Ingest(store, incremental=True).run([str(tmp_path / "notes")])
    assert not in_the_file(db_path, b"zebrafishpw42")


def transcript(*texts: str) -> str:
    turns = ({"type": "user", "message": {"role": "user", "content": text}} for text in texts)
    return "".join(f"{json.dumps(turn)}\n" for turn in turns)


def test_words_of_a_rewritten_transcript_are_nowhere_in_the_file(
    db_path: str, tmp_path: Path
) -> None:
    session = tmp_path / "sessions/a.jsonl"
    session.parent.mkdir()
    session.write_text(transcript("We talk of gardens.", "The word is zebrafishpw42."))
    with HybridStore(db_path, {"provider": "none"}) as store:
        Ingest(store, patterns=["*.jsonl"]).run([str(session.parent)])
    assert in_the_file(db_path, b"zebrafishpw42")
    session.write_text(transcript("We talk of gardens.", "The word is [password].", "It is gone."))
    with HybridStore(db_path, {"provider": "none"}) as store:
        Ingest(store, incremental=True, everything=True).update()
    assert not in_the_file(db_path, b"zebrafishpw42")


@pytest.mark.parametrize("word", ["zebrafishpw42", "src/zebrafishpw42.ts", "zebrafishpw42" * 9])
@pytest.mark.parametrize("change", ["note", "refresh", "store", "collection"])
def test_words_of_a_removed_line_are_nowhere_in_the_file(
    db_path: str, tmp_path: Path, change: str, word: str
) -> None:
    settings = {"provider": "none"}
    note = tmp_path / "notes/a.md"
    note.parent.mkdir()
    for number in range(20):
        (note.parent / f"{number}.md").write_text(f"# Other {number}\n\nThe garden {number}.\n")
    note.write_text(f"# Pins\n\nThe word is {word}.\n")
    with HybridStore(db_path, settings) as store:
        Ingest(store).run([str(note.parent)])
        if change == "store":
            store.store("pins", note.read_text())
    assert in_the_file(db_path, b"zebrafishpw42")
    note.write_text("# Pins\n\nThe word is gone.\n")
    with HybridStore(db_path, settings) as store:
        if change == "store":
            store.store("pins", note.read_text())
        if change == "collection":
            delete_collection(store.storage, "notes")
        elif change == "refresh":
            refresh(store)
        else:
            Ingest(store, incremental=True).update()
    assert not in_the_file(db_path, b"zebrafishpw42")


def test_a_change_that_leaves_every_word_somewhere_merges_nothing(
    db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "ERASES_WORDS", False)
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("a", "# Pins\n\nThe old-word is naïve, 12:30 (src/a.ts).")
        store.store("b", "Naive: the pins of an old-word are new at 12:30, says src/a.ts.")

        def is_due() -> bool:
            return bool(store.storage.connection.execute(keyword.HAS_REMOVED).fetchone()[0])

        store.store("a", "# Pins\n\nThe word is.")
        assert not is_due()
        store.store("a", "# Pins\n\nThe word is new.")
        assert not is_due()
        store.store("a", "# Pins\n\nThe word is unique.")
        store.store("a", "# Pins\n\nThe word is.")
        assert is_due()


def ollama_store(db_path: str, ollama: FakeOllama) -> HybridStore:
    return HybridStore(db_path, {"ollama_url": ollama.url, "dims": None})


@pytest.mark.both_engines
def test_a_model_that_gives_other_dimensions_embeds_the_whole_store_anew(
    db_path: str, tmp_path: Path, ollama: FakeOllama
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("gpu server")
    with ollama_store(db_path, ollama) as store:
        Ingest(store).run([str(folder)])
    ollama.dims //= 2
    (folder / "b.md").write_text("a dog")
    with ollama_store(db_path, ollama) as store:
        assert refresh(store).embedding_problems == [identity.MISFIT]
        assert store.stats()["embedded_count"] == 1
        assert Ingest(store, incremental=True).run([str(folder)]).embedding_problems == []
        assert (store.stats()["embedded_count"], store.stats()["embeddings"]["dims"]) == (
            2,
            ollama.dims,
        )
        assert [finding.text for finding in examine(store) if finding.ok is False] == []


def test_another_model_of_the_same_name_is_never_mixed_with_the_first(
    db_path: str, tmp_path: Path, ollama: FakeOllama
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("gpu server")
    with ollama_store(db_path, ollama) as store:
        Ingest(store).run([str(folder)])
        ollama.digest = "a second"
        assert Ingest(store, incremental=True).run([str(folder)]).notes  # nothing was pending
        assert store.stats()["embeddings"]["fingerprint"] == "a second"
        made = len(ollama.embedded)
        assert not Ingest(store, incremental=True).run([str(folder)]).notes
        assert len(ollama.embedded) == made
        ollama.digest = "another"
        (folder / "b.md").write_text("a dog")
        assert refresh(store).embedding_problems == [identity.NOT_MIXED]
        assert store.stats()["embedded_count"] == 1
        assert Ingest(store, incremental=True).run([str(folder)]).notes
        assert (store.stats()["embedded_count"], store.stats()["embeddings"]["fingerprint"]) == (
            2,
            "another",
        )


def test_a_store_without_a_fingerprint_takes_over_the_models(
    db_path: str, ollama: FakeOllama
) -> None:
    ollama.digest = ""
    with ollama_store(db_path, ollama) as store:
        store.store("a", "gpu server")
        assert "fingerprint" not in store.stats()["embeddings"]
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("b", "a dog")
    ollama.digest = "first"
    with ollama_store(db_path, ollama) as store:
        assert store.embed()[:3] == (1, [], True)
        assert store.stats()["embeddings"]["fingerprint"] == "first"
        assert store.stats()["embedded_count"] == 2


def test_another_model_that_embeds_nothing_leaves_the_store_as_it_is(
    db_path: str, ollama: FakeOllama
) -> None:
    with ollama_store(db_path, ollama) as store:
        store.store("a", "gpu server")
    with HybridStore(db_path, {"provider": "none"}) as store:
        store.store("b", "a dog")
    with ollama_store(db_path, ollama) as store:
        ollama.digest = "another"
        store.store("c", "a cat")
        assert store.warnings == [identity.NOT_MIXED]
        assert store.embedder
        embedder, failing = store.embedder, iter([[[]]])
        embed = embedder.embed_batch
        embedder.embed_batch = lambda texts, **options: (
            next(failing, None) or embed(texts, **options)
        )  # type: ignore[method-assign]
        assert not store.embed().fits
        assert (store.stats()["embedded_count"], store.stats()["pending_count"]) == (1, 2)
        assert store.embed()[:3] == (3, [], True)


def test_read_only_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "absent.db"
    with pytest.raises(StoreError, match="no database at"):
        HybridStore(path, read_only=True)
    assert not path.exists()


def test_an_embedder_that_gives_no_vector_for_a_query_is_told(db_path: str) -> None:
    class Silent(Plain):
        def embed(self, text: str) -> list[float]:
            return []

        def embed_batch(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 0.0] for _ in texts]

    with HybridStore(db_path, embedder=Silent()) as store:  # type: ignore[arg-type]
        store.store("a", "the gpu")
        assert store.search("gpu", mode="vector") == []
        assert store.warnings == ["the embedder gave no vector for the query"]
        assert [hit["doc_id"] for hit in store.search("gpu")] == ["a"]
        assert store.warnings[-1].endswith("query; meanwhile, searches answer by keyword")
