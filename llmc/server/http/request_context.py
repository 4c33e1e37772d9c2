"""Who asks over HTTP: the token's owner, in a session of a name, as an agent, with a profile.

All requests share the workspace of the `llmc serve --http` that listens. Handles belong to owner and session together,
so that two clients never open each other's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.base.errors import QueryError
from llmc.state.connected_sessions import ConnectedSession, RequestContext
from llmc.tools.profiles import allowed_tools, profile_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.envelope.request import ClientInfo
    from llmc.server.service import Service

__all__ = ["RequestContexts"]

PROFILES = ("lean", "research", "pruner", "full")
LONGEST_NAME = 200


@dataclass(frozen=True)
class RequestContexts:
    service: Service
    client: ClientInfo

    def enter(self, owner: str, session: str, query: Mapping[str, str]) -> RequestContext:
        """`query` has `agent` and `profile`, if any. Raises what a client should be told."""
        client = self.client_for(query)
        settings = self.service.settings_of(client)
        agent = query.get("agent") or settings.server.agent
        allowed = allowed_tools(settings, agent)
        entered = self._session(owner, session[:LONGEST_NAME])
        entered.profile, entered.agent, entered.allowed = profile_of(settings.server, agent), agent, allowed
        return RequestContext(client, entered)

    def named(self, visit: RequestContext, owner: str, session: str) -> RequestContext:
        """The same visit, in a session that its message names."""
        entered = self._session(owner, session[:LONGEST_NAME])
        entered.profile, entered.agent = visit.session.profile, visit.session.agent
        entered.allowed = visit.session.allowed
        return RequestContext(visit.client, entered)

    def _session(self, owner: str, name: str) -> ConnectedSession:
        """Who names no session has none that could be remembered: the token alone may be many programs."""
        if not name:
            return ConnectedSession("http", f"{owner}/")
        return self.service.sessions.enter(name, f"{owner}/{name}", client="http")

    def client_for(self, query: Mapping[str, str]) -> ClientInfo:
        profile = query.get("profile", "")
        if not profile:
            return self.client
        if profile not in PROFILES:
            raise QueryError(f"there is no profile {profile!r}", hint=f"There are {', '.join(PROFILES)}.")
        others = [flag for flag in self.client.flags if not flag.startswith("server.profile=")]
        return replace(self.client, flags=(*others, f"server.profile={profile}"))
