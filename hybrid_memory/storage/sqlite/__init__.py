"""The storage engine that keeps everything in one SQLite file. All SQL stands here."""
