"""Personas written in Python: registered by a program that embeds llmc, or by an installed package.

A package declares its class in the entry point group `llmc.agents`. Only packages in the site folders of the
environment count; the current directory is never searched.
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
    """Register a persona in this process, replacing one with the same name."""
    instance: Any = agent() if isinstance(agent, type) else agent
    if not isinstance(instance, Agent) or not instance.name:
        raise TypeError("an agent must be an instance of llmc.agents.Agent with a name")
    with _lock:
        _registered[instance.name] = instance
    return instance


def unregister(name: str) -> None:
    with _lock:
        _registered.pop(name, None)


def registered() -> dict[str, Agent]:
    with _lock:
        return {**installed(), **_registered}


@cache
def installed() -> dict[str, Agent]:
    """Personas of installed packages, loaded once per process; failures are logged and skipped."""
    found: dict[str, Agent] = {}
    for point in entry_points():
        try:
            instance: Any = point.load()
            instance = instance() if isinstance(instance, type) else instance
            if not isinstance(instance, Agent) or not instance.name:
                raise TypeError("it is not an llmc.agents.Agent with a name")  # noqa: TRY301 - logged like all others
        except Exception as error:  # noqa: BLE001 - a broken package must not affect the others
            log.warning("agent not loaded", entry_point=point.value, reason=f"{type(error).__name__}: {error}")
        else:
            found[instance.name] = instance
    return found


def entry_points() -> list[EntryPoint]:
    known = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    folders = [*known, site.getusersitepackages()] if site.ENABLE_USER_SITE else known
    return [
        point
        for each in distributions(path=list(dict.fromkeys(folders)))
        for point in each.entry_points.select(group=GROUP)
    ]
