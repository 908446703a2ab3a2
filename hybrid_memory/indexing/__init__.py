"""Writing to a store apart from an ingest: single documents, deletions, pending embeddings."""
