"""Stems: words without the endings of their inflections."""
