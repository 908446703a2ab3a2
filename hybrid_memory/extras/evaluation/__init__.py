"""Evaluation of search quality with judged queries."""
