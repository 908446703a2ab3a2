"""A search that answers while one types, in a terminal."""
