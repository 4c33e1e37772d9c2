"""The pruner profile as a surface: three tools, the server name of the contract, and plain text replies.

There are no budgets, handles or frames, because clients of this profile do not know llmc. The working directory is
`MCP_PRUNER_CWD`, else the client's folder; roots and settings are those of that folder.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from llmc.base.denylist import Denylist
from llmc.base.errors import LlmcError
from llmc.envelope.handles import LOCAL
from llmc.envelope.redact.redactor import redactor_for
from llmc.envelope.reply import Reply
from llmc.envelope.request import RunningRequest
from llmc.envelope.tokens import weigh
from llmc.extend.pruner.actions import Contained, Free
from llmc.extend.pruner.config import Config, config_of
from llmc.extend.pruner.contract import INVALID, NAME, TOOLS, VERSION, ActionError, ProgramResult, call, definitions
from llmc.tool import ToolRequest

if TYPE_CHECKING:
    from llmc.envelope.request import ClientInfo
    from llmc.envelope.tool_definition import ToolDefinition
    from llmc.extend.pruner.contract import Actions
    from llmc.server.service import Service
    from llmc.settings import Settings
    from llmc.state.connected_sessions import RequestContext

__all__ = ["PrunerSurface"]

INVALID_PARAMS: Final = -32602


@dataclass(frozen=True)
class PrunerSurface:
    """`fixed`: the tools never change, and the surface offers nothing else."""

    service: Service
    fixed = True

    @property
    def name(self) -> str:
        return NAME

    @property
    def version(self) -> str:
        return VERSION

    @property
    def instructions(self) -> str:
        return ""

    def definitions(self, context: RequestContext) -> tuple[ToolDefinition, ...]:
        settings = self.service.settings_of(in_pruner_folder(context.client))
        found = definitions(contained=is_contained(settings, context.session.owner))
        names, before = tuple(one.name for one in found), context.session.listed
        context.session.listed = names
        if names != before:
            self.service.ledger.listed(context.session, found, "")
        return found

    def unknown(self, context: RequestContext, name: str) -> str:
        del context
        return "" if name in TOOLS else INVALID

    def polish(self, message: dict[str, Any]) -> dict[str, Any]:
        """Remove `isError` from replies, and use one message for invalid parameters."""
        result, error = message.get("result"), message.get("error")
        if isinstance(result, dict):
            result.pop("isError", None)
        if isinstance(error, dict) and error.get("code") == INVALID_PARAMS:
            error["message"] = INVALID
        return message

    def call(self, context: RequestContext, name: str, args: dict[str, Any], call_: RunningRequest) -> Reply:
        """Run a tool; only arguments of the wrong type are protocol errors."""
        started, actions = time.perf_counter(), LateResult(self.service, context, call_)
        text = call(name, args, actions)
        weight = weigh(text, size=len(text) + actions.pruned if actions.pruned else 0)
        reply = Reply(text, weight=replace(weight, tool=name))
        self.service.ledger.note(context.session, name, time.perf_counter() - started, reply)
        return reply


class LateResult:
    """Creates the actions on first use, after the arguments are validated; settings errors appear in the reply."""

    def __init__(self, service: Service, context: RequestContext, call_: RunningRequest) -> None:
        self._service = service
        self._context = context
        self._call = call_
        self._actions_cache: Actions | None = None
        self.pruned = 0  # characters removed by the pruner

    def read(self, path: str) -> str:
        return self._actions().read(path)

    def bash(self, command: str) -> ProgramResult:
        return self._actions().bash(command)

    def grep(self, pattern: str, path: str) -> ProgramResult:
        return self._actions().grep(pattern, path)

    def prune(self, code: str, query: str) -> str:
        pruned_code = self._actions().prune(code, query)
        self.pruned += len(code) - len(pruned_code)
        return pruned_code

    def _actions(self) -> Actions:
        if self._actions_cache is None:
            try:
                self._actions_cache = self._make()
            except LlmcError as error:
                raise ActionError(error.one_line) from None
        return self._actions_cache

    def _make(self) -> Actions:
        """Create the actions for the folder named by the contract's variable."""
        client = in_pruner_folder(self._context.client)
        settings = self._service.settings_of(client)
        envelope = settings.envelope
        config: Config = config_of(
            client.environ, client.cwd, url=envelope.pruner_url, milliseconds=envelope.pruner_timeout_ms
        )

        def cancelled() -> bool:
            return self._call.cancelled

        session = self._context.session
        environ = client.environ if "PATH" in client.environ and session.owner == LOCAL else {}
        common = (config, redactor_for(settings.redaction), cancelled, session.id, environ)
        if not is_contained(settings, session.owner):
            return Free(*common, Denylist(settings.index.deny))
        workspace = self._service.workspace(RunningRequest(client))
        request = ToolRequest("bash", {}, workspace, self._service.handles, session, call=self._call)
        return Contained(*common, request)


def is_contained(settings: Settings, owner: str) -> bool:
    """Clients over the network always are."""
    return settings.server.pruner.contained or owner != LOCAL


def in_pruner_folder(client: ClientInfo) -> ClientInfo:
    return replace(client, cwd=config_of(client.environ, client.cwd).cwd)
