"""Markdown as chunks; the module is documents/chunker.py."""

from .documents.chunker import Chunk
from .documents.markdown import chunk_text

__all__ = ["Chunk", "chunk_text"]
