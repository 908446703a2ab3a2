import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.search.stages import ASSISTANT_SHARE
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.text.roles import ASSISTANT, BOTH, USER
from tests.traces import evaluated

MESSAGES = [
    ("user", "My sprint ends on 29 March."),
    ("assistant", "Good. A sprint ends with a review; a sprint that ends on 29 March has its review that day. " * 6),
    ("user", "Thanks."),
]  # fmt: skip
QUESTION = "when does my sprint end?"


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[HybridStore]:
    """A transcript in which the assistant repeats at length what the user said."""
    file = tmp_path / "sessions" / "talk.jsonl"
    file.parent.mkdir()
    lines = [
        {
            "type": role,
            "sessionId": "1",
            "timestamp": f"2026-03-{number + 1:02}T10:00:00Z",
            "message": {"role": role, "content": text},
        }
        for number, (role, text) in enumerate(MESSAGES)
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    os.utime(file, (1, 1))  # the session has ended
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        Ingest(store, patterns=("*.jsonl",)).run([str(file.parent)])
        yield store


@pytest.mark.parametrize("query", [QUESTION, QUESTION.rstrip("?"), f"{'So. ' * 50}{QUESTION}"])
def test_what_the_user_said_comes_before_the_pages_of_an_assistant(
    talk: HybridStore, query: str
) -> None:
    found = talk.search(query, explain=True)
    assert found[0]["text"] == "User: My sprint ends on 29 March."
    steps = {hit["role"]: hit["explain"]["trace"] for hit in found}
    [factor] = [step["multiply"] for step in steps[ASSISTANT] if step["name"] == "assistant"]
    assert factor == ASSISTANT_SHARE
    assert "assistant" not in [step["name"] for step in steps[USER]]


@pytest.mark.parametrize("mode", ["keyword", "vector"])
def test_single_legs_weigh_both_speakers_alike(talk: HybridStore, mode: str) -> None:
    for hit in talk.search(QUESTION, 10, mode, explain=True):
        assert "assistant" not in [step["name"] for step in hit["explain"]["trace"]]


def test_the_trace_of_a_lowered_score_gives_it(talk: HybridStore) -> None:
    for hit in talk.search(QUESTION, explain=True):
        assert evaluated(hit) == pytest.approx(hit["score"], abs=1e-5)


def test_a_result_names_who_speaks_and_a_filter_leaves_one_of_them(talk: HybridStore) -> None:
    roles = {hit["role"] for hit in talk.search("sprint", 10)}
    assert roles == {USER, ASSISTANT}
    for role in roles:
        assert {hit["role"] for hit in talk.search("sprint", 10, role=role)} == {role}


def test_neighbours_of_both_speakers_are_joined_to_a_passage_of_both(talk: HybridStore) -> None:
    whole = talk.search(QUESTION, budget=5000, context=1)[0]
    assert whole["role"] == BOTH
    assert {"User: ", "Assistant: "} <= {
        line[: line.find(" ") + 1] for line in whole["text"].split("\n\n")
    }


def test_a_note_that_quotes_an_assistant_is_not_lowered() -> None:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store("play", "Assistant: the ferry leaves at nine.")
        [hit] = store.search("ferry?", explain=True)
    assert hit["role"] is None
    assert "assistant" not in [step["name"] for step in hit["explain"]["trace"]]
