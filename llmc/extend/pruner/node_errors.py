"""Error messages in the format of Node, as the contract requires: `ENOENT: no such file or directory, open 'x'`."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final

from llmc.base.root_fs import ReadRefusal

if TYPE_CHECKING:
    from llmc.base.errors import LlmcError
    from llmc.base.root_fs import ReadError

__all__ = ["as_node", "node_refusal", "one_line_error"]

REFUSED: Final = {
    ReadRefusal.FOLDER: "EISDIR: illegal operation on a directory, read",
    ReadRefusal.DENIED: "EACCES: permission denied, open '{}'",
    ReadRefusal.LINK: "EACCES: permission denied, open '{}'",
    ReadRefusal.SPECIAL: "EACCES: permission denied, open '{}'",
    ReadRefusal.TOO_LARGE: "ERR_FS_FILE_TOO_LARGE: file is too large, read '{}'",
}


def node_refusal(error: ReadError, path: str) -> str:
    if error.refusal == ReadRefusal.DENYLIST:
        return f"EACCES: {error.reason}, open '{path}'"
    words = REFUSED.get(ReadRefusal(error.refusal))
    return words.format(path) if words else f"EIO: {error.reason}, open '{path}'"


def one_line_error(error: LlmcError) -> str:
    """An `LlmcError` on one line."""
    text = f"{error.message}: {error.reason}" if error.reason else error.message
    return f"{text}. {error.hint}" if error.hint else text


def as_node(error: Exception, act: str, path: str = "") -> str:
    """An exception in the format of Node."""
    number = error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
    code = errno.errorcode.get(number, "EIO")
    if number == errno.EISDIR:
        return "EISDIR: illegal operation on a directory, read"
    if act.startswith("spawn"):
        return f"{act} {code}"
    words = (os.strerror(number)[:1].lower() + os.strerror(number)[1:]).split(" (")[0]
    return f"{code}: {words}, {act} '{path}'"
