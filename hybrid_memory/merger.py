"""Two lists of results merged by weight; the module is search/merge.py."""

from .search.merge import merge_results

__all__ = ["merge_results"]
