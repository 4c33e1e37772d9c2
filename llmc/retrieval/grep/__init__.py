"""grep: which lines match a pattern? Planned on trigrams, decided by RE2 or ripgrep."""
