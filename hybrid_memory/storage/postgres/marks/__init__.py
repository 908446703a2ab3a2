"""The names, links and tags of documents: how they are written and read."""
