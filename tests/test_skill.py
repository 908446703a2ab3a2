"""SKILL.md as an agent takes it: valid by the specification, and its commands run as they are printed.

Only their beginning is replaced: `uv run -q --project {baseDir} hybrid-memory` would make an environment of its own
and may need the network, so the command installed beside this Python stands in for it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from skills_ref import read_properties, validate

SKILL = Path(__file__).parent.parent / "SKILL.md"
PREFIX = "uv run -q --project {baseDir} hybrid-memory"
COMMAND = Path(sys.executable).parent / "hybrid-memory"
DAY = "# Monday\n\nWe moved house.\n\n## GPU server\n\nIts SSH password is hunter2.\n\n## Dog\n\nThe dog is called Rex.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-01-05.md").write_text(DAY)
    for name in ("TOOLS.md", "MEMORY.md", "AGENTS.md"):
        (tmp_path / name).write_text(f"# {name}\n\nNothing yet.\n")
    sessions = tmp_path / ".openclaw/agents/main/sessions"
    sessions.mkdir(parents=True)
    (sessions / "one.jsonl").write_text(
        json.dumps({"type": "message", "message": {"role": "user", "content": "Hello."}}) + "\n"
    )
    return tmp_path


def section(title: str) -> str:
    [found] = re.findall(
        rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", SKILL.read_text(), re.DOTALL | re.MULTILINE
    )
    return str(found)


def run(workspace: Path, commands: str) -> list[Any]:
    """The JSON answers of a shell's lines."""
    answers, rest = [], printed_by(workspace, commands).strip()
    while rest:
        answer, end = json.JSONDecoder().raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].strip()
    return answers


def printed_by(workspace: Path, commands: str) -> str:
    """What a shell's lines print; a line that fails ends the test."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HYBRID_MEMORY_", "OLLAMA_", "XDG_"))
    }
    settings = {
        "DB_PATH": str(workspace / "skill.db"),
        "CONFIG": str(workspace / "config.json"),
        "PROVIDER": "builtin",
    }
    (workspace / "config.json").write_text("{}")
    environ = (
        kept
        | {"HOME": str(workspace)}
        | {f"HYBRID_MEMORY_{name}": value for name, value in settings.items()}
    )
    assert PREFIX in commands
    done = subprocess.run(
        ["bash", "-euc", commands.replace(PREFIX, str(COMMAND))],
        cwd=workspace,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed(title: str) -> str:
    """The commands of a section's shell blocks."""
    return "".join(re.findall(r"^```bash\n(.*?)^```", section(title), re.DOTALL | re.MULTILINE))


def test_skill_is_valid_by_the_specification(tmp_path: Path) -> None:
    folder = tmp_path / "hybrid-memory"
    folder.mkdir()
    shutil.copy(SKILL, folder)
    assert validate(folder) == []
    properties = read_properties(folder)
    assert len(properties.description) < 160  # agents see it of every skill, all the time
    assert properties.metadata == {"requires-bin": "uv"}


def test_skill_is_short_since_agents_pay_for_it() -> None:
    assert len(SKILL.read_text()) <= 4000


def test_the_other_memory_is_named_for_workspaces_that_have_it() -> None:
    text = " ".join(SKILL.read_text().split())
    assert text.count("memory_cli.py") == 1
    assert (
        "if `skills/tiered-memory` exists, ask that: `python3 skills/tiered-memory/scripts/memory_cli.py retrieve"
        in text
    )


def test_every_command_stands_in_the_order_of_work() -> None:
    titles = re.findall(r"^## (.*)", SKILL.read_text(), re.MULTILINE)
    assert titles[:3] == ["1. Search", "2. Get what is around it", "3. Store what is in no file"]


def test_search_then_get_then_store_as_printed(workspace: Path) -> None:
    reports = run(workspace, printed("Index a workspace for the first time"))
    assert [(report["files"], report["errors"]) for report in reports] == [(4, []), (1, [])]
    search = printed("1. Search")
    found = printed_by(workspace, search)
    assert re.match(
        r"\*\*memory/2026-01-05\.md#L\d+-L\d+\*\*, confidence 0\.\d\d \(\w+\)\n> #", found
    )
    assert "> Its SSH password is hunter2.\n" in found
    assert len(found) <= 4000
    [hits] = run(workspace, search.replace(" --format md", ""))
    assert {"text", "citation", "confidence", "score", "source", "heading", "date"} <= set(hits[0])
    [around] = run(workspace, printed("2. Get what is around it"))
    assert around["citation"].startswith("memory/2026-01-05.md#L1-")
    assert hits[0]["text"] in around["text"]
    assert "The dog is called Rex." in around["text"]
    assert {"start_line", "end_line", "total_lines", "next", "changed"} <= set(around)
    stored, deleted = run(workspace, printed("3. Store what is in no file"))
    assert (stored, deleted) == (
        {"doc_id": "decisions/dec-0054", "chunks": 1},
        {"doc_id": "decisions/dec-0054", "chunks_deleted": 1},
    )


def test_lines_for_an_agents_own_files_run_as_printed(workspace: Path) -> None:
    run(workspace, printed("Index a workspace for the first time"))
    (workspace / "memory/2026-01-06.md").write_text("# Tuesday\n\nA new day.\n")
    commands = re.findall(rf"`({re.escape(PREFIX)} [^`]+)`", SKILL.read_text())
    assert [command.split()[6] for command in commands] == ["search", "get", "note", "update"]
    for command in commands:
        assert printed_by(
            workspace,
            command.replace("…", "GPU server").replace("CITATION", "memory/2026-01-05.md#L7-L7"),
        )
