"""What `doctor --audit` lists of a memory that rots."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.audit import HUGE, SHOWN, audit, looks_real
from hybrid_memory.sync.ingest import Ingest
from tests.extras.secret_table import SECRETS

PARAGRAPH = (
    "The backup of the photo archive runs every night at three o'clock from the small server to the disk "
    "in the cellar, keeps seven daily copies and four weekly ones, and writes its log to the usual folder."
)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def listed(folder: Path) -> dict[str, dict[str, str]]:
    """The notes of all places, by kind and citation."""
    with HybridStore(":memory:", {"provider": "none"}) as store:
        Ingest(store).run([str(folder)], None)
        return {listing.kind: dict(listing.places) for listing in audit(store)}


def test_copies_are_listed_once_with_their_other_places(notes: Path) -> None:
    for name in "abc":
        (notes / f"{name}.md").write_text(f"{PARAGRAPH}\n")
    (notes / "d.md").write_text("# Log\n\n## To do\n")
    (notes / "e.md").write_text("# Log\n\n## To do\n")
    assert listed(notes)["copies"] == {
        "notes/a.md#L1-L1": "also in 2 other places: notes/b.md#L1-L1, notes/c.md#L1-L1"
    }


def test_near_copies_are_listed_and_no_others(notes: Path) -> None:
    (notes / "a.md").write_text(f"{PARAGRAPH}\n")
    (notes / "b.md").write_text(f"{PARAGRAPH.replace('three', 'four')}\n")
    (notes / "c.md").write_text(
        "The backup of the kitchen recipes is on paper, in the drawer below the stove.\n"
    )
    assert listed(notes)["near copies"] == {"notes/b.md#L1-L1": "95% the words of notes/a.md#L1-L1"}


def test_the_first_of_some_copies_stands_for_all_among_near_copies(notes: Path) -> None:
    (notes / "a.md").write_text(f"{PARAGRAPH.replace('three', 'four')}\n")
    for name in "bc":
        (notes / f"{name}.md").write_text(f"{PARAGRAPH}\n")
    found = listed(notes)
    assert found["copies"].keys() == {"notes/b.md#L1-L1"}
    assert found["near copies"].keys() == {"notes/b.md#L1-L1"}


def test_a_secret_that_stands_twice_is_listed_twice(notes: Path) -> None:
    for name in "ab":
        (notes / f"{name}.md").write_text("key: sk-proj-aB3dE5gH7jK9mN1pQ2rS4tU6\n")
    assert listed(notes)["secrets"].keys() == {"notes/a.md#L1-L1", "notes/b.md#L1-L1"}


def test_templates_and_lists_of_links_are_no_near_copies(notes: Path) -> None:
    for name in ("ferry", "heron"):
        links = "".join(f"- [{word}](/guides/of-{name}/{word}.md)\n" for word in "abcdefghij")
        (notes / f"{name}.md").write_text(f"## Related\n\n{links}")
        install = (
            f"Install the plugin, then restart.\n\n```\nplugins install {name}\nrestart\n```\n"
        )
        (notes / f"{name}-install.md").write_text(f"## Install\n\n{install}")
    assert listed(notes)["near copies"] == {}


def test_what_metadata_or_the_note_itself_call_superseded(notes: Path) -> None:
    notes_by_name = {
        "1.md": "---\nstatus: superseded\n---\nWe use MySQL.\n",
        "2.md": "---\nsuperseded_by: '[[3]]'\n---\nWe use SQLite.\n",
        "3.md": "---\nsupersedes: [4]\nstatus: accepted\n---\nWe use PostgreSQL.\n",
        "4.md": "We use files.\n",
        "5.md": "# Use a queue\n\n## Status\n\nSuperseded by ADR 6\n",
        "6.md": "The old plan was superseded by this one. Status is fine.\n",
    }
    for name, text in notes_by_name.items():
        (notes / name).write_text(text)
    assert listed(notes)["superseded"] == {
        "notes/1.md": "its status is 'superseded'",
        "notes/2.md": "its metadata name a successor: 3",
        "notes/4.md": "notes/3.md supersedes it",
        "notes/5.md#L1-L5": "its text says so",
    }


def test_notes_that_no_link_leads_to_where_notes_are_linked(notes: Path) -> None:
    (notes / "a.md").write_text("See [[b]].\n")
    (notes / "b.md").write_text("Nothing.\n")
    (notes / "2026-01-05.md").write_text("A day.\n")
    assert list(listed(notes)["not linked"]) == ["notes/a.md"]
    (notes / "a.md").write_text("See b.\n")
    assert listed(notes)["not linked"] == {}


def test_secrets_are_cited_and_not_repeated(notes: Path) -> None:
    secret = "sk-proj-" + "aB3dE5gH7jK9mN1pQ2rS4tU6"
    (notes / "a.md").write_text(f"# Keys\n\nThe key is {secret}.\n")
    (notes / "b.md").write_text("The password is in the manager.\n")
    secrets = listed(notes)["secrets"]
    assert list(secrets) == ["notes/a.md#L1-L3"]
    assert secret not in str(secrets)


@pytest.mark.parametrize(
    "line",
    [
        'export OPENAI_API_KEY="example-openai-key-not-real"',
        "OLLAMA_API_KEY=ollama-local",
        'botToken: "123:abc"',
        'botToken: "xoxb-REPLACE_ME"',
        'profileId: "ghp_0123456789abcdef0123456789abcdef"',
        'webhookSecret: "abc123"',
        "export VENICE_API_KEY=vapi_xxxxxxxxxxxx",
        "| `MSTEAMS_APP_PASSWORD` | `appPassword` |",
        "| `HF_TOKEN` | `huggingface/deepseek-ai/DeepSeek-R1` |",
        'clientSecret: "secret-of-bot-2"',
        "curl https://user:pass@provider.example",
        "-----BEGIN PRIVATE KEY-----\n(your key, many lines)\n-----END PRIVATE KEY-----",
    ],
)
def test_what_documentation_writes_is_no_secret(notes: Path, line: str) -> None:
    (notes / "a.md").write_text(f"# Settings\n\n{line}\n")
    assert listed(notes)["secrets"] == {}


def test_most_secrets_of_the_table_look_real() -> None:
    """The others are words, such as swordfish, which documentation uses, too."""
    secrets = [row.partition("⟦")[2].partition("⟧")[0] for row in SECRETS]
    missed = [secret for secret in secrets if not looks_real(secret)]
    assert len(missed) <= 0.08 * len(secrets)
    long = [secret for secret in missed if len(secret) > 40 and not secret.startswith("-----")]
    assert long == []


def test_huge_notes_are_listed_the_longest_first(notes: Path) -> None:
    for name, size in (("a", 1.1), ("b", 1.3), ("c", 0.5)):
        words = " ".join(f"{name}{number}" for number in range(int(size * HUGE / 6)))
        (notes / f"{name}.md").write_text(words)
    assert list(listed(notes)["huge"]) == ["notes/b.md", "notes/a.md"]


def test_places_are_bounded_and_their_number_is_not(notes: Path) -> None:
    for number in range(SHOWN + 5):
        (notes / f"{number:02}.md").write_text(f"---\nstatus: obsolete\n---\nNote {number}\n")
    with HybridStore(":memory:", {"provider": "none"}) as store:
        Ingest(store).run([str(notes)], None)
        [superseded] = [listing for listing in audit(store) if listing.kind == "superseded"]
    assert (superseded.total, len(superseded.places)) == (SHOWN + 5, SHOWN)


def test_the_command_prints_json_and_is_no_failure(notes: Path, tmp_path: Path) -> None:
    (notes / "a.md").write_text("---\nstatus: obsolete\n---\nOld.\n")
    database = str(tmp_path / "a.db")
    with HybridStore(database, {"provider": "none"}) as store:
        Ingest(store).run([str(notes)], None)
    done = subprocess.run(
        [sys.executable, "-m", "hybrid_memory", "doctor", "--audit", "--db", database],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    listings = {listing["kind"]: listing for listing in json.loads(done.stdout)}
    assert list(listings) == [
        "copies",
        "near copies",
        "superseded",
        "not linked",
        "secrets",
        "huge",
        "unwritten",
    ]
    assert listings["superseded"]["total"] == 1
    assert listings["superseded"]["places"] == [
        {"citation": "notes/a.md", "note": "its status is 'obsolete'"}
    ]


def test_what_sessions_often_say_and_no_note_says_is_listed(tmp_path: Path, notes: Path) -> None:
    rule = "Please always deploy from the green branch after lunch."
    noted = "The bakery closes at noon on every public holiday."
    (notes / "a.md").write_text(f"# Notes\n\nAsk Priya. {noted}\n")
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    for number in range(4):
        texts = [
            rule,
            noted,
            "Then ask Priya, and not Halvorsen. Thank you!",
            f"It is day {number}.",
        ]
        if number < 2:
            texts.append("This one was only said in two of the sessions, with Juno.")
        lines = [
            {"type": "message", "message": {"role": "user", "content": text}} for text in texts
        ]
        (sessions / f"s{number}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    with HybridStore(tmp_path / "m.db", {"provider": "none"}) as store:
        Ingest(store).run([str(notes)])
        Ingest(store, patterns=["*.jsonl"]).run([str(sessions)])
        before = store.stats()
        [listing] = [listing for listing in audit(store) if listing.kind == "unwritten"]
        assert store.stats() == before
    assert [place.note.partition(" in ")[0] for place in listing.places] == [
        "'Halvorsen'",
        repr(rule),
        "'Then ask Priya, and not Halvorsen.'",
    ]
    assert all("in 4 sessions, also sessions/s1.jsonl#L" in place.note for place in listing.places)
    assert all(place.citation.startswith("sessions/s0.jsonl#L") for place in listing.places)
