"""The service of a shared server: every call is answered over the repositories that its caller may read.

It has no roots and no daemon, and its home is a folder that ends with the process. Settings are read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from llmc.server.service import Service
from llmc.server.shared.audit import AuditLog
from llmc.server.shared.stored_handles import StoredHandles
from llmc.shared_workspace import SharedSite
from llmc.store.shared.access import Access

if TYPE_CHECKING:
    from llmc.base.home import Home
    from llmc.envelope.request import ClientInfo, RunningRequest
    from llmc.extend.delegates.offer import Offer
    from llmc.settings import Settings
    from llmc.shared_workspace import SharedWorkspace
    from llmc.store.shared.index import SharedIndex

__all__ = ["SharedService"]

# They need a work tree, write something, call a model, or list what other servers keep.
LOCAL_TOOLS: Final = (
    "run",
    "shell",
    "history",
    "ask",
    "create_handoff",
    "resume_handoff",
    "web_research",
    "session",
    "handle",
)
PROFILE_FLAG: Final = "server.profile="


class SharedService(Service):
    has_personas = False

    def __init__(self, settings: Settings, home: Home, index: SharedIndex) -> None:
        super().__init__(for_server(settings), home)
        self.handles = StoredHandles(index.database.storage, self.settings.envelope.handle_ttl_hours)
        audit = AuditLog(settings.shared.audit_log) if settings.shared.audit_log else None
        self.site = SharedSite(index, self._registry, self.settings, audit)

    def settings_of(self, client: ClientInfo) -> Settings:
        named = next((flag for flag in client.flags if flag.startswith(PROFILE_FLAG)), "")
        return with_profile(self.settings, named.removeprefix(PROFILE_FLAG)) if named else self.settings

    def workspace(self, call: RunningRequest, named: list[str] | None = None) -> SharedWorkspace:  # noqa: ARG002 - no roots
        client = call.client
        access = Access.of(client.repositories or ())
        return self.site.workspace(access, self.settings_of(client), caller=client.session)

    def bare_workspace(self, call: RunningRequest) -> SharedWorkspace:
        return self.workspace(call)

    def extra_tools(self, client: ClientInfo, settings: Settings) -> Offer | None:  # noqa: ARG002 - it has none
        return None


def for_server(settings: Settings) -> Settings:
    """Without tools that need more than an index, and without records of calls beside the audit log."""
    server = settings.server.model_copy(
        update={"without_tools": (*settings.server.without_tools, *LOCAL_TOOLS), "agent": ""}
    )
    changes = {"server": server, "ledger": settings.ledger.model_copy(update={"enabled": False})}
    return settings.model_copy(update=changes)


def with_profile(settings: Settings, profile: str) -> Settings:
    return settings.model_copy(update={"server": settings.server.model_copy(update={"profile": profile})})
