"""Documents that are not text: their text is extracted, as markdown, in a process of its own."""
