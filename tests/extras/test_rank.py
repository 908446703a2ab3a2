"""Where a search has a note, what stands before it, and which words of the query it lacks."""

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.why.rank import rank
from tests.command import Run, answer, in_terminal
from tests.quality.recorded import FOLDER, ingest_notes
from tests.traces import step


@pytest.fixture
def full(store: HybridStore) -> HybridStore:
    """Seven notes about a server, more and more so, and one about a dog."""
    for number in range(1, 8):
        store.store(f"n{number}", "server " * number + "and the kettle " * (8 - number))
    store.store("dog", "A dog barks.")
    return store


def test_the_ranks_are_those_of_the_search_and_of_its_legs(full: HybridStore) -> None:
    explained = full.search("server kettle", limit=100, explain=True)
    for place, result in enumerate(explained, 1):
        found = rank(full, result["doc_id"], "server kettle")
        assert (found["rank"], found["of"], found["citation"]) == (
            place,
            len(explained),
            result["citation"],
        )
        assert found["keyword_rank"] == step(result, "keyword")["rank"]
        assert found["vector_rank"] == step(result, "vector")["rank"]
        assert [other["citation"] for other in found["before"]] == [
            hit["citation"] for hit in explained[: place - 1][:3]
        ]


@pytest.fixture(scope="module")
def judged() -> Iterator[HybridStore]:
    """The notes by which the quality of search is measured, with the built-in model."""
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        ingest_notes(store)
        yield store


@pytest.mark.parametrize(
    ("settings", "pairs"),
    [
        ({}, 12),
        ({"limit": 3}, 6),
        ({"per_doc": 1}, 6),
        ({"half_life_days": 30.0}, 6),
        ({"limit": 4, "per_doc": 2, "min_confidence": 0.3, "min_score": 0.2}, 6),
    ],
    ids=str,
)
def test_it_is_the_search_itself_under_any_settings(
    judged: HybridStore, settings: dict[str, Any], pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in settings.items():
        monkeypatch.setitem(judged.config, key, value)
    lines = (FOLDER / "queries.jsonl").read_text("utf-8").splitlines()
    doc_ids = sorted(judged.storage.documents.of_collection("notes"))
    shown_notes = 0
    for number, line in enumerate(lines[:: len(lines) // pairs][:pairs]):
        query = json.loads(line)["text"]
        shown = [result["doc_id"] for result in judged.search(query)]
        ranked = [result["doc_id"] for result in judged.search(query, limit=500)]
        # Every other note is among the results, at one place or another
        doc_id = doc_ids[number * 7 % len(doc_ids)]
        if number % 2 and shown:
            doc_id = shown[number % len(shown)]
        found = rank(judged, doc_id, query)
        assert found["is_shown"] == (doc_id in shown), (query, doc_id)
        if doc_id in ranked:
            assert found["rank"] == ranked.index(doc_id) + 1, (query, doc_id)
        assert (found["left_out_by"] is None) == (found["is_shown"] or found["rank"] is None)
        shown_notes += found["is_shown"]
    assert 0 < shown_notes < pairs


def test_words_are_those_of_the_whole_note_whatever_their_form(store: HybridStore) -> None:
    store.store("a", "# Servers\n\nPort 22.\n\n# Other\n\n" + "The backups are weekly. " * 40)
    found = rank(store, "a", "which server backup is monthly")
    assert (found["has"], found["lacks"]) == (["server", "backup"], ["monthly"])


def test_how_the_query_was_read_and_the_plan_are_told(run: Run, environ: dict[str, str]) -> None:
    none = ("--provider", "none")
    text = "---\ntags: [ops]\n---\nThe server has a disk."
    run("store", "--doc-id", "b", "--text", text, *none)
    query = 'tag:ops "a disk" -"cats" since 2026-01-05'
    done = run("why", "b", query, "--also", "a drive", *none, "--json")
    assert done.stderr.splitlines() == ['hybrid-memory: filtered by tag:ops; left out by -"cats"']
    found = json.loads(done.stdout)["search"]
    assert found["operators"]["without"] == ['-"cats"']
    assert found["plan"] == {
        "mode": "hybrid",
        "limit": 10,
        "words": ["disk"],
        "phrases": ["a disk"],
        "days": [["2026-01-05", date.today().isoformat()]],
        "filters": {"tags": ["ops"], "without": ["cats"]},
        "is_identifier": False,
        "also": ["a drive"],
    }
    told = in_terminal(environ, "why", "b", query, "--also", "a drive", *none)
    plan = "plan: mode hybrid; 10 results; also 'a drive'; phrases a disk; days 2026-01-05 to "
    assert plan in told


def test_a_note_that_no_leg_has_is_behind_everything(full: HybridStore) -> None:
    full.store("none", "zzz")
    with HybridStore(full.path, {"provider": "none"}) as keyword_only:
        found = rank(keyword_only, "none", "server")
    keys = ("rank", "keyword_rank", "vector_rank", "left_out_by", "is_shown")
    assert [found[key] for key in keys] == [None, None, None, None, False]
    assert (len(found["before"]), found["lacks"]) == (3, ["server"])


@pytest.mark.parametrize(
    ("key", "value"),
    [("limit", 1), ("min_score", 1.0), ("min_confidence", 1.0), ("stop", 1.0)],
)
def test_a_setting_that_leaves_it_out_is_named(full: HybridStore, key: str, value: float) -> None:
    query = "server kettle lamp"
    last = full.search(query, limit=100)[-1]["doc_id"]
    assert rank(full, last, query)["is_shown"]
    full.config[key] = value
    found = rank(full, last, query)
    assert (found["is_shown"], found["left_out_by"]) == (False, key)
    assert found["rank"] > 1


def test_a_text_that_is_elsewhere_too_has_the_rank_of_its_twin(store: HybridStore) -> None:
    for name in ("a", "b"):
        store.store(name, "The kettle of the server is green.")
    assert rank(store, "a", "kettle")["rank"] == rank(store, "b", "kettle")["rank"] == 1


def test_the_command_tells_it_with_a_query_only_and_a_terminal_in_lines(
    run: Run, environ: dict[str, str]
) -> None:
    none = ("--provider", "none")
    for number in range(3):
        text = f"gpu server {'kettle ' * number}"
        run("store", "--doc-id", f"n{number}", "--text", text, *none)
    assert "search" not in answer(run("why", "n1"))
    found = answer(run("why", "n0", "kettle", "gpu", *none))["search"]
    assert (found["rank"], found["query"]) == (3, "kettle gpu")
    shown = in_terminal(environ, "why", "n0", "kettle gpu", *none, env={"NO_COLOR": "1"})
    seen = shown.splitlines()
    assert seen[2].startswith("rank 3 of 3: n0#L1-L1, score 0.")
    assert seen[3:6] == [
        "  plan: mode hybrid; 10 results",
        "  it has: gpu",
        "  it lacks: kettle",
    ]
    assert [line.split(",")[0] for line in seen[6:]] == ["  before it", "  before it"]
