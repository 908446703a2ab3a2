"""Hybrid search (BM25 and embeddings) over an AI agent's markdown memory, in one local SQLite file."""

__version__ = "0.1.0"
