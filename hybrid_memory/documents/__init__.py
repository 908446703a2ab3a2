"""From a file to a document: formats, front matter, chunks with their lines."""
