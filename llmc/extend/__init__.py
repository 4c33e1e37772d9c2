"""extend: what users add to llmc: personas, delegates, shell commands, the pruner profile."""
