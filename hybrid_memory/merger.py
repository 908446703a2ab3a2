"""Two lists of results merged by weight; the module is search/legs.py."""

from .search.legs import merge_results

__all__ = ["merge_results"]
