"""research: a question answered in one call, compactly and with references.

    session = open_session(workspace, "how are sessions expired?")
    report = research(session)

`question` parses the question, `scope` resolves roots and limits, `planning` selects the roles, and `pipeline` runs
them in the task pool of `runtime`. `roles` query the index through a `toolbox`, whose reads `budget` meters.
`synthesis` merges their results into one answer, and `report` renders it as JSON or as an envelope. Without a model
everything is deterministic.
"""

from __future__ import annotations

from llmc.answers.research.pipeline import research, run_role
from llmc.answers.research.report import ResearchReport, envelope_of
from llmc.answers.research.session import open_session

__all__ = ["ResearchReport", "envelope_of", "open_session", "research", "run_role"]
