"""`ping`: is anybody there?"""

from __future__ import annotations

from llmc.envelope import Envelope
from llmc.server.tools.base import Asked, Tool


def run(_asked: Asked) -> Envelope:
    return Envelope("ping", "pong", data={"answer": "pong"})


TOOL = Tool(
    name="ping",
    summary="Answers pong.",
    run=run,
    arguments=(),
    profiles=frozenset({"research", "full"}),
    topics=frozenset(),
)
