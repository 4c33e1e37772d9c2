"""extend: extensions by users: personas, delegates, shell commands, the pruner profile."""
