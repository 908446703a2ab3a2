"""The plugins for agents, by the forms that Claude Code, Codex, OpenClaw and the MCP registry publish.

What was looked up in November 2026: the plugin and hook references of Claude Code and Codex, the manifest reference of OpenClaw 2026.9,
the schema 2025-12-11 of server.json.
"""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import __version__
from hybrid_memory.registry import COMMANDS

ROOT = Path(__file__).parent.parent.parent
PLUGINS = ROOT / "plugins"
COMMAND = Path(sys.executable).parent / "hybrid-memory"
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
EVENTS = {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop"}
AGENTS = ("claude-code", "codex")


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text("utf-8"))


def test_the_manifest_of_claude_code_has_the_published_form() -> None:
    manifest = read("plugins/claude-code/.claude-plugin/plugin.json")
    assert NAME.fullmatch(manifest["name"])
    assert manifest["version"] == __version__
    assert manifest.keys() <= {
        "name", "version", "description", "author", "homepage", "repository", "license", "keywords",
    }, "skills, hooks/hooks.json and .mcp.json are found by their places; hooks that are named too are refused"  # fmt: skip
    assert os.listdir(PLUGINS / "claude-code/.claude-plugin") == ["plugin.json"]


def test_the_manifest_of_codex_has_the_published_form() -> None:
    manifest = read("plugins/codex/.codex-plugin/plugin.json")
    assert NAME.fullmatch(manifest["name"])
    assert manifest["version"] == __version__
    for key in ("skills", "mcpServers", "hooks"):
        assert manifest[key].startswith("./")
        assert (PLUGINS / "codex" / manifest[key]).exists()
    assert {"displayName", "shortDescription", "category"} <= manifest["interface"].keys()


def test_the_marketplaces_lead_to_the_plugins() -> None:
    claude = read(".claude-plugin/marketplace.json")
    assert NAME.fullmatch(claude["name"])
    assert claude["owner"]["name"]
    [plugin] = claude["plugins"]
    assert (
        read(f"{plugin['source']}/.claude-plugin/plugin.json")["name"]
        == plugin["name"]
        == "hybrid-memory"
    )
    [plugin] = read(".agents/plugins/marketplace.json")["plugins"]
    assert plugin["policy"] == {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    assert (
        read(f"{plugin['source']['path']}/.codex-plugin/plugin.json")["name"]
        == plugin["name"]
        == "hybrid-memory"
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_hooks_have_the_published_form_and_bound_their_time(agent: str) -> None:
    hooks = read(f"plugins/{agent}/hooks/hooks.json")["hooks"]
    assert hooks.keys() == EVENTS
    for groups in hooks.values():
        for group in groups:
            for hook in group["hooks"]:
                assert hook["type"] == "command"
                assert 0 < hook["timeout"] <= 15
                assert "|| true" in hook["command"], "exit status 2 would keep a prompt back"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("event", sorted(EVENTS))
def test_hooks_say_how_to_get_the_command_once_and_never_fail(
    agent: str, event: str, tmp_path: Path
) -> None:
    [group] = read(f"plugins/{agent}/hooks/hooks.json")["hooks"][event]
    done = subprocess.run(
        ["/bin/sh", "-c", group["hooks"][0]["command"]],
        input=json.dumps({"hook_event_name": event, "prompt": "Which port is it?"}),
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == (1 if event == "SessionStart" else 0)
    assert all("uv tool install" in line for line in lines)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_hook_of_a_prompt_recalls(agent: str, memory: dict[str, str], tmp_path: Path) -> None:
    [group] = read(f"plugins/{agent}/hooks/hooks.json")["hooks"]["UserPromptSubmit"]
    command = group["hooks"][0]["command"].replace("recall", "recall --timeout 0")
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "Which port does Atlas listen on?"}
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=json.dumps(prompt | {"session_id": "one"}),
        env=memory,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "2222" in done.stdout


def test_the_skill_of_a_plugin_is_that_of_the_repository() -> None:
    made = runpy.run_path(str(ROOT / "docs/make_agent_texts.py"))
    for target, text in made["texts"]().items():
        assert target.read_text("utf-8") == text, "run docs/make_agent_texts.py again"
    assert len(made["PLUGIN_SKILLS"]) == len(AGENTS)
    for skill in made["PLUGIN_SKILLS"]:
        assert not re.search(r"\{baseDir\}|uv run", skill.read_text("utf-8"))


@pytest.mark.parametrize("agent", AGENTS)
def test_the_mcp_server_of_a_plugin_is_the_command(agent: str) -> None:
    [server] = read(f"plugins/{agent}/.mcp.json")["mcpServers"].values()
    assert server["command"] == "hybrid-memory"
    assert server["args"][0] in COMMANDS


def test_the_manifest_of_openclaw_has_the_published_form() -> None:
    manifest = read("plugins/openclaw/openclaw.plugin.json")
    assert manifest["kind"] == "memory"
    assert manifest["configSchema"]["type"] == "object"
    assert manifest["contracts"]["tools"] == ["memory_search", "memory_get"]
    assert manifest["uiHints"].keys() == manifest["configSchema"]["properties"].keys()
    package = read("plugins/openclaw/package.json")
    assert package["version"] == manifest["version"] == __version__
    for entry in package["openclaw"]["extensions"]:
        assert entry.removeprefix("./") in package["files"]
        assert (PLUGINS / "openclaw" / entry).is_file()


CALL = """
import plugin from "./plugin.mjs";
const tools = {}, hooks = {}, warnings = [];
plugin.register({
  config: {plugins: {slots: {memory: "hybrid-memory"}, entries: {"memory-core": {enabled: process.argv[3] === "enabled"}}}},
  logger: {warn: (line) => warnings.push(line)},
  pluginConfig: JSON.parse(process.argv[2]),
  registerTool: (tool) => { tools[tool.name] = tool; },
  on: (name, handler) => { hooks[name] = handler; },
});
const text = async (name, params) => {
  try { return (await tools[name].execute("1", params)).content[0].text; } catch (error) { return `Error: ${error.message}`; }
};
console.log(JSON.stringify({
  tools: Object.keys(tools),
  found: await text("memory_search", {query: "Which port does Atlas listen on?", maxResults: 1}),
  read: await text("memory_get", {path: "memory/atlas.md#L1-L9", from: 3, lines: 1}),
  outside: await text("memory_get", {path: "elsewhere/b.md"}),
  around: await text("memory_get", {path: "memory/../private/secret.md"}),
  warnings,
}));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("collection", [None, "memory"])
def test_the_tools_of_openclaw_answer_as_the_command_does(
    memory: dict[str, str], tmp_path: Path, collection: str | None
) -> None:
    shutil.copy(PLUGINS / "openclaw/index.js", tmp_path / "plugin.mjs")
    (tmp_path / "call.mjs").write_text(CALL)
    private = Path(memory["HOME"]) / "private"
    private.mkdir(exist_ok=True)
    (private / "secret.md").write_text("The safe opens with 4711.\n")
    ingest = [str(COMMAND), "ingest", "--path", str(private), "--quiet"]
    subprocess.run(ingest, env=memory, capture_output=True, check=True)
    config = {"command": str(COMMAND)} | ({"collection": collection} if collection else {})
    done = subprocess.run(
        ["node", "call.mjs", json.dumps(config)],
        env=memory,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["tools"] == ["memory_search", "memory_get"]
    assert told["found"].startswith("**memory/atlas.md#L")
    assert json.loads(told["read"])["text"] == "Atlas listens on port 2222."
    assert told["outside"].startswith("Error: ")
    if collection:
        assert told["around"] == "Error: only documents of memory can be read"
    else:
        assert "4711" in told["around"]
    assert told["warnings"] == []
    assert "elsewhere" in told["outside"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_openclaw_is_told_how_to_get_a_missing_command(tmp_path: Path) -> None:
    shutil.copy(PLUGINS / "openclaw/index.js", tmp_path / "plugin.mjs")
    (tmp_path / "call.mjs").write_text(CALL)
    command = ["node", "call.mjs", json.dumps({"command": str(tmp_path / "nothing")}), "enabled"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert "uv tool install" in told["found"]
    assert "plugins.entries.memory-core.enabled false" in told["warnings"][0]


def test_server_json_has_the_published_form_and_the_name_in_the_readme() -> None:
    server = read("server.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text("utf-8")
    assert len(server["description"]) <= 100
    [package] = server["packages"]
    assert server["version"] == package["version"] == __version__
    assert package["registryType"] == "pypi"
    assert f'name = "{package["identifier"]}"' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert package["transport"] == {"type": "stdio"}


@pytest.fixture
def memory(tmp_path: Path) -> dict[str, str]:
    """The environment of a command that finds a memory of one note."""
    notes = tmp_path / "memory"
    notes.mkdir()
    (notes / "atlas.md").write_text("# Atlas\n\nAtlas listens on port 2222.\n")
    variables = {
        "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "HYBRID_MEMORY_PROVIDER": "builtin",
        "HYBRID_MEMORY_DB_PATH": str(tmp_path / "memory.db"),
    }
    subprocess.run(
        [COMMAND, "ingest", "--path", str(notes)], env=variables, check=True, capture_output=True
    )
    return variables
