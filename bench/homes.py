"""Indexes that the measurements of one run share: a state folder for each tree, built by the first that needs it.

A run names a folder for them in `LLMC_BENCH_HOMES`; a measurement that is started by itself has a fresh one.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HOMES", "home_of"]

HOMES = "LLMC_BENCH_HOMES"


@contextmanager
def home_of(tree: Path) -> Iterator[Path]:
    """For one measurement at a time. Whoever uses it indexes the tree: what is there already takes no time."""
    if not (folder := os.environ.get(HOMES)):
        with tempfile.TemporaryDirectory(prefix="llmc-bench-", ignore_cleanup_errors=True) as fresh:
            yield Path(fresh)
        return
    home = Path(folder) / blake2b(str(tree.resolve()).encode(), digest_size=8).hexdigest()
    home.mkdir(parents=True, exist_ok=True)
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield home
