"""A server of the Model Context Protocol for the memory."""
