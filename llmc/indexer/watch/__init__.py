"""watch: what changed below the roots?

A watcher marks: it calls `on_dirty(root, paths)` for paths that may have changed, in whatever way (a path may be new,
gone, or a folder by now), and `on_rescan(root, folder, reason)` for folders whose files it cannot name. It reads no
file and knows nothing of the catalog; the stat walk of the indexer is the truth. The order that loses nothing is

    watcher.add(root, ignored)      watches first,
    walk the root                   then the walk;

    on_rescan(root, folder, ...)    note it; later, in a thread of your own:
    reload the rules of the folder
    watcher.rewatch(root, folder)   watches first again,
    walk the folder                 then the walk,
    watcher.healed(root)            after a walk of the whole root (folder "").

Callbacks come from threads of the watcher, one at a time for a root, in the order of the events (paths of one batch are
one set, told before the folders of that batch), and all that concern changes before a `barrier` come before it returns.
They should only take notes: as long as one runs, barriers wait. They may call the watcher, `barrier` and `close`
excepted. After `remove` a callback that was under way may still end.

What no watcher here can see, and a periodic walk must find: a write through another hard link or through a shared
memory map of a file that is closed, and a file system that is mounted over a folder below a root.
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
)

__all__ = ["RULE_FILES", "Health", "Ignored", "Mode", "OnDirty", "OnRescan", "Reason", "Watcher", "open_watcher"]

log = logging.getLogger(__name__)

_LINUX = sys.platform == "linux"


def open_watcher(on_dirty: OnDirty, on_rescan: OnRescan) -> Watcher:
    """The best watcher that works here."""
    if not _LINUX:
        from llmc.indexer.watch.observer import ObserverWatcher  # noqa: PLC0415 - watchdog costs 40 ms of CPU

        return ObserverWatcher(on_dirty, on_rescan)
    from llmc.indexer.watch.inotify import limit_hint  # noqa: PLC0415 - made of calls that only Linux has
    from llmc.indexer.watch.linux import LinuxWatcher  # noqa: PLC0415 - likewise

    try:
        return LinuxWatcher(on_dirty, on_rescan)
    except OSError as error:
        log.warning("no change events, every root is polled: %s", error)
        return PollingWatcher(on_dirty, on_rescan, why=limit_hint(error))
