"""The ways in for people and programs: arguments, requests, output formats, MCP."""
