"""The storage engine that keeps everything in one SQLite file. All of its SQL is here."""
