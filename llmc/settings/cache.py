"""Caches loaded settings until a file that they depend on changes.

Loading takes a millisecond and a daemon needs the settings for every call, so it keeps them together with a stamp:
which settings files there are, their size, times and inode, and where links lead. Comparing stamps reads no file. A
file that was written within the last clock tick could change again without changing its stamp, so settings from such a
file are not cached.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base.root_fs import settled, stamp_of
from llmc.settings.loader import load
from llmc.settings.locations import FILE_NAMES, config_folder
from llmc.settings.overrides import CONFIG_VARIABLE
from llmc.settings.types import ValueContext, absolute

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from llmc.settings.loader import Loaded

__all__ = ["SettingsCache", "path_stamps"]

# The number of folders and sets of flags of simultaneous clients.
MOST_ENTRIES = 64


class SettingsCache:
    """Thread-safe."""

    def __init__(self, size: int = MOST_ENTRIES) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, tuple[Hashable, Loaded]] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, key: Hashable, cwd: str, env: Mapping[str, str], flags: Sequence[str], config: str) -> Loaded:
        """Like `load`; `key` identifies the arguments. The same object as before if nothing has changed."""
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept[0] == _stamp(cwd, env, config, kept[1].resolved):
            return kept[1]
        files = path_stamps(_files(os.path.realpath(cwd), env, config))
        loaded = load(cwd, env, flags, config or None)
        stamp = _stamp(cwd, env, config, loaded.resolved)
        if files is not None and stamp is not None and files == stamp[1]:
            with self._lock:
                self._kept[key] = (stamp, loaded)
                self._kept.move_to_end(key)
                while len(self._kept) > self._size:
                    self._kept.popitem(last=False)
        return loaded


def path_stamps(paths: Iterable[str]) -> tuple[Hashable, ...] | None:
    """A value that changes when a file is written, replaced, removed or created at one of the paths, or a folder is
    replaced; None if a file was written so recently that its stamp proves nothing."""
    stamps: list[Hashable] = []
    for path in paths:
        try:
            found = os.lstat(path)
        except OSError:
            stamps.append(None)
            continue
        if stat.S_ISDIR(found.st_mode):
            stamps.append((found.st_dev, found.st_ino, found.st_mode))
            continue
        stamp = stamp_of(found)
        if not settled(stamp):
            return None
        stamps.append((found.st_dev, found.st_mode, stamp))
        if stat.S_ISLNK(found.st_mode):
            behind = path_stamps([os.path.realpath(path)])
            if behind is None:
                return None
            stamps.append(behind)
    return tuple(stamps)


def _stamp(
    cwd: str, env: Mapping[str, str], config: str, resolved: Mapping[str, str]
) -> tuple[str, tuple[Hashable, ...]] | None:
    if any(os.path.realpath(path) != real for path, real in resolved.items()):
        return None
    folder = os.path.realpath(cwd)
    files = path_stamps(_files(folder, env, config))
    return None if files is None else (folder, files)


def _files(folder: str, env: Mapping[str, str], config: str) -> Iterator[str]:
    """All paths that `load` checks, in order: the user's files, the one given, those up to the work tree."""
    own = config_folder(env)
    yield from (f"{own}/{name}" for name in FILE_NAMES)
    if named := config or env.get(CONFIG_VARIABLE):
        yield str(absolute(named, ValueContext(Path(folder), env)))
    while True:
        yield from (f"{folder}/{name}" for name in (".git", *FILE_NAMES))
        above = os.path.dirname(folder)  # noqa: PTH120 - strings, as in `paths`
        if above == folder or os.path.lexists(f"{folder}/.git"):
            return
        folder = above
