"""`llmc` itself, with the handler of the fake daemon, also for `--no-daemon`."""

from __future__ import annotations

from fake_daemon import open_twin

from llmc.cli import main
from llmc.server import local

if __name__ == "__main__":
    local.open_service = open_twin
    main()
