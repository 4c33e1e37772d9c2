"""`python -m llmc`: the same as the `llmc` command."""

from llmc.cli import main

if __name__ == "__main__":
    main()
