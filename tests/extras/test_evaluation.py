"""The measures by hand and as trec_eval gives them; the files; and what an evaluation says of a store."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_memory import EmbedderError, HybridStore, SourceError
from hybrid_memory.extras.evaluation.evaluation import (
    Grades,
    JudgedLines,
    Question,
    evaluate,
    evidence,
    figures,
    read_qrels,
    read_queries,
    without_lines,
)
from hybrid_memory.sync.ingest import Ingest
from tests.conftest import TopicEmbedder

Notes = Callable[[dict[str, str | bytes]], Path]
Write = Callable[[str], str]


def graded(text: str) -> Grades:
    """'a3 b1' -> {"a": 3, "b": 1}"""
    return {word[0]: float(word[1:]) for word in text.split()}


@pytest.mark.parametrize(  # by pytrec_eval 0.5.11, which is trec_eval; its gains are the grades, so it was given 2^grade - 1
    ("ranking", "grades", "expected"),
    [
        ("c a x b y d", "a3 b2 c1 d1", [0.7192, 0.75, 1.0, 1.0, 1.0]),
        ("1 2 3 4 5 6 7 8 9 a b", "a3 b1", [0.2652, 0.0, 0.5, 0.1, 0.0]),
        ("x a y b z c u d v e w f g", "a1 b2 c3 d1 e2 f3 g1", [0.3663, 0.2857, 0.7143, 0.5, 0.0]),
        ("a", "a2 b3", [0.3374, 0.5, 0.5, 1.0, 1.0]),
        ("x y", "a1", [0.0] * 5),
        ("", "a1", [0.0] * 5),
    ],
)
def test_measures_are_those_of_trec_eval(ranking: str, grades: str, expected: list[float]) -> None:
    measured = figures([(ranking.split(), graded(grades))])
    assert [
        measured[name] for name in ("ndcg@10", "recall@5", "recall@10", "mrr@10", "hit@1")
    ] == expected


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> str:
        path = tmp_path / f"file{len(list(tmp_path.iterdir()))}"
        path.write_bytes(text.encode())
        return str(path)

    return write


def test_queries_are_json_lines(write: Write) -> None:
    text = '\ufeff{"id": "a", "text": "who?", "kind": "easy"}\r\n\n{"id": 2, "text": "what\u2028now"}\n'
    assert read_queries(write(text)) == {
        "a": Question("who?", []),
        "2": Question("what\u2028now", []),
    }
    text = '{"id": "a", "text": "who?", "also": ["the person", "a name"]}'
    assert read_queries(write(text)) == {"a": Question("who?", ["the person", "a name"])}


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "a"}',
        "[1]",
        "who?",
        '{"id": "a", "text": 1}',
        '{"id": "a", "text": "a", "also": "b"}',
    ],
)
def test_line_that_is_no_query_is_named(write: Write, line: str) -> None:
    path = write(f'{{"id": "q", "text": "ok"}}\n{line}\n')
    with pytest.raises(SourceError, match=f"{path}:2: a query has the form"):
        read_queries(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [('{"id": "q", "text": "b"}', "is a duplicate"), ('{"id": "r", "text": " "}', "is empty")],
)
def test_query_that_cannot_be_asked_is_named(write: Write, line: str, problem: str) -> None:
    path = write(f'{{"id": "q", "text": "a"}}\n{line}')
    with pytest.raises(SourceError, match=f"{path}:2: query . {problem}"):
        read_queries(path)


@pytest.mark.parametrize(
    "text",
    [
        "q a.md 2\nq b.md 1\nq c.md 0\n",
        "q 0 a.md 2\r\nq 0 b.md 1\r\n",
        "q\ta.md\t2\nq\t0\tmy b.md\t1.0\n\nr\ta.md\t-1",
    ],
    ids=["three columns", "TREC's four", "tabs"],
)
def test_qrels_are_three_columns_or_four(write: Write, text: str) -> None:
    second = "my b.md" if "my b.md" in text else "b.md"
    assert read_qrels(write(text)) == {"q": {"a.md": 2.0, second: 1.0}}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q my notes.md 1 2", "5 columns; use query, document, grade"),
        ("q\ta.md", "2 columns"),
        ("q a.md good", "'good' is not a grade"),
        ("q a.md 1e9", "'1e9' is not a grade"),
    ],
)
def test_line_that_is_no_judgement_is_named(write: Write, line: str, problem: str) -> None:
    path = write(f"q a.md 1\n{line}\n")
    with pytest.raises(SourceError, match=f"{path}:2: {problem}"):
        read_qrels(path)


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent: No such file"):
        read_qrels(str(tmp_path / "absent"))
    (tmp_path / "latin1").write_bytes(b"\xe9 a 1\n")
    with pytest.raises(SourceError, match=r"latin1: it is not UTF-8"):
        read_qrels(str(tmp_path / "latin1"))


QUERIES = {
    "q1": Question("hunter2"),
    "q2": Question("which machine is it?"),
    "q3": Question("never judged"),
    "q4": Question("a puppy"),
}


@pytest.fixture
def filled(store: HybridStore, notes: Notes) -> HybridStore:
    files: dict[str, str | bytes] = {
        "gpu.md": "# GPU\n\nThe password is hunter2.",
        "pi.md": "# Pi\n\nA small host.",
        "pets.md": "A dog and a cat.",
        "people/gpu.md": "Nobody.",
    }
    Ingest(store).run([str(notes(files))], None)
    return store


def test_other_phrasings_of_a_query_are_searched_too(filled: HybridStore) -> None:
    qrels = {"q1": {"memory/pets.md": 1.0}}
    for also, hit in (([], 0.0), (["dog or cat"], 1.0)):
        found = evaluate(filled, {"q1": Question("zebra", also)}, qrels, ["keyword"])
        assert found.modes["keyword"]["hit@1"] == hit


def test_each_mode_is_measured_by_the_best_chunk_of_each_document(filled: HybridStore) -> None:
    qrels = {"q1": {"memory/gpu.md": 1.0}, "q2": {"memory/pi.md": 1.0}}
    found = evaluate(filled, QUERIES, qrels)
    assert (found.queries, found.unjudged, found.unknown_documents, found.left_out) == (
        2,
        2,
        [],
        {},
    )
    assert [*found.modes] == ["keyword", "vector", "hybrid"]
    assert found.modes["keyword"]["hit@1"] == 0.5  # "machine" stands nowhere
    assert found.modes["vector"]["mrr@10"] > 0.5  # it is a host
    assert 0 < found.modes["hybrid"]["median_ms"] <= found.modes["hybrid"]["p95_ms"]


def test_document_may_be_named_without_extension_or_collection(filled: HybridStore) -> None:
    for name in ("memory/pi.md", "memory/pi", "pi.md", "pi"):
        found = evaluate(filled, QUERIES, {"q2": {name: 1.0}}, ["vector"])
        assert (found.unknown_documents, found.modes["vector"]["recall@10"]) == ([], 1.0)


def test_document_that_is_unknown_or_ambiguous_is_told_and_counts_as_missed(
    filled: HybridStore, notes: Notes
) -> None:
    notes({"pi.txt": "another host"})
    Ingest(filled, patterns=["*.md", "*.txt"]).run([str(notes({}))], None)
    filled.store("release-1.2", "a text has no extension")
    qrels = {"q1": {"memory/gpu.md": 1.0, "absent.md": 1.0}, "q2": {"pi": 1.0, "release-1": 1.0}}
    found = evaluate(filled, QUERIES, qrels, ["keyword"])
    assert found.unknown_documents == ["absent.md", "pi", "release-1"]
    assert found.modes["keyword"]["recall@10"] == 0.25


def test_misses_say_what_came_first_and_which_leg_had_what_was_wanted(filled: HybridStore) -> None:
    qrels = {
        "q1": {"memory/gpu.md": 1.0},
        "q4": {"memory/people/gpu.md": 1.0, "memory/pets.md": 2.0},
        "q2": {"memory/people/gpu.md": 1.0},
    }
    found = evaluate(filled, QUERIES, qrels, ["vector", "keyword"], misses=True)
    *_, puppy = found.misses
    assert puppy == {
        "id": "q4",
        "text": "a puppy",
        "wanted": ["memory/pets.md", "memory/people/gpu.md"],
        "first": [],
        "rank": None,
        "keyword_rank": None,
        "vector_rank": 1,
    }
    assert [miss["id"] for miss in found.misses] == ["q2", "q4"]
    assert evaluate(filled, QUERIES, qrels, ["keyword"], misses=True).misses == found.misses
    assert evaluate(filled, QUERIES, qrels, ["keyword"]).misses == []


def test_mode_that_cannot_run_is_left_out_with_the_reason(
    filled: HybridStore, embedder: TopicEmbedder
) -> None:
    embedder.problem = "cannot connect; run `ollama serve`"
    qrels = {"q1": {"memory/gpu.md": 1.0}}
    found = evaluate(filled, QUERIES, qrels, misses=True)
    assert [*found.modes] == ["keyword"]
    assert found.left_out == {"vector": embedder.problem, "hybrid": embedder.problem}
    with pytest.raises(EmbedderError, match="mode vector cannot run: cannot connect"):
        evaluate(filled, QUERIES, qrels, ["vector"])


def test_model_that_fails_half_way_leaves_no_figures_of_the_first_half(
    filled: HybridStore, embedder: TopicEmbedder
) -> None:
    def fail(*_: object) -> None:
        embedder.problem = "gone"

    qrels = {"q1": {"memory/gpu.md": 1.0}, "q2": {"memory/pi.md": 1.0}}
    assert [*evaluate(filled, QUERIES, qrels, progress=fail).modes] == ["keyword"]


def test_no_judgement_for_any_query_is_an_error(filled: HybridStore) -> None:
    with pytest.raises(SourceError, match="no query has a judgement"):
        evaluate(filled, QUERIES, {"other": {"memory/gpu.md": 1.0}})


def test_lines_are_cut_off_from_documents() -> None:
    grades = {"a.md#L3-L5": 2.0, "a.md#L9": 1.0, "b.md": 1.0, "c#L0": 1.0}
    assert without_lines(grades, {"b.md": "notes/b.md"}) == (
        {"a.md": 2.0, "notes/b.md": 1.0, "c#L0": 1.0},
        [("a.md", 3, 5), ("a.md", 9, 9)],
    )


def test_evidence_by_hand() -> None:
    """200 characters of a.md, lines 1 to 4, then 100 of b.md, lines 1 to 2."""
    results = [
        {"doc_id": "a", "text": "x" * 200, "start_line": 1, "end_line": 4},
        {"doc_id": "b", "text": "y" * 100, "start_line": 1, "end_line": 2},
    ]
    wanted = [
        JudgedLines("a", 4, 6),
        JudgedLines("a", 5, 6),
        JudgedLines("b", 2, 2),
        JudgedLines("b", 3, 9),
    ]
    assert [evidence(results, wanted, budget) for budget in (199, 200, 299, 300)] == [
        0,
        0.25,
        0.25,
        0.5,
    ]


def test_an_evaluation_with_cited_lines_tells_how_much_of_them_is_read(store: HybridStore) -> None:
    store.store("far", "# Dog\n\n" + "dog " * 500)
    store.store("pets", "# Dog\n\nThe dog is called Rex.\n\n# Cat\n\nThe cat has no name.")
    queries = {"q": Question("what is the dog called?"), "whole": Question("cat")}
    found = evaluate(
        store,
        queries,
        {"q": {"pets#L1-L3": 1.0, "pets#L5": 1.0}, "whole": {"pets": 1.0}},
        ["keyword"],
    )
    assert (found.modes["keyword"]["e@1000"], found.unknown_documents) == (0.5, [])
    assert found.modes["keyword"]["recall@10"] == 1.0
    without = evaluate(store, queries, {"whole": {"pets": 1.0}}, ["keyword"])
    assert "e@1000" not in without.modes["keyword"]
