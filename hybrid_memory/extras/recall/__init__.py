"""Agent hooks: recall on every prompt, news at the start of a session, ingest of transcripts."""

from ...errors import HybridMemoryError

CHARACTERS = 1200  # of the passages for a prompt
FLOOR = 0.5  # minimum relevance of the passages to the prompt


class NoMemoryError(HybridMemoryError):
    """The folder in which the agent works belongs to none of the recorded workspaces."""
