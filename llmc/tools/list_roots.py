"""`list_roots`: which folders may be asked about?"""

from __future__ import annotations

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.tool import Tool, ToolRequest


def run(request: ToolRequest) -> Envelope:
    roots = [root_index.root for root_index in request.workspace.root_indexes]
    items = tuple(Item((Row(f"{root.path} · {root.name}"),), root=root.id) for root in roots)
    return Envelope(
        "list_roots",
        plural(len(roots), "root"),
        (Group("", items),),
        data={"roots": [root.path for root in roots], "names": [root.name for root in roots]},
    )


TOOL = Tool(
    name="list_roots",
    summary="The folders that tools may read.",
    run=run,
    arguments=(),
    profiles=frozenset({"research", "full"}),
    topics=frozenset(),
    json_profiles=frozenset({"research"}),
)
