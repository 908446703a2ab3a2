"""Embedders that the core works without: remote services, and fastembed in this process."""
