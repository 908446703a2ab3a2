"""Answers about what the store holds: one document, a list, its health, its search quality."""
