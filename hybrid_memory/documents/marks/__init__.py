"""What a text says of itself and of other documents: its titles, names, links and tags."""
