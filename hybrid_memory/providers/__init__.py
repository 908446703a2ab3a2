"""Embedders beside Ollama's, one file each, imported only when chosen."""
