"""Keyword search over a connection; the module is storage/sqlite/keyword.py."""

from .storage.sqlite.keyword import BareIndex as FTSIndex

__all__ = ["FTSIndex"]
