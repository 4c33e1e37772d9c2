"""For personas written in Python: subclass `Agent`, and name the class in the entry point group `llmc.agents` of an
installed package, or `register` it in a program that has llmc inside."""

from __future__ import annotations

from llmc.errors import AgentError, AgentTimeoutError, ArgumentError
from llmc.server.agents.base import Agent
from llmc.server.agents.context import AgentContext, Document, Found, Source
from llmc.server.agents.model import AgentArgument, AgentInfo, AgentPrompt, PromptMessage
from llmc.server.agents.plugins import register
from llmc.server.agents.registry import AgentRegistry

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
    "Document",
    "Found",
    "PromptMessage",
    "Source",
    "register",
]
