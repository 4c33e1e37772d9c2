"""Connects tools to research: tool arguments become a session, a report becomes the envelope of the reply."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.answers.research.artifact import artifacts_of, file_name
from llmc.answers.research.handoff import handoff_text
from llmc.answers.research.report import envelope_of
from llmc.answers.research.session import open_session
from llmc.envelope.phrases import freshness_notes
from llmc.tool import Argument

if TYPE_CHECKING:
    from typing import Any

    from llmc.answers.research.report import ResearchReport
    from llmc.answers.research.session import ResearchSession
    from llmc.envelope import Envelope
    from llmc.tool import ToolRequest

__all__ = ["ARGUMENTS", "report_envelope", "session_for"]

ARGUMENTS = (
    Argument("roots", "strings", "Search only these roots (names or paths) or folders inside them.", text="path"),
    Argument(
        "constraints",
        "object",
        "Tighter limits: maxFilesRead, maxBytesRead, deadlineMs, maxTokens.",
        parts=(
            Argument("maxFilesRead", "integer", "Most files to read.", low=1),
            Argument("maxBytesRead", "integer", "Most bytes to read.", low=1),
            Argument("deadlineMs", "integer", "Longest time in milliseconds.", low=1),
            Argument("maxTokens", "integer", "Most tokens of the reply.", low=50),
        ),
    ),
    Argument("budget", "integer", "Token budget of the reply."),
    Argument("all", "boolean", "Return everything found, without a budget."),
)


def session_for(request: ToolRequest, question: str) -> ResearchSession:
    call = request.call
    constraints = dict(request.args.get("constraints") or {})
    if "budget" in request.args:
        constraints["maxTokens"] = request.args["budget"]
    return open_session(
        request.workspace,
        question,
        request.texts("roots"),
        constraints,
        cancelled=lambda: request.cancelled,
        progress=call.progress if call else lambda _event: None,
    )


def report_envelope(request: ToolRequest, tool: str, report: ResearchReport) -> Envelope:
    """The envelope of a report; for sessions, its JSON is cut to the token budget. Writes the artifact on request."""
    root_indexes = request.workspace.root_indexes
    names = (
        {root_index.root.id: f"{root_index.root.name}:" for root_index in root_indexes} if len(root_indexes) > 1 else {}
    )
    envelope = envelope_of(tool, report, names, freshness_notes(report.pending, report.share))
    data: dict[str, Any] = envelope.data if request.flag("all") or request.session is None else report.fitted()
    if not request.flag("artifact"):
        return replace(envelope, data=data)
    settings = request.workspace.settings
    text = handoff_text(report, settings.redaction)
    path = artifacts_of(request.workspace).write(file_name("research", report.question.text), text)
    return replace(envelope, data={**data, "artifactPath": path}, notes=(*envelope.notes, f"written to {path}"))
