"""What stops a task of the research runtime. Each has a stable `code`, which a wrapper shows as its error's name."""

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
    """A file was not read, since the budget of files or bytes is spent."""

    code = "over_budget"


class ToolDeniedError(LlmcError):
    """A role used a tool that it was not given."""

    code = "tool_denied"
