"""From folders to the store: what is due, reading it, writing it, and keeping it current."""
