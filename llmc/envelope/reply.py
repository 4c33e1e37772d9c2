"""The reply that every surface shows: text for a model or a person, data for a program, and their cost in tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmc.envelope.tokens import weigh

if TYPE_CHECKING:
    from llmc.envelope.tokens import TokenAccount

__all__ = ["Reply", "tokens_of", "weight_of"]


@dataclass(frozen=True, slots=True)
class Reply:
    """`frame` is the part of the text that exists only because llmc produced it: handle, truncation and pending notes.
    `weight` counts content and frame in tokens, and what a plain tool would have returned. `cached`: the reply was
    computed for an earlier identical call. `provisional`: not everything was checked, since the index is being built.
    `places` is a short form of the text for a client that repeats the call: every place with its line numbers, without
    text. `roots` are the roots with results in the reply.
    """

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    shown: int = 0
    total: int = 0
    handle: str = ""
    error: str = ""
    frame: str = ""
    weight: TokenAccount | None = None
    cached: bool = False
    provisional: bool = False
    places: str = ""
    roots: tuple[str, ...] = ()


def weight_of(reply: Reply) -> TokenAccount:
    return reply.weight or weigh(reply.text, reply.frame)


def tokens_of(reply: Reply) -> int:
    weight = weight_of(reply)
    return weight.content + weight.frame
