"""The way of a question: route → research → Beatrice plans → Otto looks → Rem checks → Grace answers.

Research without a model comes first, for every question: it is the evidence that all start from, and the answer that
stands when a model fails, loops, names what is not there, or when time and tokens are over. Without any model it is the
whole way, but for commands, which are run, and for documents, which are searched as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.answers.ask import executor as otto
from llmc.answers.ask import planner as beatrice
from llmc.answers.ask import verifier as rem
from llmc.answers.ask import writer as grace
from llmc.answers.ask.context import open_desk
from llmc.answers.ask.docs import doc_places, doc_result
from llmc.answers.ask.model_step import voices_of
from llmc.answers.ask.router import route_of
from llmc.answers.ask.values import Answer, QuestionKind, ToolStep
from llmc.answers.research.errors import DeadlineError
from llmc.answers.research.pipeline import Stage, reported, research
from llmc.answers.research.result import Confidence, Result, RoleOutcome, bounded
from llmc.base.errors import QueryError

if TYPE_CHECKING:
    from llmc.answers.ask.context import AskContext
    from llmc.answers.research.report import ResearchReport
    from llmc.answers.research.result import ResultPlace
    from llmc.tool import ToolRequest

__all__ = ["ask"]


def ask(asked: ToolRequest, question: str, remembered: tuple[str, ...] = ()) -> Answer:
    settings, session = asked.workspace.settings, asked.session

    def may_use(name: str) -> bool:
        permitted = session is None or session.may(name)
        return permitted and asked.tools.is_offered(asked.tools.get(name), settings)

    route = route_of(question, may_use)
    if not route.tools:
        raise QueryError("ask may use no tools here", hint="The persona of this session has none of those it needs.")
    desk = open_desk(asked, question, route, voices_of(settings))
    desk.remembered = remembered
    if route.kind is QuestionKind.COMMAND and "shell" not in route.tools:
        desk.notes.append("Commands are not run here (shell.enabled is off); this is what the files say.")
    report, own = nothing_to_find(desk) or found(desk)
    result, worded = together(desk, own) if desk.voices else (alone(desk, own), False)
    notes = " ".join(filter(None, (result.notes, *dict.fromkeys(desk.notes))))
    steps = (*planned(report), *desk.steps)
    output = next((step.text for step in desk.steps if step.tool == "shell" and not step.error), "")
    return Answer(
        question, route, verified(desk, replace(result, notes=notes or None)), report, steps, tuple(desk.costs), worded,
        output,
    )  # fmt: skip


def nothing_to_find(desk: AskContext) -> tuple[ResearchReport, RoleOutcome] | None:
    """A command that is spelt out is run, not looked for; None for any other question."""
    if desk.route.kind is not QuestionKind.COMMAND or not desk.route.command or "shell" not in desk.route.tools:
        return None
    return reported(desk.inquiry, Stage()), RoleOutcome(Result(f"`{desk.route.command}` was not run."))


def found(desk: AskContext) -> tuple[ResearchReport, RoleOutcome]:
    """What the index has without a model: code, documents, or both."""
    report = research(desk.inquiry)
    value = report.synthesis.value or Result("Not found.")
    code = tuple(place for listed in report.places.values() for place in listed)
    documents = () if desk.route.kind is QuestionKind.CODE and value.references else doc_places(desk)
    said = doc_result(desk, documents)
    docs = tuple(place for place, _ in documents)
    if said is not None and (desk.route.kind is QuestionKind.DOCS or not value.references):
        return replace(report, places={"docs": docs}), RoleOutcome(said, docs)
    if said is not None:
        value = replace(value, references=(*value.references, *said.references))
        report = replace(report, places={**report.places, "docs": docs})
    return report, RoleOutcome(bounded(value), (*first(code), *docs))


def first(places: tuple[ResultPlace, ...], most: int = 8) -> tuple[ResultPlace, ...]:
    return tuple({place.key: place for place in places}.values())[:most]


def alone(desk: AskContext, own: RoleOutcome) -> Result:
    """Without a model: a command is run, everything else was found already."""
    if desk.route.kind is not QuestionKind.COMMAND or "shell" not in desk.route.tools:
        return own.result
    if not desk.route.command:
        desk.notes.append("Nothing was run: say which command, as in: run `make test`.")
        return own.result
    (step,) = beatrice.plan(desk)
    done = desk.act(step)
    head = done.text.partition("\n")[0]
    said = (
        f"`{step.args['command']}` was not run: {head}" if done.error else f"`{step.args['command']}` was run: {head}"
    )
    return Result(said, (), (), Confidence.LOW if done.error else Confidence.HIGH)


def together(desk: AskContext, own: RoleOutcome) -> tuple[Result, bool]:
    """With models, as long as time and tokens last."""
    try:
        desk.tell("beatrice", "plans")
        plan = beatrice.plan(desk)
        findings = otto.look(desk, plan)
        doubts = rem.check(desk, findings, own.result.references)
        if not own.result.references and not any(step.places or step.tool == "shell" for step in desk.steps):
            return own.result, False  # there is nothing that words could be put to
        return grace.write(desk, own, findings, doubts)
    except DeadlineError:
        desk.notes.append("The time for this question is over; this is what was found without a model.")
        return own.result, False


def planned(report: ResearchReport) -> list[ToolStep]:
    """The roles of the research that came first, as steps."""
    return [
        ToolStep(f"research:{key}", {}, text=one.value.summary, places=one.value.references[:3])
        if one.value
        else ToolStep(f"research:{key}", {}, error=str(one.status))
        for key, one in report.roles.items()
    ]


def verified(desk: AskContext, result: Result) -> Result:
    """Whoever said it: a reference that is no place of the roots is not given."""
    real = tuple(one for one in result.references if desk.exists(one))
    return replace(result, references=real)
