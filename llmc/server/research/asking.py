"""How a tool asks for research: its arguments as an inquiry, a report as its envelope."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.server.research.artifact import artifacts_of, file_name
from llmc.server.research.handoff import handoff_text
from llmc.server.research.inquiry import open_inquiry
from llmc.server.research.report import envelope_of
from llmc.server.tools.base import Argument
from llmc.server.tools.words import freshness_notes

if TYPE_CHECKING:
    from typing import Any

    from llmc.envelope import Envelope
    from llmc.server.research.inquiry import Inquiry
    from llmc.server.research.report import Report
    from llmc.server.tools.base import Asked

__all__ = ["ARGUMENTS", "answered", "inquiry_of"]

ARGUMENTS = (
    Argument("roots", "strings", "Only in these roots, by name or path, or in folders inside them."),
    Argument("constraints", "object", "Tighter limits: maxFilesRead, maxBytesRead, deadlineMs, maxTokens."),
    Argument("budget", "integer", "Tokens that the reply may take."),
    Argument("all", "boolean", "Everything that was found, without a budget."),
)


def inquiry_of(asked: Asked, question: str) -> Inquiry:
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


def answered(asked: Asked, tool: str, report: Report) -> Envelope:
    """The envelope; where the session's contract is JSON, its data is cut to the tokens that it may take."""
    keepers = asked.workspace.keepers
    names = {keeper.root.id: f"{keeper.root.name}:" for keeper in keepers} if len(keepers) > 1 else {}
    envelope = envelope_of(tool, report, names, freshness_notes(report.pending, report.share))
    data: dict[str, Any] = envelope.data if asked.flag("all") or asked.session is None else report.fitted()
    if not asked.flag("artifact"):
        return replace(envelope, data=data)
    settings = asked.workspace.settings
    text = handoff_text(report, settings.redaction)
    path = artifacts_of(asked.workspace).write(file_name("research", report.question.text), text)
    return replace(envelope, data={**data, "artifactPath": path}, notes=(*envelope.notes, f"written to {path}"))
