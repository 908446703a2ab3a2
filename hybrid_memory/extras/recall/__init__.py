"""What agents' hooks call: recall on every prompt, news at the start, transcripts taken in."""
