"""What was made a moment ago, for those who asked before that.

Calls that come together wait for each other, and many of them need the same: the settings of their folder, or the very
reply. What was begun after a call had come is as new to it as what it would make itself, later; so nobody is ever told
anything that was over when it asked. A call that comes alone finds nothing here, and makes its own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["InFlightCache"]

Made = TypeVar("Made")


class InFlightCache(Generic[Made]):
    """From any thread; the `size` that were made last. Moments are those of `time.monotonic`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._made: OrderedDict[Hashable, tuple[float, Made]] = OrderedDict()
        self._lock = threading.Lock()

    def since(self, came: float, key: Hashable) -> Made | None:
        """What was begun after that moment, if anything."""
        with self._lock:
            began, made = self._made.get(key, (came, None))
        return made if began > came else None

    def keep(self, key: Hashable, began: float, made: Made) -> None:
        """`began`: the moment before anything was looked at for it."""
        with self._lock:
            self._made[key] = (began, made)
            self._made.move_to_end(key)
            if len(self._made) > self._size:
                self._made.popitem(last=False)

    def forget(self) -> None:
        with self._lock:
            self._made.clear()
