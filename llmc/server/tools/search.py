"""`search`: ranked places for words, a symbol or a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.retrieval.search import SearchRequest
from llmc.server.tools.base import Argument, Asked, Tool
from llmc.server.tools.words import freshness_notes, plural, shown_path, vector_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.retrieval.results import FileHits, Hit, SearchResult
    from llmc.workspace import Workspace

# A reader who sees this much of a place knows whether to open it.
EXCERPT_LINES = 8
LONGEST_LINE = 400


def run(asked: Asked) -> Envelope:
    workspace = asked.workspace
    request = SearchRequest(
        asked.text("query"),
        paths=workspace.path_filter(asked.paths()),
        within=asked.within(),
        limit=asked.number("limit", 10),
    )
    result = workspace.answers.search(workspace.views(), request)
    return envelope_of(result, workspace, explain=asked.flag("explain"))


def envelope_of(result: SearchResult, workspace: Workspace, *, explain: bool = False) -> Envelope:
    places = sum(len(file.hits) for file in result.files)
    found = f"{plural(places, 'place')} in {plural(len(result.files), 'file')}" if places else "nothing found"
    return Envelope(
        "search",
        found,
        groups=tuple(group_of(file, workspace, explain=explain) for file in result.files),
        notes=(*freshness_notes(result.pending, result.share), *vector_notes(workspace)),
        data={"query": result.query, "route": str(result.route), "files": [data_of(file) for file in result.files]},
    )


def group_of(file: FileHits, workspace: Workspace, *, explain: bool) -> Group:
    items = tuple(item_of(file, hit, explain=explain) for hit in file.hits)
    others = [shown_path(workspace, root, "").removesuffix(":") for root in file.also]
    also = f" (also in {', '.join(others)})" if others else ""
    return Group(shown_path(workspace, file.root, file.path) + also, items)


def item_of(file: FileHits, hit: Hit, *, explain: bool) -> Item:
    title = f"{hit.name} {hit.start_line}-{hit.end_line}" if hit.name else ""
    rows = tuple(excerpt(hit))
    if explain:
        rows = (*(Row(f"{one.signal} {one.effect:.3g} {one.because}".rstrip()) for one in file.shares), *rows)
    return Item(rows, title, file.root, file.path, hit.start_line, hit.end_line)


def excerpt(hit: Hit) -> Iterator[Row]:
    """The first line, which mostly names it, and those that answer best, in order."""
    lines = hit.text.split("\n")
    best = [number for number in hit.lines if hit.start_line <= number < hit.start_line + len(lines)]
    chosen = {hit.start_line, *best[: EXCERPT_LINES - 1]}
    following = (number for number in range(hit.start_line, hit.start_line + len(lines)) if number not in chosen)
    for number in following:
        if len(chosen) >= EXCERPT_LINES:
            break
        chosen.add(number)
    for number in sorted(chosen):
        text = lines[number - hit.start_line]
        if text.strip():
            yield Row(text.rstrip(), number, longest=LONGEST_LINE)


def data_of(file: FileHits) -> dict[str, object]:
    return {
        "root": file.root,
        "path": file.path,
        **({"also": list(file.also)} if file.also else {}),
        "language": file.language,
        "role": file.role,
        "score": file.score,
        "shares": [[one.signal, one.effect, one.because] for one in file.shares],
        "hits": [
            {
                "start_line": hit.start_line,
                "end_line": hit.end_line,
                "kind": hit.kind,
                "name": hit.name,
                "score": hit.score,
                "lines": list(hit.lines),
                "text": hit.text,
            }
            for hit in file.hits
        ],
    }


TOOL = Tool(
    name="search",
    summary="Ranked places for words, a symbol or a question.",
    run=run,
    arguments=(
        Argument(
            "query",
            "string",
            'Words, a name, or a question; filters path: lang: kind: root:, -not, "phrase".',
            required=True,
        ),
        Argument("path", "strings", "Only below this file or folder, or inside an earlier result (a handle)."),
        Argument("limit", "integer", "At most so many files."),
        Argument("explain", "boolean", "Show what each ranking signal did."),
        Argument("fields", "strings", "A table of only these: path, name, start_line, score; * is all."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "Everything, without a budget."),
    ),
    profiles=frozenset({"lean", "full"}),
    schema=("query", "path", "budget"),
    topics=frozenset({"code", "docs", "tests"}),
    examples=("search 'where are passwords hashed'", "search 'Parser.feed lang:python -path:tests'"),
)
