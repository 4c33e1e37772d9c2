"""Client of a `swe-pruner` service over HTTP, whose responses are validated.

`{code, query}` is sent by POST; the first string among `pruned_code`, `content` and `text` in the JSON response is the
pruned text. `outbound` bounds size and time; the caller redacts `code` first. Any failure is a `PrunerError` with a
short reason, and the unpruned text is used instead.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from llmc.base.outbound import ExchangeError, Exchanger, ExchangeSizeError, ExchangeTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HIGHEST_MS", "LOWEST_MS", "USUAL_MS", "Endpoint", "PrunerError", "ask"]

USUAL_MS, LOWEST_MS, HIGHEST_MS = 30_000, 100, 300_000
FIELDS: Final = ("pruned_code", "content", "text")
LARGEST_REPLY: Final = 16 << 20  # bytes
LARGEST_TEXT: Final = 8 << 20  # characters that are sent
OK: Final = 200


class PrunerError(Exception):
    """Why there is no pruned text; the message completes "the pruner …"."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    timeout_ms: int = USUAL_MS


def ask(endpoint: Endpoint, code: str, query: str, cancelled: Callable[[], bool] = lambda: False) -> str:
    """The pruned text. The timeout covers the whole exchange, however slowly bytes arrive."""
    if len(code) > LARGEST_TEXT:
        raise PrunerError("was not called: the text is too long")
    check(endpoint.url)
    body = json.dumps({"code": code, "query": query}).encode("ascii")
    seconds = endpoint.timeout_ms / 1000
    exchanger = Exchanger()
    try:
        status, answer = exchanger.exchange(
            "POST", endpoint.url, content=body, seconds=seconds, most=LARGEST_REPLY, cancelled=cancelled
        )
    except ExchangeTimeoutError:
        raise PrunerError("was cancelled" if cancelled() else f"did not respond within {seconds:g} s") from None
    except ExchangeSizeError:
        raise PrunerError(f"returned more than {LARGEST_REPLY >> 20} MB") from None
    except ExchangeError as error:
        raise PrunerError(f"cannot be reached ({error.kind})") from None
    finally:
        exchanger.close()
    if status != OK:
        raise PrunerError(f"returned status {status}")
    return text_of(answer)


def check(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise PrunerError("has no valid URL")


def text_of(data: bytes) -> str:
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        raise PrunerError("did not return valid JSON") from None
    texts = (answer.get(name) for name in FIELDS) if isinstance(answer, dict) else ()
    for text in texts:
        if isinstance(text, str):
            return text
    raise PrunerError("returned no text")
