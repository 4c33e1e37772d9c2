"""`grep`: every match of a pattern, grouped by the symbols that enclose the matches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.base.concurrency import released
from llmc.envelope import Envelope, Group, Item
from llmc.envelope.bulk import BulkCleaner
from llmc.envelope.phrases import plural
from llmc.envelope.redact.redactor import redactor_for
from llmc.retrieval.grep.grep import GrepRequest, grep, matcher_for, settle_case
from llmc.retrieval.grep.stream import stream_matches
from llmc.tool import FOCUS, Argument, Tool, ToolRequest
from llmc.tools.grep_output import grep_output
from llmc.tools.grep_reply import AMOUNT, WHERE, check_scope, line_filter, matches_envelope, most_read
from llmc.tools.scope import scope_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.envelope.request import RunningRequest
    from llmc.retrieval.globs import PathFilter
    from llmc.retrieval.grep.grep import GrepResult
    from llmc.retrieval.view import View

NARROW = "narrow it: a path, no_tests, kind=def|use|write|import|comment, or a longer pattern"
LONG_SEARCH = 5  # times `limits.query_timeout_ms` for a call that reads every file or prints every match
# ripgrep needs seconds for a pattern that spans lines; without an index for it, all files are read.
MULTILINE_SECONDS = 30.0


def run(request: ToolRequest) -> Envelope:
    in_output = grep_output(request)
    if in_output is not None:
        return in_output
    scope = scope_of(
        request,
        request.paths(),
        listing=request.flag("files"),
        globs=request.texts("glob"),
        types=request.texts("type"),
        types_not=request.texts("type_not"),
    )
    views = scope.views
    query = request_of(request, scope.paths, unindexed=any(view.share < 1.0 for view in views))
    if request.stream and request.call is not None and query.stop is None:
        return print_matches(request, request.call, views, query)
    result = grep(views, query)
    matcher = matcher_for(settle_case(query)) if result.files else None
    return matches_envelope("grep", request, scope, query, result, matcher, *advice(result, query))


def advice(result: GrepResult, request: GrepRequest) -> tuple[str, ...]:
    is_listed = request.files_only or request.count_only
    is_broad = any(file.counted for file in result.files) or not result.complete
    return (*([NARROW] if is_broad and not is_listed else []), *anchor_notes(request))


def anchor_notes(request: GrepRequest) -> list[str]:
    """A shell in double quotes makes `$total` of `\\$total`; nothing follows the end of a line."""
    if request.fixed or request.multiline:
        return []
    found = next(filter(None, (DOLLAR.search(LITERAL_DOLLAR.sub("", one)) for one in request.patterns)), None)
    return [f"{found[0]} matches nowhere: $ is the end of a line, write \\{found[0]} or -F"] if found else []


LITERAL_DOLLAR = re.compile(r"\\.|\[\^?\]?[^\]]*\]")  # escaped, or in a class
DOLLAR = re.compile(r"\$[A-Za-z_]\w*")


def print_matches(request: ToolRequest, call: RunningRequest, views: Sequence[View], query: GrepRequest) -> Envelope:
    """Every match as ripgrep prints it, sent as it is found; the envelope only counts them."""
    workspace = request.workspace
    cleaner = BulkCleaner(
        redactor_for(workspace.settings.redaction), workspace.text_of, context=bool(query.before or query.after)
    )
    lines = 0
    for piece in stream_matches(views, query):
        if call.cancelled:
            break
        named = query.files_only or query.count_only
        text = cleaner.names(piece.lines) if named else cleaner.clean(piece.root, piece.lines)
        lines += text.count(b"\n")
        with released():
            call.send(text)
    if not lines:
        check_scope(request, views, query)
    groups = (Group("", (Item(),)),) if lines else ()
    return Envelope("grep", plural(lines, "line"), groups, provisional=any(view.unsure for view in views))


def request_of(request: ToolRequest, paths: PathFilter, *, unindexed: bool) -> GrepRequest:
    """`unindexed`: a root is being built, and all its files may have to be read."""
    workspace = request.workspace
    context = request.number("context")
    patience = LONG_SEARCH if request.flag("all") or request.text(FOCUS.name).strip() or unindexed else 1
    seconds = workspace.settings.limits.query_timeout_ms / 1000 * patience
    return GrepRequest(
        patterns=(request.text("pattern"), *request.texts("also")),
        fixed=request.flag("fixed"),
        ignore_case=request.flag("ignore_case"),
        smart_case=request.flag("smart_case"),
        word=request.flag("word"),
        invert=request.flag("invert"),
        multiline=request.flag("multiline"),
        before=request.number("before", context),
        after=request.number("after", context),
        paths=paths,
        within=request.within(),
        files_only=request.flag("files"),
        count_only=request.flag("count"),
        stop=most_read(request),
        seconds=max(seconds, MULTILINE_SECONDS) if request.flag("multiline") else seconds,
        lines=line_filter(request),
        count_rest=True,
    )


TOOL = Tool(
    name="grep",
    summary="Every match of a regular expression, as ripgrep finds it.",
    run=run,
    cacheable=True,
    remembered=True,
    reads_unindexed=True,
    cpu_bound=True,
    arguments=(
        Argument(
            "pattern",
            "string",
            "A regular expression in ripgrep's syntax; an empty one matches every line.",
            required=True,
            text="pattern",
            may_be_empty=True,
        ),
        *WHERE,
        Argument("also", "strings", "Further patterns; any of them matches.", text="pattern"),
        Argument("ignore_case", "boolean", "Ignore case."),
        Argument("smart_case", "boolean", "Ignore case unless the pattern has an upper-case letter."),
        Argument("word", "boolean", "Whole words only."),
        Argument("fixed", "boolean", "Treat the pattern as plain text."),
        Argument("invert", "boolean", "Lines that do not match."),
        Argument("multiline", "boolean", "A match may span lines."),
        Argument("body", "boolean", "The function around each match if it is short, else the block, without comments."),
        Argument("context", "integer", "Lines around each match, of the same function."),
        Argument("before", "integer", "Lines before each match."),
        Argument("after", "integer", "Lines after each match."),
        Argument(
            "kind",
            "strings",
            "Only lines of these kinds: def, use, write (assigned, set by keyword or field), import, comment, text.",
        ),
        Argument("symbols", "boolean", "Only the symbols around the matches, each with its number of matches."),
        Argument("fresh", "boolean", "Include the text even if this session already received the same reply."),
        *AMOUNT,
    ),
    budget="grep_budget",
    profiles=frozenset({"lean", "full"}),
    brief="Every match of a regex (ripgrep syntax), by enclosing symbol.",
    schema=("pattern", "path", "context_focus_question"),
    topics=frozenset({"code", "docs", "tests"}),
    examples=("grep 'def \\w+_token' src", "grep TODO -g '*.py' --files", "grep readToken --kind use --no-tests"),
)
