"""base: what every other package builds on: errors, values, text, paths, roots, logs. It imports nothing else of
llmc."""
