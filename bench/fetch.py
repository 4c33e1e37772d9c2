"""Fetches what the measurements need, so that a run on a quiet machine downloads and installs nothing.

    python -m bench --fetch [--peers]

Sources of all suites but the public one, and with `--peers` the other programs. Each step says what it could not do and
the others go on; the measurement that needs it reports the same later.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import ground, trees
from bench.packages import Package, unpacked
from bench.servers import PEERS, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["fetch", "steps"]

HERE = Path(__file__).parent
DATA = HERE.parent / "data"
LISTS = (
    DATA / "golden" / "packages.tsv",
    DATA / "research" / "packages.tsv",
    HERE / "tasks" / "packages.tsv",
    HERE / "focus_packages.tsv",
)
OF_FOCUS = "report"  # the half that `bench.focus` measures


def fetch(*, peers: bool) -> bool:
    """Whether everything is available now."""
    outcomes = [done(name, act) for name, act in steps(peers=peers)]  # all of them, even if one fails
    return all(outcomes)


def steps(*, peers: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "django 5.2.7", partial(trees.sdist, "django", "5.2.7")
    for package in packages():
        yield f"{package.package} {package.version}", partial(unpacked, package, trees.cache() / "packages")
    for name in ground.GROUNDS:
        yield f"workload: {name}", partial(ground.ground, name)
    if peers:
        for peer in PEERS:
            yield f"{peer.package} {peer.version}", partial(installed, peer)


def packages() -> Iterator[Package]:
    for file in LISTS:
        for line in file.read_text("utf-8").splitlines():
            name, *row = line.split("\t")
            if row and not name.startswith("#") and row[4:] in ([], [OF_FOCUS]):
                yield Package(name, *row[:4])


def done(name: str, act: Callable[[], Any]) -> bool:
    began = time.monotonic()
    try:
        act()
    except Exception as error:  # noqa: BLE001 - whatever it is, the others are wanted
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return False
    print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return True
