"""What can be read of a damaged database, page by page and without SQLite, which gives up where one page leads nowhere."""
