"""`search`: ranked places for words, a symbol or a question."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.query import QueryRoute
from llmc.retrieval.search import SearchRequest, search
from llmc.tool import Argument, Tool, ToolRequest
from llmc.tools.scope import denied_notes
from llmc.tools.search_name import name_envelope
from llmc.workspace import shown_path, vector_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.retrieval.results import FileHits, Hit, Passage, SearchResult
    from llmc.workspace import Workspace

# Some 230 tokens of the best file: with less, whole functions no longer fit, and the answer is cut (decision 28).
ROOM = 900
# Of what is asked for with a budget of one's own, half goes to the best file.
ROOM_OF_TOKEN = 2
# Files that score less than this share of the best are named only among the first three. Of 100 right files among ten
# that loses one to five, and half of the names, whose room is better used to quote the second and third file.
FAR, LEAST_FILES = 0.35, 3
LONGEST_LINE, LONGEST_NAME = 400, 60


def run(asked: ToolRequest) -> Envelope:
    workspace = asked.workspace
    plain = not (asked.flag("explain") or asked.flag("all") or asked.texts("path") or asked.args.get("limit"))
    by_name = name_envelope(asked, asked.text("query")) if plain else None
    if by_name is not None and not asked.wants_data:
        return by_name
    request = SearchRequest(
        asked.text("query"),
        paths=workspace.path_filter(asked.paths()),
        within=asked.within(),
        limit=asked.number("limit", 10),
        room=ROOM_OF_TOKEN * asked.number("budget", ROOM // ROOM_OF_TOKEN),
    )
    views = asked.views()
    result = search(views, request)
    if not asked.number("limit", 0) and not asked.flag("all"):
        result = replace(result, files=near_enough(result))
    envelope = by_name or envelope_of(result, workspace, explain=asked.flag("explain"))
    envelope = replace(envelope, notes=(*envelope.notes, *denied_notes(workspace, views, request.paths)))
    return replace(envelope, data=data_of(result)) if asked.wants_data else envelope


def near_enough(result: SearchResult) -> tuple[FileHits, ...]:
    """Who asks for a name is told of the files that have it, too."""
    first, rest = result.files[:LEAST_FILES], result.files[LEAST_FILES:]
    by_name = result.route == QueryRoute.SYMBOL
    return (*first, *(file for file in rest if file.score >= FAR * first[0].score or (by_name and named_so(file))))


def named_so(file: FileHits) -> bool:
    return any(share.signal == "file name" for share in file.shares)


def envelope_of(result: SearchResult, workspace: Workspace, *, explain: bool = False) -> Envelope:
    groups = tuple(group_of(file, workspace, explain=explain) for file in result.files)
    places = sum(len(group.items) for group in groups)
    found = f"{plural(places, 'place')} in {plural(len(result.files), 'file')}" if places else "nothing found"
    return Envelope(
        "search",
        found,
        groups=groups,
        notes=(*freshness_notes(result.pending, result.share), *vector_notes(workspace, result.without_vectors)),
    )


def group_of(file: FileHits, workspace: Workspace, *, explain: bool) -> Group:
    items = [quoted(file, one) for one in file.passages] or [named(file, file.hits[0])]
    if explain:
        why = tuple(Row(f"{one.signal} {one.effect:.3g} {one.because}".rstrip()) for one in file.shares)
        items[0] = replace(items[0], rows=(*why, *items[0].rows))
    others = [shown_path(workspace, root, "").removesuffix(":") for root in file.also]
    also = f" (also in {', '.join(others)})" if others else ""
    return Group(shown_path(workspace, file.root, file.path) + also, tuple(items))


def quoted(file: FileHits, passage: Passage) -> Item:
    rows = tuple(passage_rows(passage))
    title = f"{passage.name} {passage.start_line}-{passage.end_line}" if passage.name else ""
    return Item(rows, title, file.root, file.path, passage.start_line, passage.end_line)


def passage_rows(passage: Passage) -> Iterator[Row]:
    """The lines, with a mark wherever some are left out."""
    before = passage.lines[0][0] - 1
    for number, text in passage.lines:
        if number > before + 1:
            yield GAP
        before = number
        yield Row(text, number, longest=LONGEST_LINE)
    if passage.name and before < passage.end_line:
        yield GAP


GAP = Row("…")


def named(file: FileHits, hit: Hit) -> Item:
    """Of what ranks low the name and where it stands; the best line of what has no name."""
    start, end = hit.extent
    title = f"{tail(hit.name)} {start}-{end}" if hit.name else ""
    rows = () if title else tuple(best_line(hit))
    return Item(rows, title, file.root, file.path, start, end)


def tail(name: str) -> str:
    """Headings stand in their headings; the last ones say what it is."""
    return name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:].partition(' ')[2]}"


def best_line(hit: Hit) -> Iterator[Row]:
    lines = hit.text.split("\n")
    telling = (number for number, line in enumerate(lines, hit.start_line) if TELLING.search(line))
    for number in (*hit.lines, *telling):
        yield Row(lines[number - hit.start_line].rstrip(), number, longest=LONGEST_LINE)
        return


TELLING = re.compile(r"\w")


def data_of(result: SearchResult) -> dict[str, object]:
    return {"query": result.query, "route": str(result.route), "files": [file_data(file) for file in result.files]}


def file_data(file: FileHits) -> dict[str, object]:
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
    cacheable=True,
    cpu_bound=True,
    arguments=(
        Argument(
            "query",
            "string",
            'Words, a name, or a question; filters path: lang: kind: root:, -not, "phrase".',
            required=True,
            text="free",
        ),
        Argument(
            "path", "strings", "Only below this file or folder, or inside an earlier result (a handle).", text="path"
        ),
        Argument("limit", "integer", "So many files, however far behind the best."),
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
