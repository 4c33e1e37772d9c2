"""`history`: commits that changed a path or symbol, commits that mention a topic, and files that change together."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.retrieval.history import HistoryKind, HistoryRequest, history
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.retrieval.history import CommitHit, HistoryResult
    from llmc.workspace import Workspace

MOST_COMMITS = 10
BODY_LINES = 3
LONGEST_LINE = 160


def run(request: ToolRequest) -> Envelope:
    target = request.text("target")
    result = history(request.views(), HistoryRequest(target, request.number("limit", MOST_COMMITS)))
    return Envelope(
        "history",
        found_words(result, target),
        groups=tuple(groups_of(result, request.workspace)),
        notes=() if result.is_read else (f"history still being read: {result.read:,} commits so far",),
        data={
            "target": target,
            "kind": str(result.kind),
            "about": list(result.about),
            "total": result.total,
            "commits": [asdict(commit) for commit in result.commits],
            "together": [list(one) for one in result.together],
        },
    )


def found_words(result: HistoryResult, target: str) -> str:
    found = plural(result.total, "commit") if result.total else "no commits"
    if result.kind is HistoryKind.WORDS:
        verb = "mention" if result.every_word else "mention some words of"
        return f"{found} of {result.read:,} {verb} {target!r}" if len(target) <= LONGEST_LINE else found
    if result.kind is HistoryKind.SYMBOL:
        return f"{found} of the {'file' if len(result.about) == 1 else 'files'} defining {target}"
    return f"{found} of {plural(len(result.about), 'file')}"


def groups_of(result: HistoryResult, workspace: Workspace) -> Iterator[Group]:
    if result.kind is HistoryKind.SYMBOL:
        yield Group("defined in", tuple(Item((), shown_path(workspace, result.root, path)) for path in result.about))
    about = frozenset(result.about)
    for commit in result.commits:
        rows = tuple(Row(line, longest=LONGEST_LINE) for line in body_lines(commit))
        names = [shown_path(workspace, result.root, path) for path in commit.files if path not in about]
        more = [f"{commit.others} more" if names else plural(commit.others, "more file")] if commit.others else []
        files = ", ".join([*names, *more])
        title = f"{commit.id[:10]} {commit.day} {commit.author}: {commit.subject[:LONGEST_LINE]}"
        yield Group(title, (Item((*rows, *((Row(f"with {files}"),) if files else ()))),))
    if result.together:
        often = (Item((), f"{shown_path(workspace, result.root, path)} · {count}") for path, count in result.together)
        yield Group("changed together with, and how often", tuple(often))


def body_lines(commit: CommitHit) -> list[str]:
    return [line.strip() for line in commit.body.splitlines() if line.strip()][:BODY_LINES]


TOOL = Tool(
    name="history",
    summary="Commits that touched a path or symbol, or mention a topic: who, when, why, and what changes together.",
    run=run,
    arguments=(
        Argument("target", "string", "A path, the name of a definition, or words of a topic.", required=True),
        Argument("limit", "integer", "Maximum number of commits."),
        BUDGET,
        ALL,
    ),
    profiles=frozenset({"full"}),
    topics=frozenset({"code"}),
    examples=("history src/auth.py", "history 'retry policy'"),
)
