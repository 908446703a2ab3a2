"""The storage engine on a PostgreSQL server with pgvector."""
