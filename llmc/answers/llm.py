"""models: who answers in words? A provider of the settings, as a model that an agent loop can talk to.

    async with opened(provider, "qwen3") as model:
        answer = await Agent(model, …).run(prompt)

OpenAI-compatible endpoints (LM Studio, Ollama, llama.cpp, vLLM), Anthropic and Google, through pydantic-ai, which is
the extra `llmc[models]` and imported only when a model is used (0.8 s). Requests go to the configured address alone:
no redirects, no proxy of the environment, no retries behind our back, and a cap on what is read. The key stands in a
header, never in a message or a log. `gate` keeps to as many requests at once as the provider allows.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from llmc.base.errors import ConfigError
from llmc.base.outbound import is_plain, web_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from llmc.settings import Provider

__all__ = ["gate", "opened", "place"]

# The longest answer of a model is some hundred kilobytes; what is larger is no answer.
MAX_REPLY = 8 << 20
# How often who waits for a place looks whether it should go on waiting.
POLL_SECONDS = 0.05


@contextlib.asynccontextmanager
async def opened(provider: Provider, model: str) -> AsyncIterator[Any]:
    """A model of pydantic-ai; the connection ends with the block."""
    try:
        import pydantic_ai  # noqa: F401, PLC0415 - an extra, and 0.8 s
    except ImportError:
        raise ConfigError(
            "no model can be used", reason="the extra is not installed", hint="pip install 'llmc[models]'"
        ) from None
    name = model or provider.model
    if not name:
        raise ConfigError("no model is named", hint="Set the model of the role, or of its provider.")
    client = client_of(provider)
    try:
        yield MAKERS[provider.kind](provider, name, client)
    finally:
        await client.aclose()


def client_of(provider: Provider) -> Any:
    import httpx2  # noqa: PLC0415 - what pydantic-ai talks with

    if provider.base_url and not is_plain(provider.base_url):
        raise ConfigError("a provider's base_url is no plain address", hint="For example http://127.0.0.1:1234/v1")
    seconds = provider.timeout_ms / 1000
    return web_client(MAX_REPLY, httpx2.Timeout(seconds), seconds=seconds)


def _openai(provider: Provider, model: str, client: Any) -> Any:
    from openai import AsyncOpenAI  # noqa: PLC0415 - likewise
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - likewise
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - likewise

    # Local servers want no key, and the client wants one.
    key = provider.api_key.reveal() or "none"
    sdk = AsyncOpenAI(base_url=provider.base_url or None, api_key=key, http_client=client, max_retries=0)
    return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=sdk))


def _anthropic(provider: Provider, model: str, client: Any) -> Any:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - likewise
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - likewise
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - likewise

    sdk = AsyncAnthropic(
        base_url=provider.base_url or None,
        api_key=provider.api_key.reveal() or "none",
        http_client=client,
        max_retries=0,
    )
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=sdk))


def _google(provider: Provider, model: str, client: Any) -> Any:
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - likewise
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415 - likewise

    key = provider.api_key.reveal() or "none"
    return GoogleModel(
        model, provider=GoogleProvider(api_key=key, base_url=provider.base_url or None, http_client=client)
    )


MAKERS: dict[str, Callable[[Provider, str, Any], Any]] = {"openai": _openai, "anthropic": _anthropic, "google": _google}


@lru_cache(maxsize=64)
def _places(_address: tuple[str, str], most: int) -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(most)


@contextlib.contextmanager
def gate(provider: Provider, check: Callable[[], None]) -> Iterator[None]:
    """One of the places of a provider, for all roles and clients; `check` raises when waiting is over."""
    places = _places((provider.kind, provider.base_url), provider.max_concurrent)
    while not places.acquire(timeout=POLL_SECONDS):
        check()
    try:
        yield
    finally:
        places.release()


@contextlib.asynccontextmanager
async def place(provider: Provider) -> AsyncIterator[None]:
    """As `gate`, for one request of a conversation in a loop: giving up is a cancellation."""
    places = _places((provider.kind, provider.base_url), provider.max_concurrent)
    while not places.acquire(blocking=False):  # noqa: ASYNC110 - threads hold places too, and set no event of a loop
        await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        places.release()
