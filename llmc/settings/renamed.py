"""Settings of earlier versions: renamed ones work for one release, removed ones are ignored, both with a notice.

To rename a setting, add its old name here and delete the row one release later. This applies to files, variables
(`LLMC_SERVER_SHELL`) and flags, since all of them are read as tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OLD_NAMES", "REMOVED", "RENAMED", "move_old_keys"]

# Names from before 0.1.0; to be removed in 0.3.0.
RENAMED = {
    "server.shell": "shell.enabled",
    "server.shell_allow": "shell.allow",
    "server.shell_seconds": "shell.seconds",
}
REMOVED = {
    "index.follow_gitignore": "ignore files are always honoured; name a file to read it anyway",
    "index.languages": "every language is indexed; use index.exclude to leave files out",
}
OLD_NAMES = (*RENAMED, *REMOVED)


def move_old_keys(table: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Move old keys of a table to their new names, in place; yields (old, new, why it is ignored or empty)."""
    for old in OLD_NAMES:
        section, _, name = old.partition(".")
        inner = table.get(section)
        if not isinstance(inner, dict) or name not in inner:
            continue
        value, new = inner.pop(name), RENAMED.get(old, "")
        if not new:
            yield old, "", REMOVED[old]
            continue
        target, _, key = new.partition(".")
        there = table.setdefault(target, {})
        if not isinstance(there, dict) or key in there:
            yield old, new, f"{new} is set too, and used instead"
        else:
            there[key] = value
            yield old, new, ""
