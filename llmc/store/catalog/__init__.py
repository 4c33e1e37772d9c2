"""catalog: which file holds which document, and what does each document define? SQLite."""
