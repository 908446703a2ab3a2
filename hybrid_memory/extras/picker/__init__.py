"""Search as you type in a terminal."""
