"""The command `tools`, which prints the definitions of MCP's tools for other APIs."""

import json
import subprocess
import sys
from typing import Any

import pytest

from hybrid_memory.extras.mcp.definitions import TOOLS


def printed(*options: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "hybrid_memory", "tools", *options],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    definitions: list[dict[str, Any]] = json.loads(done.stdout)
    return definitions


def test_openai_gets_functions_with_parameters() -> None:
    tools = printed()
    assert [tool["function"]["name"] for tool in tools] == list(TOOLS)
    [search] = [tool for tool in tools if tool["function"]["name"] == "memory_search"]
    assert search["type"] == "function"
    assert set(search["function"]) == {"name", "description", "parameters"}
    assert search["function"]["parameters"]["required"] == ["query"]


def test_anthropic_gets_tools_with_an_input_schema() -> None:
    tools = printed("--format", "anthropic")
    assert [tool["name"] for tool in tools] == list(TOOLS)
    assert all(set(tool) == {"name", "description", "input_schema"} for tool in tools)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_they_are_those_of_mcp(api: str) -> None:
    for tool in printed("--format", api):
        function = tool.get("function", tool)
        definition = TOOLS[function["name"]].definition(function["name"])
        assert function["description"] == definition["description"]
        schema = function["parameters" if api == "openai" else "input_schema"]
        assert schema == definition["inputSchema"]


def test_read_only_leaves_out_what_writes() -> None:
    names = [tool["function"]["name"] for tool in printed("--read-only")]
    assert names == [name for name, tool in TOOLS.items() if not tool.writes]
    assert "memory_search" in names
    assert "memory_delete" not in names
