"""Answers that an agent read from a note stand after the note, in however many sessions they are."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.formats.inserted import HEADING
from hybrid_memory.extras.recall.passages import recalled
from hybrid_memory.extras.recall.state import RecallSession
from hybrid_memory.sync.ingest import Ingest

SESSIONS = 20
# For each fact: its note, the old and the new value, the question of today, and questions of earlier
# sessions. The answers are made by all patterns in turn.
FACTS = [
    (
        "The staging machine is called heron; its SSH port is {}, and logins are by key only.",
        ("2207", "2300"),
        "Which SSH port does heron have?",
        """which ssh port does heron use again?
what port do I ssh into heron on?
heron ssh port?
remind me of the SSH port of heron
Which port does heron's SSH listen on?
I need the ssh port for heron
ssh to heron: which port?
what was heron's SSH port""",
    ),
    (
        "The harbour pilot is {}, and the deputy is Yngve.",
        ("Solveig", "Torbjorn"),
        "Who is the harbour pilot?",
        """who's our harbour pilot again?
what is the name of the harbour pilot?
harbour pilot?
tell me who the harbour pilot is
I forgot who the pilot of the harbour is
Who do I call, the harbour pilot is whom?
name of our pilot in the harbour""",
    ),
    (
        "Backups of the billing database are kept for {} days in the cellar.",
        ("thirty", "ninety"),
        "How long do we keep backups of the billing database?",
        """for how many days do we keep billing backups?
billing database backups: how long?
how long are the backups of billing kept?
remind me how long we keep the backups of the billing database
what's the retention of our billing backups?
do you know how long backups of the billing database stay?""",
    ),
    (
        "The reading group meets on {} in the old library.",
        ("Tuesday", "Thursday"),
        "When does our reading group meet?",
        """when is the reading group?
what day does the reading group meet on?
reading group, which day?
which evening is our reading group in the library?
tell me when our reading group meets again
I need the day of the reading group""",
    ),
    (
        "We chose {} as the queue of the invoicing service, because it is easy to run.",
        ("RabbitMQ", "NATS"),
        "What did we choose as the queue of the invoicing service?",
        """which queue does the invoicing service use?
what queue did we choose for invoicing?
invoicing service queue?
remind me which queue we chose for the invoicing service
what is the invoicing queue again?
which message queue is behind our invoicing service?""",
    ),
]
ANSWERS = [
    "It is {}, as your note of the twentieth says.",
    "{}.",
    "Your notes say {}.",
    "That was {}; you wrote it down on the twentieth.",
    "According to memory/2026-11-20.md it is {}.",
]
FILLER = "".join(
    f"\n## Topic {number}\n\nThe {thing} of the north hall is checked by {who} on the {number}th.\n"
    for number, (thing, who) in enumerate(
        zip(
            "crane lift oven pump kiln press gate lamp".split(),
            "Asta Bo Cid Dag Eva Fay Geir Hal".split(),
            strict=True,
        ),
        3,
    )
)


def said(number: int, question: str, answer: str) -> str:
    rows = [
        {"type": kind, "timestamp": f"2026-11-{number % 9 + 20}T10:00:00Z", "message": message}
        for kind, message in (
            ("user", {"role": "user", "content": question}),
            ("assistant", {"role": "assistant", "content": [{"type": "text", "text": answer}]}),
        )
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def memories(folder: Path, fact: int, is_corrected: bool) -> Iterator[HybridStore]:
    """Yield a memory of a note with 1 to SESSIONS sessions in which it was asked for."""
    text, (old, new), _, questions = FACTS[fact]
    asked = questions.split("\n")
    notes = folder / "memory"
    sessions = folder / "sessions"
    for path in (notes, sessions):
        path.mkdir()
    value = new if is_corrected else old
    (notes / "2026-11-20.md").write_text(
        f"# 2026-11-20\n\n## First\n\n{text.format(value)}\n{FILLER}"
    )
    with HybridStore(folder / "m.db", {"provider": "builtin"}) as store:
        Ingest(store).run([str(notes)])
        for number in range(SESSIONS):
            question = asked[number % len(asked)]
            if number >= len(asked):
                question = f"Hello, {question} It is for Bo, number {number}."
            answer = ANSWERS[number % len(ANSWERS)].format(old)
            (sessions / f"s{number}.jsonl").write_text(said(number, question, answer))
            Ingest(store, patterns=["*.jsonl"], incremental=True, everything=True).run(
                [str(sessions)]
            )
            yield store


@pytest.mark.parametrize("is_corrected", [False, True])
def test_the_note_is_first_for_95_of_100_questions(tmp_path: Path, is_corrected: bool) -> None:
    first_of_recall, first_of_search = 0, 0
    for fact, (_, _, question, _) in enumerate(FACTS):
        folder = tmp_path / str(fact)
        folder.mkdir()
        for store in memories(folder, fact, is_corrected):
            shown = recalled(store, question, RecallSession(""))
            first_of_recall += bool(shown) and shown[0]["doc_id"] == "memory/2026-11-20.md"
            first_of_search += store.search(question)[0]["doc_id"] == "memory/2026-11-20.md"
    assert min(first_of_recall, first_of_search) >= 95, (first_of_recall, first_of_search)


def test_a_session_that_knows_more_than_the_notes_stays_first(tmp_path: Path) -> None:
    for name in ("memory", "sessions"):
        (tmp_path / name).mkdir()
    (tmp_path / "memory/boat.md").write_text(f"# Boat\n\nThe boat was bought in 2019.\n{FILLER}")
    statement = "Anna chose green as the colour of the boat, which kept us busy until noon."
    (tmp_path / "sessions/s.jsonl").write_text(said(1, statement, "Noted."))
    with HybridStore(tmp_path / "m.db", {"provider": "builtin"}) as store:
        Ingest(store, patterns=["*.md", "*.jsonl"]).run([str(tmp_path)])
        [first, *_] = recalled(
            store, "Which colour did Anna choose for the boat?", RecallSession("")
        )
        assert "green" in first["text"]


def test_what_a_user_states_in_a_question_is_found(tmp_path: Path) -> None:
    row = {"type": "attachment", "attachment": {"content": [HEADING]}}
    question = "Which config do I need now that SSH on heron uses port 2301?"
    asked, answered = said(1, question, "Your note does not say.").splitlines()
    (tmp_path / "s.jsonl").write_text("\n".join([asked, json.dumps(row), answered, ""]))
    with HybridStore(tmp_path / "m.db", {"provider": "builtin"}) as store:
        Ingest(store, patterns=["*.jsonl"]).run([str(tmp_path)])
        [first, *_] = recalled(store, "Which SSH port does heron use?", RecallSession(""))
        assert "2301" in first["text"]


@pytest.mark.parametrize("name", ["{}.jsonl", "rollout-2026-11-28T16-10-35-{}.jsonl"])
def test_the_running_session_is_not_recalled(tmp_path: Path, name: str) -> None:
    session = "01a2b3c4-0000-4000-8000-000000000001"
    path = tmp_path / name.format(session)
    path.write_text(said(1, "Heron's SSH moved to port 2301.", "Noted."))
    with HybridStore(tmp_path / "m.db", {"provider": "builtin"}) as store:
        Ingest(store, patterns=["*.jsonl"]).run([str(tmp_path)])
        asked = "Which SSH port does heron use?"
        assert recalled(store, asked, RecallSession(session)) == []
        assert recalled(store, asked, RecallSession("another")) != []
