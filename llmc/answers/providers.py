"""Language models: a provider from the settings, opened as a pydantic-ai model.

    async with open_model(provider, "qwen3") as model:
        answer = await Agent(model, …).run(prompt)

OpenAI-compatible endpoints (LM Studio, Ollama, llama.cpp, vLLM), Anthropic and Google, through pydantic-ai, which is
the extra `llmc-index[models]`, imported only when a model is used (0.8 s). Requests go only to the configured address:
no redirects, no proxies from the environment, no automatic retries, and a cap on the response size. The API key is
sent in a header and never appears in a message or a log. `request_slot` limits concurrent requests to what the
provider allows. `failure_of` says in one phrase why a request failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from llmc.base.errors import ConfigError, LlmcError, ModelError, ModelUnavailableError
from llmc.base.outbound import is_plain, web_client
from llmc.envelope.clean import clean_text
from llmc.settings.secret import hide_secrets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from llmc.settings import Provider

__all__ = ["address_of", "failure_of", "missing_libraries_as_config", "model_id", "open_model", "request_slot"]

# The longest useful model response is a few hundred kilobytes; anything larger is a malfunction.
MAX_REPLY = 8 << 20
LONGEST_MESSAGE = 300
# Given explicitly, since the libraries would otherwise read the environment, which is that of the daemon.
OWN_ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
}
FAILED = 500
STATUSES = {
    401: "the provider refused the key",
    403: "the provider refused the key",
    404: "the provider has no such model",
    429: "the provider limits requests",
}
# Refusals of one request, such as a prompt that is too long; another one may be accepted.
ABOUT_THE_REQUEST = frozenset({400, 409, 413, 422})
# How often a caller waiting for a slot checks whether it should give up.
POLL_SECONDS = 0.05


@contextlib.asynccontextmanager
async def open_model(provider: Provider, model: str) -> AsyncIterator[Any]:
    """Open a pydantic-ai model; its HTTP client closes with the block."""
    try:
        import pydantic_ai  # noqa: F401, PLC0415 - an extra, and 0.8 s
    except ImportError:
        raise ConfigError(
            "models are not available", reason="the extra is not installed", hint="pip install 'llmc-index[models]'"
        ) from None
    name = model or provider.model
    if not name:
        raise ConfigError("no model is configured", hint="Set `model` on the role or on its provider.")
    client = http_client(provider)
    try:
        yield MODEL_FACTORIES[provider.kind](provider, name, client)
    finally:
        await client.aclose()


def address_of(provider: Provider) -> str:
    return provider.base_url or OWN_ADDRESSES[provider.kind]


def model_id(provider: Provider, model: str) -> tuple[str, str]:
    """What answers a request: the address and the name of the model there."""
    return address_of(provider), model or provider.model


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
    sdk = AsyncOpenAI(base_url=address_of(provider), api_key=key, http_client=client, max_retries=0)
    return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=sdk))


def _anthropic(provider: Provider, model: str, client: Any) -> Any:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - part of the extra
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - part of the extra
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - part of the extra

    sdk = AsyncAnthropic(
        base_url=address_of(provider),
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
        model,
        provider=GoogleProvider(api_key=key, base_url=address_of(provider), http_client=client),
    )


MODEL_FACTORIES: dict[str, Callable[[Provider, str, Any], Any]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "google": _google,
}


@contextlib.contextmanager
def missing_libraries_as_config(provider: Provider) -> Iterator[None]:
    """Turn a missing library into an error that says how to install it."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(
            f"{provider.kind} models are not available",
            reason=f"{error.name or provider.kind} is not installed",
            hint=f"pip install 'llmc-index[models]', or pip install 'pydantic-ai-slim[{provider.kind}]'",
        ) from None


@lru_cache(maxsize=64)
def _slots(_address: tuple[str, str], most: int) -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(most)


@contextlib.asynccontextmanager
async def request_slot(provider: Provider) -> AsyncIterator[None]:
    """Hold one of the provider's request slots, shared by all roles, delegates and clients."""
    slots = _slots((provider.kind, provider.base_url), provider.max_concurrent)
    while not slots.acquire(blocking=False):  # noqa: ASYNC110 - threads hold slots too, and set no event of a loop
        await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        slots.release()


def failure_of(error: Exception, provider: Provider) -> ModelError:
    """Why a request failed: one phrase as the reason; the address, HTTP status and message as context."""
    causes = list(causes_of(error))
    codes = (getattr(one, "status_code", None) for one in causes)
    status = next((code for code in codes if isinstance(code, int)), None)
    message = hidden(message_of(causes), provider)
    context: dict[str, str | int] = {"address": address_of(provider), "detail": message}
    if status is not None:
        context["status"] = status
    kind = ModelUnavailableError if is_unavailable(error, status) else ModelError
    made = kind("the model did not answer", reason=phrase_for(error, status, message))
    made.context = context
    return made


def is_unavailable(error: Exception, status: int | None) -> bool:
    """Whether the next request would probably fail as well, whatever it says."""
    from pydantic_ai import exceptions  # noqa: PLC0415 - an extra

    if status is not None:
        return status not in ABOUT_THE_REQUEST
    return isinstance(
        error,
        exceptions.ModelTimeoutError | exceptions.ModelRequestTimeout | exceptions.ModelConnectionError | TimeoutError,
    )


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def phrase_for(error: Exception, status: int | None, message: str) -> str:
    from pydantic_ai import exceptions  # noqa: PLC0415 - an extra

    if isinstance(error, exceptions.ModelTimeoutError | exceptions.ModelRequestTimeout | TimeoutError):
        return "it was too slow"
    if status is not None:
        what = STATUSES.get(status) or ("the provider failed" if status >= FAILED else "the provider refused")
        return f"{what}, status {status}"
    if isinstance(error, exceptions.ModelConnectionError):
        return f"the connection failed: {message}" if message else "the connection failed"
    if isinstance(error, exceptions.UnexpectedModelBehavior) and isinstance(error.__cause__, exceptions.ToolRetryError):
        return "its answer did not have the requested form"
    # The client libraries raise their own errors, and those of parsing, for what they cannot read.
    unreadable = exceptions.UnexpectedModelBehavior | exceptions.ModelAPIError | ValueError | LookupError | TypeError
    return "the reply is not one of a model" if isinstance(error, unreadable) else type(error).__name__


def message_of(causes: list[BaseException]) -> str:
    """What the provider says went wrong, or the innermost error of the connection."""
    for one in causes:
        body = getattr(one, "body", None)
        inner = body.get("error", body) if isinstance(body, dict) else body
        text = inner.get("message") if isinstance(inner, dict) else inner
        if isinstance(text, str) and text.strip():
            return text
    return str(causes[-1])


def hidden(text: str, provider: Provider) -> str:
    """One short line without secrets; the text comes from the network."""
    try:
        key = provider.api_key.reveal()
    except LlmcError:
        key = ""
    return clean_text(" ".join(hide_secrets(text, [key]).split())[:LONGEST_MESSAGE])
