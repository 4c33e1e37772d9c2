"""The origin of an HTTP request: owner of the token, session, persona and profile.

All requests share the workspace of the `llmc serve --http` that listens. Handles belong to owner and session together,
so clients cannot open each other's handles.
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
    from llmc.server.http.callers import HttpCaller
    from llmc.server.service import Service

__all__ = ["RequestContexts"]

PROFILES = ("lean", "research", "pruner", "full")
LONGEST_NAME = 200


@dataclass(frozen=True)
class RequestContexts:
    service: Service
    client: ClientInfo

    def enter(self, caller: HttpCaller, session: str, query: Mapping[str, str]) -> RequestContext:
        """`query` may contain `agent` and `profile`; raises `LlmcError` for unknown ones."""
        client = self.client_for(query)
        settings = self.service.settings_of(client)
        agent = query.get("agent") or settings.server.agent
        allowed = allowed_tools(settings, agent)
        entered = self._session(caller.owner, session[:LONGEST_NAME])
        entered.profile, entered.agent, entered.allowed = profile_of(settings.server, agent), agent, allowed
        return RequestContext(client, entered)

    def named(self, context: RequestContext, caller: HttpCaller, session: str) -> RequestContext:
        """The same context in the session that the message names."""
        entered = self._session(caller.owner, session[:LONGEST_NAME])
        entered.profile, entered.agent = context.session.profile, context.session.agent
        entered.allowed = context.session.allowed
        return RequestContext(context.client, entered)

    def _session(self, owner: str, name: str) -> ConnectedSession:
        """Without a session name nothing is remembered, since several programs may share the token."""
        if not name:
            return ConnectedSession("http", f"{owner}/")
        return self.service.sessions.enter(name, f"{owner}/{name}", client="http")

    def client_for(self, query: Mapping[str, str]) -> ClientInfo:
        profile = query.get("profile", "")
        if not profile:
            return self.client
        if profile not in PROFILES:
            raise QueryError(f"unknown profile {profile!r}", hint=f"Available: {', '.join(PROFILES)}.")
        others = [flag for flag in self.client.flags if not flag.startswith("server.profile=")]
        return replace(self.client, flags=(*others, f"server.profile={profile}"))
