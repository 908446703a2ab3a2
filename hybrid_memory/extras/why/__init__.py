"""Why a note is or is not in the store, and where a search ranks it."""
