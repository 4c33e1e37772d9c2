"""`python -m llmc.server`: the daemon process, as clients and service units start it.

`--ready-fd` receives one line of JSON: `{"pid": …}` when it listens, or `{"error": {…}}`. With `--detach` it detaches
from its parent, session and terminal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError
from llmc.base.home import find_home

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmc.base.home import Home
    from llmc.server.daemon import Opened

    Build = Callable[[Home, Mapping[str, str]], Opened]

# How long a computing thread may hold the interpreter lock. Every reply of LanceDB and every request passes through
# several threads, and each waits this long (5 ms by default) while a search computes.
SWITCH_SECONDS = 0.0005


def main(build: Build | None = None) -> None:
    """Run the daemon. `build` opens another handler than the service, for tests."""
    arguments = _arguments()
    if arguments.detach and os.fork():
        os._exit(0)  # the child belongs to init: no zombie, whatever its starter does
    from llmc.server.daemon import Daemon, end_now  # noqa: PLC0415 - asyncio is imported after the fork
    from llmc.server.local import open_service  # noqa: PLC0415 - loaded on first use

    sys.setswitchinterval(SWITCH_SECONDS)
    home = find_home(os.environ)
    ready = partial(_say, arguments.ready_fd, {"pid": os.getpid()})
    command = "started on demand" if arguments.detach else "python -m llmc.server"
    opening = partial(build or open_service, home, os.environ)
    daemon = Daemon(home, opening, command=command, stay=arguments.stay, on_ready=ready)
    try:
        daemon.run()
    except LlmcError as error:
        _say(arguments.ready_fd, {"error": error.as_dict()})
        print(f"llmc: {error}", file=sys.stderr)  # noqa: T201 - this is a program
        end_now(error.exit_code)
    end_now(0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="llmc daemon", description="The index daemon of llmc, in the foreground.")
    parser.add_argument("--stay", action="store_true", help="do not exit when idle")
    parser.add_argument("--detach", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ready-fd", type=int, default=-1, help=argparse.SUPPRESS)
    return parser.parse_args()


def _say(ready_fd: int, message: dict[str, object]) -> None:
    if ready_fd >= 0:
        with contextlib.suppress(OSError):  # the starter has exited; the daemon continues
            os.write(ready_fd, json.dumps(message).encode() + b"\n")
            os.close(ready_fd)


if __name__ == "__main__":
    main()
