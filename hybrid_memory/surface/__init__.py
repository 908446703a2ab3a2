"""What people and programs talk to: arguments, requests, output formats, MCP."""
