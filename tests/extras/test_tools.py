"""The command `tools`, which prints the definitions of MCP's tools for other APIs."""

import pytest

from hybrid_memory.extras.mcp.definitions import TOOLS
from tests.command import Run, answer


@pytest.mark.parametrize(
    ("api", "parameters"), [("openai", "parameters"), ("anthropic", "input_schema")]
)
def test_they_are_those_of_mcp(run: Run, api: str, parameters: str) -> None:
    printed = answer(run("tools", "--format", api))
    tools = [tool["function"] if api == "openai" else tool for tool in printed]
    definitions = [tool.definition(name) for name, tool in TOOLS.items()]
    assert tools == [
        {
            "name": definition["name"],
            "description": definition["description"],
            parameters: definition["inputSchema"],
        }
        for definition in definitions
    ]
    assert api == "anthropic" or {tool["type"] for tool in printed} == {"function"}


def test_read_only_leaves_out_what_writes(run: Run) -> None:
    names = [tool["function"]["name"] for tool in answer(run("tools", "--read-only"))]
    assert names == [name for name, tool in TOOLS.items() if not tool.writes]
    assert "memory_search" in names
    assert "memory_delete" not in names
