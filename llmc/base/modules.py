"""Names that begin with a module: `echo.deliver` in `src/echo.ts`, `pkg.a.f` in `pkg/a/__init__.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["is_module", "module_splits"]

# Files that are the module of their folder.
PACKAGE_FILES = frozenset({"__init__", "index", "mod"})


def module_splits(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(module as a path, name in it) for each way to divide a qualified name, the longest module first."""
    for at in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:at]), ".".join(parts[at:])


def is_module(path: str, module: str) -> bool:
    folder, _, file = f"/{path}".rpartition("/")
    stem = file.partition(".")[0]
    own = folder if stem in PACKAGE_FILES else f"{folder}/{stem}"
    return own.endswith(f"/{module}")
