"""Every error that llmc raises on purpose.

    LlmcError
    ├── ConfigError          a setting is unknown, of the wrong type, or out of range
    ├── RootError            a root does not exist, is not a folder, is unreadable
    ├── OutsideError         a path is outside the roots (the message reveals nothing about it)
    ├── NotFoundError        no such path, symbol or handle; suggests the nearest names
    │   └── NotIndexedYetError   not found so far, and the index is still being built
    ├── ReadError            the path exists but is not readable: a link, a device, no permission
    ├── ConflictError        another writer was faster; `context` has the current version
    ├── QueryError           a query, pattern or filter is invalid or exceeds a limit
    │   └── SearchTimeoutError   a text search was stopped at its time limit; not everything was searched
    ├── StoreError
    │   ├── CorruptStoreError    the index on disk is damaged and must be rebuilt
    │   ├── CorruptVectorsError  the vector table is unusable and is rebuilt; keywords still answer
    │   ├── VectorsUnavailableError  LanceDB cannot be imported; keywords still answer
    │   ├── NewerFormatError     written by a newer llmc
    │   ├── StoreFullError       no space left on the disk; the store is read-only until there is
    │   └── StorageError         the object storage of a shared index is unreachable or denies access
    ├── DaemonError
    │   ├── DaemonRunningError   another daemon uses this home folder
    │   └── DaemonGoneError      the daemon does not respond
    ├── CallLimitError
    │   ├── CallTimeoutError     a call exceeded its time limit
    │   └── CallMemoryError      a call exceeded its memory limit
    ├── EmbedError           an embedding model or endpoint is unusable
    ├── ModelError           a language model did not respond, or not in a usable format
    │   └── ModelUnavailableError  its provider is too slow, unreachable or refuses; the next request would fail as well
    ├── ToolExecutionError   a downstream server died, hung or refused during a tool call
    ├── WebError             the search service is unusable
    ├── ArtifactError        the folder for reports and handoffs is unusable
    └── AgentError           a persona is invalid: its script, template or return value
        ├── ArgumentError        an argument is missing, unknown or not a string
        └── AgentTimeoutError    resolving it timed out

Each error says what happened (`message`), why (`reason`) and what to do next (`hint`); `context` holds typed details
(path, line, handle ...) for programs. `code` is stable; `--json` and HTTP report it.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "NOT_KNOWN_YET",
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
    "ModelUnavailableError",
    "NewerFormatError",
    "NotFoundError",
    "NotIndexedYetError",
    "OutsideError",
    "QueryError",
    "ReadError",
    "RootError",
    "SearchTimeoutError",
    "StorageError",
    "StoreError",
    "StoreFullError",
    "ToolExecutionError",
    "VectorsUnavailableError",
    "WebError",
    "error_from_fields",
]


# The exit code for "nothing found so far, and not everything was checked": sysexits' EX_TEMPFAIL, "try again later".
# "Nothing found" is 1, as with grep.
NOT_KNOWN_YET = 75


class LlmcError(Exception):
    """The base class; never raised itself."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, reason: str = "", hint: str = "", **context: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.hint = hint
        self.context = context

    def __str__(self) -> str:
        return f"{self.without_hint}\n{self.hint}" if self.hint else self.without_hint

    @property
    def without_hint(self) -> str:
        """The message and its reason."""
        return f"{self.message}: {self.reason}" if self.reason else self.message

    @property
    def one_line(self) -> str:
        """For a status or a note: the message, the reason and the hint as sentences."""
        return f"{self.without_hint}. {self.hint}" if self.hint else self.without_hint

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


class NotIndexedYetError(NotFoundError):
    """Not found in the part of the root that is indexed; asking again later may find it."""

    code = "not_indexed_yet"
    exit_code = NOT_KNOWN_YET


class ReadError(LlmcError):
    """`context` holds the path and the `refusal`, one of `root_fs.ReadRefusal`."""

    code = "read"

    @property
    def refusal(self) -> str:
        refusal = self.context.get("refusal", "")
        return refusal if isinstance(refusal, str) else ""


class QueryError(LlmcError):
    code = "query"
    exit_code = 2


class SearchTimeoutError(QueryError):
    pass


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


class StorageError(StoreError):
    code = "storage"


class DaemonError(LlmcError):
    code = "daemon"
    exit_code = 4


class DaemonRunningError(DaemonError):
    code = "daemon_running"


class DaemonGoneError(DaemonError):
    code = "daemon_gone"


class CallLimitError(LlmcError):
    """The call was stopped; the daemon and other calls continue."""

    code = "limit"


class CallTimeoutError(CallLimitError):
    code = "timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the call was stopped after {seconds:g} s",
            hint="Narrow the request, or raise limits.call_timeout_ms.",
        )


class CallMemoryError(CallLimitError):
    code = "memory"

    def __init__(self, size: int) -> None:
        super().__init__(
            f"the call was stopped because it needed more than {size >> 20:,} MiB of memory",
            hint="Narrow the request, or raise limits.call_memory_bytes.",
        )


class EmbedError(LlmcError):
    code = "embed"
    exit_code = 5


class ModelError(LlmcError):
    code = "provider"
    exit_code = 5


class ModelUnavailableError(ModelError):
    pass


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
    """The codes of this branch are those of the HTTP endpoints for personas."""

    code = "agent_error"
    exit_code = 1


class ArgumentError(AgentError):
    code = "bad_request"
    exit_code = 2


class AgentTimeoutError(AgentError):
    code = "timeout"
    exit_code = 1


class InvalidParamsError(Exception):
    """Arguments that cause a protocol error (JSON-RPC -32602) instead of a tool reply."""


def error_from_fields(fields: dict[str, Any]) -> LlmcError:
    """The error that another process reported, as an instance of its class if the code is known."""
    error_class = _classes().get(str(fields.get("code")), DaemonError)
    context = {name: value for name, value in fields.get("context", {}).items() if isinstance(value, str | int)}
    return error_class(fields["message"], reason=fields.get("reason", ""), hint=fields.get("hint", ""), **context)


def _classes() -> dict[str, type[LlmcError]]:
    classes: dict[str, type[LlmcError]] = {"leaving": DaemonGoneError}
    pending: list[type[LlmcError]] = [LlmcError]
    while pending:
        each = pending.pop()
        classes.setdefault(each.code, each)
        pending.extend(each.__subclasses__())
    return classes
