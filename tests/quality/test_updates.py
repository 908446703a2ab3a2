"""Facts that change in eleven memories of different kinds, in English, German and Spanish: what comes first?

Nothing was found on the notes of a potter, of an assistant and of a vet's practice, nor on those of `held-out`, which others wrote. `queries.jsonl` has for each question the lines with the
value in force (`current`), with former values (`outdated`), and with facts that only look alike.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest

FOLDER = Path(__file__).parent / "updates"
HELD_OUT = FOLDER.parent / "held-out"


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    return counted(
        tmp_path_factory, "lab", "verein", "club", "server", "rad", "ops", "haus", "station"
    )


@pytest.fixture(scope="module")
def other_counts(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    return counted(tmp_path_factory, "casa", "agent", "vet")


@pytest.fixture(scope="module")
def held_out_counts(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    memories = ("trial-nurse", "theatre", "house", "agency", "harbour", "ponds")
    return counted(tmp_path_factory, *memories, folder=HELD_OUT)


def counted(
    tmp_path_factory: pytest.TempPathFactory, *memories: str, folder: Path = FOLDER
) -> Counter[str]:
    counts: Counter[str] = Counter()
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    for memory in memories:
        path = tmp_path_factory.mktemp("updates") / f"{memory}.db"
        with HybridStore(str(path), {"provider": "builtin"}) as store:
            Ingest(store).run([str(folder / "docs" / memory)])
            store.embed()
            for query in queries:
                if query["conv"] == memory:
                    counts.update(judged(query, store.search(query["text"])))
    return counts


def judged(query: dict[str, Any], results: list[dict[str, Any]]) -> Iterator[str]:
    kind = query["kind"]
    yield kind
    current = [
        number for number, result in enumerate(results) if has(result["citation"], query["current"])
    ]
    stale = [
        number
        for number, result in enumerate(results)
        if has(result["citation"], query["outdated"]) and number not in current
    ]
    if current and current[0] < min(stale, default=99):
        yield f"{kind} current first"
    if current and current[0] < 3:
        yield f"{kind} in three"
    for number, result in enumerate(results):
        if not result["newer"]:
            continue
        if kind == "stable" and has(result["citation"], query["current"] + query["similar"]):
            yield "false marks"
        if kind == "changed" and number in stale:
            yield "marks"
            if has(result["newer"], query["current"] + query["outdated"]):
                yield "right marks"


def has(citation: str, lines: list[tuple[str, int]]) -> bool:
    doc_id, _, place = citation.partition("#L")
    first, _, last = place.partition("-L")
    return any(
        doc_id.removesuffix(".md") == doc and int(first) <= line <= int(last or first)
        for doc, line in lines
    )


def test_a_revision_comes_before_what_it_revises(counts: Counter[str]) -> None:
    assert counts["changed current first"] >= 0.7 * counts["changed"]
    assert counts["changed in three"] >= 0.8 * counts["changed"]


def test_marks_are_right(counts: Counter[str]) -> None:
    assert counts["marks"] >= 50
    assert counts["right marks"] >= 0.9 * counts["marks"]


def test_facts_that_look_alike_have_no_mark(counts: Counter[str]) -> None:
    assert counts["false marks"] <= 5  # of 48
    assert counts["stable in three"] >= 0.9 * counts["stable"]


def test_former_values_are_found_when_they_are_asked_for(counts: Counter[str]) -> None:
    assert counts["history in three"] >= 0.8 * counts["history"]


def test_notes_of_another_kind_have_no_more_wrong_marks(other_counts: Counter[str]) -> None:
    assert other_counts["changed current first"] >= 0.7 * other_counts["changed"]
    assert other_counts["right marks"] >= 0.9 * other_counts["marks"]
    assert other_counts["false marks"] <= 0.1 * other_counts["stable"]


def test_notes_by_others_are_better_with_marks_than_without(held_out_counts: Counter[str]) -> None:
    changed = held_out_counts["changed"]
    assert changed == 159
    assert held_out_counts["changed current first"] >= 0.32 * changed  # 0.19 without
    assert held_out_counts["changed in three"] >= 0.48 * changed  # 0.36 without
    assert held_out_counts["right marks"] >= 0.7 * held_out_counts["marks"]
    assert held_out_counts["false marks"] <= 20  # of 72 questions; fewer would be better


def test_every_process_gives_the_same_order(tmp_path: Path, environ: dict[str, str]) -> None:
    """Sets have another order in each process, and sums of floats another last digit."""
    path = tmp_path / "agency.db"
    with HybridStore(str(path), {"provider": "builtin"}) as store:
        Ingest(store).run([str(HELD_OUT / "docs" / "agency")])
        store.embed()
    question = "Which address should I have parcels for the office sent to?"
    told = set()
    for seed in ("1", "2", "3"):
        command = [
            sys.executable,
            "-m",
            "hybrid_memory",
            "search",
            question,
            "--db",
            str(path),
            "--explain",
            "--json",
        ]
        environ |= {"PYTHONHASHSEED": seed, "HYBRID_MEMORY_PROVIDER": "builtin"}
        told.add(subprocess.run(command, env=environ, capture_output=True, check=True).stdout)
    assert len(told) == 1
