"""The tools, used by the official TypeScript client of MCP over both transports.

HYBRID_MEMORY_TEST_NODE names a folder with the package: `npm install @modelcontextprotocol/sdk`.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.extras.serving import Client

PACKAGES = os.environ.get("HYBRID_MEMORY_TEST_NODE", "")
pytestmark = [
    pytest.mark.large,
    pytest.mark.skipif(
        not (PACKAGES and shutil.which("node")),
        reason="HYBRID_MEMORY_TEST_NODE names no packages, or there is no node",
    ),
]
PLAY = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [target, ...args] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const call = async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text;
const told = {
  instructions: client.getInstructions(),
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  found: await call("memory_search", { query: "GPU server password" }),
  all: await Promise.all(Array.from({ length: 10 }, (_, n) =>
    call("memory_store", { doc_id: `zoo/${n}`, text: `Cage ${n} has a zebra.` }))),
  wrong: await client.callTool({ name: "memory_search", arguments: { quer: "x" } }),
  resources: (await client.listResources()).resources.map((each) => each.name),
};
await client.close();
console.log(JSON.stringify(told));
"""


def played(tmp_path: Path, environ: dict[str, str], *target: str) -> Any:
    (tmp_path / "node_modules").symlink_to(Path(PACKAGES) / "node_modules")
    (tmp_path / "play.mjs").write_text(PLAY)
    done = subprocess.run(
        ["node", "play.mjs", *target],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("transport", ["stdio", "HTTP"])
def test_an_agent_lists_searches_stores_and_is_corrected(
    client: Client, environ: dict[str, str], tmp_path: Path, transport: str
) -> None:
    target = [f"{client.base}/mcp"]
    if transport == "stdio":
        target = [sys.executable, "-m", "hybrid_memory", "mcp"]
    told = played(tmp_path, dict(environ), *target)
    assert "trust the newest" in told["instructions"]
    assert {"memory_search", "memory_get", "memory_store", "memory_note"} <= set(told["tools"])
    assert told["found"].startswith("**memory/2026-01-05.md#L")
    assert all("1 chunk can be found" in each for each in told["all"])
    assert told["wrong"]["isError"]
    assert "did you mean query?" in told["wrong"]["content"][0]["text"]
    assert "memory/pi.md" in told["resources"]
