import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.search.stages import ASSISTANT_SHARE, LONGEST_QUESTION, is_by_assistant
from hybrid_memory.sync.ingest import Ingest

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


def scores(store: HybridStore, query: str, mode: str = "hybrid") -> dict[str, float]:
    return {
        "assistant" if is_by_assistant(hit["text"]) else hit["text"]: hit["score"]
        for hit in store.search(query, 10, mode)
    }


def test_what_the_user_said_comes_before_the_pages_of_an_assistant(talk: HybridStore) -> None:
    asked, as_words = (scores(talk, query) for query in (QUESTION, QUESTION.rstrip("?")))
    said = "User: My sprint ends on 29 March."
    assert next(iter(asked)) == said
    assert asked[said] == pytest.approx(as_words[said])
    assert asked["assistant"] == pytest.approx(ASSISTANT_SHARE * as_words["assistant"], abs=1e-5)


def test_a_long_message_and_single_legs_weigh_both_speakers_alike(talk: HybridStore) -> None:
    long = f"{'I have been thinking about this for a long time. ' * 4}{QUESTION}"
    assert len(long) > LONGEST_QUESTION
    assert scores(talk, long) == scores(talk, long.rstrip("?"))
    for mode in ("keyword", "vector"):
        assert scores(talk, QUESTION, mode) == scores(talk, QUESTION.rstrip("?"), mode)


def test_the_parts_of_a_lowered_score_add_up(talk: HybridStore) -> None:
    for hit in talk.search(QUESTION, explain=True):
        why = hit["explain"]
        parts = why["keyword"]["part"] + why["vector"]["part"] + why["neighbours"] + why["document"]
        assert parts == pytest.approx(hit["score"], abs=1e-5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Assistant: Done.", True),
        ("Assistant: Done.\n\nAssistant: And tested.", True),
        ("Assistant: Done.\n\nUser: Thanks.", False),
        ("User: Do it.\n\nAssistant: Done.", False),
        ("The Assistant: a play", False),
    ],
)
def test_the_speakers_of_a_chunk(text: str, expected: bool) -> None:
    assert is_by_assistant(text) is expected
