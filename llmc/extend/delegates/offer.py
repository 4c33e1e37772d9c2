"""The tools that delegates, Lua scripts and downstream servers currently add for a client.

Computed for each request from the client's settings and the state of the servers: a delegate is offered while all of
its servers run, an exposed tool while its server runs, a script while it is valid. Names of built-in tools cannot be
overridden. Safe to read from any thread.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from llmc.base import logs
from llmc.extend.delegates.delegate import DelegateWorker, tool_of
from llmc.extend.delegates.passthrough import Exposed
from llmc.extend.delegates.script_tool import ScriptTool
from llmc.settings.entries import VENDORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmc.envelope import Envelope
    from llmc.extend.delegates.downstream import Downstream
    from llmc.extend.delegates.fleet import Fleet
    from llmc.settings import Settings
    from llmc.tool import Tool

__all__ = ["Offer"]

log = logs.get("delegates")

# Clients start with a list of tools; Codex gives a server 10 s for its whole start.
LIST_SECONDS = 8.0


class Offer:
    def __init__(
        self,
        settings: Settings,
        servers: Mapping[str, Downstream],
        fleet: Fleet,
        environ: Mapping[str, str],
        reserved: tuple[str, ...],
    ) -> None:
        """`reserved` are the names of the built-in tools."""
        self._fleet = fleet
        self._reserved = reserved
        self.servers = servers
        providers = frozenset({*settings.providers, *VENDORS})
        self.workers = {
            name: DelegateWorker(name, one, within(servers, one.internal_tools), fleet, environ, providers)
            for name, one in settings.delegates.items()
            if name not in reserved
        }
        self.exposed = {name: Exposed(one, fleet) for name, one in servers.items() if settings.mcps[name].expose}
        self.scripts = {
            name: ScriptTool(name, one, settings, environ)
            for name, one in settings.tool_scripts.items()
            if name not in (*reserved, *self.workers, *self.exposed)
        }

    @property
    def own_names(self) -> frozenset[str]:
        """The names of delegates and scripts."""
        return frozenset({*self.workers, *self.scripts})

    def settle(self) -> None:
        """Wait for servers that are starting, as long as a client listing tools would wait."""
        self._fleet.settle(self.servers.values(), LIST_SECONDS)

    def delegates(self, allowed: frozenset[str] | None) -> tuple[Tool, ...]:
        """The available delegates and scripts, in the order of the settings."""
        free = [one for name, one in self.workers.items() if allowed is None or name in allowed]
        scripts = [one for name, one in self.scripts.items() if allowed is None or name in allowed]
        return (
            *(tool_of(one) for one in free if not one.missing()),
            *(one.tool() for one in scripts if not log_once(one.name, one.missing())),
        )

    def listed(self, allowed: frozenset[str] | None) -> tuple[Tool, ...]:
        return tuple(one for one in self.delegates(allowed) if one.profiles)

    def tools(self, allowed: frozenset[str] | None) -> tuple[Tool, ...]:
        """All tools that can be called now."""
        exposed = [tool for one in self.exposed.values() for tool in one.tools().values()]
        return (*self.delegates(allowed), *(one for one in exposed if self.open_to(one.name, allowed)))

    def find(self, name: str) -> Tool | None:
        """A tool by name; unavailable delegates and scripts are included, so that calling them reports the reason."""
        if name in self.workers:
            return tool_of(self.workers[name])
        if name in self.scripts:
            return self.scripts[name].callable_tool()
        server = next((one for one in self.exposed.values() if name.startswith(f"{one.name}.")), None)
        if server is None:
            return None
        self._fleet.settle([server.downstream], LIST_SECONDS)
        return server.find(name.removeprefix(f"{server.name}."))

    def open_to(self, name: str, allowed: frozenset[str] | None) -> bool:
        """Whether a session restricted to `allowed` may use it; the name of a server allows all its tools."""
        if allowed is None or name in allowed:
            return True
        return any(name.startswith(f"{server}.") for server in allowed & self.exposed.keys())

    def knows(self, name: str) -> bool:
        """Whether the name may be one of these tools; does not wait."""
        return name in self.own_names or any(name.startswith(f"{server}.") for server in self.exposed)

    def names(self, allowed: frozenset[str] | None) -> list[str]:
        return [*self.acting(allowed), *(name for name in self.scripts if self.open_to(name, allowed))]

    def acting(self, allowed: frozenset[str] | None) -> list[str]:
        """The names of those that may have side effects: all but the scripts."""
        every = [*self.workers, *(name for one in self.exposed.values() for name in one.tools())]
        return [name for name in every if self.open_to(name, allowed)]

    def listing(self, server: str) -> Envelope | None:
        """The tools of an exposed server; None for an unknown one."""
        if server not in self.exposed or server in self._reserved or server in self.workers:
            return None
        self._fleet.settle([self.exposed[server].downstream], LIST_SECONDS)
        return self.exposed[server].listing()

    def lines(self, allowed: frozenset[str] | None) -> list[str]:
        """One menu line per exposed server."""
        return [one.line() for one in self.exposed.values() if self.any_open(one, allowed)]

    def any_open(self, exposed: Exposed, allowed: frozenset[str] | None) -> bool:
        return allowed is None or any(self.open_to(name, allowed) for name in exposed.tools())

    def suffix(self, allowed: frozenset[str] | None) -> str:
        """A sentence for the gateway's description, so that models know about these servers."""
        shown = [one for one in self.exposed.values() if one.tools() and self.any_open(one, allowed)]
        counts = [f"{one.name} ({len(one.tools())} tools)" for one in shown]
        return f" Also {', '.join(counts)}." if counts else ""


@lru_cache(maxsize=256)
def log_once(name: str, why: str) -> bool:
    """Whether there is a reason; each is logged once, although tools are listed for every request."""
    if why:
        log.warning("script is not offered", tool=name, reason=why, clients=[])
    return bool(why)


def within(servers: Mapping[str, Downstream], names: Iterable[str]) -> dict[str, Downstream]:
    return {name: servers[name] for name in names if name in servers}
