"""What of a command may not be shown: the output of one that names a denied file, and lines that quote such a file.

The door refuses denied files to llmc's own tools, but a command opens files by itself. So a command line is read for
the names in it, and its output for lines that begin with a path, as those of a recursive grep do. A program that
copies a file under another name is beyond this.
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

# Names may stand in flags (`--file=.env`), revisions (`HEAD:.env`) and lines for a shell (`cat .env|head`).
_NAME: Final = re.compile(r"""[^\s'"`|&;<>(){}=:,]+""")
# `path:12:text` of a match, `path-12-text` of a line around it.
_QUOTED: Final = (re.compile(r"(?:\./)?([^:]{1,400}):"), re.compile(r"(?:\./)?(.{1,400}?)-\d+-"))


def refusal_of(workspace: Workspace, cwd: str, words: Sequence[str]) -> ReadError | None:
    """The refusal of the first denied file that a command line names."""
    is_git = words[:1] == ["git"]
    for name in dict.fromkeys(name for word in words[1:] or words for name in _NAME.findall(word)):
        refusal = _refusal(workspace, cwd, name, must_exist=not is_git)
        if refusal is not None:
            return refusal
    return None


def without_denied_lines(workspace: Workspace, cwd: str, lines: Iterable[str]) -> tuple[str, ...]:
    """Lines such as `.env:3:TOKEN=...` without what they quote."""

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
