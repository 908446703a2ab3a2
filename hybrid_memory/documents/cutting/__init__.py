"""Where a text is cut so that each piece stands alone: blocks, sentences, and what is left out."""
