"""Vector search in SQLite: bit planes give candidates, and exact cosines order these."""
