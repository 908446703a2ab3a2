"""Hybrid search (BM25 and embeddings) over an AI agent's markdown memory, in one local SQLite file.

from hybrid_memory import HybridStore

with HybridStore("memory.db") as store:
    store.store("notes/gpu.md", "# GPU server\\n\\nSSH goes through port 2222.")
    store.search("how do I reach the GPU server?", limit=5)
"""

from typing import TYPE_CHECKING

from .errors import (
    ConfigError,
    EmbedderError,
    HybridMemoryError,
    QueryError,
    SourceError,
    StoreError,
)

if TYPE_CHECKING:
    from .store import HybridStore, Result

__version__ = "0.1.0"
__all__ = [
    "ConfigError",
    "EmbedderError",
    "HybridMemoryError",
    "HybridStore",
    "QueryError",
    "Result",
    "SourceError",
    "StoreError",
]


def __getattr__(name: str) -> object:
    """Import HybridStore and Result when they are first used, so that the command can answer Ctrl-C
    while it imports the rest.
    """
    if name in ("HybridStore", "Result"):
        from . import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
