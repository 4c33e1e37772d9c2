"""The pruner profile as a surface: three tools, the identity of the contract, and texts as they are.

There are no budgets, handles or frames here: a client of this profile knows nothing of llmc. Where the client stands is
`MCP_PRUNER_CWD`, else its folder; roots and settings are those of that folder.
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
from llmc.envelope.token_accounting import weigh
from llmc.extend.pruner.actions import Contained, Free
from llmc.extend.pruner.config import Config, config_of
from llmc.extend.pruner.contract import INVALID, NAME, TOOLS, VERSION, ActionError, ProgramResult, call, definitions
from llmc.extend.pruner.node_errors import said
from llmc.tool import ToolRequest

if TYPE_CHECKING:
    from llmc.envelope.request import ClientInfo
    from llmc.envelope.tool_definition import ToolDefinition
    from llmc.extend.pruner.contract import Actions
    from llmc.server.service import Service
    from llmc.state.connected_sessions import RequestContext

__all__ = ["PrunerSurface"]


INVALID_PARAMS: Final = -32602


@dataclass(frozen=True)
class PrunerSurface:
    """`fixed`: its tools never change, and there is nothing besides them."""

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

    def definitions(self, visit: RequestContext) -> tuple[ToolDefinition, ...]:
        found = definitions()
        names, before = tuple(one.name for one in found), visit.session.listed
        visit.session.listed = names
        if names != before:
            self.service.ledger.listed(visit.session, found, "")
        return found

    def unknown(self, visit: RequestContext, name: str) -> str:
        del visit
        return "" if name in TOOLS else INVALID

    def polish(self, message: dict[str, Any]) -> dict[str, Any]:
        """A reply never says `isError`, and what is wrong with parameters has one name."""
        result, error = message.get("result"), message.get("error")
        if isinstance(result, dict):
            result.pop("isError", None)
        if isinstance(error, dict) and error.get("code") == INVALID_PARAMS:
            error["message"] = INVALID
        return message

    def call(self, visit: RequestContext, name: str, args: dict[str, Any], call_: RunningRequest) -> Reply:
        """Never an error of the protocol's, unless the arguments are of the wrong type."""
        started, actions = time.perf_counter(), LateResult(self.service, visit, call_)
        text = call(name, args, actions)
        weight = weigh(text, size=len(text) + actions.pruned if actions.pruned else 0)
        reply = Reply(text, weight=replace(weight, tool=name))
        self.service.ledger.note(visit.session, name, time.perf_counter() - started, reply)
        return reply


class LateResult:
    """The actions, made when the arguments have been found right; settings that are wrong are said in the reply."""

    def __init__(self, service: Service, visit: RequestContext, call_: RunningRequest) -> None:
        self._service = service
        self._visit = visit
        self._call = call_
        self._made: Actions | None = None
        self.pruned = 0  # characters that were left out

    def read(self, path: str) -> str:
        return self._actions().read(path)

    def bash(self, command: str) -> ProgramResult:
        return self._actions().bash(command)

    def grep(self, pattern: str, path: str) -> ProgramResult:
        return self._actions().grep(pattern, path)

    def prune(self, code: str, query: str) -> str:
        kept = self._actions().prune(code, query)
        self.pruned += len(code) - len(kept)
        return kept

    def _actions(self) -> Actions:
        if self._made is None:
            try:
                self._made = self._make()
            except LlmcError as error:
                raise ActionError(said(error)) from None
        return self._made

    def _make(self) -> Actions:
        """The client as if it stood in the folder that the contract's variable names."""
        there = standing(self._visit.client)
        settings = self._service.settings_of(there)
        envelope = settings.envelope
        config: Config = config_of(
            there.environ, there.cwd, url=envelope.pruner_url, milliseconds=envelope.pruner_timeout_ms
        )

        def cancelled() -> bool:
            return self._call.cancelled

        if not settings.server.pruner.contained and self._visit.session.owner == LOCAL:
            return Free(config, redactor_for(settings.redaction), cancelled, Denylist(settings.index.deny))
        workspace = self._service.workspace(RunningRequest(there))
        session = self._visit.session
        asked = ToolRequest("bash", {}, workspace, self._service.handles, session, call=self._call)
        return Contained(config, redactor_for(settings.redaction), cancelled, asked)


def standing(client: ClientInfo) -> ClientInfo:
    return replace(client, cwd=config_of(client.environ, client.cwd).cwd)
