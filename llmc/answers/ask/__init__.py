"""crew: one question, and four who answer it: Beatrice plans, Otto looks, Rem checks, Grace writes.

    answer = ask(asked, "how are sessions expired?")

`router` says what sort of question it is and which tools may be used; `crew` is the way of a question through the four;
`desk` is what they work with; `voice` speaks to a model for one of them. Without a model the research pipeline plans,
looks and answers, and whatever a model does, that answer is there. What was done and what it cost is kept in the
session (`keeping`).
"""

from __future__ import annotations

from llmc.answers.ask.pipeline import ask
from llmc.answers.ask.values import Answer, Cost, QuestionKind, QuestionRoute, ToolStep

__all__ = ["Answer", "Cost", "QuestionKind", "QuestionRoute", "ToolStep", "ask"]
