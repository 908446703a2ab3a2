"""A web page for people and an HTTP API for programs."""
