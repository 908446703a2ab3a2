"""Optional parts of the program. The core imports none of them: tables in registry.py name each."""
