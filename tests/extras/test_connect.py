"""The commands `connect` and `disconnect`, on settings as users have them."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.extras.hosts import END, PROMPT, START, hosts
from tests.command import Run, answer

CONNECTED = [host.name for host in hosts().values() if host.files]
OF_WORKSPACES = [name for name in CONNECTED if name != "openclaw"]
# path below the home: settings that a user has already, in several layouts
SETTINGS = {
    ".claude/settings.json": '{\n\t"model": "opus", "n": 1.50,\n\t"hooks": {"Stop": [{"hooks": '
    '[{"type": "command", "command": "date"}]}], "UserPromptSubmit": []}\n}',
    ".claude.json": '{"numStartups": 3, "mcpServers": {"other": {"command": "x"}}}',
    ".codex/hooks.json": "{ }",
    ".codex/config.toml": 'model = "gpt"  # mine\n[mcp_servers.other]\ncommand = "x"',
    ".openclaw/openclaw.json": '{"plugins": {"slots": {"memory": "memory-core"}}}\n',
    ".cursor/hooks.json": '{"version": 1,\r\n "hooks": {}}\r\n',
    ".cursor/mcp.json": "",
    ".gemini/settings.json": '\ufeff{"ui": {"theme": "x"}}\n',
    ".config/opencode/opencode.json": '{\n  "$schema": "https://opencode.ai/config.json"\n}\n',
}


@pytest.fixture
def home(tmp_path: Path, environ: dict[str, str]) -> Path:
    """A home with the folders of all agents, in which nothing was connected."""
    home = tmp_path / "home"
    for host in CONNECTED:
        (home / hosts()[host].folder[-1].removeprefix("~/")).mkdir(parents=True)
    environ |= {"HOME": str(home), "XDG_STATE_HOME": str(tmp_path / "state")}
    return home


def files(top: Path) -> dict[str, bytes | str]:
    """All files and folders below `top`; of a link, its target."""
    found: dict[str, bytes | str] = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes() if path.is_file() else "folder"
    return found


def write(home: Path) -> None:
    for name, text in SETTINGS.items():
        (home / name).write_bytes(text.encode())


@pytest.mark.parametrize("host", CONNECTED)
@pytest.mark.parametrize("has_settings", [False, True])
def test_disconnect_restores_every_byte(
    host: str, has_settings: bool, home: Path, run: Run
) -> None:
    if has_settings:
        write(home)
    before = files(home)
    [result] = answer(run("connect", host, "--yes"))
    assert result["done"]
    connected = files(home)
    assert {change["path"] for change in result["changes"]} == {
        str(home / name)
        for name in connected
        if connected[name] not in (before.get(name), "folder")
    }
    [again] = answer(run("connect", host, "--yes"))
    assert again["changes"] == []
    assert files(home) == connected
    assert [state["connected"] for state in answer(run("connect")) if state["host"] == host] == [
        True
    ]
    assert answer(run("disconnect", host, "--yes"))[0]["done"]
    assert files(home) == before
    assert not any(state["connected"] for state in answer(run("connect")))


# What an agent's own manager writes when it installs the plugin for the user, and when it disables it
PLUGINS = {
    "claude": (
        ".claude/settings.json",
        '{"enabledPlugins": {"other@x": true, "hybrid-memory@notes": true}}',
        '{"enabledPlugins": {"other@x": true, "hybrid-memory@notes": false}}',
    ),
    "codex": (
        ".codex/config.toml",
        '[plugins."other@x"]\nenabled = true\n[plugins."hybrid-memory@hybrid-memory"]\nenabled = true\n',
        '[plugins."other@x"]\nenabled = true\n[plugins."hybrid-memory@hybrid-memory"]\nenabled = false\n',
    ),
    "gemini": (
        ".gemini/extensions/hybrid-memory/gemini-extension.json",
        '{"name": "hybrid-memory", "version": "0.1.0"}',
        "",
    ),
}


def test_every_plugin_that_a_host_records_is_tried() -> None:
    assert PLUGINS.keys() == {host.name for host in hosts().values() if host.plugin}


@pytest.mark.parametrize("host", PLUGINS)
def test_an_installed_plugin_is_a_connection(host: str, home: Path, run: Run) -> None:
    name, installed, disabled = PLUGINS[host]
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)

    def state() -> tuple[bool, bool]:
        [found] = [state for state in answer(run("connect")) if state["host"] == host]
        return found["connected"], found["plugin"]

    path.write_text(installed)
    before = files(home)
    assert state() == (True, True)
    [result] = answer(run("connect", host, "--yes"))
    assert (result["changes"], result["plugin"]) == ([], True)
    assert files(home) == before
    path.write_text(disabled)
    assert state() == (False, False)
    assert answer(run("connect", host, "--yes"))[0]["changes"]
    assert state() == (True, False)


def test_the_doctor_names_an_agent_that_is_connected_twice(home: Path, run: Run) -> None:
    def twice() -> list[str]:
        findings = json.loads(run("doctor").stdout)
        return [finding["text"] for finding in findings if "twice" in finding["text"]]

    answer(run("store", "--doc-id", "a", "--text", "A note."))
    answer(run("connect", "claude", "--yes"))
    assert twice() == []
    path = home / PLUGINS["claude"][0]
    path.write_text(
        json.dumps(json.loads(path.read_text()) | json.loads(PLUGINS["claude"][1]), indent=2)
    )
    [told] = twice()
    assert told.endswith("`hybrid-memory disconnect claude` leaves the plugin")
    answer(run("disconnect", "claude", "--yes"))
    assert twice() == []


@pytest.mark.parametrize("host", OF_WORKSPACES)
def test_a_workspace_is_connected_by_itself(host: str, home: Path, run: Run) -> None:
    workspace = home / "work"
    workspace.mkdir()
    before = files(home)
    answer(run("connect", host, "--dir", str(workspace), "--yes"))
    changed = {name for name, text in files(home).items() if text != before.get(name)}
    assert changed
    assert all(name.startswith("work/") for name in changed)
    answer(run("disconnect", host, "--dir", str(workspace), "--yes"))
    assert files(home) == before


def test_what_others_wrote_meanwhile_stays(home: Path, run: Run) -> None:
    write(home)
    answer(run("connect", "all", "--yes"))
    for name in SETTINGS:
        if name.endswith(".json"):
            text = (home / name).read_text("utf-8-sig")
            values = json.loads(text) | {"later": [1]}
            (home / name).write_text(json.dumps(values))
        else:
            with (home / name).open("a") as file:
                file.write("[later]\na = 1\n")
    answer(run("disconnect", "all", "--yes"))
    for name, text in SETTINGS.items():
        now = (home / name).read_text("utf-8")
        if name.endswith(".toml"):
            assert tomllib.loads(now) == tomllib.loads(text) | {"later": {"a": 1}}
        assert "hybrid" not in now
        assert "later" in now
    claude = json.loads((home / ".claude/settings.json").read_text())
    assert claude["hooks"]["Stop"] == [{"hooks": [{"type": "command", "command": "date"}]}]


def test_a_skill_and_a_server_that_users_added_themselves_return(home: Path, run: Run) -> None:
    skill = home / ".claude/skills/hybrid-memory/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("Ask hybrid-memory first.\n")
    server = {"command": "hybrid-memory", "args": ["mcp"], "env": {"A": "1"}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"hybrid-memory": server}}))
    before = files(home)
    answer(run("connect", "claude", "--yes"))
    connected = json.loads((home / ".claude.json").read_text())
    assert connected["mcpServers"]["hybrid-memory"]["env"] == {"A": "1"}
    (home / ".claude.json").write_text(json.dumps(connected | {"later": 1}))
    answer(run("disconnect", "claude", "--yes"))
    assert json.loads((home / ".claude.json").read_text()) == {
        "mcpServers": {"hybrid-memory": server},
        "later": 1,
    }
    assert files(home) | {".claude.json": before[".claude.json"]} == before


@pytest.mark.parametrize(
    "host",
    [name for name in CONNECTED if any(kept.is_ours for kept in hosts()[name].transcripts)],
)
def test_disconnect_removes_our_transcripts(
    host: str, home: Path, run: Run, tmp_path: Path
) -> None:
    ours = tmp_path / "state/hybrid-memory/transcripts" / host
    session = '{"type": "session", "version": 3, "id": "a"}\n'
    said = '{"type": "message", "message": {"role": "user", "content": "The okapi is blue."}}\n'
    ours.mkdir(parents=True)
    (ours / "a.jsonl").write_text(session + said)
    run("ingest", "--path", str(ours), "--pattern", "*.jsonl", "--keep-missing")
    answer(run("connect", host, "--yes"))
    if host in OF_WORKSPACES:
        answer(run("disconnect", host, "--dir", str(home), "--yes"))
    assert ours.exists()
    [result] = answer(run("disconnect", host, "--yes"))
    assert {"path": str(ours), "lines": [], "removed": True} in result["changes"]
    assert not ours.exists()
    run("update")
    assert [hit["text"] for hit in answer(run("search", "okapi"))] == ["User: The okapi is blue."]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", '{"model": '),
        (".claude/settings.json", '{"hooks": {"Stop": {}}}'),
        (".claude/skills/hybrid-memory/SKILL.md", "mine\n"),
    ],
)
def test_settings_of_another_shape_are_named_and_nothing_changes(
    name: str, text: str, home: Path, run: Run
) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text)
    before = files(home)
    done = run("connect", "claude", "--yes")
    assert done.returncode == 1
    assert str(home / name) in done.stderr
    assert "nothing was changed" in done.stderr
    assert "Traceback" not in done.stderr
    assert files(home) == before


def test_without_yes_and_a_terminal_it_shows_what_it_would_change(home: Path, run: Run) -> None:
    before = files(home)
    done = run("connect", "claude")
    assert done.returncode == 1
    assert "--yes" in done.stderr
    [result] = json.loads(done.stdout)
    assert not result["done"]
    assert any("recall --host claude" in line for line in result["changes"][0]["lines"])
    assert files(home) == before


def test_an_unknown_agent_is_told_how_to_call_recall(home: Path, run: Run) -> None:
    done = run("connect", "emacs", "--yes")
    assert done.returncode == 2
    assert "recall" in done.stderr
    assert "claude" in done.stderr


def test_all_means_the_agents_of_this_machine(home: Path, run: Run) -> None:
    (home / ".codex").rmdir()
    hosts = [result["host"] for result in answer(run("connect", "all", "--yes"))]
    assert hosts == [name for name in CONNECTED if name != "codex"]


def hooks(home: Path, host: str) -> dict[str, list[dict[str, Any]]]:
    """The hooks of an agent by event, of any form."""
    name = {"claude": ".claude/settings.json", "gemini": ".gemini/settings.json"}.get(
        host, f".{host}/hooks.json"
    )
    entries = json.loads((home / name).read_text())["hooks"]
    return {
        event: [hook for entry in of_event for hook in entry.get("hooks", [entry])]
        for event, of_event in entries.items()
    }


@pytest.mark.parametrize("host", ["claude", "codex", "cursor", "gemini"])
def test_a_hook_answers_in_the_form_of_its_host_and_is_logged(
    host: str, home: Path, run: Run, environ: dict[str, str]
) -> None:
    environ["HYBRID_MEMORY_PROVIDER"] = "builtin"
    notes = home / "work/memory"
    notes.mkdir(parents=True)
    (notes / "atlas.md").write_text("# Atlas\n\nThe host Atlas listens on port 2222.\n")
    answer(run("ingest", "--path", str(notes)))
    answer(run("connect", host, "--yes"))
    by_event = hooks(home, host)
    assert by_event.keys() == hosts()[host].events.keys()
    commands = {hook["command"] for of_event in by_event.values() for hook in of_event}
    [command] = commands
    replies = {}
    for event, kind in hosts()[host].events.items():
        fields = {"hook_event_name": event, "session_id": "s", "cwd": str(notes.parent)}
        if kind == PROMPT:
            fields["prompt"] = "Which port does our host Atlas listen on?"
        done = subprocess.run(
            ["/bin/sh", "-c", command.replace(" recall ", " recall --timeout 0 ")],
            input=json.dumps(fields),
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            check=True,
        )
        replies[kind] = done.stdout
    text = replies[PROMPT]
    if host == "cursor":
        assert json.loads(text)["continue"] is True
        text = json.loads(text)["additional_context"]
    elif host == "gemini":
        assert json.loads(text)["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
        text = json.loads(text)["hookSpecificOutput"]["additionalContext"]
    assert text.startswith("From the user's notes")
    assert "2222" in text
    assert replies[START] == replies[END] == ""
    [state] = [state for state in answer(run("connect")) if state["host"] == host]
    assert state["runs"]["counts"] == {"answered": 1, "silent": len(hosts()[host].events) - 1}
    [finding] = [
        finding
        for finding in json.loads(run("doctor", "--json").stdout)
        if finding["check"] == "hooks"
    ]
    assert f"{hosts()[host].title}: its hook last ran" in finding["text"]


def test_hooks_keep_their_text_over_updates(home: Path, run: Run) -> None:
    """Codex asks again about a hook whose text has changed."""
    answer(run("connect", "codex", "--yes"))
    [command] = {hook["command"] for hooks_of in hooks(home, "codex").values() for hook in hooks_of}
    assert command.startswith(f"{sys.executable} -m hybrid_memory ")
    assert command.endswith(" recall --host codex 2>/dev/null || true")
    assert not any("async" in hook for of in hooks(home, "codex").values() for hook in of)
    assert "description" not in json.loads((home / ".codex/hooks.json").read_text())


def test_the_memory_that_was_named_is_used(home: Path, run: Run, tmp_path: Path) -> None:
    answer(run("connect", "claude", "--yes", "--db", str(tmp_path / "own.db")))
    assert f"--db {tmp_path / 'own.db'} recall" in (home / ".claude/settings.json").read_text()
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["hybrid-memory"]
    assert str(tmp_path / "own.db") in server["args"]
