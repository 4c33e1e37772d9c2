"""The ask pipeline: route → research → Beatrice plans → Otto executes → Rem verifies → Grace writes.

Research without a model runs first for every question. It is the evidence the roles start from, and the fallback
answer when a model fails, loops or cites places that do not exist, or when time or tokens run out. Without any model
the pipeline ends there, except that documentation is searched as well and commands are run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.answers.ask import executor, planner, verifier, writer
from llmc.answers.ask.context import open_context
from llmc.answers.ask.model_step import role_models
from llmc.answers.ask.router import route_of
from llmc.answers.ask.values import Answer, QuestionKind, ToolStep
from llmc.answers.research.errors import DeadlineError
from llmc.answers.research.finders.documents import documented
from llmc.answers.research.improve import without_model
from llmc.answers.research.pipeline import Stage, build_report, research
from llmc.answers.research.result import Confidence, Result, RoleOutcome, bounded, is_answer
from llmc.base.errors import QueryError

if TYPE_CHECKING:
    from llmc.answers.ask.context import AskContext
    from llmc.answers.research.report import ResearchReport
    from llmc.answers.research.result import ResultPlace
    from llmc.tool import ToolRequest

__all__ = ["ask"]

MOST_PLACES = 8


def ask(request: ToolRequest, question: str, remembered: tuple[str, ...] = ()) -> Answer:
    settings, client = request.workspace.settings, request.session

    def may_use(name: str) -> bool:
        permitted = client is None or client.may(name)
        return permitted and request.tools.is_offered(request.tools.get(name), settings)

    route = route_of(question, may_use)
    if not route.tools:
        raise QueryError(
            "ask cannot run", reason="this session's persona allows none of its tools", hint="Use another persona."
        )
    context = open_context(request, question, route, role_models(settings))
    context.remembered = remembered
    if route.kind is QuestionKind.COMMAND and "shell" not in route.tools and not route.command:
        context.notes.append("Commands are not run because shell.enabled is off; this answer comes from the files.")
    report, baseline = literal_command(context) or research_first(context)
    result, worded = (
        answer_with_models(context, baseline) if context.models else (answer_without_models(context, baseline), False)
    )
    notes = " ".join(filter(None, (result.notes, *dict.fromkeys(context.notes), failures_note(context, worded=worded))))
    steps = (*research_steps(report), *context.steps)
    output = next((step.text for step in context.steps if step.tool == "shell" and not step.error), "")
    result = keep_existing_references(context, replace(result, notes=notes or None))
    return Answer(question, route, result, report, steps, tuple(context.costs), worded, output)


def literal_command(context: AskContext) -> tuple[ResearchReport, RoleOutcome] | None:
    """An empty report for a command that is spelled out: it is run or refused, not researched. None for any other
    question."""
    route = context.route
    if route.kind is not QuestionKind.COMMAND or not route.command:
        return None
    why = "" if "shell" in route.tools else ": commands are not run because shell.enabled is off"
    return build_report(context.session, Stage()), RoleOutcome(Result(f"`{route.command}` was not run{why}."))


def research_first(context: AskContext) -> tuple[ResearchReport, RoleOutcome]:
    """The answer without a model, from code or documentation."""
    report = research(context.session)
    value = report.synthesis.value or Result("Not found.")
    places = tuple(place for listed in report.places.values() for place in listed)
    exact = is_answer(report.places.get("locator", ()))
    if not exact and (context.route.kind is QuestionKind.DOCS or not value.references):
        documentation = documented(context.brief, context.toolbox)
        if documentation is not None:
            return replace(report, places={"docs": documentation.places}), documentation
    return report, RoleOutcome(bounded(value), unique_places(places))


def unique_places(places: tuple[ResultPlace, ...]) -> tuple[ResultPlace, ...]:
    return tuple({place.key: place for place in places}.values())[:MOST_PLACES]


def answer_without_models(context: AskContext, baseline: RoleOutcome) -> Result:
    """Run the command, if there is one; otherwise return the research result."""
    if context.route.kind is not QuestionKind.COMMAND or "shell" not in context.route.tools:
        return baseline.result
    if not context.route.command:
        context.notes.append("No command was run: name it in backticks, for example: run `make test`.")
        return baseline.result
    (step,) = planner.plan(context)
    done = context.run_step(step)
    head = done.text.partition("\n")[0]
    reply = (
        f"`{step.args['command']}` was not run: {head}" if done.error else f"`{step.args['command']}` was run: {head}"
    )
    return Result(reply, (), (), Confidence.LOW if done.error else Confidence.HIGH)


def answer_with_models(context: AskContext, baseline: RoleOutcome) -> tuple[Result, bool]:
    """Let the four roles answer, as long as time and tokens last."""
    try:
        context.report_progress("beatrice", "plans")
        plan = planner.plan(context)
        findings = executor.execute(context, plan)
        doubts = verifier.check(context, findings, baseline.result.references)
        if not baseline.result.references and not any(step.places or step.tool == "shell" for step in context.steps):
            return baseline.result, False  # without evidence there is nothing to write about
        return writer.write(context, baseline, findings, doubts)
    except DeadlineError:
        context.notes.append("The time for this question ran out; this answer was produced without a model.")
        return baseline.result, False


def failures_note(context: AskContext, *, worded: bool) -> str:
    """One sentence about all models that did not answer."""
    failed = context.model_failures
    reasons = "; ".join(dict.fromkeys(failed.values()))
    if not failed or not worded:
        return without_model(reasons) if failed else ""
    models, them = ("models", "them") if len(failed) > 1 else ("model", "it")
    roles = ", ".join(map(str.title, failed))
    return f"The {models} of {roles} did not answer ({reasons}); the others answered without {them}."


def research_steps(report: ResearchReport) -> list[ToolStep]:
    """The research roles that ran first, as steps."""
    return [
        ToolStep(f"research:{key}", {}, text=one.value.summary, places=one.value.references[:3])
        if one.value
        else ToolStep(f"research:{key}", {}, error=str(one.status))
        for key, one in report.roles.items()
    ]


def keep_existing_references(context: AskContext, result: Result) -> Result:
    """Drop references that are not places in the roots, whatever produced them."""
    real = tuple(one for one in result.references if context.exists(one))
    return replace(result, references=real)
