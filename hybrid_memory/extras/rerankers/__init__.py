"""Cross-encoders that take a second look at the first results."""
