"""watch: what changed below the roots?

A watcher calls `on_dirty(root, paths)` for paths that may have changed in any way (a path may be new, gone, or a folder
by now) and `on_rescan(root, folder, reason)` for folders whose changed files it cannot name. It reads no file and does
not know the catalog; the indexer's stat walk is authoritative. On every platform events come from watchdog: on Linux
from emitters of our own (`emitter`), elsewhere from the platform's observer (`observer`). The following order loses no
change:

    watcher.add(root, ignored)      watch first,
    walk the root                   then walk;

    on_rescan(root, folder, ...)    record it; later, in another thread:
    reload the rules of the folder
    watcher.rewatch(root, folder)   watch first again,
    walk the folder                 then walk,
    watcher.healed(root)            after a walk of the whole root (folder "").

Callbacks are called from threads of the watcher, one at a time for a root, in the order of the events (the paths of one
batch are one set, reported before the folders of that batch). The callbacks for all changes before a `barrier` are
called before it returns. They should only record the change, since barriers wait while one runs. They may call the
watcher, except for `barrier` and `close`. After `remove`, a callback in progress may still finish.

No watcher can see, and a periodic walk must find: a write through another hard link or through a shared memory map of a
file that is closed, and a file system that is mounted over a folder below a root.
"""

from __future__ import annotations

import logging
import sys

from llmc.indexer.watch.polling import PollingWatcher
from llmc.indexer.watch.protocol import (
    RULE_FILES,
    Health,
    Ignored,
    Mode,
    OnDirty,
    OnRescan,
    Reason,
    Watcher,
    limit_hint,
)

__all__ = ["RULE_FILES", "Health", "Ignored", "Mode", "OnDirty", "OnRescan", "Reason", "Watcher", "open_watcher"]

log = logging.getLogger(__name__)


def open_watcher(on_dirty: OnDirty, on_rescan: OnRescan) -> Watcher:
    """A watcher based on watchdog. If it does not work, roots are polled, and their health gives the reason."""
    try:
        return _open_watchdog(on_dirty, on_rescan)
    except OSError as error:
        why = limit_hint(error)
    except Exception as error:  # noqa: BLE001 - a missing or damaged package may raise anything when imported
        why = f"watchdog cannot be imported ({error}); reinstall it: pip install --force-reinstall 'watchdog>=7.1,<8'"
    log.warning("no change events, every root is polled: %s", why)
    return PollingWatcher(on_dirty, on_rescan, why=why)


def _open_watchdog(on_dirty: OnDirty, on_rescan: OnRescan) -> Watcher:
    if sys.platform != "linux":
        from llmc.indexer.watch.observer import ObserverWatcher  # noqa: PLC0415 - watchdog costs 40 ms of CPU

        return ObserverWatcher(on_dirty, on_rescan)
    from llmc.indexer.watch.linux import LinuxWatcher  # noqa: PLC0415 - as above, and Linux has these system calls only

    return LinuxWatcher(on_dirty, on_rescan)
