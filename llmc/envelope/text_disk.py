"""The `Disk` under our diskcache: text in, text out, and nothing that is ever run.

diskcache's stored rows choose their own decoder, and one of them is pickle: whoever can write a row runs code
(CVE-2025-69872, no fixed version). This one takes string keys and text, never asks a row how it wants to be read, and
opens no file outside its folder. What the text means is the business of whoever stored it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["open_cache"]


def open_cache(folder: str, max_bytes: int) -> Any:
    """A cache in a folder that only its owner may enter; the least used goes first when it is full."""
    import diskcache  # noqa: PLC0415 - 40 ms that only a cut reply pays

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
            """The key of a row; of one that somebody else wrote, a name that nothing has. It is never decoded."""
            return key if raw and isinstance(key, str) else ""

        def store(self, value: object, read: bool, key: object = None) -> Any:
            if read:
                raise TypeError("streams are not stored")
            # What becomes a file is written as bytes: diskcache writes text line by line, in twice the time.
            text = checked(value)
            return super().store(text if len(text) < self.min_file_size else text.encode(), False, key=key)

        def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> str | None:
            """The row says how it wants to be decoded; it is not asked."""
            del mode
            text = value if filename is None else read_below(self._directory, filename)
            return text if isinstance(text, str) and not read else None

    return TextDisk


def checked(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("only text is stored")
    return value


def read_below(folder: str, name: str) -> str | None:
    top = Path(folder).resolve()
    full = (top / name).resolve()
    try:
        return full.read_text("utf-8") if full.is_relative_to(top) else None
    except (OSError, UnicodeDecodeError):
        return None
