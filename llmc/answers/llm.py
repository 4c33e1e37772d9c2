"""Language models: a provider from the settings, opened as a pydantic-ai model.

    async with open_model(provider, "qwen3") as model:
        answer = await Agent(model, …).run(prompt)

OpenAI-compatible endpoints (LM Studio, Ollama, llama.cpp, vLLM), Anthropic and Google, through pydantic-ai, which is
the extra `llmc[models]` and imported only when a model is used (0.8 s). Requests go only to the configured address:
no redirects, no proxies from the environment, no automatic retries, and a cap on the response size. The API key is
sent in a header and never appears in a message or a log. `provider_slot` and `request_slot` limit the number of
concurrent requests to what the provider allows.
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

__all__ = ["open_model", "provider_slot", "request_slot"]

# The longest useful model response is a few hundred kilobytes; anything larger is a malfunction.
MAX_REPLY = 8 << 20
# How often a caller waiting for a slot checks whether it should give up.
POLL_SECONDS = 0.05


@contextlib.asynccontextmanager
async def open_model(provider: Provider, model: str) -> AsyncIterator[Any]:
    """Open a pydantic-ai model; its HTTP client closes with the block."""
    try:
        import pydantic_ai  # noqa: F401, PLC0415 - an extra, and 0.8 s
    except ImportError:
        raise ConfigError(
            "models are not available", reason="the extra is not installed", hint="pip install 'llmc[models]'"
        ) from None
    name = model or provider.model
    if not name:
        raise ConfigError("no model is configured", hint="Set `model` on the role or on its provider.")
    client = http_client(provider)
    try:
        yield MODEL_FACTORIES[provider.kind](provider, name, client)
    finally:
        await client.aclose()


def http_client(provider: Provider) -> Any:
    import httpx2  # noqa: PLC0415 - the HTTP client that pydantic-ai uses

    if provider.base_url and not is_plain(provider.base_url):
        raise ConfigError("the base_url of a provider is not a plain URL", hint="For example http://127.0.0.1:1234/v1")
    seconds = provider.timeout_ms / 1000
    return web_client(MAX_REPLY, httpx2.Timeout(seconds), seconds=seconds)


def _openai(provider: Provider, model: str, client: Any) -> Any:
    from openai import AsyncOpenAI  # noqa: PLC0415 - part of the extra
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - part of the extra
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - part of the extra

    # Local servers need no key, but the client requires one.
    key = provider.api_key.reveal() or "none"
    sdk = AsyncOpenAI(base_url=provider.base_url or None, api_key=key, http_client=client, max_retries=0)
    return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=sdk))


def _anthropic(provider: Provider, model: str, client: Any) -> Any:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - part of the extra
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - part of the extra
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - part of the extra

    sdk = AsyncAnthropic(
        base_url=provider.base_url or None,
        api_key=provider.api_key.reveal() or "none",
        http_client=client,
        max_retries=0,
    )
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=sdk))


def _google(provider: Provider, model: str, client: Any) -> Any:
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - part of the extra
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415 - part of the extra

    key = provider.api_key.reveal() or "none"
    return GoogleModel(
        model, provider=GoogleProvider(api_key=key, base_url=provider.base_url or None, http_client=client)
    )


MODEL_FACTORIES: dict[str, Callable[[Provider, str, Any], Any]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "google": _google,
}


@lru_cache(maxsize=64)
def _slots(_address: tuple[str, str], most: int) -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(most)


@contextlib.contextmanager
def provider_slot(provider: Provider, check: Callable[[], None]) -> Iterator[None]:
    """Hold one of the provider's request slots, shared by all roles and clients; `check` raises to stop waiting."""
    slots = _slots((provider.kind, provider.base_url), provider.max_concurrent)
    while not slots.acquire(timeout=POLL_SECONDS):
        check()
    try:
        yield
    finally:
        slots.release()


@contextlib.asynccontextmanager
async def request_slot(provider: Provider) -> AsyncIterator[None]:
    """Like `provider_slot`, for one request inside an event loop: cancelling the task stops the wait."""
    slots = _slots((provider.kind, provider.base_url), provider.max_concurrent)
    while not slots.acquire(blocking=False):  # noqa: ASYNC110 - threads hold slots too, and set no event of a loop
        await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        slots.release()
