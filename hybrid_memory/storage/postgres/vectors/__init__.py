"""The vector index: pgvector."""
