"""Which personas are there, and what does one of them say?

A registry is made of the settings that hold for one request, so that a change of a file is seen at the next one. Later
sources take the name of earlier ones: built-in, Python, then the settings. Resolving is the same for all: arguments are
checked, a fresh context is lent, whatever comes out is redacted and counted.
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
from llmc.extend.personas.base import checked_arguments
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
        """With `sources` an inline persona knows the file that it stands in."""
        made = cls()
        made._redactor = redactor_for(settings.redaction)
        made._agents.update({**built_in(), **registered()})
        for name, entry in settings.agents.items():
            source = (sources or {}).get(f"agents.{name}.system_prompt")
            made._agents[name] = TomlAgent(name, entry, source.name if source else "")
        for name, script in settings.agent_scripts.items():
            made._agents[name] = LuaAgent(name, script.path, script.timeout, script.config)
        return made

    def register(self, agent: Agent) -> None:
        self._agents[agent.name] = agent

    def __len__(self) -> int:
        return len(self._agents)

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._agents[name] for name in sorted(self._agents))

    def list(self) -> tuple[AgentInfo, ...]:
        """By name, so that the list is the same each time."""
        return tuple(shown(agent.info(), self._redactor) for agent in self)

    def find(self, name: str) -> Agent:
        if name in self._agents:
            return self._agents[name]
        near = get_close_matches(name, self._agents, 1)
        known = f"There are {', '.join(sorted(self._agents))}."
        raise NotFoundError(f"there is no agent {name!r}", hint=f"Did you mean {near[0]}?" if near else known)

    def describe(self, name: str) -> AgentInfo:
        """As `list` has it, but one that cannot be used is an error."""
        agent = self.find(name)
        return agent.described() if isinstance(agent, LuaAgent) else agent.info()

    def resolve(self, workspace: Workspace, name: str, given: Mapping[str, Any]) -> ResolvedPersona:
        agent = self.find(name)
        started = time.perf_counter()
        redact = redactor_for(workspace.settings.redaction)
        context = AgentContext(workspace)
        try:
            info = self.describe(name)
            prompt = prompted(agent, checked_arguments(info, given), context)
        except LlmcError as error:
            raise said_safely(error, redact) from None
        prompt = cleaned(prompt, redact)
        return ResolvedPersona(
            shown(info, redact),
            prompt,
            context.searches,
            context.fetches,
            time.perf_counter() - started,
            count(prompt.system),
            sum(count(message.content) for message in prompt.messages),
            tuple(clean_text(note, redact) for note in context.notes),
        )


def shown(info: AgentInfo, redact: Redactor) -> AgentInfo:
    """A description may be a stranger's: one line, nothing hidden in it, no secret."""
    clean = without_secrets(info, redact)
    arguments = tuple(replace(one, description=visible(one.description)) for one in clean.arguments)
    return replace(clean, description=visible(clean.description), arguments=arguments)


def prompted(agent: Agent, args: dict[str, str], context: AgentContext) -> AgentPrompt:
    if isinstance(agent, TomlAgent | LuaAgent):
        return agent.resolve(args, context)
    prompt = in_time(agent, args, context)
    if not isinstance(prompt, AgentPrompt) or not isinstance(prompt.system, str):
        raise AgentError(f"{agent.name} returned no AgentPrompt")
    return prompt


def in_time(agent: Agent, args: dict[str, str], context: AgentContext) -> Any:
    """Python cannot be stopped from outside: after the time nobody waits for it any more, and its thread goes on."""
    future: Future[Any] = Future()
    threading.Thread(target=fulfil, args=(future, agent, args, context), name="llmc-agent", daemon=True).start()
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


def fulfil(future: Future[Any], agent: Agent, args: dict[str, str], context: AgentContext) -> None:
    try:
        found: Any = agent.resolve(args, context)
        future.set_result(asyncio.run(awaited(found)) if inspect.isawaitable(found) else found)
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        future.set_exception(error)


async def awaited(found: Any) -> Any:
    return await found


def cleaned(prompt: AgentPrompt, redact: Redactor) -> AgentPrompt:
    """What the index gave is clean already; a prompt may also come from a script that knows a secret of its own."""
    messages = tuple(PromptMessage(one.role, clean_text(one.content, redact)) for one in prompt.messages)
    return AgentPrompt(clean_text(prompt.system, redact), tuple(prompt.tools), messages)


def said_safely(error: LlmcError, redact: Redactor) -> LlmcError:
    error.message, error.reason, error.hint = (
        clean_text(text, redact) for text in (error.message, error.reason, error.hint)
    )
    return error
