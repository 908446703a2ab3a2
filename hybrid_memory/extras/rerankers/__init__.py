"""Rerankers: cross-encoders that reorder the first results of a search."""
