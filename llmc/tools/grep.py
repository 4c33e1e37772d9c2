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


def run(asked: ToolRequest) -> Envelope:
    in_output = grep_output(asked)
    if in_output is not None:
        return in_output
    scope = scope_of(
        asked,
        asked.paths(),
        listing=asked.flag("files"),
        globs=asked.texts("glob"),
        types=asked.texts("type"),
        types_not=asked.texts("type_not"),
    )
    views = scope.views
    request = request_of(asked, scope.paths, unindexed=any(view.share < 1.0 for view in views))
    if asked.stream and asked.call is not None and request.stop is None:
        return print_matches(asked, asked.call, views, request)
    result = grep(views, request)
    matcher = matcher_for(settle_case(request)) if result.files else None
    return matches_envelope("grep", asked, scope, request, result, matcher, *advice(result, request))


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


def print_matches(asked: ToolRequest, call: RunningRequest, views: Sequence[View], request: GrepRequest) -> Envelope:
    """Every match as ripgrep prints it, sent as it is found; the envelope only counts them."""
    workspace = asked.workspace
    cleaner = BulkCleaner(
        redactor_for(workspace.settings.redaction), workspace.text_of, context=bool(request.before or request.after)
    )
    lines = 0
    for piece in stream_matches(views, request):
        if call.cancelled:
            break
        named = request.files_only or request.count_only
        text = cleaner.names(piece.lines) if named else cleaner.clean(piece.root, piece.lines)
        lines += text.count(b"\n")
        with released():
            call.send(text)
    if not lines:
        check_scope(asked, views, request)
    groups = (Group("", (Item(),)),) if lines else ()
    return Envelope("grep", plural(lines, "line"), groups, provisional=any(view.unsure for view in views))


def request_of(asked: ToolRequest, paths: PathFilter, *, unindexed: bool) -> GrepRequest:
    """`unindexed`: a root is being built, and all its files may have to be read."""
    workspace = asked.workspace
    context = asked.number("context")
    patience = LONG_SEARCH if asked.flag("all") or asked.text(FOCUS.name).strip() or unindexed else 1
    seconds = workspace.settings.limits.query_timeout_ms / 1000 * patience
    return GrepRequest(
        patterns=(asked.text("pattern"), *asked.texts("also")),
        fixed=asked.flag("fixed"),
        ignore_case=asked.flag("ignore_case"),
        smart_case=asked.flag("smart_case"),
        word=asked.flag("word"),
        invert=asked.flag("invert"),
        multiline=asked.flag("multiline"),
        before=asked.number("before", context),
        after=asked.number("after", context),
        paths=paths,
        within=asked.within(),
        files_only=asked.flag("files"),
        count_only=asked.flag("count"),
        stop=most_read(asked),
        seconds=max(seconds, MULTILINE_SECONDS) if asked.flag("multiline") else seconds,
        lines=line_filter(asked),
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
