"""The API for personas in Python: subclass `Agent`, and list the class in the entry point group `llmc.agents` of an
installed package, or `register` it in a program that embeds llmc."""

from __future__ import annotations

from llmc.base.errors import AgentError, AgentTimeoutError, ArgumentError
from llmc.extend.personas.base import Agent
from llmc.extend.personas.context import AgentContext, ContextDocument, ContextPassage, ContextSource
from llmc.extend.personas.model import AgentArgument, AgentInfo, AgentPrompt, PromptMessage
from llmc.extend.personas.plugins import register
from llmc.extend.personas.registry import AgentRegistry

__all__ = [
    "Agent",
    "AgentArgument",
    "AgentContext",
    "AgentError",
    "AgentInfo",
    "AgentPrompt",
    "AgentRegistry",
    "AgentTimeoutError",
    "ArgumentError",
    "ContextDocument",
    "ContextPassage",
    "ContextSource",
    "PromptMessage",
    "register",
]
