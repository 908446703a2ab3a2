"""Markdown as chunks; the module is documents/chunker.py."""

from .documents.chunker import Chunk, chunk_text

__all__ = ["Chunk", "chunk_text"]
