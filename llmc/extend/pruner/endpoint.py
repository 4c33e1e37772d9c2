"""The pruner of others: a `swe-pruner` service, asked over HTTP, and never believed more than it must be.

`{code, query}` goes out by POST, and the first text among `pruned_code`, `content` and `text` of the JSON that comes
back is the pruned one. Redirects are not followed, neither proxies nor .netrc are read from the environment, size and
time are bounded; whoever calls has redacted `code` before. Any failure is a `PrunerError` with a few words for a
reader, and the unpruned text is shown instead.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HIGHEST_MS", "LOWEST_MS", "USUAL_MS", "Endpoint", "PrunerError", "ask"]

USUAL_MS, LOWEST_MS, HIGHEST_MS = 30_000, 100, 300_000
FIELDS: Final = ("pruned_code", "content", "text")
LARGEST_REPLY: Final = 16 << 20  # bytes
LARGEST_TEXT: Final = 8 << 20  # characters that are sent
OK: Final = 200
LOOK_SECONDS: Final = 0.1


class PrunerError(Exception):
    """Why there is no pruned text."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    timeout_ms: int = USUAL_MS


def ask(endpoint: Endpoint, code: str, query: str, cancelled: Callable[[], bool] = lambda: False) -> str:
    """The pruned text. The whole exchange must be done within the time, however slowly the bytes come."""
    if len(code) > LARGEST_TEXT:
        raise PrunerError("the text is too long for it")
    check(endpoint.url)
    found: list[str | PrunerError] = []
    done = threading.Event()

    def work() -> None:
        try:
            found.append(exchange(endpoint, code, query))
        except PrunerError as error:
            found.append(error)
        except Exception as error:  # noqa: BLE001 - whatever a stranger's server provokes is its failure, not ours
            found.append(PrunerError(f"failed ({type(error).__name__})"))
        finally:
            done.set()

    threading.Thread(target=work, name="llmc-pruner", daemon=True).start()
    left = endpoint.timeout_ms / 1000
    while left > 0 and not done.wait(min(LOOK_SECONDS, left)):
        left -= LOOK_SECONDS
        if cancelled():
            raise PrunerError("was not waited for")
    if not done.is_set():
        raise PrunerError(f"did not answer within {endpoint.timeout_ms / 1000:g} s")
    if isinstance(found[0], PrunerError):
        raise found[0]
    return found[0]


def check(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise PrunerError("has no usable address")


def exchange(endpoint: Endpoint, code: str, query: str) -> str:
    import httpx  # noqa: PLC0415 - 0.1 s that only an endpoint needs

    body = json.dumps({"code": code, "query": query}).encode("ascii")
    headers = {"Content-Type": "application/json"}
    try:
        with (
            httpx.Client(timeout=endpoint.timeout_ms / 1000, follow_redirects=False, trust_env=False) as client,
            client.stream("POST", endpoint.url, content=body, headers=headers) as reply,
        ):
            if reply.status_code != OK:
                raise PrunerError(f"answered {reply.status_code}")
            return text_of(received(reply))
    except httpx.TimeoutException:
        raise PrunerError(f"did not answer within {endpoint.timeout_ms / 1000:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise PrunerError(f"cannot be reached ({type(error).__name__})") from None


def received(reply: Any) -> bytes:
    data = bytearray()
    for piece in reply.iter_bytes():
        data += piece
        if len(data) > LARGEST_REPLY:
            raise PrunerError(f"answered more than {LARGEST_REPLY >> 20} MB")
    return bytes(data)


def text_of(data: bytes) -> str:
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        raise PrunerError("answered no JSON") from None
    texts = (answer.get(name) for name in FIELDS) if isinstance(answer, dict) else ()
    for text in texts:
        if isinstance(text, str):
            return text
    raise PrunerError("answered no text")
