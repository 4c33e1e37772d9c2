"""ask: one question answered by four roles: Beatrice plans, Otto executes, Rem verifies, Grace writes.

    answer = ask(request, "how are sessions expired?")

`router` classifies the question and selects the tools that may be used, `pipeline` takes the question through the four
roles, `context` is the state they share, and `model_step` calls the model of one role. The research pipeline always
produces an answer without a model, and that answer is the fallback whatever a model does. `history` records the
steps, the answer and its cost in the session.
"""

from __future__ import annotations

from llmc.answers.ask.pipeline import ask
from llmc.answers.ask.values import Answer, Cost, QuestionKind, QuestionRoute, ToolStep

__all__ = ["Answer", "Cost", "QuestionKind", "QuestionRoute", "ToolStep", "ask"]
