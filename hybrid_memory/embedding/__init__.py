"""From texts to vectors: one module for each provider, and the table that chooses among them."""
