"""Turn a file into a document: formats, front matter, chunks with their lines."""
