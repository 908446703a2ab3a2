"""The transcripts that `init --sessions` takes in, and later updates: those of the workspace, and no others."""

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run, answer

WORDS = ("walnut", "pistachio", "cashew", "almond", "hazelnut", "pecan")
# The workspace, and the folders of other sessions; Claude Code gives most of them one folder name
NEIGHBOURS = {
    "Проект": ["Привет", "------"],
    "my_app": ["my-app", "my.app", "my app", "my_app2"],
    "project/part": [".", "project", "project/other", "project/part2", "project-part"],
}


@pytest.fixture
def home(tmp_path: Path, environ: dict[str, str]) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    environ |= {"HOME": str(home), "HYBRID_MEMORY_PROVIDER": "none"}
    return home


def claude_name(path: Path) -> str:
    """The name of the folder that Claude Code gives the sessions of a path."""
    units = str(path).encode("utf-16-le")
    characters = [
        units[at : at + 2].decode("utf-16-le", "replace") for at in range(0, len(units), 2)
    ]
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in characters)


def say(path: Path, word: str, **fields: Any) -> None:
    """Write a transcript in which a word is said."""
    path.parent.mkdir(parents=True, exist_ok=True)
    message = {"role": "user", "content": f"our secret word is {word}"}
    lines = [{"type": "mode", "sessionId": word}, {"type": "user", "message": message} | fields]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def claude_says(home: Path, cwd: Path, word: str) -> None:
    folder = home / ".claude/projects" / claude_name(cwd)
    say(folder / f"{word}.jsonl", word, cwd=str(cwd))


def notes(top: Path) -> Path:
    (top / "memory").mkdir(parents=True, exist_ok=True)
    (top / "memory/a.md").write_text("# A\n\nA note.\n")
    return top


def said(run: Run, *options: str) -> set[str]:
    """The words of all transcripts that a search finds."""
    done = run("search", "secret word", "--limit", "50", "--per-doc", "0", "--json", *options)
    text = " ".join(hit["text"] for hit in answer(done))
    return {word for word in WORDS if word in text}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_only_sessions_of_the_workspace_are_in_now_and_later(
    run: Run, home: Path, name: str
) -> None:
    top = notes(home / name)
    for word, neighbour in zip(WORDS[1:], NEIGHBOURS[name], strict=False):
        (home / neighbour).mkdir(parents=True, exist_ok=True)
        claude_says(home, home / neighbour, word)
    done = run("init", str(top), "--yes", "--sessions")
    assert not [place for place in answer(done)["found"] if place["kind"] == "sessions"]
    assert said(run) == set()

    claude_says(home, top, "walnut")
    done = run("init", str(top), "--sessions")
    [place] = [place for place in answer(done)["found"] if place["kind"] == "sessions"]
    assert (place["files"], place["taken"]) == (1, True)
    assert said(run) == {"walnut"}

    for number, neighbour in enumerate(NEIGHBOURS[name]):  # new ones, with other names of folders
        folder = home / ".claude/projects" / (claude_name(top) if number % 2 else f"new-{number}")
        say(folder / "new.jsonl", "pecan", cwd=str(home / neighbour))
    assert said(run, "--refresh") == {"walnut"}
    say(home / ".claude/projects/renamed/own.jsonl", "hazelnut", cwd=str(top / "src"))
    for command in (("update",), ("ingest", "--incremental")):
        assert answer(run(*command))["errors"] == []
        assert said(run) == {"walnut", "hazelnut"}


def test_transcripts_that_name_no_folder_are_left_out_counted_and_named(
    run: Run, home: Path
) -> None:
    top = notes(home / "my_app")
    claude_says(home, top, "walnut")
    folder = home / ".claude/projects" / claude_name(top)
    say(folder / "nowhere.jsonl", "pistachio")
    done = run("init", str(top), "--yes", "--sessions")
    assert said(run) == {"walnut"}
    assert answer(done)["unknown_sessions"] == [str(folder / "nowhere.jsonl")]
    assert (
        "hybrid-memory: left out: nowhere.jsonl; 1 transcript does not record the folder in which "
        "the session began; ingest one with `hybrid-memory ingest --path FILE`"
    ) in done.stderr.splitlines()
    assert answer(run("update"))["skipped_by"]["unknown workspace"] == 1
    assert "1 unknown workspace (nowhere.jsonl)" in run("doctor").stdout
    why = json.loads(run("why", str(folder / "nowhere.jsonl")).stdout)
    assert (why["rule"], why["way_out"]) == (
        "unknown workspace",
        f"`hybrid-memory ingest --path {folder / 'nowhere.jsonl'}` ingests it",
    )
    answer(run("ingest", "--path", str(folder / "nowhere.jsonl")))  # which is a choice
    assert said(run) == {"walnut", "pistachio"}


def test_why_tells_of_a_session_of_another_workspace(run: Run, home: Path) -> None:
    top = notes(home / "my_app")
    claude_says(home, top, "walnut")
    claude_says(home, home / "my-app", "pistachio")
    run("init", str(top), "--yes", "--sessions")
    foreign = home / ".claude/projects" / claude_name(top) / "pistachio.jsonl"
    why = json.loads(run("why", str(foreign)).stdout)
    assert (why["rule"], why["in_memory"]) == ("other workspace", False)


def test_the_sessions_of_openclaw_are_those_of_the_user(
    run: Run, home: Path, environ: dict[str, str]
) -> None:
    environ["OPENCLAW_HOME"] = str(home / "service")
    agents = home / "service/.openclaw/agents"
    say(agents / "main/sessions/a.jsonl", "walnut", cwd="/elsewhere")
    say(agents / "ops/sessions/b.jsonl", "pistachio")
    (agents / "empty").mkdir()
    done = run("init", str(notes(home / "ws")), "--yes", "--sessions")
    assert answer(done)["unknown_sessions"] == []
    assert said(run) == {"walnut", "pistachio"}


def test_two_workspaces_in_one_memory_have_their_own_sessions(
    run: Run, home: Path, tmp_path: Path
) -> None:
    for word, name in (("walnut", "my_app"), ("pistachio", "my-app"), ("cashew", "other")):
        claude_says(home, notes(home / name), word)
    db = ("--db", str(tmp_path / "one.db"))
    for name in ("my_app", "my-app"):
        answer(run("init", str(home / name), "--yes", "--sessions", *db))
    assert said(run, *db) == {"walnut", "pistachio"}
    again = answer(run("init", str(home / "my-app"), "--sessions", *db))
    assert again["reports"] == []
    answer(run("update", *db))
    assert said(run, *db) == {"walnut", "pistachio"}
    assert said(run, "--collection", "sessions-claude", *db) == {"walnut"}


@pytest.mark.both_engines
def test_a_later_ingest_of_the_folder_keeps_its_workspace(db_path: str, tmp_path: Path) -> None:
    top = tmp_path / "my_app"
    sessions = tmp_path / "sessions"
    say(sessions / "a.jsonl", "walnut", cwd=str(top))
    say(sessions / "b.jsonl", "pistachio", cwd=str(tmp_path))
    with HybridStore(db_path, {"provider": "none"}) as store:
        Ingest(store, patterns=["*.jsonl"], workspace=str(top)).run([str(sessions)])
        Ingest(store, patterns=["*.jsonl"]).run([str(sessions)])
        Ingest(store, incremental=True).update()
        [source] = store.storage.sources.all()
        assert source.workspace == str(top)
        assert [hit["doc_id"] for hit in store.search("secret")] == ["sessions/a.jsonl"]


def test_a_workspace_takes_out_what_does_not_belong_to_it(tmp_path: Path) -> None:
    top = tmp_path / "my_app"
    sessions = tmp_path / "sessions"
    say(sessions / "a.jsonl", "walnut", cwd=str(top))
    say(sessions / "b.jsonl", "pistachio", cwd=str(tmp_path))
    with HybridStore(tmp_path / "m.db", {"provider": "none"}) as store:
        Ingest(store, patterns=["*.jsonl"]).run([str(sessions)])
        assert store.stats()["doc_count"] == 2
        Ingest(store, patterns=["*.jsonl"], workspace=str(top)).run([str(sessions)])
        assert [hit["doc_id"] for hit in store.search("secret")] == ["sessions/a.jsonl"]
