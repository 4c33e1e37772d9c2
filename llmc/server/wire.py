"""Encodes and decodes messages, at the daemon's end.

Uses orjson, and the standard library where necessary: names that are not UTF-8 are sent as lone surrogates, which
orjson rejects. A message over the limit is an error reply, not a broken connection.
"""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any

import orjson

from llmc.base.errors import LlmcError
from llmc.base.protocol import MAX_MESSAGE

__all__ = ["Id", "decode", "describe", "encode_error", "encode_event", "encode_line", "encode_result", "failure"]

Id = int | str | None


def decode(line: bytes) -> Any:
    """The value on a line; ValueError when it is not JSON."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        if b"\\ud" not in line.lower():
            raise
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def encode_line(message: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return json.dumps(message, default=_plain).encode() + b"\n"


def encode_result(identifier: Id, result: object) -> bytes:
    line = encode_line({"id": identifier, "result": result})
    if len(line) <= MAX_MESSAGE:
        return line
    return encode_error(identifier, failure("too_large", "the reply is too large", f"{len(line)} bytes"))


def encode_error(identifier: Id, error: dict[str, object]) -> bytes:
    return encode_line({"id": identifier, "error": error})


def encode_event(identifier: Id, event: dict[str, Any]) -> bytes:
    """Encode an event; ValueError over the limit, since the sender can split it. `bytes` follow their line as they
    are."""
    if isinstance(data := event.get("bytes"), bytes):
        return encode_line({"id": identifier, "bytes": len(data)}) + data
    line = encode_line({"id": identifier, "event": event})
    if len(line) > MAX_MESSAGE:
        raise ValueError(f"the event is too large ({len(line)} bytes)")
    return line


def failure(code: str, message: str, reason: str = "", hint: str = "") -> dict[str, object]:
    """A transport error in the format of `LlmcError.as_dict`."""
    return {"code": code, "message": message, "reason": reason, "hint": hint, "context": {}}


def describe(error: BaseException, log: str) -> dict[str, object]:
    """The error for a client, redacted, since queries and paths may contain secrets."""
    from llmc.envelope.clean import without_secrets  # noqa: PLC0415 - most calls succeed

    if isinstance(error, LlmcError):
        return without_secrets(error.as_dict())
    reason = without_secrets(f"{type(error).__name__}: {error}")
    return failure("internal", "internal error", reason, f"See the traceback in the log: {log}")


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
