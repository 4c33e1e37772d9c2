"""Values shared between calls that wait at the same time.

Calls that arrive together wait for each other, and many of them need the same value: the settings of their folder, or
the very same reply. A value whose computation began after a call arrived is as fresh to that call as one that it would
compute itself, later. So nothing is ever served that was outdated when the call arrived, and a call that arrives alone
computes its own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["InFlightCache"]

Value = TypeVar("Value")


class InFlightCache(Generic[Value]):
    """Safe from any thread; keeps the `size` newest values. Times are those of `time.monotonic`."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, tuple[float, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, *, newer_than: float) -> Value | None:
        """The value for `key` if its computation began after that moment."""
        with self._lock:
            began, value = self._values.get(key, (newer_than, None))
        return value if began > newer_than else None

    def put(self, key: Hashable, value: Value, *, began: float) -> None:
        """`began`: the moment before anything was read for the value."""
        with self._lock:
            self._values[key] = (began, value)
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
