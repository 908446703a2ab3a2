"""What is answered under /api: each request, its parameters, and their description for programs."""
