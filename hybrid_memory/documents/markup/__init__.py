"""Text formats beside markdown. Each is a subclass of `Markdown` with the syntax of its own."""
