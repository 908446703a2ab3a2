"""The memory over HTTP: a page for people, an API for programs, MCP for agents. Needs the packages that mcp brings."""
