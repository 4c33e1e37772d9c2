"""`grep`: every match of a pattern, grouped by file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.base.languages import role_of
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.grep.grep import GrepRequest, grep
from llmc.tool import Argument, Tool, ToolRequest
from llmc.tools.grep_output import grep_output
from llmc.tools.scope import scope_of
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from llmc.retrieval.grep.grep import FileMatches, GrepResult
    from llmc.retrieval.grep.match_lines import MatchedLine
    from llmc.workspace import Workspace

# Lines that a first page can need at most; a search for more stops there and says so.
FIRST_PAGE = 200
LONGEST_LINE = 400
# What begins in the part of a line that is shown must be whole when it is looked at; a key of 16,384 bits is.
LONGEST_SECRET = 16_384
# Where somebody who looks for a word looks last.
LAST = ("test", "doc", "example", "legacy", "stub", "data", "generated", "vendored")


def run(asked: ToolRequest) -> Envelope:
    in_output = grep_output(asked)
    if in_output is not None:
        return in_output
    workspace = asked.workspace
    context = asked.number("context")
    scope = scope_of(
        asked, asked.paths(), globs=asked.texts("glob"), types=asked.texts("type"), types_not=asked.texts("type_not")
    )
    request = GrepRequest(
        patterns=(asked.text("pattern"), *asked.texts("also")),
        fixed=asked.flag("fixed"),
        ignore_case=asked.flag("ignore_case"),
        smart_case=asked.flag("smart_case"),
        word=asked.flag("word"),
        invert=asked.flag("invert"),
        multiline=asked.flag("multiline"),
        before=asked.number("before", context),
        after=asked.number("after", context),
        paths=scope.paths,
        within=asked.within(),
        files_only=asked.flag("files"),
        count_only=asked.flag("count"),
        stop=None if asked.flag("all") else FIRST_PAGE,
        seconds=workspace.settings.limits.query_timeout_ms / 1000 * (5 if asked.flag("all") else 1),
    )
    result = grep(scope.views, request)
    envelope = envelope_of(result, request, workspace, ranked=not asked.flag("all"))
    return replace(envelope, notes=(*envelope.notes, *scope.notes))


def envelope_of(result: GrepResult, request: GrepRequest, workspace: Workspace, *, ranked: bool) -> Envelope:
    files = sorted(result.files, key=rank) if ranked else list(result.files)
    listed = request.files_only or request.count_only
    return Envelope(
        "grep",
        found_words(result, request),
        groups=tuple(listing(files, request, workspace))
        if listed
        else tuple(group_of(file, workspace) for file in files),
        notes=freshness_notes(result.pending, result.share),
        data={
            "matches": result.matches,
            "complete": result.complete,
            "files": [data_of(file) for file in result.files],
        },
    )


def found_words(result: GrepResult, request: GrepRequest) -> str:
    if not result.files:
        return "no matches"
    more = "" if result.complete else "+"
    files = plural(len(result.files), "file")
    unread = f", {plural(result.unread, 'file')} unread" if result.unread else ""
    if request.files_only:
        return f"{files}{unread}"
    return f"{result.matches:,}{more} match{'' if result.matches == 1 else 'es'} in {files}{unread}"


def rank(file: FileMatches) -> tuple[int, str]:
    """Code first, in order of path."""
    role = role_of(file.path)
    return (LAST.index(role) + 1 if role in LAST else 0), file.path


def listing(files: list[FileMatches], request: GrepRequest, workspace: Workspace) -> list[Group]:
    return [
        Group(
            shown_path(workspace, file.root, file.path),
            (Item(root=file.root, path=file.path),),
            file.count if request.count_only else None,
        )
        for file in files
    ]


def group_of(file: FileMatches, workspace: Workspace) -> Group:
    """Each match is an item, with the context that belongs to it."""
    items: list[Item] = []
    rows: list[Row] = []
    for line in file.lines:
        rows.append(row_of(line))
        if line.matched:
            items.append(Item(tuple(rows), root=file.root, path=file.path, start=line.number, end=line.number))
            rows = []
    if rows and items:
        last = items[-1]
        items[-1] = Item((*last.rows, *rows), root=file.root, path=file.path, start=last.start, end=last.end)
    return Group(shown_path(workspace, file.root, file.path), tuple(items), None if file.cut else file.count)


def row_of(line: MatchedLine) -> Row:
    text = line.text[: LONGEST_LINE + LONGEST_SECRET].rstrip()
    return Row(text, line.number, context=not line.matched, longest=LONGEST_LINE)


def data_of(file: FileMatches) -> dict[str, object]:
    lines = [[line.number, line.text, line.matched] for line in file.lines]
    return {"root": file.root, "path": file.path, "count": file.count, "lines": lines}


TOOL = Tool(
    name="grep",
    summary="Every match of a regular expression, as ripgrep finds it.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        Argument("pattern", "string", "A regular expression in ripgrep's syntax.", required=True, text="pattern"),
        Argument(
            "path", "strings", "Only below this file or folder, or inside an earlier result (a handle).", text="path"
        ),
        Argument("also", "strings", "Further patterns; any of them matches.", text="pattern"),
        Argument("ignore_case", "boolean", "Upper and lower case are the same."),
        Argument("smart_case", "boolean", "Ignore case unless the pattern has an upper-case letter."),
        Argument("word", "boolean", "Whole words only."),
        Argument("fixed", "boolean", "The pattern is plain text."),
        Argument("invert", "boolean", "Lines that do not match."),
        Argument("multiline", "boolean", "A match may span lines."),
        Argument("context", "integer", "Lines around each match."),
        Argument("before", "integer", "Lines before each match."),
        Argument("after", "integer", "Lines after each match."),
        Argument("glob", "strings", "Only files that match, or with ! do not.", text="glob"),
        Argument("type", "strings", "Only files of this type, such as py."),
        Argument("type_not", "strings", "No files of this type."),
        Argument("files", "boolean", "Only the names of the files."),
        Argument("count", "boolean", "Only how many lines match in each file."),
        Argument("fields", "strings", "A table of only these: path, line, text; * is all."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "Every match, without a budget."),
    ),
    budget="grep_budget",
    profiles=frozenset({"lean", "full"}),
    brief="Every match of a regex (ripgrep syntax), grouped by file.",
    schema=("pattern", "path", "context_focus_question"),
    topics=frozenset({"code", "docs", "tests"}),
    examples=("grep 'def \\w+_token' src", "grep TODO -g '*.py' --files"),
)
