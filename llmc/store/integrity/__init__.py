"""integrity: is the index on disk the one that was written? Checksums, creation, repair."""
