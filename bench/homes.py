"""Indexes shared by several measurements: a state folder for each tree, filled by the first that needs it.

`LLMC_BENCH_HOMES` is the folder for them. A whole run has its own, the regression check one for each version of llmc's
code; a measurement started by itself builds its index from scratch.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import llmc

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HOMES", "fingerprint", "home_of"]

HOMES = "LLMC_BENCH_HOMES"


@contextmanager
def home_of(tree: Path) -> Iterator[Path]:
    """For one measurement at a time, which indexes the tree; that takes no time if the index exists. Other files of
    the tree may be stored next to it."""
    if not (folder := os.environ.get(HOMES)):
        with tempfile.TemporaryDirectory(prefix="llmc-bench-", ignore_cleanup_errors=True) as fresh:
            yield made(Path(fresh) / "home")
        return
    place = Path(folder) / blake2b(str(tree.resolve()).encode(), digest_size=8).hexdigest()
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield made(place / "home")


def made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def fingerprint() -> str:
    """Changes with any file of the installed llmc, and so with the possible content of an index."""
    top = Path(llmc.__file__).parent
    found = blake2b(digest_size=8)
    for path in sorted(top.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            found.update(f"{path.relative_to(top)}\0{path.stat().st_size}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()
