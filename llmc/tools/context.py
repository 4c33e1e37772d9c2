"""`context`: passages ready for a prompt, best first, each with its path and lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.fit import show_around
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.search import SearchRequest, search
from llmc.tool import BUDGET, Argument, Tool, ToolRequest
from llmc.tools.search import telling_words
from llmc.workspace import shown_path, vector_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.retrieval.results import FileHits, Hit
    from llmc.workspace import Workspace


LONGEST_LINE = 1_000


def run(request: ToolRequest) -> Envelope:
    workspace = request.workspace
    query = SearchRequest(
        request.text("query"), paths=workspace.path_filter(request.paths()), within=request.within(), limit=12
    )
    result = search(request.views(), query)
    passages = ranked(result.files)
    envelope = Envelope(
        "context",
        plural(len(passages), "passage") if passages else "nothing found",
        groups=tuple(group_of(file, hit, workspace) for file, hit in passages),
        notes=(*freshness_notes(result.pending, result.share), *vector_notes(workspace, result.without_vectors)),
        data={
            "passages": [
                {
                    "path": file.path,
                    "start_line": hit.start_line,
                    "end_line": hit.end_line,
                    "score": hit.score,
                    "text": hit.text,
                }
                for file, hit in passages
            ]
        },
        in_order=True,
    )
    return show_around(envelope, telling_words(query.query))


def ranked(files: Sequence[FileHits]) -> list[tuple[FileHits, Hit]]:
    """The passages of all files. Scores of chunks are comparable within a file alone: its best one has the score of the
    file, the second half of it, and so on, so that the budget covers several files."""
    passages = [
        (file, replace(hit, score=file.score / place)) for file in files for place, hit in enumerate(file.hits, 1)
    ]
    return sorted(passages, key=lambda pair: -pair[1].score)


def group_of(file: FileHits, hit: Hit, workspace: Workspace) -> Group:
    title = f"{shown_path(workspace, file.root, file.path)}:{hit.start_line}-{hit.end_line} · {hit.score:.2f}"
    rows = tuple(Row(line, longest=LONGEST_LINE) for line in hit.text.split("\n"))
    return Group(title, (Item(rows, "", file.root, file.path, hit.start_line, hit.end_line),))


TOOL = Tool(
    name="context",
    summary="Passages for a question, ready to put into a prompt, within a budget.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        Argument("query", "string", "What the prompt is about.", required=True, text="free"),
        Argument(
            "path", "strings", "Only below this file or folder, or inside an earlier result (a handle).", text="path"
        ),
        Argument("fields", "strings", "A table of only these: path, start_line, score, text; * is all."),
        BUDGET,
        Argument("all", "boolean", "Every passage, without a budget."),
    ),
    examples=("context 'how are sessions expired' --budget 2000",),
)
