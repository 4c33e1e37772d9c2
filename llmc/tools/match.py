"""`match`: code of a given shape, or calls of a function with a given argument."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from llmc.base.errors import QueryError
from llmc.retrieval.call_arguments import call_shape
from llmc.retrieval.grep.grep import GrepRequest
from llmc.retrieval.structure import CodePattern, find_shapes
from llmc.tool import Argument, Tool, ToolRequest
from llmc.tools.grep_reply import AMOUNT, WHERE, line_filter, matches_envelope, most_read
from llmc.tools.scope import scope_of

if TYPE_CHECKING:
    from llmc.envelope import Envelope
    from llmc.retrieval.call_arguments import CallShape


# Times `limits.query_timeout_ms`: parsing takes a hundred times as long as matching text.
PATIENCE = 5


def run(request: ToolRequest) -> Envelope:
    shape = shape_of(request)
    scope = scope_of(
        request,
        request.paths(),
        globs=request.texts("glob"),
        types=request.texts("type"),
        types_not=request.texts("type_not"),
    )
    query = GrepRequest(
        (request.text("pattern"),),
        paths=scope.paths,
        within=request.within(),
        files_only=request.flag("files"),
        count_only=request.flag("count"),
        stop=most_read(request),
        seconds=PATIENCE * request.workspace.settings.limits.query_timeout_ms / 1000,
        lines=line_filter(request),
    )
    result = find_shapes(scope.views, shape, query)
    notes = []
    if result.unread and result.matches < (query.stop or math.inf):
        stopped = f"stopped at the time limit of {query.seconds:g} s"
        if not result.files:
            raise QueryError(
                f"the search was {stopped}", hint="Name a path or a type, or raise limits.query_timeout_ms."
            )
        notes.append(f"{stopped}; name a path or a type")
    if not isinstance(shape, CodePattern) and shape.by_keyword_alone:
        notes.append(f"by keyword alone, no signature of {shape.name} is indexed")
    return matches_envelope("match", request, scope, query, result, None, *notes)


def shape_of(request: ToolRequest) -> CodePattern | CallShape:
    pattern = request.text("pattern").strip()
    if request.texts("with") or request.texts("without"):
        return call_shape(pattern, request.texts("with"), request.texts("without"))
    return CodePattern(pattern)


TOOL = Tool(
    name="match",
    summary="Code of a given shape, by syntax tree and not by text; calls of a function with or without an argument.",
    brief="Code by shape ('get($$$A, verify=False)'), or calls of a name with/without an argument; complete.",
    run=run,
    cacheable=True,
    reads_unindexed=True,
    cpu_bound=True,
    arguments=(
        Argument(
            "pattern",
            "string",
            "Code, with $X for any expression and $$$A for any number of them; or, with `with`, a function's name.",
            required=True,
            text="pattern",
        ),
        Argument("with", "strings", "Calls that pass this argument: verify, verify=False, verify!=True, 2=False."),
        Argument("without", "strings", "Calls that do not pass this argument."),
        *WHERE,
        *AMOUNT,
    ),
    budget="grep_budget",
    schema=("pattern", "with", "without", "path"),
    topics=frozenset({"code"}),
    examples=(
        "match 'requests.get($$$A, verify=False)'",
        "match requests.get --without timeout",
        "match 'if err != nil { return nil }' -t go",
    ),
)
