"""A `Disk` for diskcache that stores only text and never executes anything.

In diskcache, each row selects its decoder, and one of them is pickle: a process that can write a row can execute code
(CVE-2025-69872, no fixed version). This class accepts string keys and text, ignores the decoder of a row, and opens no
file outside its folder. Callers interpret the text.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["open_cache"]


def open_cache(folder: str, max_bytes: int) -> Any:
    """A cache in a private folder; the least recently used entries are deleted first."""
    import diskcache  # noqa: PLC0415 - 40 ms, only for truncated replies

    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
    return diskcache.Cache(
        folder, disk=text_disk(), size_limit=max_bytes, eviction_policy="least-recently-used", timeout=5
    )


def text_disk() -> type:
    import diskcache  # noqa: PLC0415 - see `open_cache`

    class TextDisk(diskcache.Disk):  # type: ignore[misc]
        def put(self, key: object) -> tuple[str, bool]:
            return checked(key), True

        def get(self, key: object, raw: bool) -> str:
            """The key of a row, or an empty string for a row of another program. It is never decoded."""
            return key if raw and isinstance(key, str) else ""

        def store(self, value: object, read: bool, key: object = None) -> Any:
            if read:
                raise TypeError("streams cannot be stored")
            # Files are written as bytes: diskcache writes text line by line, which takes twice as long.
            text = checked(value)
            return super().store(text if len(text) < self.min_file_size else text.encode(), False, key=key)

        def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> str | None:
            """Ignores `mode`, the decoder that the row selects."""
            del mode
            text = value if filename is None else read_below(self._directory, filename)
            return text if isinstance(text, str) and not read else None

    return TextDisk


def checked(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("only strings can be stored")
    return value


def read_below(folder: str, name: str) -> str | None:
    top = Path(folder).resolve()
    full = (top / name).resolve()
    try:
        return full.read_text("utf-8") if full.is_relative_to(top) else None
    except (OSError, UnicodeDecodeError):
        return None
