"""Telling subscribers: signed, with a time limit, tried again with growing pauses."""

from __future__ import annotations

import hashlib
import hmac
import time

from tracking.config import Webhooks

FIRST_PAUSE_SECONDS = 10
LONGEST_PAUSE_SECONDS = 3600


class SignatureError(ValueError):
    """The signature is missing, wrong or too old."""


def sign(body: bytes, secret: bytes, now: float | None = None) -> str:
    """The value of the header Parcelo-Signature."""
    stamp = str(int(now if now is not None else time.time()))
    digest = hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={stamp},v1={digest}"


def verify(header: str, body: bytes, secret: bytes, settings: Webhooks, now: float | None = None) -> None:
    """Raise unless the header was made by us for this body, not longer ago than the settings allow."""
    parts = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    if not {"t", "v1"} <= parts.keys():
        raise SignatureError("malformed signature")
    age = (now if now is not None else time.time()) - int(parts["t"])
    if age > settings.signature_ttl_seconds:
        raise SignatureError("signature expired")
    if not hmac.compare_digest(sign(body, secret, int(parts["t"])), header):
        raise SignatureError("signature does not match")


def pause_before(attempt: int) -> int:
    """Seconds until the next attempt: 10, 20, 40 ... at most an hour."""
    return min(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), LONGEST_PAUSE_SECONDS)


def should_pause_subscription(failures: int, settings: Webhooks) -> bool:
    return failures >= settings.max_attempts
