"""Keeps denied files out of commands: refuses commands that name one, and removes output lines that quote one.

`RootFs` denies these files to llmc's own tools, but a command opens files by itself. So the command line is searched
for file names, and its output for lines that start with a path, like those of a recursive grep. A program that copies a
file to another name is not detected.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from llmc.base import paths
from llmc.base.root_fs import FileKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.base.errors import ReadError
    from llmc.workspace import Workspace

__all__ = ["refusal_of", "without_denied_lines"]

# Names occur in flags (`--file=.env`), revisions (`HEAD:.env`) and shell lines (`cat .env|head`).
_NAME: Final = re.compile(r"""[^\s'"`|&;<>(){}=:,]+""")
# `path:12:text` of a match, `path-12-text` of a line around it.
_QUOTED: Final = (re.compile(r"(?:\./)?([^:]{1,400}):"), re.compile(r"(?:\./)?(.{1,400}?)-\d+-"))


def refusal_of(workspace: Workspace, cwd: str, words: Sequence[str]) -> ReadError | None:
    """The error for the first denied file in a command line, if any."""
    is_git = words[:1] == ["git"]
    for name in dict.fromkeys(name for word in words[1:] or words for name in _NAME.findall(word)):
        refusal = _refusal(workspace, cwd, name, must_exist=not is_git)
        if refusal is not None:
            return refusal
    return None


def without_denied_lines(workspace: Workspace, cwd: str, lines: Iterable[str]) -> tuple[str, ...]:
    """The lines with quoted content of denied files removed, such as `.env:3:TOKEN=...`."""

    @lru_cache(maxsize=4096)
    def is_denied(name: str) -> bool:
        return _refusal(workspace, cwd, name, must_exist=True) is not None

    def shown(line: str) -> str:
        quoted = (match for pattern in _QUOTED if (match := pattern.match(line)) and is_denied(match[1]))
        match = next(quoted, None)
        return f"{match[1]}: [denied]" if match else line

    return tuple(shown(line) for line in lines)


def _refusal(workspace: Workspace, cwd: str, name: str, *, must_exist: bool) -> ReadError | None:
    full = os.path.normpath(os.path.join(cwd, name))  # noqa: PTH118 - text, as in `paths`
    if not paths.possible(full):
        return None
    for root_index in workspace.root_indexes:
        for spelled in dict.fromkeys((full, os.path.realpath(full))):
            inner = paths.inside(spelled, root_index.root.path)
            if inner and root_index.root_fs.denylist.denies(inner):
                seen = root_index.root_fs.stat(inner)
                if not must_exist or (seen is not None and seen.kind is not FileKind.FOLDER):
                    return root_index.root_fs.refusal(inner)
    return None
