"""The names of `typing`, without its import."""
