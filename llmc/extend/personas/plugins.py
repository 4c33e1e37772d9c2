"""Personas written in Python: registered by a program that has llmc inside, or by an installed package.

A package names its class in the entry point group `llmc.agents`. Only installed packages count, those in the
environment's own folders: a checkout that somebody stands in never does, whatever lies there.
"""

from __future__ import annotations

import site
import sysconfig
import threading
from functools import cache
from importlib.metadata import distributions
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.extend.personas.base import Agent

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "installed", "register", "registered", "unregister"]

log = logs.get("agents")

GROUP = "llmc.agents"

_registered: dict[str, Agent] = {}
_lock = threading.Lock()


def register(agent: Agent | type[Agent]) -> Agent:
    """In this process. The last of a name counts."""
    made: Any = agent() if isinstance(agent, type) else agent
    if not isinstance(made, Agent) or not made.name:
        raise TypeError("an agent is an instance of llmc.agents.Agent, and has a name")
    with _lock:
        _registered[made.name] = made
    return made


def unregister(name: str) -> None:
    with _lock:
        _registered.pop(name, None)


def registered() -> dict[str, Agent]:
    with _lock:
        return {**installed(), **_registered}


@cache
def installed() -> dict[str, Agent]:
    """Once for a process; one that cannot be loaded is logged and passed by."""
    found: dict[str, Agent] = {}
    for point in entry_points():
        try:
            made: Any = point.load()
            made = made() if isinstance(made, type) else made
            if not isinstance(made, Agent) or not made.name:
                raise TypeError("it is no llmc.agents.Agent with a name")  # noqa: TRY301 - logged like all others
        except Exception as error:  # noqa: BLE001 - a stranger's package must not stop us
            log.warning("agent not loaded", entry_point=point.value, reason=f"{type(error).__name__}: {error}")
        else:
            found[made.name] = made
    return found


def entry_points() -> list[EntryPoint]:
    known = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    folders = [*known, site.getusersitepackages()] if site.ENABLE_USER_SITE else known
    return [
        point
        for each in distributions(path=list(dict.fromkeys(folders)))
        for point in each.entry_points.select(group=GROUP)
    ]
