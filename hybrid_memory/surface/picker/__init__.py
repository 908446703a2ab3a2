"""A search on the whole terminal that answers while one types."""
