"""research: ask once, and get a compact answer with references.

    inquiry = open_inquiry(workspace, "how are sessions expired?")
    report = research(inquiry)

`question` says what is asked, `ground` where and for how much, `pipeline` who works, `runtime` runs them, `roles` do
the work with a `toolbox` that asks the index through `budget`'s meter, `synthesis` makes one answer and `report` its
two forms. Without a model everything is deterministic.
"""

from __future__ import annotations

from llmc.server.research.inquiry import open_inquiry
from llmc.server.research.pipeline import inquire, research
from llmc.server.research.report import Report, envelope_of

__all__ = ["Report", "envelope_of", "inquire", "open_inquiry", "research"]
