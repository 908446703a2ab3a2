"""What can be said of a text alone: its words, its dates, its secrets, its width."""
