"""`web_research`: results of the configured search service; off unless the user turned it on."""

from __future__ import annotations

from llmc.answers.research.web import web_search
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.tool import BUDGET, Argument, Tool, ToolRequest


def run(request: ToolRequest) -> Envelope:
    found = web_search(request.text("query"), request.workspace.settings)
    items = tuple(
        Item((Row(f"{one.title} · {one.url}"), *((Row(one.snippet),) if one.snippet else ()))) for one in found
    )
    return Envelope(
        "web_research",
        plural(len(found), "result") if found else "nothing found",
        (Group("", items),) if items else (),
        data={"results": [{"title": one.title, "url": one.url, "snippet": one.snippet} for one in found]},
    )


TOOL = Tool(
    name="web_research",
    summary="Queries the configured search service; title, address and one sentence per result.",
    run=run,
    own_seconds=lambda settings: settings.web_research.timeout_ms / 1000,
    arguments=(
        Argument("query", "string", "What to search for.", required=True),
        BUDGET,
        Argument("all", "boolean", "Every result, without a budget."),
    ),
    budget="research_budget",
    profiles=frozenset({"research", "full"}),
    schema=("query",),
    topics=frozenset({"docs"}),
    requires_setting="web_research.enabled",
    has_side_effects=True,
    json_profiles=frozenset({"research"}),
)
