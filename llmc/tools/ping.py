"""`ping`: does the server respond?"""

from __future__ import annotations

from llmc.envelope import Envelope
from llmc.tool import Tool, ToolRequest


def run(_asked: ToolRequest) -> Envelope:
    return Envelope("ping", "pong", data={"answer": "pong"})


TOOL = Tool(
    name="ping",
    summary="Answers pong.",
    run=run,
    arguments=(),
    profiles=frozenset({"research", "full"}),
    topics=frozenset(),
)
