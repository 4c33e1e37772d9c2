"""The registry of personas: listing and resolving them.

A registry is built from the settings of one request, so changed files take effect with the next one. Later sources
override earlier ones of the same name: built-in, Python, settings. All personas are resolved in the same way: arguments
are checked, a new context is created, and the prompt is redacted and its tokens are counted.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDoneError
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from llmc.base.errors import AgentError, AgentTimeoutError, LlmcError, NotFoundError
from llmc.envelope.clean import clean_text, without_secrets
from llmc.envelope.redact.redactor import Redactor, redactor_for
from llmc.envelope.tokens import count
from llmc.envelope.visible import visible
from llmc.extend.personas.base import check_arguments
from llmc.extend.personas.builtin import built_in
from llmc.extend.personas.context import AgentContext
from llmc.extend.personas.inline import TomlAgent
from llmc.extend.personas.model import AgentPrompt, PromptMessage, ResolvedPersona
from llmc.extend.personas.plugins import registered
from llmc.extend.personas.script import LuaAgent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from llmc.extend.personas.base import Agent
    from llmc.extend.personas.model import AgentInfo
    from llmc.settings import Settings, SettingSource
    from llmc.workspace import Workspace

__all__ = ["AgentRegistry"]


class AgentRegistry:
    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._redactor = Redactor()

    @classmethod
    def from_settings(cls, settings: Settings, sources: Mapping[str, SettingSource] | None = None) -> Self:
        """With `sources`, inline personas know the file that defines them."""
        registry = cls()
        registry._redactor = redactor_for(settings.redaction)
        registry._agents.update({**built_in(), **registered()})
        for name, entry in settings.agents.items():
            source = (sources or {}).get(f"agents.{name}.system_prompt")
            registry._agents[name] = TomlAgent(name, entry, source.name if source else "")
        for name, script in settings.agent_scripts.items():
            registry._agents[name] = LuaAgent(name, script.path, script.timeout, script.config)
        return registry

    def register(self, agent: Agent) -> None:
        self._agents[agent.name] = agent

    def __len__(self) -> int:
        return len(self._agents)

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents[name] for name in sorted(self._agents))

    def list(self) -> tuple[AgentInfo, ...]:
        """All personas, sorted by name."""
        return tuple(clean_info(agent.info(), self._redactor) for agent in self)

    def find(self, name: str) -> Agent:
        if name in self._agents:
            return self._agents[name]
        near = get_close_matches(name, self._agents, 1)
        known = f"Available: {', '.join(sorted(self._agents))}."
        raise NotFoundError(f"there is no agent {name!r}", hint=f"Did you mean {near[0]}?" if near else known)

    def describe(self, name: str) -> AgentInfo:
        """The entry of `list`, but an unusable persona raises an error."""
        agent = self.find(name)
        return agent.describe() if isinstance(agent, LuaAgent) else agent.info()

    def resolve(self, workspace: Workspace, name: str, given: Mapping[str, Any]) -> ResolvedPersona:
        agent = self.find(name)
        started = time.perf_counter()
        redact = redactor_for(workspace.settings.redaction)
        context = AgentContext(workspace)
        try:
            info = self.describe(name)
            prompt = resolve_agent(agent, check_arguments(info, given), context)
        except LlmcError as error:
            raise redact_error(error, redact) from None
        prompt = clean_prompt(prompt, redact)
        return ResolvedPersona(
            clean_info(info, redact),
            prompt,
            context.searches,
            context.fetches,
            time.perf_counter() - started,
            count(prompt.system),
            sum(count(message.content) for message in prompt.messages),
            tuple(clean_text(note, redact) for note in context.notes),
        )


def clean_info(info: AgentInfo, redact: Redactor) -> AgentInfo:
    """Descriptions are untrusted: reduce them to one visible line without secrets."""
    clean = without_secrets(info, redact)
    arguments = tuple(replace(one, description=visible(one.description)) for one in clean.arguments)
    return replace(clean, description=visible(clean.description), arguments=arguments)


def resolve_agent(agent: Agent, args: dict[str, str], context: AgentContext) -> AgentPrompt:
    if isinstance(agent, TomlAgent | LuaAgent):
        return agent.resolve(args, context)
    prompt = run_with_timeout(agent, args, context)
    if not isinstance(prompt, AgentPrompt) or not isinstance(prompt.system, str):
        raise AgentError(f"{agent.name} did not return an AgentPrompt")
    return prompt


def run_with_timeout(agent: Agent, args: dict[str, str], context: AgentContext) -> Any:
    """Resolve with a timeout. Python code cannot be stopped, so after a timeout its thread keeps running."""
    future: Future[Any] = Future()
    threading.Thread(target=resolve_into, args=(future, agent, args, context), name="llmc-agent", daemon=True).start()
    try:
        return future.result(agent.timeout)
    except NotDoneError:
        if future.done():
            raise AgentError(f"{agent.name} failed", reason="TimeoutError") from None
        raise AgentTimeoutError(f"{agent.name} took longer than {agent.timeout:g} seconds") from None
    except LlmcError:
        raise
    except Exception as error:
        raise AgentError(f"{agent.name} failed", reason=f"{type(error).__name__}: {error}") from error


def resolve_into(future: Future[Any], agent: Agent, args: dict[str, str], context: AgentContext) -> None:
    try:
        found: Any = agent.resolve(args, context)
        future.set_result(asyncio.run(await_value(found)) if inspect.isawaitable(found) else found)
    except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
        future.set_exception(error)


async def await_value(found: Any) -> Any:
    return await found


def clean_prompt(prompt: AgentPrompt, redact: Redactor) -> AgentPrompt:
    """Redact the prompt: context from the index is already clean, but a script may contain secrets."""
    messages = tuple(PromptMessage(one.role, clean_text(one.content, redact)) for one in prompt.messages)
    return AgentPrompt(clean_text(prompt.system, redact), tuple(prompt.tools), messages)


def redact_error(error: LlmcError, redact: Redactor) -> LlmcError:
    error.message, error.reason, error.hint = (
        clean_text(text, redact) for text in (error.message, error.reason, error.hint)
    )
    return error
