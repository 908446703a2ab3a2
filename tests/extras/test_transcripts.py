"""Transcripts in the forms that there are, as far as their programs' own documents and files show them."""

import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.browse.lists import documents
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.formats import transcripts as module
from hybrid_memory.extras.formats.inserted import HEADING, NEWS
from hybrid_memory.extras.formats.transcripts import Transcript, TranscriptMessage, chunks
from hybrid_memory.extras.hosts import hosts
from hybrid_memory.storage.growing import Resumption
from hybrid_memory.sync.ingest import Ingest, Report
from hybrid_memory.sync.refresh import refresh
from hybrid_memory.text.roles import ASSISTANT, USER
from tests.conftest import TopicEmbedder, indexed_words
from tests.sync.test_ingest import ids

Record = dict[str, Any]


def pi(role: str, content: Any, **more: Any) -> Record:
    return {
        "type": "message",
        "id": "a1b2c3d4",
        "timestamp": "2026-03-05T10:00:00.000Z",
        "message": {"role": role, "content": content},
    } | more


def claude(role: str, content: Any, **more: Any) -> Record:
    return {
        "type": role,
        "sessionId": "s",
        "timestamp": "2026-03-05T10:00:00.000Z",
        "message": {"role": role, "content": content},
    } | more


def codex(kind: str, **payload: Any) -> Record:
    return {"timestamp": "2026-03-05T10:00:00.000Z", "type": kind, "payload": payload}


def codex_message(role: str, *words: str) -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in words]
    return codex("response_item", type="message", role=role, content=content)


def text(words: str) -> list[Record]:
    return [{"type": "text", "text": words}]


def lines(*records: Record | str) -> bytes:
    return "".join(
        (record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records
    ).encode()


def read(data: bytes) -> tuple[list[TranscriptMessage], Transcript]:
    transcript = Transcript(io.BytesIO(data), len(data))
    return list(transcript), transcript


OPENCLAW = lines(
    {
        "type": "session",
        "version": 3,
        "id": "b7300bff",
        "timestamp": "2026-03-04T23:00:00.000Z",
        "cwd": "/home/ann/.openclaw/workspace",
    },
    {"type": "model_change", "id": "1", "parentId": None, "provider": "anthropic", "modelId": "m"},
    {"type": "session_info", "id": "2", "name": "GPU  server"},
    pi("user", text("Where is the GPU server?")),
    pi(
        "assistant",
        [
            {"type": "thinking", "thinking": "hmm"},
            {"type": "toolCall", "name": "bash", "arguments": {"command": "ls"}},
        ],
    ),
    pi("toolResult", text("total 0")),
    pi("assistant", [*text("Under the desk."), *text("It is called kettle.")]),
    pi("user", "as a string"),
    pi("assistant", text("NO_REPLY")),
    {"type": "compaction", "id": "3", "summary": "They talked about a server."},
)

CLAUDE_CODE = lines(
    {"type": "summary", "summary": "Printer by the door", "leafUuid": "x"},
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    claude("user", "<command-name>/clear</command-name>\n<command-message>clear</command-message>"),
    claude("user", "Caveat: generated", isMeta=True),
    claude("user", "Where is the printer?<system-reminder>\nBe kind.\n</system-reminder>"),
    claude(
        "assistant",
        [
            {"type": "thinking", "thinking": "hmm", "signature": "x"},
            {"type": "tool_use", "name": "Bash", "input": {}},
        ],
    ),
    claude("user", [{"type": "tool_result", "tool_use_id": "x", "content": "door.txt"}]),
    claude("assistant", text("By the door.")),
    claude("user", text("[Request interrupted by user]")),
    claude("user", "find it", isSidechain=True),
    claude("user", "This session is being continued", isCompactSummary=True),
    {"type": "system", "content": "<local-command-stdout>x</local-command-stdout>"},
    {"type": "ai-title", "aiTitle": "Finding the printer", "sessionId": "s"},
    claude("user", "thanks"),
)

CODEX = lines(
    codex(
        "session_meta",
        id="0199",
        cwd="/home/ann",
        originator="codex_cli_rs",
        cli_version="0.99.0",
        source="cli",
    ),
    codex_message(
        "developer", "<permissions instructions>\nAsk first.\n</permissions instructions>"
    ),
    codex_message(
        "user",
        "# AGENTS.md instructions for /home/ann\n\n<INSTRUCTIONS>\nUse uv.\n</INSTRUCTIONS>",
        "<environment_context>\n  <cwd>/home/ann</cwd>\n</environment_context>",
    ),
    codex_message("user", "Where is the scanner?"),
    codex("event_msg", type="user_message", message="Where is the scanner?", images=[]),
    codex("turn_context", cwd="/home/ann", approval_policy="never", model="m"),
    codex("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "hmm"}]),
    codex("response_item", type="function_call", name="shell", arguments="{}", call_id="c"),
    codex("response_item", type="function_call_output", call_id="c", output="scanner.txt"),
    codex("event_msg", type="agent_message", message="In the attic."),
    codex_message("assistant", "In the attic."),
    codex("event_msg", type="token_count", info=None),
    codex("event_msg", type="thread_name_updated", thread_name="Finding the scanner"),
    codex_message(
        "user",
        "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nthanks\n",
    ),
    codex("compacted", message="They talked about a scanner."),
    codex_message("user", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"),
)

CODEX_OF_2025 = lines(
    {"id": "0199", "timestamp": "2026-03-05T10:00:00.000Z", "instructions": None},
    {"record_type": "state"},
    {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "hi"}],
        "timestamp": 1772704800000,
    },
    {"type": "reasoning", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]},
)


@pytest.mark.parametrize(
    ("data", "expected", "title"),
    [
        (
            OPENCLAW,
            [
                (4, USER, "Where is the GPU server?", "GPU server"),
                (7, ASSISTANT, "Under the desk.\n\nIt is called kettle.", "GPU server"),
                (8, USER, "as a string", "GPU server"),
            ],
            "GPU server",
        ),
        (
            CLAUDE_CODE,
            [
                (5, USER, "Where is the printer?", "Printer by the door"),
                (8, ASSISTANT, "By the door.", "Printer by the door"),
                (14, USER, "thanks", "Finding the printer"),
            ],
            "Finding the printer",
        ),
        (
            CODEX,
            [
                (4, USER, "Where is the scanner?", ""),
                (11, ASSISTANT, "In the attic.", ""),
                (14, USER, "thanks", "Finding the scanner"),
            ],
            "Finding the scanner",
        ),
        (CODEX_OF_2025, [(3, USER, "hi", ""), (5, ASSISTANT, "hello", "")], ""),
    ],
    ids=["OpenClaw", "Claude Code", "Codex", "Codex of 2025"],
)
def test_what_was_said_comes_out_and_nothing_else(
    data: bytes, expected: list[Any], title: str
) -> None:
    messages, transcript = read(data)
    assert [message[:4] for message in messages] == expected
    assert {message.date for message in messages} == {"2026-03-05"}
    assert (transcript.title, transcript.date, transcript.left_out) == (title, "2026-03-05", 0)


@pytest.mark.parametrize(
    ("wrapped", "said"),
    [
        (
            'Conversation info (untrusted metadata):\n```json\n{"sender": "ann"}\n```\n\nhello',
            "hello",
        ),
        ("[Mon 2026-03-05 10:00 UTC] hello", "hello"),
        ("<ide_opened_file>x.py</ide_opened_file>hello <bash-stdout>a\nb</bash-stdout>", "hello"),
        ("a <system-reminder> without its end", "a <system-reminder> without its end"),
        ("my key is sk-ant-api03-0123456789abcdefghij", "my key is [redacted]"),
        ("unpaired \ud800 surrogate", "unpaired ? surrogate"),
    ],
)
def test_wrappers_and_secrets_of_a_message_go(wrapped: str, said: str) -> None:
    assert [message.text for message in read(lines(pi("user", wrapped)))[0]] == [said]


PASSAGES = f"""{HEADING}
**memory/2026-01-05.md#L1-L5** (Port), confidence 0.88 (strong)
> # Port
>
> The port is 2300.

"""
INSERTED = [
    *(
        f"<{tag.replace('*', 'x')}>The port is 2300.</{tag.replace('*', 'x')}>\n\n"
        for host in hosts().values()
        for tag in host.inserted.get("tags", ())
    ),
    PASSAGES,
    PASSAGES.replace(">", "&gt;"),
    f"{NEWS} since 2026-01-05: Port.\n\n",
    f"<hook_context>{NEWS} since 2026-01-05: Port.</hook_context>\n\n{PASSAGES}",
]


@pytest.mark.parametrize("inserted", INSERTED)
def test_what_programs_insert_is_not_stored(inserted: str) -> None:
    messages, _ = read(lines(pi("user", f"{inserted}Where is\n> it said?")))
    assert [message.text for message in messages] == ["Where is\n> it said?"]


QUESTION = "Which port does heron use?"
RECALLED = claude("assistant", [{"type": "tool_use", "name": "mcp__memory__memory_search"}])
READ = claude("assistant", [{"type": "tool_use", "name": "Read", "input": {"file": "a.md"}}])
HOOKED = {"type": "attachment", "attachment": {"content": [PASSAGES]}}


@pytest.mark.parametrize(
    ("question", "between", "answer"),
    [
        (QUESTION, [RECALLED], "It is 2207."),
        (QUESTION, [HOOKED], "It is 2207."),
        (
            QUESTION,
            [codex("response_item", type="function_call", name="memory_search")],
            "It is 2207.",
        ),
        (f"<hook_context>{PASSAGES}</hook_context>\n\n{QUESTION}", [], "It is 2207."),
        ("who's our harbour pilot?", [HOOKED], "Solveig."),
        ('"On which port does heron listen?"', [HOOKED], "On 2207."),
        ("Who repairs the wind turbine at Skagen?", [], "I could not find that in your notes."),
    ],
)
def test_a_question_that_the_memory_answered_is_not_stored(
    question: str, between: list[Record], answer: str
) -> None:
    before = [claude("user", "The boat is blue."), claude("assistant", text("Noted."))]
    after = [claude("user", "It has two masts.")]
    turn = [claude("user", question), *between, claude("assistant", text(answer))]
    for records in ([*before, *turn, *after], [*before, *turn]):
        said = [message.text for message in read(lines(*records))[0]]
        assert said == ["The boat is blue.", "Noted.", "It has two masts."][: len(said)]
        assert len(said) >= 2


@pytest.mark.parametrize(
    ("question", "between", "answer"),
    [
        ("Anna moved to Bergen, who waters the plants?", [HOOKED], "Bo does."),
        ("Is the port of heron 2301?", [HOOKED], "Your note says so."),
        ("I need the port of heron", [HOOKED], "It is 2207."),
        ("How about moving the standup to the library?", [HOOKED], "Good idea."),
        ("Why is the standup not in the library?", [HOOKED], "Your note says so."),
        (
            "How was the day?",
            [],
            "I looked for a job all day, but didn't find anything yet. My friends decided to go to the "
            "lighthouse at Skagen tomorrow, and I am so excited: we will take the early ferry, have "
            "lunch at the harbour, and stay until the evening.",
        ),
        (QUESTION, [], "It is 2207, as the config of the server says."),
        (QUESTION, [HOOKED, READ], "The config says 2301, the note is old."),
        (QUESTION, [HOOKED], "The port is 2207. " * 200),
        ("Where is the invoice?", [READ], "I could not find it in your mail."),
    ],
)
def test_what_may_be_news_is_stored(question: str, between: list[Record], answer: str) -> None:
    turn = [claude("user", question), *between, claude("assistant", text(answer))]
    for records in (turn, [*turn, claude("user", "Thanks a lot.")]):
        said = [message.text for message in read(lines(*records))[0]]
        assert said[:2] == [question, answer.strip()]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (
            "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.\nCurrent time: noon",
            [],
        ),
        (
            "System: [2026-02-26 11:30 UTC] Exec failed (a, code 1) :: no\nSystem: more\n\nRead HEARTBEAT.md if it exists",
            [],
        ),
        (
            "System: WhatsApp: linked\nSystem: [2026-02-26 11:30 UTC] Node: a\n\n[Thu 2026-02-26 11:31 UTC] hello",
            ["hello"],
        ),
        ("System: Debian 12\nIt hangs.", ["System: Debian 12\nIt hangs."]),
        (
            "Caveat: The messages below were generated by the user while running local commands. DO NOT x.\n\nWhy?",
            ["Why?"],
        ),
        ("Caveat: the pump is old.", ["Caveat: the pump is old."]),
        ("[cron:bfa4cc51-0b06 Hourly] Review the hour.\nCurrent time: noon", []),
        ('GatewayRestart:\n{\n  "kind": "restart"\n}', []),
        (
            "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nIt ended.\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\n\nThanks!",
            ["Thanks!"],
        ),
        (
            "[media attached 1/2: /in/a.jpg (image/jpeg) | /in/a.jpg]\nTo send an image back, prefer the message tool"
            ' (media).\nLike this.\n\n<file name="b.html" mime="text/plain">\n<b>Pump</b>\n</file>',
            ["Like this."],
        ),
        ("Put it into <file>a.txt</file>", ["Put it into <file>a.txt</file>"]),
        (
            "Why does it say Read HEARTBEAT.md if it exists?",
            ["Why does it say Read HEARTBEAT.md if it exists?"],
        ),
    ],
)
def test_what_a_program_sends_in_the_users_name_is_not_said(sent: str, said: list[str]) -> None:
    assert [message.text for message in read(lines(pi("user", sent)))[0]] == said


def test_what_a_sub_agent_of_codex_was_told_is_not_said() -> None:
    of_other = codex("session_meta", id="0200", source={"subagent": "review"})
    of_this = codex("session_meta", id="0199", source="cli")
    asked = codex_message("user", "Look at the diff")
    assert read(lines(of_other, of_this, asked))[0] == []
    assert len(read(lines(of_this, of_other, asked))[0]) == 1


@pytest.mark.parametrize("before", ["", "[Retry after the previous model attempt failed]\n\n"])
def test_what_a_sub_agent_of_openclaw_was_told_is_not_said(before: str) -> None:
    told = f"{before}[Fri 2026-05-15 16:22 UTC] [Subagent Context] You are running as a subagent (depth 1/1)."
    assert read(lines(pi("user", told), pi("assistant", "I looked.")))[0] == []
    later = read(lines(pi("user", "Where?"), pi("user", told), pi("assistant", "Here.")))[0]
    assert [message.text for message in later][-1] == "Here."


def test_traces_of_openclaw_are_left_out(store: HybridStore, notes: Callable[..., Path]) -> None:
    trace = json.dumps({"traceSchema": "openclaw-trajectory", "sessionId": "1"})
    folder = notes({"a.jsonl": lines(pi("user", "Where?")), "a.trajectory.jsonl": trace})
    report = Ingest(store, patterns=["*.jsonl"]).run([str(folder)])
    assert (report.files, report.skipped_by["generated"]) == (1, 1)


@pytest.mark.parametrize(
    "broken",
    ["{", "[" * 100_000],
    ids=["cut", "deep"],
)
def test_broken_lines_are_counted_and_the_rest_is_read(broken: str) -> None:
    messages, transcript = read(
        lines(
            pi("user", "one"),
            broken,
            "",
            "[]",
            '"text"',
            "7",
            {"type": "message"},
            pi("user", "two"),
        )
    )
    assert [message.text for message in messages] == ["one", "two"]
    assert transcript.left_out == 1


def test_line_that_is_still_being_written_is_no_broken_one() -> None:
    data = lines(pi("user", "one"), pi("user", "two"))
    messages, transcript = read(data[:-10])
    assert ([message.text for message in messages], transcript.left_out) == (["one"], 0)
    messages, _ = read(data[:-1])  # complete but for its end
    assert [message.text for message in messages] == ["one", "two"]


def test_too_long_a_line_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 1000)
    messages, transcript = read(lines(pi("user", "one"), pi("user", "x" * 5000), pi("user", "two")))
    assert [(message.line, message.text) for message in messages] == [(1, "one"), (3, "two")]
    assert transcript.left_out == 1


@pytest.mark.parametrize(
    ("timestamp", "date"),
    [
        ("2026-03-05T23:59:59Z", "2026-03-05"),
        (1772755199000, "2026-03-05"),
        ("yesterday", ""),
    ],
)
def test_date_is_that_of_the_first_message(timestamp: Any, date: str) -> None:
    assert read(lines(pi("user", "one", timestamp=timestamp)))[1].date == date


# Chunks


def said(*texts: str, title: str = "") -> list[TranscriptMessage]:
    return [
        TranscriptMessage(number, (USER, "Assistant")[number % 2 == 0], text, title)
        for number, text in enumerate(texts, 1)
    ]


def test_short_messages_share_a_chunk_and_long_ones_are_cut() -> None:
    found = list(chunks(said("one", "two", "three " * 40, "four"), 60, 10))
    assert (found[0].text, found[0].start_line, found[0].end_line) == (
        "User: one\n\nAssistant: two",
        1,
        2,
    )
    assert all(
        chunk.text.startswith("User: ") and chunk.start_line == chunk.end_line == 3
        for chunk in found[1:-2]
    )
    assert found[-1].text.endswith("Assistant: four")
    assert found[-1].end_line == 4
    assert [chunk.index for chunk in found] == list(range(len(found)))


def test_title_is_the_heading_and_a_new_one_begins_a_chunk() -> None:
    found = list(chunks([*said("one"), *said("two", title="T")], 500, 50))
    assert [(chunk.heading, chunk.heading_path) for chunk in found] == [("", ""), ("T", "T")]


@settings(deadline=None)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=300), max_size=12
    ),
    st.integers(1, 200),
    st.integers(0, 50),
)
def test_chunks_hold_all_words_are_no_larger_than_asked_and_only_the_last_changes(
    texts: list[str], size: int, overlap: int
) -> None:
    messages = said(*(text for text in texts if text.strip()))
    overlap = min(overlap, size - 1)
    found = list(chunks(messages, size, overlap))
    together = " ".join(chunk.text for chunk in found)
    if size > 40:
        assert all(len(chunk.text) <= size for chunk in found if "#" not in chunk.text)
        assert {
            word for message in messages for word in message.text.split() if len(word) < 10
        } <= set(together.replace("User: ", " ").replace("Assistant: ", " ").split()) | set(
            together.split()
        )
    for count in range(len(messages)):
        shorter = list(chunks(messages[:count], size, overlap))
        assert shorter[:-1] == found[: max(len(shorter) - 1, 0)]


# In the store

Write = Callable[..., Path]


@pytest.fixture
def session(tmp_path: Path) -> Write:
    """Write a transcript below a folder named logs, last changed so many seconds ago."""

    def write(name: str, records: Iterable[Record | str], ago: float = 7200.0) -> Path:
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines(*records))
        os.utime(path, (time.time() - ago,) * 2)
        return path

    return write


def ingest(store: HybridStore, *paths: Path, **options: Any) -> Report:
    return Ingest(store, **{"patterns": ["*.jsonl"], "incremental": True} | options).run(
        [str(path) for path in paths]
    )


def talk(start: int, stop: int) -> list[Record]:
    return [
        pi("user" if i % 2 else "assistant", f"Message {i} is about the number {i}. " * 3)
        for i in range(start, stop)
    ]


def test_transcripts_go_into_sessions_and_notes_beside_them_do_not(
    store: HybridStore, session: Write, tmp_path: Path
) -> None:
    path = session(
        "main/2026-03-01-talk.jsonl",
        [
            {"type": "session_info", "name": "GPU talk"},
            pi("user", "the gpu"),
            "{",
            pi("assistant", "a kettle"),
        ],
    )
    (tmp_path / "logs/a.md").write_text("dog")
    report = ingest(store, tmp_path / "logs", patterns=["*.md", "*.jsonl"])
    assert ids(store) == ["logs/a.md", "sessions/main/2026-03-01-talk.jsonl"]
    assert (report.files, report.embedded, report.pending) == (2, 2, 0)
    assert report.warnings == [
        {
            "path": str(path),
            "reason": "lines left out because they are not JSON or too long: 1",
            "kind": "lines",
        }
    ]
    [hit] = store.search("kettle", mode="keyword")
    assert hit["text"] == "User: the gpu\n\nAssistant: a kettle"
    assert (hit["heading"], hit["path"], hit["start_line"], hit["end_line"]) == (
        "GPU talk",
        str(path),
        2,
        4,
    )
    assert (hit["collection"], hit["date"], hit["metadata"]) == (
        "sessions",
        "2026-03-05",  # that of its messages, not that of the path
        {"title": "GPU talk"},
    )
    assert all(finding.ok is not False for finding in examine(store))
    path.unlink()
    session("other.jsonl", [pi("user", "new")])
    assert refresh(store).removed == 1
    assert ids(store) == ["logs/a.md", "sessions/other.jsonl"]


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2026-02-01.jsonl", "2026-02-01"),
        ("abcd2012-12f0-4abc.jsonl", "2026-03-05"),
        ("2026-02/talk.jsonl", "2026-03-05"),
    ],
)
def test_a_document_is_dated_by_the_day_in_the_path_before_that_of_the_first_message(
    store: HybridStore, session: Write, tmp_path: Path, name: str, date: str
) -> None:
    session(name, [pi("user", "gpu")])
    ingest(store, tmp_path / "logs")
    assert documents(store)["documents"][0]["date"] == date
    assert store.search("gpu")[0]["date"] == "2026-03-05"


def test_secrets_reach_neither_the_database_nor_the_embedder(
    store: HybridStore, session: Write, embedder: TopicEmbedder, db_path: str, tmp_path: Path
) -> None:
    key = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
    session(
        "a.jsonl",
        [
            {"type": "session_info", "name": f"key {key}"},
            pi("user", f"my key: {key}"),
            pi("assistant", "# " + key + "\n" + "x " * 900),
        ],
    )
    ingest(store, tmp_path / "logs")
    store.storage.connection.execute("pragma wal_checkpoint(truncate)")
    assert key[:20].encode() not in Path(db_path).read_bytes()
    assert not any(key[:20] in document for document in embedder.documents)
    assert any("[redacted]" in document for document in embedder.documents)


def test_session_that_goes_on_is_taken_when_there_is_enough_news(
    store: HybridStore, session: Write, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    session("a.jsonl", talk(0, 10), ago=0)
    assert ingest(store, folder).files == 1  # new
    session("a.jsonl", talk(0, 59), ago=0)
    assert (ingest(store, folder).skipped, ingest(store, folder, incremental=False).skipped) == (
        1,
        1,
    )
    assert all(finding.ok is not False for finding in examine(store))
    result = {"type": "message", "message": {"role": "toolResult", "content": "x" * 100_000}}
    session("a.jsonl", [*talk(0, 59), result], ago=0)
    assert ingest(store, folder).files == 1  # 100 KB
    session("a.jsonl", talk(0, 61), ago=0)
    assert ingest(store, folder).files == 1  # rewritten
    session("a.jsonl", talk(0, 62), ago=0)
    assert refresh(store).skipped == 1
    assert ingest(store, folder, everything=True).files == 1
    session("a.jsonl", talk(0, 63), ago=3601)
    assert any("1 note of" in finding.text for finding in examine(store))
    assert ingest(store, folder).files == 1  # quiet for an hour


def test_only_the_tail_of_a_session_that_goes_on_is_written_and_embedded(
    store: HybridStore, session: Write, embedder: TopicEmbedder, tmp_path: Path
) -> None:
    session("a.jsonl", talk(0, 100))
    ingest(store, tmp_path / "logs")
    before = store.storage.connection.execute(
        "select id, embedding from chunks order by id"
    ).fetchall()
    asked = len(embedder.documents)
    session("a.jsonl", talk(0, 103))
    report = ingest(store, tmp_path / "logs")
    after = store.storage.connection.execute(
        "select id, embedding from chunks order by id"
    ).fetchall()
    assert after[: len(before) - 1] == before[:-1]
    assert len(embedder.documents) - asked == report.chunks <= 3
    assert report.pending == 0
    assert all(finding.ok is not False for finding in examine(store))
    with HybridStore(":memory:", embedder=TopicEmbedder()) as fresh:
        ingest(fresh, tmp_path / "logs")
        contents = "select chunk_id, heading_path, content, start_line, end_line, content_hash, embedding from chunks order by id"
        assert (
            fresh.storage.connection.execute(contents).fetchall()
            == store.storage.connection.execute(contents).fetchall()
        )
        assert indexed_words(fresh.storage.connection) == indexed_words(store.storage.connection)


def test_large_transcript_needs_little_memory(session: Write, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    result = pi("toolResult", "x" * 200_000)
    with path.open("wb") as file:
        for number in range(150):
            file.write(lines(*talk(number * 10, number * 10 + 10), result))
    code = (
        "import resource, sys; from hybrid_memory import HybridStore; from hybrid_memory.sync.ingest import Ingest\n"
        "store = HybridStore(sys.argv[1], {'provider': 'none', 'max_file_bytes': 1})\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "report = Ingest(store).run([sys.argv[2]])\n"
        "print(report.chunks, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "large.db"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found, grown = map(int, done.stdout.split())
    assert found > 300
    unit = 1 if sys.platform == "darwin" else 1024
    assert grown * unit < path.stat().st_size / 2


def cursor(role: str, said: str) -> Record:
    return {"role": role, "message": {"content": text(said)}}


def gemini(role: str, said: str) -> Record:
    kind = {"user": "user", "assistant": "gemini"}[role]
    return {"id": said[:12], "type": kind, "content": said}


FORMS = [pi, claude, codex_message, cursor, gemini]
EVENTS = (
    "user user assistant assistant long day untimed again title meta subagent broken asked".split()
)


def session_of(form: Callable[[str, str], Record], events: list[str]) -> list[bytes]:
    """The lines of a session in which these events happen, one after the other."""
    records: list[Record | str] = []
    said: list[Record] = []
    for number, event in enumerate(events):
        if event in ("user", "assistant", "long", "day", "untimed"):
            role = "user" if event == "user" else "assistant"
            words = f"Message {number:03} about the pump. " * (90 if event == "long" else 9)
            said.append(form(role, words))
            if event == "untimed":
                said[-1].pop("timestamp", None)
            elif event == "day" and "timestamp" in said[-1]:
                said[-1]["timestamp"] = f"2026-03-{6 + number:02}T10:00:00.000Z"
            records.append(said[-1])
        elif event == "again":  # Gemini CLI repeats a message that changed
            records += said[number % len(said) :][:1] if said else []
        elif event == "asked":
            records += [form("user", f"Which pump is it in hall {'ab'[number % 2]}?"), RECALLED]
            records.append(form("assistant", f"It is pump {number}. " * 20))
        elif event == "title":
            records.append({"type": "session_info", "name": f"Talk {number}"})
        elif event == "broken":
            records.append("{not json")
        else:
            records.append(codex("session_meta", thread_source=event))
    return lines(*records).splitlines(keepends=True)


def grown(number: int) -> bytes:
    """A session of any form, in which anything but a call of a subagent happens."""
    chance = random.Random(number)
    events = [event for event in EVENTS if event not in ("subagent", "meta")]
    return b"".join(session_of(chance.choice(FORMS), chance.choices(events, k=20)))


def stored(store: HybridStore) -> list[Any]:
    conn = store.storage.connection
    columns = "chunk_id, heading, content, start_line, end_line, date, role, indexed"
    return [
        conn.execute(f"select {columns} from chunks order by id").fetchall(),
        conn.execute(
            "select file_size, content_hash, date, metadata, chunk_count from documents"
        ).fetchall(),
        conn.execute("insert into chunks_fts (chunks_fts) values ('integrity-check')").fetchall(),
    ]


@pytest.mark.parametrize("number", range(6))
def test_a_session_that_grew_is_stored_like_one_that_is_new(
    store: HybridStore, tmp_path: Path, number: int
) -> None:
    whole, chance = grown(number), random.Random(number)
    path = tmp_path / "logs" / "a.jsonl"
    path.parent.mkdir()
    for size in sorted([*(chance.randrange(len(whole)) for _ in range(4)), len(whole)]):
        path.write_bytes(whole[:size])
        ingest(store, path, everything=True)
    with HybridStore(str(tmp_path / "new.db"), {"provider": "none"}) as new:
        ingest(new, path)
        assert stored(store) == stored(new)


def resumed(data: bytes, size: int) -> tuple[Any, ...]:
    """What is stored of a session that was read at this size, and then as it is."""
    before = Transcript(io.BytesIO(data[:size]), size)
    found = list(chunks(before, 400, 0))
    first_date = next((chunk.date for chunk in found if chunk.date), "")
    place = Resumption.after(
        (
            (f"a-{chunk.index}", chunk.start_line, chunk.end_line, chunk.heading, chunk.date)
            for chunk in reversed(found)
        ),
        first_date,
    )
    now = Transcript(io.BytesIO(data), len(data))
    kept = 0
    if place and now.skip_to(place, before.hashed_size, before.digest):
        kept = place.number
    found[kept:] = chunks(now, 400, 0, kept)
    return found, now.title, now.date, now.digest


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(FORMS), st.lists(st.sampled_from(EVENTS), min_size=3, max_size=12))
@example(gemini, ["user", "assistant", "long", "long", "again"])
def test_a_session_that_is_read_on_is_like_one_that_is_read_whole(
    form: Callable[[str, str], Record], events: list[str]
) -> None:
    session = session_of(form, events)
    data = b"".join(session)
    whole = resumed(data, 0)
    for count in range(1, len(session)):
        assert resumed(data, len(b"".join(session[:count]))) == whole


def test_an_ingest_of_a_large_session_goes_on_after_a_kill(session: Write, tmp_path: Path) -> None:
    path = session("a.jsonl", talk(0, 1500))
    code = (
        "import os, signal, sys; from hybrid_memory import HybridStore; from hybrid_memory.sync import ingest\n"
        "portion, left = ingest._portion, iter(range(1, 110))\n"
        "def until_killed(*args):\n"
        "    for row in portion(*args):\n"
        "        yield row if next(left, None) else os.kill(os.getpid(), signal.SIGKILL)\n"
        "ingest.PORTION, ingest._portion = 20, until_killed\n"
        "ingest.Ingest(HybridStore(sys.argv[1], {'provider': 'none'})).run([sys.argv[2]])"
    )
    database = str(tmp_path / "killed.db")
    assert subprocess.run([sys.executable, "-c", code, database, str(path)]).returncode == -9
    with (
        HybridStore(database, {"provider": "none"}) as store,
        HybridStore(str(tmp_path / "new.db"), {"provider": "none"}) as new,
    ):
        before = store.storage.chunks.count()
        ingest(new, path)
        assert 20 <= before <= 110 < new.storage.chunks.count()
        assert ingest(store, path).chunks <= new.storage.chunks.count() - before + 1
        assert stored(store) == stored(new)


@pytest.mark.parametrize("change", [b"Massage 3 ", b"longer than before "])
def test_a_session_whose_beginning_changed_is_read_whole(
    store: HybridStore, session: Write, tmp_path: Path, change: bytes
) -> None:
    path = session("a.jsonl", talk(0, 30))
    ingest(store, path)
    path.write_bytes(path.read_bytes().replace(b"Message 3 ", change) + lines(*talk(30, 32)))
    ingest(store, path, everything=True)
    with HybridStore(str(tmp_path / "new.db"), {"provider": "none"}) as new:
        ingest(new, path)
        assert stored(store) == stored(new)


def test_a_line_that_is_added_to_a_long_session_is_parsed_almost_alone(
    store: HybridStore, session: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session("a.jsonl", talk(0, 200))
    ingest(store, path)
    parsed = []
    record = Transcript._record
    monkeypatch.setattr(
        Transcript, "_record", lambda self, line: parsed.append(line) or record(self, line)
    )
    path.write_bytes(path.read_bytes() + lines(*talk(200, 201)))
    assert ingest(store, path, everything=True).chunks == 1
    assert b"Message 200 " in parsed[-1] and len(parsed) < 8


def test_white_space_of_what_was_said_is_plain_and_code_keeps_its_indentation() -> None:
    said = "\ufeff  The\u00a0GPU\u202f  \tserver  \r\n\r\n \t\r\n\n\nhums.\n\n```\n    if x:\t\n\n        y()\n```\n\n"
    [message] = read(lines(pi("user", text(said))))[0]
    assert message.text == "The GPU server\n\nhums.\n\n```\n    if x:\n\n        y()\n```"


def test_a_file_in_an_unknown_form_is_warned_of_and_the_known_ones_are_named(
    store: HybridStore, session: Write
) -> None:
    path = session("rows.jsonl", [{"role": "user", "content": "gpu"}])
    report = ingest(store, path)
    assert report.chunks == 0
    assert report.warnings == [
        {
            "path": str(path),
            "reason": "no line has the form of a session transcript of OpenClaw, pi, Claude Code, Codex, Cursor or Gemini CLI: nothing was ingested",
            "kind": "form",
        }
    ]


@pytest.mark.parametrize(
    "records", [[], [codex("session_meta", id="0199", source="cli")], [pi("assistant", "NO_REPLY")]]
)
def test_a_session_in_which_nothing_was_said_yet_is_not_warned_of(
    store: HybridStore, session: Write, records: list[Record]
) -> None:
    report = ingest(store, session("a.jsonl", records))
    assert (report.chunks, report.warnings) == (0, [])


def test_transcripts_of_subagents_are_counted_as_such(
    store: HybridStore, notes: Callable[..., Path]
) -> None:
    side = claude("user", "Search the code") | {"isSidechain": True}
    main = claude("user", "Where is the pump?")
    folder = notes({"a.jsonl": lines(side), "b.jsonl": lines(main, side)})
    report = Ingest(store, patterns=["*.jsonl"]).run([str(folder)])
    assert (report.files, report.skipped_by["subagent"]) == (1, 1)
    assert report.left_out() == ["without text: 1 transcript of a subagent"]
    again = Ingest(store, patterns=["*.jsonl"], incremental=True).run([str(folder)])
    assert (again.files, again.skipped_by["unchanged"]) == (0, 2)
