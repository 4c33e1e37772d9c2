"""The variables that the user's settings name, to be sent along to the daemon, which was started elsewhere.

`${VAR}` in a settings file, the usual key of a vendor that it names, and PATH where it names programs. Nothing else of
the environment leaves the process. The files are only looked at, not understood: what counts is the daemon's business.
"""

# os.path throughout, since importing pathlib would cost a client's start 5 ms:
# ruff: noqa: PTH100, PTH109, PTH118, PTH120, PTH123

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["named_variables"]

FILES = ("llmc.toml", "llmc.json")
MOST_BYTES = 1 << 20
KEY = "_API_KEY"
VARIABLE = re.compile(r"\$\{(\w+)\}")


def named_variables(config: str, environ: Mapping[str, str]) -> dict[str, str]:
    text = "\n".join(texts(config or environ.get("LLMC_CONFIG", ""), environ))
    lowered = text.lower()
    names = set(VARIABLE.findall(text))
    names |= {name for name in environ if name.endswith(KEY) and name.removesuffix(KEY).lower() in lowered}
    if "command" in text:
        names.add("PATH")
    return {name: environ[name] for name in names if name in environ}


def texts(config: str, environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config")
    places = [os.path.join(home, "llmc", name) for name in FILES]
    places += [os.path.abspath(config)] if config else list(around(os.getcwd()))
    for place in places:
        try:
            with open(place, encoding="utf-8", errors="replace") as file:
                yield file.read(MOST_BYTES)
        except OSError:
            continue


def around(folder: str) -> Iterator[str]:
    """Where a workspace file may be: here, or above."""
    while True:
        yield from (os.path.join(folder, name) for name in FILES)
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
