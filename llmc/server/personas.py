"""Personas for the server: those available to a client, resolved in its workspace.

Used by MCP, HTTP and the CLI. As server instructions (`llmc serve --agent`), a resolved persona is cached for a minute;
all other requests resolve it again.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.base.errors import ArgumentError, LlmcError, NotFoundError
from llmc.envelope.request import RunningRequest
from llmc.extend.personas.check import KnownTools
from llmc.extend.personas.registry import AgentRegistry
from llmc.settings.locations import config_folder, find_file, workspace_file
from llmc.settings.overrides import CONFIG_VARIABLE
from llmc.tools.registry import ALIASES, TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.envelope.request import ClientInfo
    from llmc.extend.personas.model import AgentInfo, ResolvedPersona
    from llmc.server.service import Service
    from llmc.settings import Settings
    from llmc.state.connected_sessions import RequestContext
    from llmc.workspace import Workspace

__all__ = ["NOT_THERE", "Personas", "Watch"]

log = logs.get("agents")

INSTRUCTIONS_SECONDS = 60.0
NOT_THERE = ", which does not exist"  # ends a note about a missing tool of a persona
MOST_CACHED = 64

_instructions_cache: dict[tuple[str, ...], tuple[float, str]] = {}
_lock = threading.Lock()


class Personas:
    def __init__(self, service: Service) -> None:
        self._service = service

    def infos(self, context: RequestContext) -> tuple[AgentInfo, ...]:
        """The available personas; a server started as one persona offers only that one."""
        infos = self._registry(context.client).list()
        return tuple(info for info in infos if context.session.agent in ("", info.name))

    def resolve(
        self, client: ClientInfo, name: str, args: Mapping[str, Any], call: RunningRequest | None = None
    ) -> ResolvedPersona:
        workspace = self._workspace(call or RunningRequest(client))
        try:
            resolved = AgentRegistry.from_settings(workspace.settings).resolve(workspace, name, args)
        except NotFoundError as error:
            left_out = [each for each in self._service.notices_of(client) if each.key == f"agents.script.{name}"]
            error.reason = str(left_out[0]) if left_out else error.reason
            raise
        known = KnownTools.of(workspace.settings, (*TOOLS, *ALIASES))
        missing = [tool for tool in resolved.prompt.tools if not known.has(tool)]
        notes = [f"{name} names the tool {tool}{NOT_THERE}" for tool in missing]
        return replace(resolved, notes=(*resolved.notes, *notes))

    def complete(self, client: ClientInfo, name: str, argument: str, typed: str) -> list[str]:
        """Completions: values that start with the typed text, then values that contain it."""
        agent = self._registry(client).find(name)
        info = agent.info()
        known = {one.name: one for one in info.arguments}
        if argument not in known:
            raise ArgumentError(f"{name} has no argument {argument!r}")
        values = agent.complete(argument, typed)
        if known[argument].complete:
            values += completions(self._workspace(RunningRequest(client)), known[argument].complete)
        wanted = typed.lower()
        fitting = [value for value in dict.fromkeys(values) if wanted in value.lower()]
        return sorted(fitting, key=lambda value: not value.lower().startswith(wanted))

    def instructions(self, client: ClientInfo, settings: Settings, name: str) -> str:
        """The persona's prompt as one string; if it cannot be resolved, a sentence with the reason."""
        pairs = settings.server.agent_arguments
        key = (name, client.cwd, client.config, *client.flags, *pairs)
        with _lock:
            resolved_at, text = _instructions_cache.get(key, (0.0, ""))
        if time.monotonic() - resolved_at > INSTRUCTIONS_SECONDS:
            text = self._instructions(client, name, dict(pair.partition("=")[::2] for pair in pairs))
            with _lock:
                _instructions_cache[key] = (time.monotonic(), text)
                while len(_instructions_cache) > MOST_CACHED:
                    del _instructions_cache[next(iter(_instructions_cache))]
        return text

    def _instructions(self, client: ClientInfo, name: str, args: dict[str, str]) -> str:
        try:
            prompt = self.resolve(client, name, args).prompt
        except LlmcError as error:
            log.warning("agent has no instructions", agent=name, reason=str(error))
            return f"You should act as {name}, but its prompt is not available: {error}"
        messages = (message.content for message in prompt.messages if message.role != "assistant")
        return "\n\n".join([prompt.system, *messages])

    def _registry(self, client: ClientInfo) -> AgentRegistry:
        return AgentRegistry.from_settings(self._service.settings_of(client))

    def _workspace(self, call: RunningRequest) -> Workspace:
        workspace = self._service.workspace(call)
        if self._service.alone:
            workspace.index()
        return workspace

    def watch(self, client: ClientInfo) -> Watch:
        return Watch(self._service, client)


class Watch:
    """Detects changed personas. Settings are read again only when their files have changed."""

    def __init__(self, service: Service, client: ClientInfo) -> None:
        self._service = service
        self._client = client
        self._files: object = None
        self._scripts: tuple[Path, ...] = ()
        self._agents: object = None
        self._reload()
        self._stamps = self._stamp_scripts()

    def changed(self) -> bool:
        other = self._reload()
        stamps = self._stamp_scripts()
        other, self._stamps = other or stamps != self._stamps, stamps
        return other

    def _reload(self) -> bool:
        files = [stamp(path) for path in self._settings_files()]
        if files == self._files:
            return False
        try:
            settings = self._service.settings_of(self._client)
        except LlmcError:
            return False  # the file is probably being written; the next check sees all of it
        self._files = files
        self._scripts = tuple(script.path for script in settings.agent_scripts.values())
        before, self._agents = self._agents, (settings.agents, settings.agent_scripts)
        return before is not None and before != self._agents

    def _stamp_scripts(self) -> list[object]:
        return [stamp(path) for path in self._scripts]

    def _settings_files(self) -> list[Path | None]:
        environ = self._service.environ_of(self._client)
        named = self._client.config or environ.get(CONFIG_VARIABLE)
        near = Path(self._client.cwd, named) if named else workspace_file(Path(os.path.realpath(self._client.cwd)))
        return [find_file(config_folder(environ)), near]


def stamp(path: Path | None) -> object:
    try:
        found = os.stat(path) if path else None  # noqa: PTH116 - None as well
    except OSError:
        return path
    return (path, found and (found.st_mtime_ns, found.st_size, found.st_ino))


def completions(workspace: Workspace, kind: str) -> list[str]:
    """`folders` or `files` of the roots, shallow ones first."""
    paths = {
        path
        for root_index in workspace.root_indexes
        for path in workspace.store_of(root_index).catalog.places(root_index.root.id).values()
    }
    if kind == "folders":
        paths = {parent for path in paths for parent in parents(path)}
    return sorted(paths, key=lambda path: (path.count("/"), path))


def parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
