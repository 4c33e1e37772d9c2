"""keywords: which chunks hold these words, and which files these trigrams? tantivy."""
