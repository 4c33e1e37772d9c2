"""Vendors that a delegate may name without an entry in `providers`: how they are spoken to, where, and whose key.

The key is taken from the vendor's usual variable. To use another address or variable, make an
entry of the same name in `providers`, which then is the one that counts.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["ADDRESS_VARIABLES", "VENDORS", "Vendor"]

# The variables by which the vendors' own libraries take another address, by protocol.
ADDRESS_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}


class Vendor(NamedTuple):
    """`kind` is the protocol; an empty `base_url` is the vendor's own, as its library knows it."""

    kind: Literal["openai", "anthropic", "google"]
    base_url: str
    variables: tuple[str, ...]


VENDORS: dict[str, Vendor] = {
    "openai": Vendor("openai", "", ("OPENAI_API_KEY",)),
    "anthropic": Vendor("anthropic", "", ("ANTHROPIC_API_KEY",)),
    "google": Vendor("google", "", ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY")),
    "mistral": Vendor("openai", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "groq": Vendor("openai", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "deepseek": Vendor("openai", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "xai": Vendor("openai", "https://api.x.ai/v1", ("XAI_API_KEY",)),
    "openrouter": Vendor("openai", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "ollama": Vendor("openai", "http://127.0.0.1:11434/v1", ()),
    "lmstudio": Vendor("openai", "http://127.0.0.1:1234/v1", ()),
}
