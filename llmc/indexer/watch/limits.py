"""Which errors mean that the system is out of watches, and how to get more."""

from __future__ import annotations

import errno

__all__ = ["is_limit", "limit_hint"]

_LIMITS = {errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


def is_limit(error: OSError) -> bool:
    """Out of watches, descriptors or memory, as opposed to a folder that is missing or may not be read."""
    return error.errno in _LIMITS


def limit_hint(error: OSError) -> str:
    """What ran out, and the setting that provides more of it."""
    if error.errno == errno.ENOSPC:
        return "out of inotify watches; raise the limit with: sysctl fs.inotify.max_user_watches=1048576"
    if error.errno == errno.EMFILE:
        return "out of inotify instances or open files; raise the limit with: sysctl fs.inotify.max_user_instances=512"
    return f"the system has no room for more watches ({error.strerror})"
