"""The interface of a store, the code that engines share, and the SQLite engine."""
