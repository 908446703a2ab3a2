"""The table of agents: where each keeps its notes and transcripts, as its own program writes them."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.extras.hosts import END, START, hosts
from tests.command import Run, answer, as_process

QUESTION = "Which okapi paints the red lighthouse?"
REPLY = "The okapi Juno paints it."
PROJECT = "work"  # the workspace below the home; {slug} is its path with "-" for all but letters


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def blocks(text: str, kind: str = "text") -> list[dict[str, str]]:
    return [{"type": kind, "text": text}]


def claude(cwd: str) -> str:
    return lines(
        *(
            {"type": role, "sessionId": "s", "cwd": cwd, "message": {"content": blocks(text)}}
            for role, text in (("user", QUESTION), ("assistant", REPLY))
        )
    )


def codex(cwd: str) -> str:
    def said(role: str, text: str, kind: str) -> dict[str, Any]:
        message = {"type": "message", "role": role, "content": blocks(text, kind)}
        return {"type": "response_item", "payload": message}

    return lines(
        {"type": "session_meta", "payload": {"id": "s", "cwd": cwd}},
        said("user", QUESTION, "input_text"),
        said("assistant", REPLY, "output_text"),
    )


def pi(cwd: str) -> str:
    return lines(
        {"type": "session", "version": 3, "id": "s", "cwd": cwd},
        {"type": "message", "message": {"role": "user", "content": QUESTION}},
        {"type": "message", "message": {"role": "assistant", "content": blocks(REPLY)}},
    )


def cursor(cwd: str) -> str:
    query = f"<user_query>\n{QUESTION}\n</user_query>"
    return lines(
        {"role": "user", "message": {"content": blocks(query)}},
        {"role": "assistant", "message": {"content": blocks(REPLY)}},
    )


def gemini(cwd: str) -> str:
    reply = {"id": "b", "timestamp": "2026-11-01T10:00:00Z", "type": "gemini", "content": REPLY}
    return lines(
        {"sessionId": "s", "projectHash": "0", "startTime": "2026-11-01T10:00:00Z", "kind": "main"},
        {"id": "a", "timestamp": "2026-11-01T10:00:00Z", "type": "user", "content": [{"text": QUESTION}]},
        reply | {"content": ""},
        reply,
        reply | {"toolCalls": []},
        {"$set": {"lastUpdated": "2026-11-01T10:00:01Z"}},
    )  # fmt: skip


# host: the places of its notes, and the place and form of a transcript of the workspace
PLACES = {
    "claude": (
        [".claude/projects/{slug}/memory/MEMORY.md", ".claude/agent-memory/reviewer/MEMORY.md"],
        ".claude/projects/{slug}/0b1e.jsonl",
        claude,
    ),
    "codex": (
        [".codex/memories/MEMORY.md"],
        ".codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-0b1e.jsonl",
        codex,
    ),
    "openclaw": ([], ".openclaw/agents/main/sessions/0b1e.jsonl", pi),
    "cursor": ([], ".cursor/projects/{slug:-}/agent-transcripts/0b1e/0b1e.jsonl", cursor),
    "gemini": (
        [".gemini/tmp/work-1/memory/MEMORY.md", ".gemini/GEMINI.md"],
        ".gemini/tmp/work-1/chats/session-2026-11-01T10-00-0b1e.jsonl",
        gemini,
    ),
    "opencode": ([], ".local/state/hybrid-memory/transcripts/opencode/ses_1.jsonl", pi),
    "pi": ([], ".pi/agent/sessions/--home--/0b1e.jsonl", pi),
}
# host: a variable that moves its folder, and from where below the variable's folder
MOVED = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "openclaw": ("OPENCLAW_STATE_DIR", ".openclaw"),
    "gemini": ("GEMINI_CLI_HOME", ""),
    "opencode": ("XDG_STATE_HOME", ".local/state"),
    "pi": ("PI_CODING_AGENT_DIR", ".pi/agent"),
}


@pytest.fixture
def home(tmp_path: Path, environ: dict[str, str]) -> Path:
    environ |= {"HOME": str(tmp_path / "home"), "HYBRID_MEMORY_PROVIDER": "none"}
    environ.pop("XDG_STATE_HOME")  # below the home
    workspace = tmp_path / "home" / PROJECT
    workspace.mkdir(parents=True)
    (workspace / "AGENTS.md").write_text("# Agents\n\nRead the notes.\n")
    return tmp_path / "home"


def path_of(place: str, home: Path) -> Path:
    slug = re.sub("[^A-Za-z0-9]", "-", str(home / PROJECT))
    return home / place.replace("{slug:-}", slug.strip("-")).replace("{slug}", slug)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def fill(host: str, home: Path) -> list[str]:
    """Write the notes and a transcript of a host, and return the collections of the notes."""
    notes, transcript, form = PLACES[host]
    write(home / ".gemini/tmp/work-1/.project_root", str(home / PROJECT))
    write(home / ".gemini/tmp/other/.project_root", str(home / "elsewhere"))
    write(path_of(transcript, home), form(str(home / PROJECT)))
    for number, place in enumerate(notes):
        write(path_of(place, home), f"# Note {number}\n\nThe walnut {host} {number} is blue.\n")
    return notes


def call(environ: dict[str, str], home: Path, event: str, **fields: str) -> None:
    """Run `recall` as the hook of an event."""
    hook = {"hook_event_name": event, "session_id": "s", "cwd": str(home / PROJECT), **fields}
    done = as_process(("recall",), environ, home, input=json.dumps(hook))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_table_is_tried_whole() -> None:
    assert PLACES.keys() == hosts().keys()


@pytest.mark.parametrize("host", hosts())
def test_init_finds_what_a_host_keeps_for_a_workspace(host: str, home: Path, run: Run) -> None:
    notes = fill(host, home)
    answer(run("init", str(home / PROJECT), "--yes", "--sessions"))
    for number in range(len(notes)):
        [hit] = answer(run("search", f"walnut {host} {number}", "--limit", "1"))
        assert hit["doc_id"].startswith(f"memory-{host}")
    collection = "sessions" if host == "openclaw" else f"sessions-{host}"
    [hit] = answer(run("search", "okapi lighthouse", "--collection", collection))
    assert hit["text"] == f"User: {QUESTION}\n\nAssistant: {REPLY}"


@pytest.mark.parametrize("host", hosts())
def test_other_workspaces_stay_out(host: str, home: Path, run: Run) -> None:
    notes, transcript, form = PLACES[host]
    write(home / ".gemini/tmp/work-1/.project_root", str(home / "elsewhere"))
    other = re.sub("[^A-Za-z0-9]", "-", str(home / "elsewhere"))
    for place in notes[:1]:
        write(home / place.replace("{slug}", other), "# Note\n\nThe walnut is blue.\n")
    place = transcript.replace("{slug:-}", other.strip("-")).replace("{slug}", other)
    write(home / place, form(str(home / "elsewhere")))
    run("init", str(home / PROJECT), "--yes", "--sessions")
    found = answer(run("search", "okapi lighthouse"))
    assert [hit["doc_id"] for hit in found] == (
        ["sessions/0b1e.jsonl"] if host == "openclaw" else []
    )
    of_all_workspaces = host == "codex"
    assert bool(answer(run("search", "walnut"))) == of_all_workspaces


@pytest.mark.parametrize("kind", [START, END])
@pytest.mark.parametrize("host", [name for name, host in hosts().items() if host.notes])
def test_a_hook_covers_notes_that_a_host_begins_after_init(
    host: str, kind: str, home: Path, run: Run, environ: dict[str, str]
) -> None:
    notes, transcript, _ = PLACES[host]
    answer(run("init", str(home / PROJECT), "--yes"))
    fill(host, home)
    event = next(event for event, of in hosts()[host].events.items() if of == kind)
    call(environ, home, event, transcript_path=str(path_of(transcript, home)))
    ended = time.monotonic() + 60
    for number in range(len(notes)):
        question = ("search", f"walnut {host} {number}", "--limit", "1")
        while not (found := answer(run(*question))):
            assert time.monotonic() < ended
            time.sleep(0.1)
        assert found[0]["doc_id"].startswith(f"memory-{host}")


def test_a_hook_does_not_cover_notes_twice(home: Path, run: Run, environ: dict[str, str]) -> None:
    fill("claude", home)
    answer(run("init", str(home / PROJECT), "--yes"))
    before = answer(run("list"))
    for _ in range(2):
        call(environ, home, "SessionStart")
    assert answer(run("list")) == before


@pytest.mark.parametrize("host", MOVED)
def test_a_variable_moves_what_a_host_keeps(
    host: str, home: Path, run: Run, environ: dict[str, str], tmp_path: Path
) -> None:
    notes = fill(host, home)
    variable, below = MOVED[host]
    (home / below).rename(tmp_path / "moved") if below else home.rename(tmp_path / "moved")
    (home / PROJECT).mkdir(parents=True, exist_ok=True)
    (home / PROJECT / "AGENTS.md").write_text("# Agents\n\nRead the notes.\n")
    environ[variable] = str(tmp_path / "moved")
    answer(run("init", str(home / PROJECT), "--yes", "--sessions"))
    assert answer(run("search", "okapi lighthouse"))
    assert bool(answer(run("search", "walnut"))) == bool(notes)


def test_a_setting_moves_the_notes_of_claude_code(home: Path, run: Run, tmp_path: Path) -> None:
    write(tmp_path / "moved/MEMORY.md", "# Note\n\nThe walnut is blue.\n")
    write(
        home / ".claude/settings.json", json.dumps({"autoMemoryDirectory": str(tmp_path / "moved")})
    )
    write(path_of(PLACES["claude"][0][0], home), "# Note\n\nThe walnut is green.\n")
    answer(run("init", str(home / PROJECT), "--yes"))
    [hit] = answer(run("search", "walnut"))
    assert (hit["doc_id"], "blue" in hit["text"]) == ("memory-claude/MEMORY.md", True)


def test_claude_code_names_its_notes_after_the_repository(home: Path, run: Run) -> None:
    (home / PROJECT / ".git").mkdir()
    below = home / PROJECT / "src"
    write(below / "memory/a.md", "# A\n\nThe walnut is green.\n")
    write(path_of(PLACES["claude"][0][0], home), "# Note\n\nThe walnut is blue.\n")
    answer(run("init", str(below), "--yes"))
    assert len(answer(run("search", "walnut"))) == 2
