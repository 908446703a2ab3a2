"""Vector search in SQLite: bit planes propose, exact cosines decide."""
