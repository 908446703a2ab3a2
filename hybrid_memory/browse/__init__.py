"""Reading the memory without a search: a document, or lists of documents, links and tags."""
