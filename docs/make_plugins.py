"""Write the manifests, hooks and MCP servers of the plugins for agents.

    uv run docs/make_plugins.py

Due when a description here, hosts.json, or the version changes. A test compares. The text
for agents is written by `make_agent_texts.py`, and the modules index.js and hybrid-memory.js by hand.
"""

import json
from pathlib import Path
from typing import Any

from hybrid_memory import __version__
from hybrid_memory.extras.hosts import START, filled, hosts

ROOT = Path(__file__).parent.parent
NAME = "hybrid-memory"
TITLE = "Hybrid memory"
DESCRIPTION = (
    "Adds relevant passages of your own markdown notes to a prompt, in a tenth of a second, "
    "or nothing if none is relevant."
)
AUTHOR = {"name": "The hybrid-memory authors"}
KEYWORDS = ["memory", "search", "notes", "recall", "mcp"]
ABOUT = {"name": NAME, "version": __version__, "description": DESCRIPTION}
SCHEMA = "https://agent-plugins.org/schemas/1.0.0"
SERVER = {"command": NAME, "args": ["mcp", "--workspace-only"]}
MISSING = (
    "hybrid-memory: the command is not on the PATH, so nothing is recalled; if it is installed, run "
    "uv tool update-shell and start the agent again; else, in a checkout of hybrid-memory: "
    "uv tool install --editable . && hybrid-memory init"
)

Json = dict[str, Any]


def hooks(name: str) -> Json:
    """The hooks of a plugin. At the start of a session, they report a missing command."""
    host = hosts()[name]
    recall = f"{NAME} recall --host {name}"
    silent = f"{recall} 2>/dev/null || true"
    [file] = [file for file in host.files if "hooks" in file.values]
    entries = {}
    for event, entry in file.values["hooks"].items():
        told = MISSING
        if reply := host.replies.get(START):
            told = json.dumps(filled(reply, {"{event}": event, "{text}": MISSING}))
        found = (
            f"if command -v {NAME} >/dev/null 2>&1; then {recall} || true; else echo '{told}'; fi"
        )
        is_told = host.events[event] == START
        entries[event] = filled(entry, {"{hook}": found if is_told else silent})
    return {**file.defaults, "hooks": entries}


def servers(**fields: str) -> Json:
    """The MCP servers of a plugin."""
    return {"mcpServers": {"memory": {**fields, **SERVER}}}


def manifests() -> dict[str, Json]:
    """Return each file that is JSON, by its path below the checkout."""
    codex_interface = {
        "displayName": TITLE,
        "shortDescription": "Adds relevant passages of your notes to prompts",
        "longDescription": DESCRIPTION,
        "developerName": AUTHOR["name"],
        "category": "Productivity",
        "capabilities": ["Read"],
        "defaultPrompt": ["What do my notes say about this?"],
    }
    places = {"skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json"}
    common = {**ABOUT, "license": "MIT", "keywords": KEYWORDS, "author": AUTHOR}
    return {
        "plugins/claude-code/.claude-plugin/plugin.json": common,
        "plugins/claude-code/.mcp.json": servers(type="stdio"),
        "plugins/claude-code/hooks/hooks.json": hooks("claude"),
        "plugins/codex/.codex-plugin/plugin.json": {
            **common,
            **places,
            "interface": codex_interface,
        },
        "plugins/codex/.mcp.json": servers(),
        "plugins/codex/hooks/hooks.json": hooks("codex"),
        "plugins/cursor/.cursor-plugin/plugin.json": {**common, "displayName": TITLE},
        "plugins/cursor/mcp.json": servers(),
        "plugins/cursor/hooks/hooks.json": hooks("cursor"),
        "plugins/gemini/gemini-extension.json": {**ABOUT, **servers()},
        "plugins/gemini/hooks/hooks.json": hooks("gemini"),
        "plugins/agent-plugin/plugin.json": {"$schema": f"{SCHEMA}/plugin.schema.json", **common},
        "plugins/agent-plugin/mcp.json": {
            "$schema": f"{SCHEMA}/mcp.schema.json",
            **servers(type="stdio"),
        },
        ".claude-plugin/marketplace.json": {
            "name": NAME,
            "description": "Local hybrid search over your own markdown notes, for agents",
            "owner": AUTHOR,
            "plugins": [
                {"name": NAME, "source": "./plugins/claude-code", "description": DESCRIPTION}
            ],
        },
    }


def texts() -> dict[Path, str]:
    """Return the text of each file."""
    return {ROOT / name: json.dumps(value, indent=2) + "\n" for name, value in manifests().items()}


if __name__ == "__main__":
    for path, text in texts().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
