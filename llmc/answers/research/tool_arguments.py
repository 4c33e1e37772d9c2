"""How a tool asks for research: its arguments as an inquiry, a report as its envelope."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.answers.research.artifact import artifacts_of, file_name
from llmc.answers.research.handoff import handoff_text
from llmc.answers.research.report import envelope_of
from llmc.answers.research.session import open_inquiry
from llmc.envelope.phrases import freshness_notes
from llmc.tool import Argument

if TYPE_CHECKING:
    from typing import Any

    from llmc.answers.research.report import ResearchReport
    from llmc.answers.research.session import ResearchSession
    from llmc.envelope import Envelope
    from llmc.tool import ToolRequest

__all__ = ["ARGUMENTS", "answered", "inquiry_of"]

ARGUMENTS = (
    Argument("roots", "strings", "Only in these roots, by name or path, or in folders inside them.", text="path"),
    Argument("constraints", "object", "Tighter limits: maxFilesRead, maxBytesRead, deadlineMs, maxTokens."),
    Argument("budget", "integer", "Tokens that the reply may take."),
    Argument("all", "boolean", "Everything that was found, without a budget."),
)


def inquiry_of(asked: ToolRequest, question: str) -> ResearchSession:
    call = asked.call
    constraints = dict(asked.args.get("constraints") or {})
    if "budget" in asked.args:
        constraints["maxTokens"] = asked.args["budget"]
    return open_inquiry(
        asked.workspace,
        question,
        asked.texts("roots"),
        constraints,
        cancelled=lambda: asked.cancelled,
        progress=call.progress if call else lambda _event: None,
    )


def answered(asked: ToolRequest, tool: str, report: ResearchReport) -> Envelope:
    """The envelope; where the session's contract is JSON, its data is cut to the tokens that it may take."""
    root_indexes = asked.workspace.root_indexes
    names = (
        {root_index.root.id: f"{root_index.root.name}:" for root_index in root_indexes} if len(root_indexes) > 1 else {}
    )
    envelope = envelope_of(tool, report, names, freshness_notes(report.pending, report.share))
    data: dict[str, Any] = envelope.data if asked.flag("all") or asked.session is None else report.fitted()
    if not asked.flag("artifact"):
        return replace(envelope, data=data)
    settings = asked.workspace.settings
    text = handoff_text(report, settings.redaction)
    path = artifacts_of(asked.workspace).write(file_name("research", report.question.text), text)
    return replace(envelope, data={**data, "artifactPath": path}, notes=(*envelope.notes, f"written to {path}"))
