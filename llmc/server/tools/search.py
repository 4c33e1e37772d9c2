"""`search`: ranked places for words, a symbol or a question."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.retrieval.search import SearchRequest
from llmc.server.tools.base import Argument, Asked, Tool
from llmc.server.tools.words import freshness_notes, plural, shown_path, vector_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.retrieval.results import FileHits, Hit, SearchResult
    from llmc.workspace import Workspace

# The best place is the answer more often than not, and is shown so that it need not be opened; of the others a reader
# must only see whether to open them. So many lines for the best place, and for the others of its file and the best of
# the next two files; of the rest the name and where it stands, which the line of the definition would only repeat. Only
# the first three files have more places than one (`bench.workload`).
BEST_LINES, NEXT_LINES, FURTHER_LINES = 16, 5, 0
NEXT_FILES = 3
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
    groups = tuple(group_of(file, workspace, rank, explain=explain) for rank, file in enumerate(result.files))
    places = sum(len(group.items) for group in groups)
    found = f"{plural(places, 'place')} in {plural(len(result.files), 'file')}" if places else "nothing found"
    return Envelope(
        "search",
        found,
        groups=groups,
        notes=(*freshness_notes(result.pending, result.share), *vector_notes(workspace)),
        data={"query": result.query, "route": str(result.route), "files": [data_of(file) for file in result.files]},
    )


def group_of(file: FileHits, workspace: Workspace, rank: int, *, explain: bool) -> Group:
    first = BEST_LINES if rank == 0 else NEXT_LINES if rank < NEXT_FILES else FURTHER_LINES
    further = NEXT_LINES if rank == 0 else FURTHER_LINES
    hits = file.hits if rank < NEXT_FILES else file.hits[:1]
    items = tuple(item_of(file, hit, further if number else first, explain=explain) for number, hit in enumerate(hits))
    others = [shown_path(workspace, root, "").removesuffix(":") for root in file.also]
    also = f" (also in {', '.join(others)})" if others else ""
    return Group(shown_path(workspace, file.root, file.path) + also, items)


def item_of(file: FileHits, hit: Hit, most: int, *, explain: bool) -> Item:
    title = f"{hit.name} {hit.start_line}-{hit.end_line}" if hit.name else ""
    rows = tuple(excerpt(hit, most or 1)) if most or not title else ()
    if explain:
        rows = (*(Row(f"{one.signal} {one.effect:.3g} {one.because}".rstrip()) for one in file.shares), *rows)
    return Item(rows, title, file.root, file.path, hit.start_line, hit.end_line)


def excerpt(hit: Hit, most: int) -> Iterator[Row]:
    """The line that names it and those that answer best, in order; of the best place what comes after its name, too."""
    lines = hit.text.split("\n")
    numbered = range(hit.start_line, hit.start_line + len(lines))
    named = naming_line(hit, lines)
    best = [number for number in hit.lines if number in numbered]
    wanted = [named, *best[: most - 1]]
    if most == BEST_LINES:
        telling = [number for number in numbered if TELLING.search(lines[number - hit.start_line])]
        wanted += sorted(telling, key=lambda number: (number < named, number))
    for number in joined(sorted(list(dict.fromkeys(wanted))[:most])):
        yield Row(lines[number - hit.start_line].rstrip(), number, longest=LONGEST_LINE)


def joined(numbers: list[int]) -> Iterator[int]:
    """One line that is missing between two costs no more than the number behind the gap, and may be the answer."""
    before = 0
    for number in numbers:
        if before and number == before + 2:
            yield before + 1
        yield number
        before = number


def naming_line(hit: Hit, lines: list[str]) -> int:
    """Where its name stands in code: what is above may be a comment of any length."""
    name = hit.name.rpartition(".")[2]
    for number, line in enumerate(lines, hit.start_line):
        if name and name in line and has_word(line, name) and not COMMENT.match(line):
            return number
    return next((number for number, line in enumerate(lines, hit.start_line) if TELLING.search(line)), hit.start_line)


def has_word(line: str, word: str) -> bool:
    """Not as part of another one. A pattern for each name would take ten times as long to make."""
    at = line.find(word)
    while at >= 0:
        before, after = line[at - 1 : at], line[at + len(word) : at + len(word) + 1]
        if not TELLING.match(before) and not TELLING.match(after):
            return True
        at = line.find(word, at + 1)
    return False


TELLING = re.compile(r"\w")
COMMENT = re.compile(r"\s*(//|/?\*|#|--|;|%|@)")


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
    steady=True,
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
