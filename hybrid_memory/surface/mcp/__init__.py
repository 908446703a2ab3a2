"""The memory as tools of the Model Context Protocol: the server, and its replies as text."""
