"""How well searches find what judgements name."""
