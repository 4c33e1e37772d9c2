"""Every error that llmc raises on purpose.

    LlmcError
    ├── ConfigError          a setting is unknown, of the wrong type, or out of range
    ├── RootError            a root does not exist, is not a folder, is unreadable
    ├── OutsideError         a path leads out of the roots (the message never says what lies there)
    ├── NotFoundError        no such path, symbol, handle; offers the nearest names
    ├── ReadError            something is at the path, and its content is not given: a link, a device, no permission
    ├── ConflictError        somebody else has written meanwhile; `context` has the version that it is at
    ├── QueryError           a query, pattern or filter that cannot be understood, or is over a limit
    ├── StoreError
    │   ├── CorruptStoreError    the index on disk does not check out and must be rebuilt
    │   ├── CorruptVectorsError  the vector table cannot be used and is made again; keywords still answer
    │   ├── VectorsUnavailableError  LanceDB cannot be imported; keywords still answer
    │   ├── NewerFormatError     written by a newer llmc
    │   └── StoreFullError       no space left: read-only until there is
    ├── DaemonError
    │   ├── DaemonRunningError   another daemon owns this home
    │   └── DaemonGoneError      the daemon did not answer
    ├── CallLimitError
    │   ├── CallTimeoutError     a call took longer than it may
    │   └── CallMemoryError      a call needed more memory than it may
    ├── EmbedError           a model folder or endpoint that cannot be used
    ├── ModelError           a model that was asked for words did not answer, or not in a way that can be used
    ├── ToolExecutionError   a downstream server died, hung or refused while a tool of it ran
    ├── WebError             the search service cannot be used
    ├── ArtifactError        the folder of reports and handoffs cannot be used
    └── AgentError           a persona is wrong: its script, its template, what it returned
        ├── ArgumentError        an argument of it is missing, unknown or no text: the asker's mistake
        └── AgentTimeoutError    it took too long

Each says what happened (`message`), why (`reason`) and what to do next (`hint`); `context` holds the typed particulars
(path, line, handle ...) for machines. `code` is stable and is what `--json` and HTTP report.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "AgentError",
    "AgentTimeoutError",
    "ArgumentError",
    "ArtifactError",
    "CallLimitError",
    "CallMemoryError",
    "CallTimeoutError",
    "ConfigError",
    "ConflictError",
    "CorruptStoreError",
    "CorruptVectorsError",
    "DaemonError",
    "DaemonGoneError",
    "DaemonRunningError",
    "EmbedError",
    "InvalidParamsError",
    "LlmcError",
    "ModelError",
    "NewerFormatError",
    "NotFoundError",
    "OutsideError",
    "QueryError",
    "ReadError",
    "RootError",
    "StoreError",
    "StoreFullError",
    "ToolExecutionError",
    "VectorsUnavailableError",
    "WebError",
    "error_from_fields",
]


class LlmcError(Exception):
    """The base of the tree; never raised itself."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, reason: str = "", hint: str = "", **context: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.hint = hint
        self.context = context

    def __str__(self) -> str:
        text = self.message
        if self.reason:
            text += f": {self.reason}"
        if self.hint:
            text += f"\n{self.hint}"
        return text

    def as_dict(self) -> dict[str, object]:
        return {
            "code": self.code,
            "message": self.message,
            "reason": self.reason,
            "hint": self.hint,
            "context": dict(self.context),
        }


class ConfigError(LlmcError):
    code = "config"
    exit_code = 2


class RootError(LlmcError):
    code = "root"
    exit_code = 2


class OutsideError(LlmcError):
    code = "outside"
    exit_code = 2


class NotFoundError(LlmcError):
    code = "not_found"


class ReadError(LlmcError):
    """`context` holds the path and the `refusal`, one of `door.Refusal`."""

    code = "read"

    @property
    def refusal(self) -> str:
        found = self.context.get("refusal", "")
        return found if isinstance(found, str) else ""


class QueryError(LlmcError):
    code = "query"
    exit_code = 2


class ConflictError(LlmcError):
    code = "conflict"


class StoreError(LlmcError):
    code = "store"
    exit_code = 3


class CorruptStoreError(StoreError):
    code = "store_corrupt"


class CorruptVectorsError(StoreError):
    code = "vectors_corrupt"


class VectorsUnavailableError(StoreError):
    code = "vectors_unavailable"


class NewerFormatError(StoreError):
    code = "store_newer"


class StoreFullError(StoreError):
    code = "store_full"


class DaemonError(LlmcError):
    code = "daemon"
    exit_code = 4


class DaemonRunningError(DaemonError):
    code = "daemon_running"


class DaemonGoneError(DaemonError):
    code = "daemon_gone"


class CallLimitError(LlmcError):
    """The call was stopped; nothing else of the daemon was."""

    code = "limit"


class CallTimeoutError(CallLimitError):
    code = "timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the call was stopped after {seconds:g} s",
            hint="Ask for less, or raise limits.call_timeout_ms.",
        )


class CallMemoryError(CallLimitError):
    code = "memory"

    def __init__(self, size: int) -> None:
        super().__init__(
            f"the call was stopped because it needed more than {size >> 20:,} MiB of memory",
            hint="Ask for less, or raise limits.call_memory_bytes.",
        )


class EmbedError(LlmcError):
    code = "embed"
    exit_code = 5


class ModelError(LlmcError):
    code = "provider"
    exit_code = 5


class ToolExecutionError(LlmcError):
    code = "tool_execution"
    exit_code = 5


class WebError(LlmcError):
    code = "web"
    exit_code = 5


class ArtifactError(LlmcError):
    code = "artifact"
    exit_code = 3


class AgentError(LlmcError):
    """The codes of this branch are those of the endpoints of personas."""

    code = "agent_error"
    exit_code = 1


class ArgumentError(AgentError):
    code = "bad_request"
    exit_code = 2


class AgentTimeoutError(AgentError):
    code = "timeout"
    exit_code = 1


class InvalidParamsError(Exception):
    """Arguments that the protocol itself must reject (JSON-RPC -32602), rather than a reply."""


def error_from_fields(fields: dict[str, Any]) -> LlmcError:
    """The error that another process reported, of its own class where that is known."""
    found = _classes().get(str(fields.get("code")), DaemonError)
    context = {name: value for name, value in fields.get("context", {}).items() if isinstance(value, str | int)}
    return found(fields["message"], reason=fields.get("reason", ""), hint=fields.get("hint", ""), **context)


def _classes() -> dict[str, type[LlmcError]]:
    found: dict[str, type[LlmcError]] = {"leaving": DaemonGoneError}
    pending: list[type[LlmcError]] = [LlmcError]
    while pending:
        each = pending.pop()
        found.setdefault(each.code, each)
        pending.extend(each.__subclasses__())
    return found
