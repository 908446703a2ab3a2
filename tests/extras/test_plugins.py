"""The plugins for agents, by the forms that Claude Code, Codex, OpenClaw and the MCP registry publish.

What was looked up in November 2026: the plugin and hook references of Claude Code and Codex, the manifest reference of OpenClaw 2026.9,
the schema 2025-12-11 of server.json.
"""

import json
import os
import runpy
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

import hybrid_memory
from hybrid_memory import __version__
from hybrid_memory.extras.agent_text import BEFORE_COMPACTION
from hybrid_memory.extras.hosts import PROMPT, START, hosts

ROOT = Path(__file__).parent.parent.parent
PLUGINS = ROOT / "plugins"
COMMAND = Path(sys.executable).parent / "hybrid-memory"
AGENTS = {
    "claude-code": hosts()["claude"],
    **{name: hosts()[name] for name in ("codex", "cursor", "gemini")},
}


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text("utf-8"))


def test_marketplaces_and_manifests_written_by_hand_lead_to_this_version() -> None:
    [claude] = read(".claude-plugin/marketplace.json")["plugins"]
    [codex] = read(".agents/plugins/marketplace.json")["plugins"]
    assert read(f"{claude['source']}/.claude-plugin/plugin.json")["name"] == claude["name"]
    assert read(f"{codex['source']['path']}/.codex-plugin/plugin.json")["name"] == codex["name"]
    manifest = read("plugins/openclaw/openclaw.plugin.json")
    package = read("plugins/openclaw/package.json")
    server = read("server.json")
    versions = [manifest["version"], package["version"], server["version"]]
    assert [*versions, server["packages"][0]["version"]] == [__version__] * 4
    assert manifest["contracts"]["tools"] == ["memory_search", "memory_get"]
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text("utf-8")
    assert (
        f'name = "{server["packages"][0]["identifier"]}"' in (ROOT / "pyproject.toml").read_text()
    )


def hooks_of(agent: str) -> dict[str, list[dict[str, Any]]]:
    """The hooks of a plugin by event."""
    entries = read(f"plugins/{agent}/hooks/hooks.json")["hooks"]
    return {
        event: [hook for entry in of_event for hook in entry.get("hooks", [entry])]
        for event, of_event in entries.items()
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_hooks_have_the_published_form_and_bound_their_time(agent: str) -> None:
    hooks = hooks_of(agent)
    assert hooks.keys() == AGENTS[agent].events.keys()
    unit = 1000 if agent == "gemini" else 1
    for of_event in hooks.values():
        [hook] = of_event
        assert hook.get("type", "command") == "command"
        assert 0 < hook["timeout"] <= 15 * unit
        assert "|| true" in hook["command"], "exit status 2 would keep a prompt back"
        assert "async" not in hook, "Claude Code ends such a hook when it exits"
    others = read(f"plugins/{agent}/hooks/hooks.json").keys() - {"hooks"}
    assert others == ({"version"} if agent == "cursor" else set())


@pytest.mark.parametrize("agent", AGENTS)
def test_hooks_say_how_to_get_the_command_once_and_never_fail(agent: str, tmp_path: Path) -> None:
    hooks = hooks_of(agent)
    kinds = {kind: event for event, kind in AGENTS[agent].events.items()}
    for event in (kinds[START], kinds[PROMPT]):
        done = subprocess.run(
            ["/bin/sh", "-c", hooks[event][0]["command"]],
            input=json.dumps({"hook_event_name": event, "prompt": "Which port is it?"}),
            env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        assert ("uv tool install --editable ." in done.stdout) == (event == kinds[START])
        assert event == kinds[PROMPT] or not AGENTS[agent].replies or json.loads(done.stdout)


def test_no_plugin_names_a_package_that_nobody_has_registered() -> None:
    for path in PLUGINS.rglob("*"):
        if path.is_file():
            assert "hybrid-memory-search" not in path.read_text("utf-8"), path


@pytest.mark.parametrize("agent", AGENTS)
def test_the_hook_of_a_prompt_recalls(agent: str, memory: dict[str, str], tmp_path: Path) -> None:
    [event] = [event for event, kind in AGENTS[agent].events.items() if kind == PROMPT]
    [hook] = hooks_of(agent)[event]
    command = hook["command"].replace("recall", "recall --timeout 0")
    prompt = {"hook_event_name": event, "prompt": "Which port does Atlas listen on?"}
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


@pytest.mark.parametrize("script", ["make_agent_texts.py", "make_plugins.py"])
def test_plugins_are_as_the_scripts_write_them(script: str) -> None:
    for path, text in runpy.run_path(str(ROOT / "docs" / script))["texts"]().items():
        assert path.read_text("utf-8") == text, f"run docs/{script} again"
        if path.name == "SKILL.md" and path.is_relative_to(PLUGINS):
            assert "{baseDir}" not in text
            assert "uv run" not in text


CALL = """
import plugin from "./plugin.mjs";
const [, , config, workspace, core] = process.argv;
const tools = {}, hooks = {}, warnings = [];
let capability;
plugin.register({
  config: {plugins: {slots: {memory: "hybrid-memory"}, entries: {"memory-core": {enabled: core === "enabled"}}}},
  logger: {warn: (line) => warnings.push(line)},
  pluginConfig: JSON.parse(config),
  runtime: {agent: {resolveAgentWorkspaceDir: (cfg, agentId) => cfg.workspaces[agentId]}},
  registerTool: (create) => {
    const tool = create({ workspaceDir: workspace });
    tools[tool.name] = tool;
  },
  registerMemoryCapability: (given) => { capability = given; },
  on: (name, handler) => { hooks[name] = handler; },
});
const { manager, error } = await capability.runtime.getMemorySearchManager({ cfg: {workspaces: {main: workspace}}, agentId: "main" });
const managed = manager && {
  status: manager.status(),
  hits: await manager.search("Which port does Atlas listen on?", { maxResults: 1 }),
  text: await manager.readFile({ relPath: "memory/atlas.md", from: 3, lines: 1 }),
  nothing: await manager.readFile({ relPath: "elsewhere/b.md" }),
};
const text = async (name, params) => {
  try { return (await tools[name].execute("1", params)).content[0].text; } catch (error) { return `Error: ${error.message}`; }
};
const classify = async (...relativePaths) =>
  (await capability.runtime.classifyWorkspaceMemoryPaths({ workspaceDir: workspace, relativePaths })).map((row) => row.originClass);
const readSources = [{ relativePath: "MEMORY.md", canonicalRelativePath: "MEMORY.md" }, { relativePath: "USER.md" }];
const remote = await capability.runtime.classifyWorkspaceMemoryPaths({
  workspaceDir: "/on/another/machine", relativePaths: ["MEMORY.md", "USER.md"], readSources,
});
const context = { sessionId: "one", sessionKey: "agent:main:main", workspaceDir: workspace };
const recalled = async (currentUserMessage) =>
  (await hooks.before_prompt_build({ currentUserMessage }, context))?.prependContext ?? "";
const messages = [
  { role: "user", content: "Who feeds the okapi? password=hunter2hunter2", timestamp: 1 },
  { role: "assistant", content: [{ type: "text", text: "Juno does." }, { type: "toolCall", name: "made up" }], timestamp: 2 },
  { role: "toolResult", content: "made up", timestamp: 3 },
];
await hooks.agent_end({ messages }, context);
const isWhole = !JSON.parse(config).collection; // else the tool does not see sessions
const isStoredOrMissing = async () => /Juno|uv tool install/.test(await text("memory_search", {query: "okapi"}));
for (let left = 150; isWhole && left && !(await isStoredOrMissing()); left--) {
  await new Promise((resolve) => setTimeout(resolve, 200));
}
const ofSession = [await recalled("Who feeds our okapi?")];
await hooks.after_compaction({}, { sessionKey: "agent:main:main" });
ofSession.push(await recalled("Who feeds our okapi?"));
const answers = {};
for (const [prompt, name, given] of [
  ["Which port does our host Atlas listen on?", undefined],
  ["Who shears the llama?", "memory_search", {}],
  ["Who brushes the llama?", "tool_call", { id: "memory_search", args: {} }],
  ["Who washes the llama?", "tool_call", { id: "web_fetch", args: {} }],
]) {
  const session = { ...context, sessionId: `two-${Object.keys(answers).length}` };
  const passages = await hooks.before_prompt_build({ currentUserMessage: prompt }, session);
  const call = name ? [{ type: "toolCall", name, arguments: given }] : [];
  const said = [
    { role: "user", content: prompt, timestamp: 1 },
    { role: "assistant", content: [...call, { type: "text", text: "The okapi, as it is." }], timestamp: 2 },
    { role: "user", content: `The okapi of ${session.sessionId} is blue.`, timestamp: 3 },
  ];
  await hooks.agent_end({ messages: said.slice(0, 2) }, session);
  await hooks.agent_end({ messages: said }, session);
  answers[session.sessionId] = Boolean(passages);
}
console.log(JSON.stringify({
  tools: Object.keys(tools),
  found: await text("memory_search", {query: "Which port does Atlas listen on?", maxResults: 1}),
  read: await text("memory_get", {path: "memory/atlas.md#L1-L9", from: 3, lines: 1}),
  outside: await text("memory_get", {path: "elsewhere/b.md"}),
  around: await text("memory_get", {path: "memory/../private/secret.md"}),
  recalled: [await recalled("Which port does our host Atlas listen on?"), await recalled("Which port does our host Atlas listen on?")],
  ofSession,
  answers,
  origins: await classify("MEMORY.md", "link.md", "nothing.md", "../atlas.md"),
  remote: remote.map((row) => row.originClass),
  warnings,
  managed,
  error,
  section: capability.promptBuilder({ availableTools: new Set(["memory_search"]) }),
  flush: capability.flushPlanResolver({ nowMs: 0 }),
}));
"""


def call_openclaw(
    tmp_path: Path, config: dict[str, str], *words: str, env: dict[str, str] | None = None
) -> Any:
    """What the plugin of OpenClaw answers for a workspace, in a process that began elsewhere."""
    (tmp_path / "MEMORY.md").write_text("Remember.\n")
    (tmp_path / "link.md").symlink_to(ROOT / "README.md")
    elsewhere = tmp_path / "other/folder"
    elsewhere.mkdir(parents=True)
    shutil.copy(PLUGINS / "openclaw/index.js", elsewhere / "plugin.mjs")
    (elsewhere / "call.mjs").write_text(CALL)
    command = ["node", "call.mjs", json.dumps(config), str(tmp_path), *words]
    done = subprocess.run(
        command, env=env, cwd=elsewhere, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def stored(memory: dict[str, str], words: str) -> str:
    """What a search for an okapi prints, once it contains these words."""
    end = time.monotonic() + 60
    search = [COMMAND, "search", "okapi", "--json"]
    while words not in (
        found := subprocess.run(search, env=memory, capture_output=True, text=True).stdout
    ):
        assert time.monotonic() < end
        time.sleep(0.2)
    return found


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("collection", [None, "memory"])
def test_the_tools_of_openclaw_answer_as_the_command_does(
    memory: dict[str, str], tmp_path: Path, collection: str | None
) -> None:
    private = Path(memory["HOME"]) / "private"
    private.mkdir(exist_ok=True)
    (private / "secret.md").write_text("The safe opens with 4711.\n")
    ingest = [str(COMMAND), "ingest", "--path", str(private), "--quiet"]
    subprocess.run(ingest, env=memory, capture_output=True, check=True)
    wrapper = tmp_path / "wrapper"
    log = tmp_path / "folders"
    wrapper.write_text(f'#!/bin/sh\npwd >> {log}\nexec {COMMAND} "$@"\n')
    wrapper.chmod(0o755)
    config = {"command": str(wrapper)} | ({"collection": collection} if collection else {})
    told = call_openclaw(tmp_path, config, env=memory)
    assert set(log.read_text().splitlines()) == {str(tmp_path)}
    assert told["tools"] == ["memory_search", "memory_get"]
    assert told["found"].startswith("**memory/atlas.md#L")
    assert json.loads(told["read"])["text"] == "Atlas listens on port 2222."
    assert told["outside"].startswith("Error: ")
    if collection:
        assert told["around"] == "Error: only documents of memory can be read"
    else:
        assert "4711" in told["around"]
    assert told["warnings"] == []
    assert all("2222" in passages for passages in told["recalled"])
    assert told["origins"] == ["agent", "untrusted", "untrusted", "untrusted"]
    assert told["remote"] == ["agent", "untrusted"]
    managed = told["managed"]
    assert managed["status"]["backend"] == "builtin"
    assert managed["status"]["files"] == 2
    [hit] = managed["hits"]
    assert (hit["path"], hit["source"]) == ("memory/atlas.md", "memory")
    assert hit["startLine"] <= 3 <= hit["endLine"]
    assert managed["text"]["text"] == "Atlas listens on port 2222."
    assert managed["nothing"]["status"] == "not_found"
    assert "memory_search" in told["section"][1]
    assert told["flush"]["relativePath"].startswith("memory/19")
    assert told["flush"]["prompt"].startswith(BEFORE_COMPACTION)
    assert "elsewhere" in told["outside"]
    if not collection:
        before, after = told["ofSession"]
        assert "Juno" not in before, "the context has it"
        assert "Juno" in after, "the context was compacted"
    found = stored(memory, "Assistant: Juno does.")
    assert "sessions-openclaw/one.jsonl" in found
    assert "made up" not in found
    assert "hunter2" not in found
    assert told["answers"]["two-0"], "passages were added to this prompt"
    is_stored = {}
    for name in told["answers"]:
        hits = json.loads(stored(memory, f"okapi of {name} is blue"))
        [text] = [hit["text"] for hit in hits if hit["doc_id"].endswith(f"{name}.jsonl")]
        is_stored[name] = "as it is" in text
    assert is_stored == {"two-0": False, "two-1": False, "two-2": False, "two-3": True}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_openclaw_is_told_how_to_get_a_missing_command(tmp_path: Path) -> None:
    told = call_openclaw(tmp_path, {"command": str(tmp_path / "nothing")}, "enabled")
    assert "uv tool install --editable ." in told["found"]
    assert told["error"] == told["found"].removeprefix("Error: ")
    assert "plugins.entries.memory-core.enabled false" in told["warnings"][0]


MISSING = "this folder has no memory"
TIMELESS = '"recall", "--timeout", "0", "--host"'

CALL_OPENCODE = """
import { HybridMemory } from "./plugin.mjs";
const parts = (text) => [{ type: "text", text }, { type: "text", text: "made up", synthetic: true }];
const messages = [
  { info: { role: "user", time: { created: 0 } }, parts: parts("Who feeds the okapi? password=hunter2hunter2") },
  { info: { role: "assistant", time: { created: 0 } }, parts: parts("Juno does.") },
];
const asked = { role: "user", time: { created: 0 } }, answered = { role: "assistant", time: { created: 1 } };
const ours = { type: "text", text: "passages", synthetic: true, id: "prt_2_memory" };
const sessions = {
  ses_1: messages,
  ses_2: [
    { info: asked, parts: [...parts("Who shears the llama?"), ours] },
    { info: answered, parts: parts("Recalled.") },
    { info: asked, parts: parts("Who brushes the llama?") },
    { info: answered, parts: [{ type: "tool", tool: "hybrid-memory_memory_search" }, ...parts("Searched.")] },
    { info: asked, parts: parts("Who washes the llama?") },
    { info: answered, parts: [{ type: "tool", tool: "webfetch" }, ...parts("Fetched the okapi.")] },
  ],
};
const client = { session: { messages: async ({ path }) => ({ data: sessions[path.id] }) } };
const hooks = await HybridMemory({ client, directory: process.argv[2] });
const prompt = parts("Which port does our host Atlas listen on?");
await hooks["chat.message"]({ sessionID: "ses_1" }, { message: { id: "msg_1" }, parts: prompt });
const added = structuredClone(prompt.slice(2));
await hooks["experimental.chat.messages.transform"]({}, { messages: [{ info: {}, parts: prompt }] });
for (const type of ["session.idle", "session.idle", "session.compacted", "session.updated"]) {
  await hooks.event({ event: { type, properties: { sessionID: "ses_1" } } });
}
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_2" } } });
console.log(JSON.stringify({ keys: Object.keys(hooks), added, shown: prompt }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_plugin_of_opencode_recalls_and_writes_the_transcript(
    memory: dict[str, str], tmp_path: Path
) -> None:
    module = (PLUGINS / "opencode/hybrid-memory.js").read_text()
    command = json.dumps([str(COMMAND)])
    module = module.replace('const COMMAND = ["hybrid-memory"];', f"const COMMAND = {command};")
    module = module.replace('"recall", "--host"', TIMELESS)
    assert command in module
    (tmp_path / "plugin.mjs").write_text(module)
    (tmp_path / "call.mjs").write_text(CALL_OPENCODE)
    done = subprocess.run(
        ["node", "call.mjs", str(tmp_path)],
        env=memory,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["keys"] == ["chat.message", "experimental.chat.messages.transform", "event"]
    [part] = told["added"]
    assert part["synthetic"]
    assert part["ignored"], "a request for a title has no passages"
    assert "2222" in part["text"]
    assert told["shown"][2] == part | {"ignored": False}
    assert "ignored" not in told["shown"][1]
    found = stored(memory, "Assistant: Juno does.")
    assert "made up" not in found
    assert "sessions-opencode/ses_1.jsonl" in found
    found = stored(memory, "Fetched the okapi.")
    assert "Recalled." not in found, "the memory answered"
    assert "Searched." not in found
    file = tmp_path / ".local/state/hybrid-memory/transcripts/opencode/ses_1.jsonl"
    assert "hunter2" not in file.read_text()
    assert len(file.read_text().splitlines()) == 3, "each message is written once"
    assert file.stat().st_mode & 0o777 == 0o600


ASK_OPENCODE = """
import { HybridMemory } from "./plugin.mjs";
const said = [];
const client = { session: { messages: async () => ({ data: said }) } };
const hooks = await HybridMemory({ client, directory: process.argv[2] });
const ask = async () => {
  const parts = [{ type: "text", text: "Which bird is our bird?" }];
  await hooks["chat.message"]({ sessionID: "ses_1" }, { message: { id: "msg_1" }, parts });
  said.push({ info: { role: "user", time: { created: 0 } }, parts });
  return parts.slice(1).map((part) => part.text).join("");
};
const first = await ask();
console.log(JSON.stringify([first, await ask()]));
"""
ASK_OPENCLAW = """
import plugin from "./plugin.mjs";
const hooks = {}, tools = {}, messages = [];
plugin.register({
  registerTool: (create) => {
    const tool = create({ workspaceDir: process.argv[2] });
    tools[tool.name] = tool;
  },
  on: (name, handler) => { hooks[name] = handler; },
});
const ask = async () => {
  const prompt = { currentUserMessage: "Which bird is our bird?", messages: [...messages] };
  messages.push({ role: "user", content: prompt.currentUserMessage });
  const context = { sessionId: "one", sessionKey: "agent:main:main", workspaceDir: process.argv[2] };
  return (await hooks.before_prompt_build(prompt, context))?.prependContext ?? "";
};
const call = async (name, params) => {
  try { return (await tools[name].execute("1", params)).content[0].text; } catch (error) { return error.message; }
};
const found = [await call("memory_search", { query: "Which bird is our bird?" }), await call("memory_get", { path: "memory/a.md" })];
const first = await ask();
console.log(JSON.stringify([first, await ask(), ...found]));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize(
    ("file", "script"),
    [("opencode/hybrid-memory.js", ASK_OPENCODE), ("openclaw/index.js", ASK_OPENCLAW)],
)
def test_a_plugin_names_a_folder_without_a_memory_once_in_a_session(
    file: str, script: str, installed: dict[str, str], tmp_path: Path
) -> None:
    module = (PLUGINS / file).read_text().replace('"recall", "--host"', TIMELESS)
    assert TIMELESS in module
    (tmp_path / "plugin.mjs").write_text(module)
    (tmp_path / "ask.mjs").write_text(script)

    def asked(folder: str) -> list[str]:
        command = ["node", "ask.mjs", str(tmp_path / folder)]
        done = subprocess.run(
            command, env=installed, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return list(json.loads(done.stdout))

    line, nothing, *found = asked("strange")
    assert MISSING in line
    assert "`hybrid-memory init`" in line
    assert "heron" not in line
    assert nothing == ""
    assert all(MISSING in text for text in found), "the tool has no other memory either"
    first, _, *found = asked("own")
    assert all("heron" in text for text in [first, *found])
    assert MISSING not in first


def connected(host: str, environ: dict[str, str], cwd: Path) -> list[str]:
    """The command of our MCP server in the settings of a host that was connected."""
    connect = [COMMAND, "connect", host, "--yes", "--json"]
    checkout = {**environ, "PYTHONPATH": ""}  # it has the skill
    done = subprocess.run(connect, env=checkout, cwd=cwd, capture_output=True, check=True)
    [result] = json.loads(done.stdout)
    [command] = filter(None, (server_in(Path(change["path"])) for change in result["changes"]))
    return command


def test_the_tools_that_connect_adds_have_only_the_memory_of_the_folder(
    installed: dict[str, str], tmp_path: Path
) -> None:
    command = connected("claude", installed, tmp_path)
    for host in ("codex", "cursor", "gemini", "opencode"):
        assert connected(host, installed, tmp_path) == command

    def called(folder: str, name: str, **arguments: str) -> str:
        call = {"name": name, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        return subprocess.run(
            command,
            env=installed,
            cwd=tmp_path / folder,
            input=json.dumps(request) + "\n",
            capture_output=True,
            text=True,
        ).stdout

    for name, arguments in (
        ("memory_search", {"query": "Which bird is our bird?"}),
        ("memory_store", {"doc_id": "bird", "text": "Our bird is the stork."}),
    ):
        refused = called("strange", name, **arguments)
        assert MISSING in refused, name
        assert "heron" not in refused
    assert "heron" in called("own", "memory_search", query="Which bird is our bird?")
    assert "stork" not in called("own", "memory_search", query="Is our bird the stork?")


def server_in(path: Path) -> list[str] | None:
    """The command of our MCP server in a file of settings; None if it has none."""
    if path.suffix not in (".json", ".toml"):
        return None
    text = path.read_text()
    settings = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    for key in ("mcpServers", "mcp_servers", "mcp"):
        if server := settings.get(key, {}).get("hybrid-memory"):
            command = server["command"]
            return [*([command] if isinstance(command, str) else command), *server.get("args", [])]
    return None


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of an installed command, in whose home there are a workspace, own, and a folder
    that `init` does not know, strange.
    """
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed/hybrid_memory").symlink_to(Path(hybrid_memory.__file__).parent)
    (tmp_path / "strange").mkdir()
    (tmp_path / "own/memory").mkdir(parents=True)
    (tmp_path / "own/memory/a.md").write_text("# Nests\n\nOur bird is the heron.\n")
    variables = {
        "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(tmp_path / "installed"),
        "HYBRID_MEMORY_PROVIDER": "builtin",
    }
    init = [COMMAND, "init", str(tmp_path / "own"), "--yes"]
    subprocess.run(init, env=variables, cwd=tmp_path, check=True, capture_output=True)
    return variables


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
