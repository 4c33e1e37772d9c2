"""HTTP error responses, in the format of all errors of llmc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.server.wire import encode_line, failure

if TYPE_CHECKING:
    from starlette.types import Send

    from llmc.base.errors import LlmcError

__all__ = ["HttpRefusal", "body_of", "refuse", "status_of"]

# HTTP status by error code; other codes are internal errors (500).
STATUSES = {
    "query": 400,
    "bad_request": 400,
    "config": 400,
    "root": 400,
    "read": 403,
    "not_found": 404,
    "not_indexed_yet": 503,
    "outside": 403,
    "conflict": 409,
    "storage": 503,
    "store": 503,
    "store_corrupt": 503,
    "store_newer": 503,
    "store_full": 503,
    "daemon": 503,
    "daemon_gone": 503,
    "embed": 503,
    "busy": 503,
    "too_large": 413,
    "timeout": 504,
    "memory": 503,
    "artifact": 503,
    "provider": 502,
    "tool_execution": 502,
    "web": 502,
}


class HttpRefusal(Exception):  # noqa: N818 - it is a response
    """`close`: the rest of the request is not read, so the connection cannot be reused. `challenge` is sent as
    `WWW-Authenticate`."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", *, close: bool = False, challenge: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.close = close
        self.challenge = challenge
        self.error = failure(code, message, "", hint)


def status_of(code: str) -> int:
    return STATUSES.get(code, 500)


def body_of(error: LlmcError | dict[str, Any]) -> bytes:
    return encode_line({"error": error if isinstance(error, dict) else error.as_dict()})


async def refuse(send: Send, refusal: HttpRefusal) -> None:
    """Send the response directly; the application has not seen the request."""
    body = body_of(refusal.error)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.challenge:
        headers.append((b"www-authenticate", refusal.challenge.encode()))
    if refusal.close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
