"""base: what do all other packages build on? Errors, values, text, paths, roots, logs. Imports no other package."""
