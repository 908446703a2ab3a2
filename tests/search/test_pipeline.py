import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.fts import FTSIndex
from hybrid_memory.search.pipeline import CANDIDATES, LOOKUP_WEIGHTS
from hybrid_memory.search.result import lean
from hybrid_memory.storage.filters import Filters
from hybrid_memory.surface.output import points
from hybrid_memory.text.query import Query
from hybrid_memory.vector import VectorSearch, decode_embedding, encode_embedding
from tests import fake_ollama
from tests.command import Run, answer
from tests.conftest import TopicEmbedder
from tests.storage.test_filters import write
from tests.traces import evaluated, is_of_date, step, steps

TODAY = date(2026, 3, 1)
WORDS = "server password port garden rose dog backup disk key rack cable lamp coffee v2.0 東京 server password".split()
EXACT = {"abs": 5e-6}  # what a result says is rounded to six decimals


class WordEmbedder(TopicEmbedder):
    """Texts that share words are near."""

    def _vector(self, text: str) -> list[float]:
        return fake_ollama.vector(text, 32)

    def dims(self) -> int:
        return 32


class Misled(TopicEmbedder):
    """Every query is near to every text but the wanted."""

    def _vector(self, text: str) -> list[float]:
        wanted = any(
            word in text for word in ("import ends", "Then call", "listens on", "Install it")
        )
        return [0.1 if wanted else 1.0, 1.0 if wanted else 0.1, *[0.0] * 6]


def fill(store: HybridStore, seed: int, documents: int = 60) -> HybridStore:
    """Documents of one chunk to eight, some with the same text, half of them dated, a third of them tagged."""
    rnd = random.Random(seed)
    filled = []
    for number in range(documents):
        sections = [
            f"# {rnd.choice(WORDS)}\n\n{' '.join(rnd.choices(WORDS, k=rnd.randint(2, 9)))}"
            for _ in range(rnd.randint(1, 8))
        ]
        doc_id = (
            f"2026-{rnd.randint(1, 12):02}-{rnd.randint(1, 28):02}-{number}"
            if number % 2
            else f"note-{number}"
        )
        tags = ["third"] if number % 3 == 0 else []
        filled.append(Document(doc_id, "\n\n".join(sections), {"tags": tags}))
    same = "# server\n\nthe same password"
    filled += [Document(f"copy-{number}", same, {}) for number in range(10)]
    write(store, filled)
    return store


@pytest.fixture(scope="module")
def library() -> Iterator[HybridStore]:
    with HybridStore(
        ":memory:", {"chunk_size": 80, "chunk_overlap": 0}, embedder=WordEmbedder()
    ) as store:
        yield fill(store, 1)


queries = st.lists(
    st.sampled_from([*WORDS, "zeppelin", "serv", "what"]), min_size=1, max_size=5
).map(" ".join)
modes = st.sampled_from(["hybrid", "keyword", "vector"])


# Phrases in quotes


def test_results_with_the_words_in_quotes_come_before_all_others(store: HybridStore) -> None:
    store.store(
        "words", "# Mode\n\nWAL mode: how to enable the mode. Enable it; a mode of WAL, mode."
    )
    store.store(
        "phrase",
        "A long note on databases, on backups and on much else. " * 5 + "Then enable WAL mode.",
    )
    store.store("heading", "# Enable WAL modes\n\nIt takes one pragma.")
    for mode in ("hybrid", "keyword", "vector"):
        hits = store.search('"enable WAL mode" databases', mode=mode)
        assert {hit["doc_id"] for hit in hits[:2]} >= {"phrase"}
        with_phrase = [hit["doc_id"] in ("phrase", "heading") for hit in hits]
        assert with_phrase == sorted(with_phrase, reverse=True), (
            mode,
            [hit["doc_id"] for hit in hits],
        )
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
    assert store.warnings == []


def test_a_phrase_that_no_passage_has_is_told_and_its_words_are_found(store: HybridStore) -> None:
    store.store("words", "WAL mode: enable it.")
    assert [hit["doc_id"] for hit in store.search('"enable the WAL mode"', mode="keyword")] == [
        "words"
    ]
    assert store.warnings == ["no passage has the words in quotes side by side, in this order"]


@pytest.mark.parametrize(
    ("quoted", "text"),
    [
        ("carries home", "They carry home."),
        ("hoping again", "We hope again."),
        ("possible error", "Many POSSIBILITIES, errors."),
        ("digitize files", "Digitization: file by file."),
        ("настройки серверов", "Где настройка сервера?"),
        ("東京 tower", "東京 Tower"),
    ],
)
def test_words_in_quotes_stand_for_their_forms(store: HybridStore, quoted: str, text: str) -> None:
    store.store("words", " ".join(reversed(quoted.split())))
    store.store("phrase", f"{text} And much else of other things.")
    hits = store.search(f'"{quoted}"', mode="keyword")
    assert [hit["doc_id"] for hit in hits] == ["phrase", "words"]
    assert store.warnings == []


# What a score is made of


def by_share(hits: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Split the first results where the surplus begins: what a note has beyond its share comes after all others."""
    of_document: Counter[str] = Counter()
    for number, hit in enumerate(hits):
        of_document[hit["doc_id"]] += 1
        if of_document[hit["doc_id"]] > 3:
            return hits[:number], hits[number:]
    return hits, []


@example(124, (0.0, 1.0), ["lamp"], None)  # nine results, and the last is the fourth of its note
@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 1000),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).filter(lambda weights: sum(weights) > 0.01),
    st.lists(queries, min_size=1, max_size=2),
    st.sampled_from([None, 0.0, 0.001, 30.0, 1e6]),
)
def test_parts_add_up_to_the_score(
    seed: int, weights: tuple[float, float], asked: list[str], half_life: float | None
) -> None:
    config = {
        "keyword_weight": weights[0],
        "vector_weight": weights[1],
        "chunk_size": 80,
        "chunk_overlap": 0,
    }
    with HybridStore(":memory:", config, embedder=WordEmbedder()) as store:
        fill(store, seed, 12)
        for query in asked:
            for mode in ("hybrid", "keyword", "vector"):
                hits = store.search(query, 50, mode, half_life=half_life, today=TODAY, explain=True)
                for hit in hits:
                    why = hit["explain"]
                    before_decay = evaluated(hit, without="decay")
                    assert before_decay == pytest.approx(why["score_before_decay"], **EXACT)
                    assert evaluated(hit) == pytest.approx(hit["score"], **EXACT)
                    assert not steps(hit, "decay") or (hit["date"] and half_life)
                    for leg in (step(hit, "keyword"), step(hit, "vector")):
                        weighted = leg["weight"] * leg["normalised"]
                        assert leg["add"] == pytest.approx(weighted, **EXACT)
                    if mode != "hybrid":
                        assert not steps(hit, "neighbours") + steps(hit, "document")
                        assert step(hit, mode)["weight"] == 1
                        other = {"keyword": "vector", "vector": "keyword"}[mode]
                        assert step(hit, other)["add"] == 0
                for part in (*by_share(hits[:10]), hits[10:]):
                    assert [hit["score"] for hit in part] == sorted(
                        (hit["score"] for hit in part), reverse=True
                    )
                assert all(0 <= hit["score"] <= 1 for hit in hits)


@settings(max_examples=20, deadline=None)
@given(queries)
def test_ranks_are_those_of_each_half(library: HybridStore, query: str) -> None:
    by_keyword = [
        id
        for id, _ in FTSIndex(library.storage.connection).ranked(Query(query), CANDIDATES).ranking
    ]
    assert library.embedder
    vector = decode_embedding(encode_embedding(library.embedder.embed(query)))  # as it is kept
    nearest = [
        id
        for id, _ in VectorSearch(library.storage.connection, library.embedder).nearest(
            vector, CANDIDATES
        )
    ]
    ids = dict(library.storage.connection.execute("select chunk_id, id from chunks"))
    for hit in library.search(query, 50, explain=True):
        id = ids[hit["chunk_id"]]
        rank = by_keyword.index(id) + 1 if id in by_keyword else None
        assert step(hit, "keyword")["rank"] == rank
        assert step(hit, "vector")["rank"] == (nearest.index(id) + 1 if id in nearest else None)
        found_by = {
            name for name, ranked in (("keyword", by_keyword), ("vector", nearest)) if id in ranked
        }
        assert hit["source"] == ("hybrid" if len(found_by) == 2 else found_by.pop())


def test_the_signs_of_confidence_are_told(library: HybridStore) -> None:
    for hit in library.search("server zeppelin", 5, explain=True):
        why = hit["explain"]
        assert why["terms"] in (["server"], [])
        assert hit["confidence"] == pytest.approx((why["coverage"] + why["nearness"]) / 2, abs=6e-4)
    assert "explain" not in library.search("server", 1)[0]


def test_the_command_explains_and_tells_the_time_of_each_stage(run: Run) -> None:
    run("store", "--doc-id", "it", "--text", "gpu server")
    plain = run("search", "gpu", "--provider", "none")
    assert plain.stderr == ""
    done = run("search", "gpu", "--provider", "none", "--explain")
    [hit] = answer(done)
    assert step(hit, "keyword") == {
        "name": "keyword",
        "add": 1.0,
        "rank": 1,
        "normalised": 1.0,
        "weight": 1.0,
        "bm25": 1.0,
        "strength": 1.0,
    }
    filtered = run("search", "gpu", "--provider", "none", "--explain", "--in", "it")
    assert "filter " in filtered.stderr
    stages = (
        "".join(rf"{stage} \d+\.\d ms, " for stage in ("embedding", "vector", "keyword", "merge"))
        + r"total \d+\.\d ms"
    )
    assert re.fullmatch(f"hybrid-memory: {stages}\n", done.stderr)


# The first results are the first results


@settings(max_examples=25, deadline=None)
@given(
    queries,
    modes,
    st.fixed_dictionaries(
        {},
        optional={
            "per_doc": st.integers(1, 3),
            "context": st.integers(0, 3),
            "min_confidence": st.floats(0, 0.6),
            "min_score": st.floats(0, 0.6),
            "half_life_days": st.sampled_from([1.0, 30.0, 365.0]),
            "filters": st.sampled_from(
                [Filters(tags=["third"]), Filters(since="2026-06"), Filters(inside="copy-*")]
            ),
            "exact": st.booleans(),
            "explain": st.booleans(),
        },
    ),
)
def test_a_larger_limit_adds_results_and_changes_none(
    library: HybridStore, query: str, mode: str, options: dict[str, Any]
) -> None:
    if options.get("context"):  # more results may be joined to the first ones
        many = library.search(query, 50, mode, today=TODAY, **options)
        for limit in (1, 5):
            few = library.search(query, limit, mode, today=TODAY, **options)
            assert_joined(few, many)
        return
    many = library.search(query, 200, mode, today=TODAY, **options)
    for limit in (1, 10, 50):
        few = library.search(query, limit, mode, today=TODAY, **options)
        assert few == many[: len(few)]
        # What these keep back is not made up for from farther down.
        if not options.keys() & {"min_confidence", "per_doc"}:
            assert len(few) == min(limit, len(many))


def assert_joined(few: list[dict[str, Any]], many: list[dict[str, Any]]) -> None:
    """The first results are the same, but for those that a further one has joined to one before."""
    ids = [hit["chunk_id"] for hit in many]
    kept = [hit["chunk_id"] for hit in few if hit["chunk_id"] in ids]
    assert kept == ids[: len(kept)]
    for hit in few:
        assert any(
            other["doc_id"] == hit["doc_id"]
            and other["start_line"] <= hit["start_line"] <= hit["end_line"] <= other["end_line"]
            for other in many[: len(few)]
        )


def test_signs_do_not_depend_on_what_else_is_shown(store: HybridStore) -> None:
    """Of the chunks found by meaning the first have no word of the query; one farther down has."""
    store.store("near", "A puppy, and one more puppy.")
    store.store("far", "dogs: a server and a password and a cat")
    many = store.search("dogs puppys dog", 2, "vector", explain=True)
    assert store.search("dogs puppys dog", 1, "vector", explain=True) == many[:1]


# Age


@pytest.fixture
def dated(store: HybridStore) -> HybridStore:
    for doc_id in ("2026-03-01", "2026-01-30", "2025-12-31", "undated"):
        store.store(doc_id, f"the dog of {doc_id}")
    return store


def test_a_score_halves_with_each_half_life_and_the_undated_do_not_age(dated: HybridStore) -> None:
    fresh = {hit["doc_id"]: hit["score"] for hit in dated.search("dog", mode="vector", today=TODAY)}
    aged = {
        hit["doc_id"]: hit["score"]
        for hit in dated.search("dog", mode="vector", half_life=30, today=TODAY)
    }
    shares = {"2026-03-01": 1, "2026-01-30": 0.5, "2025-12-31": 0.25, "undated": 1}
    assert aged == {
        doc_id: pytest.approx(score * shares[doc_id], **EXACT) for doc_id, score in fresh.items()
    }
    assert set(list(aged)[:2]) == {"2026-03-01", "undated"}
    assert list(aged)[2:] == ["2026-01-30", "2025-12-31"]


def test_the_lowest_score_is_asked_for_before_a_score_ages(dated: HybridStore) -> None:
    hits = dated.search("dog", mode="vector", half_life=1, min_score=0.9, today=TODAY)
    assert {hit["doc_id"] for hit in hits} == {"2026-03-01", "2026-01-30", "2025-12-31", "undated"}
    assert min(hit["score"] for hit in hits) < 0.001


@pytest.mark.parametrize("half_life", [0.0, 30.0, 0.001])
def test_no_result_is_printed_with_the_score_0(store: HybridStore, half_life: float) -> None:
    store.store("2026-01-05", "the gpu server")  # in most chunks, its words are worth 1e-6 each
    store.store("1999-12-31", "the gpu server, again")
    store.store("2020-01-01", "the gpu server and its ssh password are not here: cat")
    for mode in ("keyword", "vector", "hybrid"):
        results = store.search("gpu server ssh password", mode=mode, half_life_days=half_life)
        assert len(results) == 3, mode
        scores = [result["score"] for result in results]
        assert all(scores)
        assert all(lean(result)["score"] for result in results)
        assert scores == sorted(scores, reverse=True)
        assert all("0.000" not in points(score) for score in scores)


def test_the_config_may_let_scores_age(db_path: str, embedder: TopicEmbedder) -> None:
    with HybridStore(db_path, {"half_life_days": 30}, embedder=embedder) as store:
        store.store("2026-01-30", "a dog")
        assert store.search("dog", today=TODAY)[0]["score"] == pytest.approx(0.5, **EXACT)
        assert store.search("dog", half_life=0, today=TODAY)[0]["score"] == pytest.approx(
            1, **EXACT
        )
        assert store.search("dog", half_life=60, today=TODAY)[0]["score"] == pytest.approx(
            0.5**0.5, **EXACT
        )


def test_age_counts_to_this_day_and_half_a_life_is_a_month(run: Run, tmp_path: Path) -> None:
    run("store", "--doc-id", f"{date.fromordinal(date.today().toordinal() - 30)}", "--text", "gpu")
    search = ("search", "gpu", "--provider", "none")
    scores = [
        answer(run(*search, *option))[0]["score"]
        for option in ((), ("--half-life",), ("--half-life", "15"))
    ]
    assert scores == [
        pytest.approx(x, abs=0.02) for x in (1, 0.5, 0.25)
    ]  # should midnight pass meanwhile
    (tmp_path / "config.json").write_text(json.dumps({"half_life_days": 30}))
    assert answer(run(*search))[0]["score"] == pytest.approx(0.5, abs=0.02)
    assert answer(run(*search, "--half-life", "0"))[0]["score"] == 1.0


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "gpu"])
def test_what_is_no_half_life_is_wrong_usage(run: Run, value: str) -> None:
    assert run("search", "gpu", f"--half-life={value}").returncode == 2


# One text once, and a document's share


def test_the_same_text_comes_once_with_the_places_where_it_also_stands(store: HybridStore) -> None:
    for doc_id in ("a", "b", "2025-01-01"):
        store.store(doc_id, "# Pets\n\nThe dog barks.")
    store.store("other", "The dog sleeps.")
    hits = {hit["doc_id"]: hit for hit in store.search("dog barks", mode="vector")}
    assert set(hits) == {"a", "other"}
    assert hits["a"]["also"] == ["b#L1-L3", "2025-01-01#L1-L3"]
    assert hits["a"]["also_dates"] == [hits["a"]["date"], "2025-01-01"]
    assert hits["other"]["also"] == []
    aged = store.search("dog barks", mode="vector", half_life=30, today=TODAY)[0]
    assert (aged["doc_id"], aged["also"]) == ("a", ["b#L1-L3", "2025-01-01#L1-L3"])
    inside = store.search("dog barks", mode="vector", filters=Filters(inside="[ab]"))[0]
    assert (inside["doc_id"], inside["also"]) == ("a", ["b#L1-L3"])


def test_no_more_of_a_document_than_asked_for(library: HybridStore) -> None:
    for per_doc in (1, 2):
        found = [hit["doc_id"] for hit in library.search("server password", 50, per_doc=per_doc)]
        assert max(map(found.count, found)) == per_doc
    everything = library.search("server password", 50)
    firsts = {hit["doc_id"]: hit for hit in reversed(everything)}
    once = library.search("server password", 10, per_doc=1)
    assert all(hit == firsts[hit["doc_id"]] for hit in once if hit["doc_id"] in firsts)


def test_one_document_has_three_of_the_first_ten_if_there_are_others(store: HybridStore) -> None:
    for name, count, words in (
        ("much", 12, "gpu gpu gpu"),
        ("little", 2, "gpu and disks"),
        ("other", 2, "gpu and much else here"),
    ):
        store.store(name, "\n\n".join(f"## {name} {i}\n\n{words} {i}" for i in range(count)))
    for mode in ("keyword", "hybrid"):
        found = [hit["doc_id"] for hit in store.search("gpu", 16, mode)]
        assert found[:7].count("much") == 3
        assert sorted(found) == ["little"] * 2 + ["much"] * 12 + ["other"] * 2
        assert found[7:] == ["much"] * 9
    for any_number in (0, 5):
        found = [hit["doc_id"] for hit in store.search("gpu", 5, "keyword", per_doc=any_number)]
        assert found == ["much"] * 5
    assert len(store.search("gpu", 10, "keyword")) == 10


@pytest.mark.parametrize(
    "options", [{"per_doc": -1}, {"context": -1}, {"half_life_days": -1.0}, {"limit": 0}]
)
def test_misuse_is_a_value_error(store: HybridStore, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        store.search("x", **options)


# Context


def test_context_adds_the_chunks_around_and_their_lines(store: HybridStore) -> None:
    text = "\n\n".join(
        f"## Part {i}\n\nnumber {i} {'dog' if i == 4 else ''}".rstrip() for i in range(8)
    )
    store.store("it", text)
    [hit] = store.search("dog", mode="keyword", context=1)
    assert (hit["chunk_id"], hit["heading"], hit["start_line"], hit["end_line"]) == (
        "it-4",
        "Part 4",
        13,
        23,
    )
    assert hit["text"] == "\n".join(text.split("\n")[12:23])
    assert hit["citation"] == "it#L13-L23"
    assert store.search("dog", mode="keyword", context=10**9)[0]["text"] == text


def test_what_stands_in_the_context_of_a_better_result_is_not_told_again(
    library: HybridStore,
) -> None:
    ids = dict(library.storage.connection.execute("select chunk_id, id from chunks"))
    plain = [hit["chunk_id"] for hit in library.search("server password", 50)]
    for context in (1, 2):
        hits = library.search("server password", 50, context=context)
        for number, hit in enumerate(hits):
            for better in hits[:number]:
                if better["doc_id"] == hit["doc_id"]:
                    assert abs(ids[better["chunk_id"]] - ids[hit["chunk_id"]]) > context
        chosen = [hit["chunk_id"] for hit in hits]
        assert chosen[0] == plain[0]
        assert [chunk_id for chunk_id in plain if chunk_id in chosen] == chosen[
            : sum(c in plain for c in chosen)
        ]


# Look-ups


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("ERR_STOCK_MISMATCH", "The import ends with ERR_STOCK_MISMATCH at night."),
        ("getUserName", "Then call getUserName once."),
        ("192.168.1.5", "It listens on 192.168.1.5 only."),
    ],
)
def test_the_chunk_with_an_identifier_is_first_whatever_is_near(
    db_path: str, query: str, text: str
) -> None:
    with HybridStore(db_path, embedder=Misled()) as store:
        store.store("it", text)
        for number in range(30):
            store.store(f"n{number}", f"err stock, user name, 192 168: mismatch {number}")
        assert store.search(query)[0]["doc_id"] == "it"
        first = store.search(query, explain=True)[0]
        assert step(first, "keyword")["weight"] == pytest.approx(LOOKUP_WEIGHTS[0], abs=1e-4)


def test_a_document_is_first_when_its_name_is_asked_for(db_path: str) -> None:
    with HybridStore(db_path, embedder=Misled()) as store:
        texts = {"getting-started.md": "Install it first."} | {
            f"{number}.md": f"getting started {number}" for number in range(30)
        }
        documents = [
            Document(f"memory/{name}", text, {}, collection="memory")
            for name, text in texts.items()
        ]
        write(store, documents)
        for query in ("getting-started.md", "getting started", "memory/getting-started.md"):
            assert store.search(query)[0]["doc_id"] == "memory/getting-started.md", query


def test_weights_of_the_users_own_hold_for_look_ups_too(db_path: str) -> None:
    with HybridStore(
        db_path, {"keyword_weight": 0.3, "vector_weight": 0.7}, embedder=Misled()
    ) as store:
        store.store("it", "Then call getUserName once.")
        first = store.search("getUserName", explain=True)[0]
        assert step(first, "keyword")["weight"] == pytest.approx(0.3)
        assert step(first, "vector")["weight"] == pytest.approx(0.7)


def test_where_nothing_that_the_filters_leave_is_embedded_keywords_weigh_all(
    store: HybridStore, embedder: TopicEmbedder
) -> None:
    store.store("embedded", "a dog")
    embedder.problem = "down"
    store.store("late/one", "another dog")
    embedder.problem = None
    [hit] = store.search("dog", filters=Filters(inside="late/"))
    assert (hit["doc_id"], hit["score"], hit["source"]) == ("late/one", 1.0, "keyword")


# Dates


@pytest.fixture
def daily(store: HybridStore) -> HybridStore:
    for day in range(10, 30):
        store.store(
            f"memory/2026-01-{day}", f"# Log\n\nThe dog barked {day} times and the server was up."
        )
    store.store("people/petra", "---\ndate: 2026-01-22\n---\nPetra wants the dog and the server.")
    store.store("plan", "On 2026-01-12 the roof was mended.")
    return store


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what did the dog do on 2026-01-17?", "memory/2026-01-17"),
        ("the dog on 17 January", "memory/2026-01-17"),
        ("what did the dog do yesterday?", "memory/2026-01-28"),
        ("was hat der dog vorgestern gemacht", "memory/2026-01-27"),
    ],
)
def test_documents_of_the_days_that_are_asked_for_come_first(
    daily: HybridStore, query: str, first: str
) -> None:
    for mode in ("keyword", "hybrid", "vector"):
        found = daily.search(query, 50, mode, today=date(2026, 1, 29), explain=True)
        assert found[0]["doc_id"] == first, mode
        assert [hit["doc_id"] for hit in found if is_of_date(hit)] == [first]
        for hit in found:
            assert evaluated(hit) == pytest.approx(hit["score"], **EXACT)


def test_days_are_asked_for_alone_and_mentions_count(daily: HybridStore) -> None:
    days = [
        hit["doc_id"] for hit in daily.search("last week", 50, "keyword", today=date(2026, 1, 29))
    ]
    assert {*days} == {*(f"memory/2026-01-{day}" for day in range(19, 26)), "people/petra"}
    found = [hit["doc_id"] for hit in daily.search("12 January 2026", 50, "keyword")][:2]
    assert sorted(found) == ["memory/2026-01-12", "plan"]


def test_the_day_that_is_today_can_be_given(run: Run) -> None:
    for day in ("2026-01-28", "2026-01-27"):
        run("store", "--doc-id", day, "--text", "gpu")
    search = ("search", "gpu yesterday", "--provider", "none", "--today")
    assert answer(run(*search, "2026-01-28"))[0]["doc_id"] == "2026-01-27"
    assert answer(run(*search, "2026-01-29"))[0]["doc_id"] == "2026-01-28"
    assert run(*search, "tomorrow").returncode == 2
