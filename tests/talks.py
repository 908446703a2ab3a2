"""A conversation as agents save it, for tests of both engines."""

import json
from pathlib import Path

# With the usual size of chunks, the user alone, the assistant alone, and both together
MESSAGES = [
    ("user", "the heron " * 30),
    ("assistant", "the crane " * 50),
    ("user", "and the gull?"),
    ("assistant", "the gull eats fish."),
]


def write_transcript(file: Path) -> None:
    """Write MESSAGES in the form of Claude Code."""
    lines = [
        {"type": role, "sessionId": "1", "message": {"role": role, "content": text}}
        for role, text in MESSAGES
    ]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")
