"""Does the file system of a root report changes? Network file systems do not report what other machines change."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["silent_filesystem"]

# WSL mounts Windows drives as 9p; virtiofs, vboxsf and prl_fs are shared folders of virtual machines.
_SILENT = frozenset(
    {
        "9p",
        "afs",
        "ceph",
        "cifs",
        "drvfs",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "prl_fs",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
    }
)


def silent_filesystem(path: str, mounts: str = "/proc/self/mountinfo") -> str:
    """The type of the file system at `path` if changes on it may go unreported, else an empty string."""
    try:
        device = os.stat(path).st_dev  # noqa: PTH116 - the one field that Path.stat would give too
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        fields = line.split()
        if fields[2] == wanted and "-" in fields:
            kind = fields[fields.index("-", 6) + 1]
            return kind if kind in _SILENT or kind.startswith("fuse.") else ""
    return ""
