"""Functions of a text alone: its words, dates, secrets, lines and width."""
