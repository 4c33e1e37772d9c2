"""The read-only tools of a role's model: search, grep, find, read, symbols, refs and calls.

Each call is checked and bounded by the role's toolbox: its permissions, roots and paths, deadline, and the budget of
files and bytes, to which every file is charged whose lines the model sees. Text is redacted. `shown` records the lines
that the model has seen, since it may cite only those.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from llmc.answers.llm import ModelTool
from llmc.base.errors import QueryError
from llmc.graph.trees import callees
from llmc.retrieval.find import FindRequest, find

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmc.answers.research.matches import Area
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import RoleToolbox
    from llmc.graph.edges import Graph
    from llmc.graph.trees import TreeEdge

__all__ = ["RoleTools", "ShownLines"]

# With these, a reply has at most about 600 tokens, and six rounds fit into the context of a small local model.
MOST_ROWS, READ_LINES, LONGEST_ROW = 12, 60, 160
CALLS_DEPTH, MOST_TARGETS = 2, 2
USES = frozenset({"call", "import", "inherit", "type", "use", "write"})


def schema(required: str, **optional: str) -> dict[str, Any]:
    """The JSON schema of a tool with one required string and some optional values."""
    properties = {required: {"type": "string"}, **{name: {"type": kind} for name, kind in optional.items()}}
    return {"type": "object", "properties": properties, "required": [required]}


class ShownLines:
    """The lines that a model has seen, by the path that references use."""

    def __init__(self) -> None:
        self._ranges: dict[str, list[tuple[int, int]]] = {}

    def add(self, path: str, start: int, end: int) -> None:
        self._ranges.setdefault(path, []).append((start, max(start, end)))

    def covers(self, path: str, line: int) -> bool:
        """Whether the line was shown; with line 0, whether anything of the file was."""
        ranges = self._ranges.get(path, [])
        return bool(ranges) if not line else any(start <= line <= end for start, end in ranges)


class RoleTools:
    """The tools of one task, as `ModelTool`s."""

    def __init__(self, toolbox: RoleToolbox, brief: Brief, shown: ShownLines) -> None:
        self._toolbox = toolbox
        self._brief = brief
        self._shown = shown

    def tools(self) -> Mapping[str, ModelTool]:
        offered: list[tuple[str, str, str, dict[str, Any], Callable[[dict[str, Any]], str]]] = [
            ("search", "search", "Search by words or a question; ranked places.", schema("query"), self._search),
            ("grep", "search", "Lines that match a regular expression.", schema("pattern"), self._grep),
            ("find", "search", "Files whose path contains this text or matches a glob.", schema("name"), self._find),
            ("read", "read", "Lines of a file.", schema("path", line="integer", lines="integer"), self._read),
            ("symbols", "symbols", "Where a name is defined.", schema("name"), self._symbols),
            ("refs", "refs", "Where a name is used.", schema("name"), self._refs),
            ("calls", "refs", "What a function calls, two levels deep.", schema("name"), self._calls),
        ]
        return {
            name: ModelTool(name, description, form, partial(self._run, run))
            for name, permission, description, form, run in offered
            if permission in self._toolbox.allowed
        }

    async def _run(self, run: Callable[[dict[str, Any]], str], arguments: dict[str, Any]) -> str:
        self._toolbox.stop.check()
        text = run(arguments) or "nothing found"
        limits = "\nThe limit on files or bytes is reached; answer with what you have."
        return text + (limits if self._toolbox.meter.truncated else "")

    def _search(self, arguments: dict[str, Any]) -> str:
        files = self._toolbox.search(text_of(arguments, "query"), limit=MOST_ROWS // 2, per_file=2).files
        rows = [
            self._place(file.root, file.path, hit.start_line, hit.end_line, hit.name)
            for file in files
            for hit in file.hits
        ]
        return "\n".join(rows[:MOST_ROWS])

    def _grep(self, arguments: dict[str, Any]) -> str:
        before = self._toolbox.unread
        found = self._toolbox.grep(text_of(arguments, "pattern"), most=MOST_ROWS)
        unread = self._toolbox.unread - before
        more = [f"{unread} more files may match; narrow the pattern."] if unread else []
        return "\n".join([*(self._line(one.area, one.path, one.line) for one in found[:MOST_ROWS]), *more])

    def _find(self, arguments: dict[str, Any]) -> str:
        found = []
        for area in self._toolbox.areas:
            request = FindRequest(text_of(arguments, "name"), paths=area.paths)
            found += [(file.root, file.path) for file in find([area.view], request).files]
        more = [f"{len(found) - MOST_ROWS} more files match."] if len(found) > MOST_ROWS else []
        return "\n".join([*(self._place(root, path, 0, 0, "") for root, path in found[:MOST_ROWS]), *more])

    def _read(self, arguments: dict[str, Any]) -> str:
        area, path = self._located(text_of(arguments, "path"))
        start = max(1, number_of(arguments, "line", 1))
        lines = self._toolbox.shown(area, path)
        end = min(len(lines), start + min(READ_LINES, max(1, number_of(arguments, "lines", READ_LINES))) - 1)
        if not lines or start > len(lines):
            return f"{path} has {len(lines)} readable lines"
        self._shown.add(self._brief.at(area.view.root.id, path, 0), start, end)
        rows = [f"{number} {lines[number - 1][:LONGEST_ROW]}" for number in range(start, end + 1)]
        more = f"\n… {len(lines) - end} more lines" if end < len(lines) else ""
        return "\n".join(rows) + more

    def _symbols(self, arguments: dict[str, Any]) -> str:
        found = self._toolbox.define(text_of(arguments, "name"))[:MOST_ROWS]
        return "\n".join(
            self._place(
                one.area.view.root.id, one.path, one.symbol.start_line, one.symbol.end_line, one.symbol.signature
            )
            for one in found
        )

    def _refs(self, arguments: dict[str, Any]) -> str:
        found = self._toolbox.uses(text_of(arguments, "name"), USES)[:MOST_ROWS]
        return "\n".join(
            self._place(one.area.view.root.id, one.path, one.reference.line, one.reference.line, one.reference.kind)
            for one in found
        )

    def _calls(self, arguments: dict[str, Any]) -> str:
        rows = [
            row
            for target in self._toolbox.targets(text_of(arguments, "name"))[:MOST_TARGETS]
            for branch in callees(target.graph, target.node, CALLS_DEPTH).branches
            for row in self._branch(target.area, target.graph, branch, 0)
        ]
        return "\n".join(rows[: 2 * MOST_ROWS])

    def _branch(self, area: Area, graph: Graph, branch: TreeEdge, depth: int) -> list[str]:
        path, facts = graph.project.path(branch.node.doc), graph.project.facts(branch.node.doc)
        symbol = facts.symbol(branch.node.qualified) if facts else None
        if symbol is None or not area.paths.accepts(path):
            return []
        row = self._place(graph.project.root.id, path, symbol.start_line, symbol.end_line, branch.node.qualified)
        inner = [row for one in branch.children for row in self._branch(area, graph, one, depth + 1)]
        return [f"{'  ' * depth}{row}", *inner]

    def _line(self, area: Area, path: str, number: int) -> str:
        lines = self._toolbox.shown(area, path)
        text = lines[number - 1].strip()[:LONGEST_ROW] if number <= len(lines) else ""
        return self._place(area.view.root.id, path, number, number, text)

    def _place(self, root: str, path: str, start: int, end: int, says: str) -> str:
        self._shown.add(self._brief.at(root, path, 0), start, end)
        return f"{self._brief.at(root, path, start)} {says}".rstrip()

    def _located(self, path: str) -> tuple[Area, str]:
        """The area and the path in it, for a path as references write it."""
        for area in self._toolbox.areas:
            inner = path.removeprefix(f"{area.view.root.path}/")
            if self._toolbox.doc_of(area, inner) is not None and area.paths.accepts(inner):
                return area, inner
        raise QueryError(f"there is no file {path[:200]!r}", hint="Use find to look for its path.")


def text_of(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise QueryError(f"{name!r} must be a string with at least one character")
    return value.strip()


def number_of(arguments: dict[str, Any], name: str, default: int) -> int:
    value = arguments.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
