"""Agent hooks: recall on every prompt, news at the start of a session, ingest of transcripts."""
