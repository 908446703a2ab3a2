"""From documents and vectors to the store: what is written, what is still pending, a change of model."""
