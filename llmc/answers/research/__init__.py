"""research: ask once, and get a compact answer with references.

    inquiry = open_inquiry(workspace, "how are sessions expired?")
    report = research(inquiry)

`question` says what is asked, `ground` where and for how much, `pipeline` who works, `runtime` runs them, `roles` do
the work with a `toolbox` that asks the index through `budget`'s meter, `synthesis` makes one answer and `report` its
two forms. Without a model everything is deterministic.
"""

from __future__ import annotations

from llmc.answers.research.pipeline import inquire, research
from llmc.answers.research.report import ResearchReport, envelope_of
from llmc.answers.research.session import open_inquiry

__all__ = ["ResearchReport", "envelope_of", "inquire", "open_inquiry", "research"]
