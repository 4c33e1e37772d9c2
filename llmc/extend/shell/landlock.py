"""The files a contained command may access: system programs are readable, the roots and a few folders writable.

The user's home is not accessible, since it contains keys, tokens and histories. Commands have their own home below
LLMC_HOME, where tools keep caches between runs, and a temporary folder that is deleted after the run.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.base.errors import LlmcError
from llmc.base.roots import checkout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.base.home import Home
    from llmc.workspace import Workspace

__all__ = ["Fence", "fence_of", "shell_home"]

SYSTEM: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix", "/snap", "/gnu"),
    *("/sys", "/run/systemd/resolve", "/var/lib/dpkg", "/dev", "/Library", "/System"),
    # Not all of /proc: it exposes the environment of every process of the user, even with Landlock.
    *(f"/proc/{name}" for name in ("cpuinfo", "meminfo", "stat", "sys", "filesystems", "version", "loadavg", "uptime")),
)
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm", "/dev/fd")  # noqa: S108
# These contain more than programs: only the `bin` folder itself is readable.
NOT_ALONE: Final = frozenset({".local", ".cargo", ""})


@dataclass(frozen=True, slots=True)
class Fence:
    readable: tuple[str, ...]
    writable: tuple[str, ...]


def shell_home(home: Home) -> str:
    return os.path.join(home.path, "shell")  # noqa: PTH118 - strings, as in Home


def fence_of(workspace: Workspace, environ: Mapping[str, str], own: Sequence[str], more: Sequence[str]) -> Fence:
    """`own` are the command's home and temporary folder, `more` the writable folders from the settings."""
    user = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - strings, as in Home
    programs = {folder for entry in environ.get("PATH", "").split(os.pathsep) for folder in around(entry, user)}
    roots = [root_index.root.path for root_index in workspace.root_indexes]
    programs |= {prefix_of(f"{root}/{name}/bin/python") for root in roots for name in (".venv", "venv", "env")} - {""}
    programs.add(f"{user}/.rustup")
    return Fence(
        tuple(dict.fromkeys([*SYSTEM, *sorted(programs), *repositories(workspace)])),
        tuple(dict.fromkeys([*DEVICES, *roots, *own, *more])),
    )


def around(entry: str, user: str) -> list[str]:
    """A folder of programs and the installation around it (`lib`, `share`). Links are followed, since many `bin`
    folders contain only links to an installation.
    """
    if not os.path.isabs(entry) or not os.path.isdir(entry):  # noqa: PTH112, PTH117 - strings, as in Home
        return []
    found = [entry]
    real = os.path.realpath(entry)
    above, name = os.path.split(real)
    if name in {"bin", "shims", "sbin"} and above not in {"/", user} and os.path.basename(above) not in NOT_ALONE:  # noqa: PTH119
        found.append(above)
    with os.scandir(real) as entries:
        for each in entries:
            if each.is_symlink():
                target, folder = os.path.split(os.path.realpath(each.path))[0], ""
                target, folder = os.path.split(target)
                if folder == "bin" and target not in {"/", "/usr", user} and not target.endswith("/.local"):
                    found.append(target)
    return found


def prefix_of(python: str) -> str:
    """Where the interpreter of a virtual environment is installed."""
    real = os.path.realpath(python)
    above, name = os.path.split(os.path.dirname(real))  # noqa: PTH120 - strings, as in Home
    return above if name == "bin" and os.path.exists(real) and above not in {"/", "/usr"} else ""  # noqa: PTH110


def repositories(workspace: Workspace) -> list[str]:
    """Repositories of linked work trees, whose history is in the main work tree."""
    found = []
    for root_index in workspace.root_indexes:
        try:
            known = checkout(root_index.root_fs)
        except LlmcError:
            continue
        if known is not None:
            found.append(known.repository)
    return found
