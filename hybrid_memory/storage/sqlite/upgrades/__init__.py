"""From the databases of older versions to the tables of schema.py."""
