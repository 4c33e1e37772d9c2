"""Errors that end a research task. Each has a stable `code`, which a `TaskResult` shows as the name of its error."""

from __future__ import annotations

from llmc.base.errors import LlmcError

__all__ = ["CanceledError", "DeadlineError", "OverBudgetError", "QueueFullError", "ToolDeniedError"]


class DeadlineError(LlmcError):
    code = "timeout"


class CanceledError(LlmcError):
    code = "canceled"


class QueueFullError(LlmcError):
    code = "queue_full"


class OverBudgetError(LlmcError):
    """A file was not read because the budget of files or bytes is used up."""

    code = "over_budget"


class ToolDeniedError(LlmcError):
    """A role called a tool that it may not use."""

    code = "tool_denied"
