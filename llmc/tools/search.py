"""`search`: ranked places for words, a symbol, a question or pasted text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.base.words import query_words
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.fit import show_around
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.pointers import OF_MESSAGE
from llmc.retrieval.query import QueryRoute
from llmc.retrieval.search import SearchRequest, search
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.tools.scope import denied_notes
from llmc.tools.search_name import name_envelope
from llmc.workspace import shown_path, vector_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Symbol
    from llmc.retrieval.results import FileHits, Hit, Passage, SearchResult
    from llmc.workspace import Workspace

# Some 230 tokens of the best file: with less, whole functions no longer fit, and the answer is cut (decision 28).
ROOM = 840
# Of what is asked for with a budget of one's own, half goes to the best file.
ROOM_OF_TOKEN = 2
# Files after the third that score less than NEAR of the best are named by their path alone, some six tokens each. From
# the sixth on they are left out if they score less than FARTHEST (tests: FARTHEST_TEST), judged as if they were code:
# answers often cite the test of the best file, whose role alone puts it far behind (decision 111). For a name they are
# left out below FAR, from the fourth on.
NEAR, FAR, LEAST_FILES = 0.65, 0.35, 3
FARTHEST, FARTHEST_TEST, LEAST_NAMED, MOST_FILES = 0.3, 0.2, 5, 18
LONGEST_LINE, LONGEST_NAME = 400, 60
LONGEST_QUESTION = 1_000  # characters; a longer query is a report


def run(request: ToolRequest) -> Envelope:
    workspace = request.workspace
    plain = not (request.flag("explain") or request.flag("all") or request.texts("path") or request.args.get("limit"))
    by_name = name_envelope(request, request.text("query")) if plain else None
    if by_name is not None and not request.wants_data:
        return by_name
    query = SearchRequest(
        request.text("query"),
        paths=workspace.path_filter(request.paths()),
        within=request.within(),
        limit=request.number("limit", MOST_FILES),
        room=ROOM_OF_TOKEN * request.number("budget", ROOM // ROOM_OF_TOKEN),
        syntax=request.flag("syntax"),
    )
    views = request.views()
    result = search(views, query)
    if not request.number("limit", 0) and not request.flag("all"):
        result = replace(result, files=near_enough(result, is_report=len(query.query) > LONGEST_QUESTION))
    envelope = by_name or envelope_of(result, workspace, explain=request.flag("explain"))
    envelope = show_around(envelope, telling_words(query.query))
    if not result.files:
        envelope = replace(
            envelope, notes=(*envelope.notes, *denied_notes(workspace, views, query.paths, sought=query.query))
        )
    return replace(envelope, data=data_of(result)) if request.wants_data else envelope


def telling_words(query: str) -> tuple[str, ...]:
    """The longest words of the query, which are mostly its rarest."""
    words = {word.text for word in query_words(query[:LONGEST_QUERY]) if not word.stop}
    return tuple(sorted(words, key=lambda word: (-len(word), word))[:MOST_WORDS])


LONGEST_QUERY, MOST_WORDS = 4_000, 20


def near_enough(result: SearchResult, *, is_report: bool = False) -> tuple[FileHits, ...]:
    """For a name, files that are called so are listed however far behind they are. Where a file writes the message that
    a question quotes, files that only share words with it are not listed; of a bug report they may be the cause."""
    if not is_report and result.files and any(one.endswith(OF_MESSAGE) for one in reasons(result.files[0])):
        best = result.files[0].score
        return tuple(file for file in result.files if file.score >= FAR * best or reasons(file))
    if result.route == QueryRoute.SYMBOL:
        first, rest = result.files[:LEAST_FILES], result.files[LEAST_FILES:]
        return (*first, *(file for file in rest if file.score >= FAR * first[0].score or named_so(file)))
    first, rest = result.files[:LEAST_NAMED], result.files[LEAST_NAMED:]
    return (*first, *(file for file in rest if file.score_as_code >= farthest(file) * first[0].score))


def farthest(file: FileHits) -> float:
    return FARTHEST_TEST if file.role == "test" else FARTHEST


def named_so(file: FileHits) -> bool:
    return any(share.signal == "file name" for share in file.shares)


def reasons(file: FileHits) -> list[str]:
    """Why the evidence in the query points at this file."""
    return [share.because for share in file.shares if share.signal == "evidence"]


def is_far(rank: int, file: FileHits, best: FileHits) -> bool:
    return rank >= LEAST_FILES and file.score < NEAR * best.score


def envelope_of(result: SearchResult, workspace: Workspace, *, explain: bool = False) -> Envelope:
    groups = tuple(
        group_of(file, workspace, explain=explain, bare=is_far(rank, file, result.files[0]))
        for rank, file in enumerate(result.files)
    )
    places = sum(len(group.items) for group in groups)
    found = f"{plural(places, 'place')} in {plural(len(result.files), 'file')}" if places else "nothing found"
    missing = (f"not found: {', '.join(result.missing)}",) if result.missing else ()
    if explain and (result.headline or result.evidence):
        groups = (about_query(result), *groups)
    return Envelope(
        "search",
        found,
        groups=groups,
        notes=(
            *freshness_notes(result.pending, result.share),
            *vector_notes(workspace, result.without_vectors),
            *missing,
        ),
    )


def about_query(result: SearchResult) -> Group:
    """How the query was understood: the text that it was ranked by and the code that it quotes."""
    ranked_by = (Row(f"ranked by: {result.headline}"),) if result.headline else ()
    quoted = tuple(Row(f"quotes {one}") for one in result.evidence)
    return Group("the query", (Item((*ranked_by, *quoted)),))


def group_of(file: FileHits, workspace: Workspace, *, explain: bool, bare: bool) -> Group:
    items = [quoted(file, one) for one in file.passages] or [named(file, file.hits[0], bare=bare)]
    if explain:
        why = tuple(Row(f"{one.signal} {one.effect:.3g} {one.because}".rstrip()) for one in file.shares)
        items[0] = replace(items[0], rows=(*why, *items[0].rows))
    if file.related:
        items.append(related(file))
    others = [shown_path(workspace, root, "").removesuffix(":") for root in file.also]
    also = f" (also in {', '.join(others)})" if others else ""
    return Group(shown_path(workspace, file.root, file.path) + also, tuple(items))


def related(file: FileHits) -> Item:
    """The names of further definitions, which `read` opens."""
    first = file.related[0]
    names = ", ".join(f"{one.name} {one.start_line}" for one in file.related)
    return Item((Row(f"also {names}"),), "", file.root, file.path, first.start_line, first.end_line)


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


def named(file: FileHits, hit: Hit, *, bare: bool) -> Item:
    """Of what ranks low the name and where it is, the best line of what has no name; of what is far the path alone."""
    start, end = hit.extent
    if bare:
        return Item((), "", file.root, file.path, start, end)
    title = f"{tail(hit.name)} {start}-{end}" if hit.name else ""
    rows = () if title else tuple(best_line(hit))
    return Item(rows, title, file.root, file.path, start, end)


def tail(name: str) -> str:
    """A heading is named with its parents; the last ones identify it."""
    return name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:].partition(' ')[2]}"


def best_line(hit: Hit) -> Iterator[Row]:
    lines = hit.text.split("\n")
    telling = (number for number, line in enumerate(lines, hit.start_line) if TELLING.search(line))
    for number in (*hit.lines, *telling):
        yield Row(lines[number - hit.start_line].rstrip(), number, longest=LONGEST_LINE)
        return


TELLING = re.compile(r"\w")


def data_of(result: SearchResult) -> dict[str, object]:
    return {
        "query": result.query,
        "route": str(result.route),
        **({"missing": list(result.missing)} if result.missing else {}),
        **({"evidence": list(result.evidence)} if result.evidence else {}),
        "files": [file_data(file) for file in result.files],
    }


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
        **({"related": [related_data(one) for one in file.related]} if file.related else {}),
    }


def related_data(symbol: Symbol) -> dict[str, object]:
    return {"name": symbol.qualified, "start_line": symbol.start_line, "end_line": symbol.end_line}


TOOL = Tool(
    name="search",
    summary="Ranked places for words, a symbol, a question or pasted text.",
    run=run,
    cacheable=True,
    remembered=True,
    cpu_bound=True,
    arguments=(
        Argument(
            "query",
            "string",
            'Words, a name, a question, or pasted text; short: path: lang: kind: root: -not "phrase".',
            required=True,
            text="free",
        ),
        Argument(
            "path", "strings", "Only below this file or folder, or inside an earlier result (a handle).", text="path"
        ),
        Argument("limit", "integer", "Return this many files, whatever their scores."),
        Argument("explain", "boolean", "Show what each ranking signal did, and what the query quotes from the code."),
        Argument("syntax", "boolean", 'Treat path:, -word and "phrase" as operators even in a long query.'),
        Argument("fresh", "boolean", "Include the text even if this session already received the same reply."),
        Argument("fields", "strings", "A table of only these: path, name, start_line, score; * is all."),
        BUDGET,
        ALL,
    ),
    profiles=frozenset({"lean", "full"}),
    schema=("query", "path", "budget"),
    topics=frozenset({"code", "docs", "tests"}),
    examples=("search 'where are passwords hashed'", "search 'Parser.feed lang:python -path:tests'"),
)
