"""Answers about what a store contains: one document, a list of documents, its health, and how well
it is searched.
"""
