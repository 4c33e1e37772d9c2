"""`analyze_component`: how does it work? Callers, calls, data, configuration, each with path:line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.answers.research import run_role
from llmc.answers.research.result import ResultPlace
from llmc.answers.research.tool_arguments import ARGUMENTS, report_envelope, session_for
from llmc.base.errors import LlmcError
from llmc.tool import Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from llmc.base.model import Symbol
    from llmc.envelope import Envelope

TARGET = re.compile(r"(?P<path>\S+?)(?:::(?P<symbol>\S+)|:(?P<line>\d+)(?:-\d+)?)?")
# Maximum number of definitions explained for a whole file.
MOST_TARGETS = 3


def run(request: ToolRequest) -> Envelope:
    component = request.text("component")
    session = session_for(request, f"how does {component} work" if len(component.split()) == 1 else component)
    return report_envelope(request, "analyze_component", run_role(session, "analyzer", targets(request, component)))


def targets(request: ToolRequest, component: str) -> list[ResultPlace]:
    """What a path, path:line or path::symbol means; none for a name or a question, which the locator finds."""
    match = TARGET.fullmatch(component.strip())
    if match is None:
        return []
    try:
        root_index, path = request.workspace.locate(match["path"])
    except LlmcError:
        return []
    view = next(view for view in request.workspace.views() if view.root.id == root_index.root.id)
    doc = view.store.catalog.doc_of(view.root.id, path)
    known = [one.symbol for one in view.store.catalog.symbols(doc=doc)] if doc is not None else []
    chosen = [one for one in known if is_meant(one, match["symbol"], int(match["line"] or 0))]
    chosen.sort(key=lambda one: (one.container.count("."), one.start_line - one.end_line))
    innermost = chosen[-1:] if match["line"] else chosen[:MOST_TARGETS]
    return [ResultPlace(view.root.id, path, one.start_line, one.end_line, one.qualified, one.kind) for one in innermost]


def is_meant(symbol: Symbol, name: str | None, line: int) -> bool:
    if name:
        wanted = name.replace("::", ".")
        return wanted in {symbol.name, symbol.qualified} or symbol.qualified.endswith(f".{wanted}")
    if line:
        return symbol.start_line <= line <= symbol.end_line
    return not symbol.container and symbol.kind != "heading"


TOOL = Tool(
    name="analyze_component",
    summary="How something works: callers, calls, what goes in and out, configuration; each with path:line.",
    run=run,
    own_seconds=lambda settings: settings.runtime.default_deadline_ms / 1000,
    arguments=(
        Argument(
            "component", "string", "A name, a path, path:line, path::symbol, or a question.", required=True, text="free"
        ),
        *ARGUMENTS,
    ),
    budget="research_budget",
    profiles=frozenset({"research", "full"}),
    schema=("component", "roots", "constraints"),
    examples=("analyze_component SessionStore.load", "analyze_component src/retry.py"),
    json_profiles=frozenset({"research"}),
)
