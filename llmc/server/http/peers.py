"""Determines the user at the other end of a loopback connection.

Every user of the machine can connect to 127.0.0.1. A token identifies the client; a browser cookie is weaker, since it
is sent to every port of the host, and the login code of `llmc ui` is visible in the process list. For those the kernel
is asked for the owner of the socket, which only Linux provides (`/proc/net/tcp`).
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Scope

__all__ = ["is_ours"]

TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
LOCAL, REMOTE, UID = 1, 2, 7  # columns
ROOT: Final = 0  # forwards ports, as on a virtual machine's host, and could do anything anyway


def is_ours(scope: Scope) -> bool:
    """Whether the client belongs to this user; True if unknown, for remote clients and systems other than Linux."""
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or not ipaddress.ip_address(client[0].partition("%")[0]).is_loopback:
        return True
    owner = uid_of((client[0], client[1]), (server[0], server[1] or 0))
    return owner in (None, os.getuid(), ROOT)


def uid_of(local: tuple[str, int], remote: tuple[str, int]) -> int | None:
    """The owner of the socket bound to `local` and connected to `remote`; None if it is not found."""
    wanted = {(near, far) for near in forms(*local) for far in forms(*remote)}
    for table in TABLES:
        try:
            lines = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            if (columns[LOCAL], columns[REMOTE]) in wanted:
                return int(columns[UID])
    return None


def forms(host: str, port: int) -> tuple[str, ...]:
    """An address in the format of the kernel: native byte order, IPv4 possibly mapped to IPv6."""
    address = ipaddress.ip_address(host.partition("%")[0])
    packed = [address.packed]
    if address.version == 4:  # noqa: PLR2004 - it says so
        packed.append(b"\0" * 10 + b"\xff\xff" + address.packed)
    return tuple(f"{words(one)}:{port:04X}" for one in packed)


def words(packed: bytes) -> str:
    return "".join(packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4))
