"""The transcripts that `recall` writes from what a plugin passes."""

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.extras.formats.transcripts import Transcript
from hybrid_memory.extras.hosts import hosts
from hybrid_memory.extras.recall.conversation import with_transcript

OURS = [host.name for host in hosts().values() if any(kept.is_ours for kept in host.transcripts)]
FIRST = {"role": "user", "text": "Who feeds the okapi?", "timestamp": 1}
SECOND = {"role": "assistant", "text": "Juno does.", "timestamp": 2}
THIRD = {"role": "user", "text": "Who feeds the okapi?", "timestamp": 3}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def event(*messages: dict[str, Any], session: str = "one") -> dict[str, Any]:
    return {"session_id": session, "cwd": "/work", "messages": list(messages)}


def written(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("host", OURS)
def test_only_new_messages_are_appended(host: str) -> None:
    for messages in ([FIRST, SECOND], [FIRST, SECOND], [SECOND, THIRD], [THIRD]):
        path = with_transcript(host, event(*messages))["transcript_path"]
    session, *messages = written(path)
    assert session == {"type": "session", "version": 3, "id": "one", "cwd": "/work"}
    assert [message["timestamp"] for message in messages] == [1, 2, 3]
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert Path(path).parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("question", "answer", "is_kept"),
    [
        ({"recalled": True}, {"tools": []}, False),
        ({}, {"tools": ["hybrid-memory_memory_get"]}, False),
        ({}, {}, True),
        ({"recalled": True}, {"tools": ["webfetch"]}, True),
    ],
)
def test_a_question_that_the_memory_answered_is_known(
    question: dict[str, Any], answer: dict[str, Any], *, is_kept: bool
) -> None:
    last = {"role": "user", "text": "The okapi is fed at noon.", "timestamp": 3}
    said = [FIRST | question, SECOND | answer]
    for messages in (said, [*said, last]):
        path = with_transcript("opencode", event(*messages))["transcript_path"]
    with open(path, "rb") as stream:
        transcript = Transcript(stream, Path(path).stat().st_size)
        read = [message.text for message in transcript]
    texts = [FIRST["text"], SECOND["text"]] if is_kept else []
    assert read == [*texts, last["text"]]


def test_secrets_are_masked_and_known_when_they_come_again() -> None:
    said = {"role": "user", "text": "The door: password=hunter2hunter2", "timestamp": 1}
    with_transcript("opencode", event(said))
    path = with_transcript("opencode", event(said, SECOND))["transcript_path"]
    assert "hunter2" not in Path(path).read_text()
    assert len(written(path)) == 3


def test_a_session_id_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    for session in ("../../evil", "/etc/evil", "x" * 5000):
        path = with_transcript("opencode", event(FIRST, session=session))["transcript_path"]
        assert Path(path).parent == tmp_path / "hybrid-memory/transcripts/opencode"


@pytest.mark.parametrize("host", [None, "claude"])
def test_other_hosts_keep_their_own_transcripts(host: str | None, tmp_path: Path) -> None:
    hook = event(FIRST) | {"transcript_path": "/a.jsonl"}
    assert with_transcript(host, hook) == hook
    assert list(tmp_path.iterdir()) == []


def test_a_prompt_knows_its_transcript_and_writes_nothing(tmp_path: Path) -> None:
    hook = {"session_id": "one", "prompt": "Who feeds the okapi?"}
    assert with_transcript("opencode", hook)["transcript_path"].endswith("opencode/one.jsonl")
    assert list(tmp_path.iterdir()) == []
