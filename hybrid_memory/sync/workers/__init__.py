"""Other processes that read, cut and embed files for an ingest."""
