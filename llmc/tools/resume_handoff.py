"""`resume_handoff`: an earlier handoff as a compact context, its results opened again; without a name, the list."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from llmc.answers.research.artifact import artifacts_of
from llmc.answers.research.handoff import parse_handoff
from llmc.base.errors import QueryError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.tool import BUDGET, Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmc.answers.research.handoff import Handoff

MOST_LISTED, MOST_READ = 20, 200


def run(request: ToolRequest) -> Envelope:
    name = request.text("name")
    if not name:
        return listing(request)
    found = parse_handoff(
        artifacts_of(request.workspace).read(name.rpartition("/")[2] if is_ours(request, name) else name)
    )
    if found is None:
        raise QueryError(f"{name} is no handoff", hint="`resume_handoff` without a name lists those there are.")
    return resumed(request, found)


def is_ours(request: ToolRequest, name: str) -> bool:
    """The path that an earlier reply gave is as good as the name in it."""
    return name.rpartition("/")[0] == artifacts_of(request.workspace).folder


def listing(request: ToolRequest) -> Envelope:
    """The handoffs about folders of this workspace, newest first, and how many there are about others."""
    folder = artifacts_of(request.workspace)
    found = [(one, parse_handoff(folder.read(one.name))) for one in folder.all()[:MOST_READ]]
    listed = [one for one, handoff in found if handoff is not None and is_about_workspace(request, handoff)]
    others = sum(handoff is not None for _, handoff in found) - len(listed)
    items = tuple(
        Item((Row(f"{one.name} · {time.strftime('%Y-%m-%d %H:%M', time.localtime(one.written))}"),))
        for one in listed[:MOST_LISTED]
    )
    groups = (Group("", items),) if items else ()
    data = {"handoffs": [{"name": one.name, "written": one.written, "bytes": one.size} for one in listed]}
    notes = (f"{plural(others, 'handoff')} about other folders",) if others else ()
    return Envelope("resume_handoff", plural(len(listed), "handoff"), groups, notes, data=data)


def is_about_workspace(request: ToolRequest, handoff: Handoff) -> bool:
    """Whether one of the folders that it is about is in a root of this workspace; a file that names none may be."""
    roots = [one.root.path for one in request.workspace.root_indexes]
    return not handoff.roots or any(f"{one}/".startswith(f"{root}/") for one in handoff.roots for root in roots)


def resumed(request: ToolRequest, found: Handoff) -> Envelope:
    alive: list[str] = []
    gone: list[str] = []
    for name, question in found.handles:
        (alive if request.is_alive(name) else gone).append(f"{name} {question}")
    groups = [
        group("question", [found.question]),
        group("summary", [found.summary] if found.summary else []),
        group("findings", found.findings),
        group("references", [", ".join(found.references)] if found.references else []),
        group("open questions", found.open_questions),
        group("notes", [found.notes] if found.notes else []),
        group("results, open again with read", alive),
        group("results that expired; ask again", gone),
    ]
    # Text of the file is indented by a space, like all text that others wrote; only these words are from llmc.
    return Envelope(
        "resume_handoff",
        f"a handoff with {plural(len(found.findings), 'finding')}",
        tuple(one for one in groups if one.items),
        () if is_about_workspace(request, found) else (f"about {', '.join(found.roots)}; its paths do not open here",),
        data={
            "question": found.question,
            "summary": found.summary,
            "key_findings": list(found.findings),
            "references": list(found.references),
            "open_questions": list(found.open_questions),
            "notes": found.notes,
            "handles": alive,
            "expired": gone,
        },
        in_order=True,
    )


def group(title: str, texts: Iterable[str]) -> Group:
    return Group(title, tuple(Item(tuple(Row(line) for line in text.split("\n"))) for text in texts))


TOOL = Tool(
    name="resume_handoff",
    summary="Resumes an earlier handoff as compact context with its handles; without a name, lists handoffs.",
    run=run,
    arguments=(
        Argument("name", "string", "The file name that create_handoff returned."),
        BUDGET,
        Argument("all", "boolean", "All of it, without a budget."),
    ),
    budget="research_budget",
    profiles=frozenset({"research", "full"}),
    schema=("name",),
    topics=frozenset({"history"}),
    json_profiles=frozenset({"research"}),
)
