"""Analyzer: how does it work? Per definition: documentation, callers, callees, return values and configuration."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import cited_line, terms_of
from llmc.answers.research.prose import doc_sentence, exit_lines, one_line
from llmc.answers.research.result import Confidence, Result, ResultPlace, RoleOutcome
from llmc.answers.research.roles import Brief, ResearchRole
from llmc.base import words
from llmc.base.languages import role_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.answers.research.toolbox import Area, DefinitionMatch, RoleToolbox
    from llmc.base.model import Reference, Symbol

TYPES = frozenset(
    {"class", "struct", "interface", "enum", "trait", "protocol", "module", "object", "type", "record", "impl"}
)
MOST_CALLERS, MOST_CALLEES, MOST_MEMBERS, MOST_CONSTANTS, MOST_EXITS = 3, 4, 4, 3, 2
# Names of a body that are looked up; the first ones are usually the relevant ones.
MOST_LOOKED_UP = 24
SECTIONS = ("definition", "member", "entry", "calls", "data", "config")
_CONSTANT = re.compile(r"_{0,2}[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{4,}")
_CONFIGURED = re.compile(
    r"\b(?:settings|config|conf|cfg|environ|getenv|process\.env|env::var|viper)\b[.\[(]['\"]?\w+",
    re.IGNORECASE,
)


def work(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome:
    places = [replace(place, of=target.name) for target in brief.targets for place in analyze(brief, target, toolbox)]
    if not places:
        return RoleOutcome(Result("Not found: there is no definition to analyse.", notes=truncation(toolbox)))
    places = list({(*place.key, place.section): place for place in places}.values())
    places.sort(key=lambda place: SECTIONS.index(place.section))
    head = places[0]
    result = Result(
        summary=f"{head.name or head.path} ({brief.reference(head)}): {head.says}".rstrip(": "),
        references=tuple(brief.reference(place) for place in places),
        key_findings=tuple(finding(brief, place) for place in places),
        confidence=Confidence.HIGH if len(places) > 1 else Confidence.MED,
        notes=truncation(toolbox),
    )
    return RoleOutcome(result, tuple(places))


def truncation(toolbox: RoleToolbox) -> str | None:
    return "Limits on files or bytes may have truncated the analysis." if toolbox.meter.truncated else None


VERBS = {"definition": "", "member": "has", "entry": "called by", "calls": "calls", "data": "", "config": "depends on"}


def finding(brief: Brief, place: ResultPlace) -> str:
    verb = VERBS[place.section]
    words_ = [verb, place.name if place.section != "data" else "", brief.reference(place)]
    text = " ".join(word for word in words_ if word)
    return f"{text}: {place.says}" if place.says else text


def analyze(brief: Brief, target: ResultPlace, toolbox: RoleToolbox) -> Iterator[ResultPlace]:
    area = toolbox.area_of(target.root)
    doc = toolbox.doc_of(area, target.path)
    symbols = toolbox.symbols_of(area, doc) if doc is not None else []
    lines = toolbox.shown(area, target.path)
    symbol = symbol_at(symbols, target, lines)
    if doc is None or symbol is None:
        if lines and target.line <= len(lines):
            yield replace(target, section="definition", says=one_line(lines[target.line - 1]))
        return
    named = cited_line(symbol, lines)
    says = doc_sentence(lines, symbol.start_line, named, symbol.end_line) or one_line(symbol.signature)
    yield ResultPlace(
        target.root, target.path, named, symbol.end_line, symbol.qualified, symbol.kind, "definition", says
    )
    references = [one for one in toolbox.references_of(area, doc) if symbol.start_line <= one.line <= symbol.end_line]
    yield from callers(symbol, target, toolbox)
    if symbol.kind in TYPES:
        yield from members(brief, symbol, symbols, target, lines)
    else:
        yield from callees(brief, symbol, references, target, toolbox)
        yield from exits(symbol, target, lines)
    yield from constants(references, target, area, toolbox)
    yield from config_lines(symbol, target, lines)


def symbol_at(symbols: Sequence[Symbol], target: ResultPlace, lines: Sequence[str]) -> Symbol | None:
    """The definition named by the target, else the innermost one around its line."""
    around = [one for one in symbols if one.start_line <= target.line <= one.end_line and one.kind != "heading"]
    exact = [one for one in around if one.qualified == target.name and cited_line(one, lines) == target.line]
    innermost = sorted(around, key=lambda one: (one.end_line - one.start_line, -one.start_line))
    return next(iter(exact or innermost), None)


def callers(symbol: Symbol, target: ResultPlace, toolbox: RoleToolbox) -> Iterator[ResultPlace]:
    """Callers and subclasses, code before tests, each once."""
    kinds = frozenset({"call", "inherit"})
    seen: set[tuple[str, str]] = set()
    for use in toolbox.uses(symbol.name, kinds, target.path):
        one = use.reference
        within = use.path == target.path and symbol.start_line <= one.line <= symbol.end_line
        key = (use.path, one.container)
        if within or key in seen:
            continue
        if seen and str(role_of(use.path)) == "test":
            break
        seen.add(key)
        caller = one.container or use.path.rpartition("/")[2]
        says = f"derives from {symbol.name}" if one.kind == "inherit" else ""
        yield ResultPlace(use.area.view.root.id, use.path, one.line, one.line, caller, one.kind, "entry", says)
        if len(seen) >= MOST_CALLERS:
            return


def members(
    brief: Brief, symbol: Symbol, symbols: Sequence[Symbol], target: ResultPlace, lines: Sequence[str]
) -> Iterator[ResultPlace]:
    """Members ordered by how well their names match the question, then by position."""
    terms = terms_of(brief.question.subject)
    own = [
        one
        for one in symbols
        if one.container == symbol.qualified and one.kind in {"method", "function", "constructor", "property"}
    ]
    own.sort(
        key=lambda one: (-len(terms & set(words.body(one.name).split())), one.name.startswith("_"), one.start_line)
    )
    for one in own[:MOST_MEMBERS]:
        named = cited_line(one, lines)
        says = doc_sentence(lines, one.start_line, named, one.end_line)
        yield ResultPlace(target.root, target.path, named, one.end_line, one.qualified, one.kind, "member", says)


def callees(
    brief: Brief, symbol: Symbol, references: Sequence[Reference], target: ResultPlace, toolbox: RoleToolbox
) -> Iterator[ResultPlace]:
    """Callees that the index resolves unambiguously, those that match the question first."""
    terms = terms_of(brief.question.subject)
    called = list(dict.fromkeys(one.name for one in references if one.kind == "call" and one.name != symbol.name))
    found = [one for name in called[:MOST_LOOKED_UP] if (one := resolve(name, target, toolbox)) is not None]
    found.sort(key=lambda one: -len(terms & set(words.body(one.symbol.qualified).split())))
    for one in found[:MOST_CALLEES]:
        lines = toolbox.shown(one.area, one.path)
        named = cited_line(one.symbol, lines)
        says = doc_sentence(lines, one.symbol.start_line, named, one.symbol.end_line)
        yield ResultPlace(
            one.area.view.root.id,
            one.path,
            named,
            one.symbol.end_line,
            one.symbol.qualified,
            one.symbol.kind,
            "calls",
            says,
        )


def resolve(name: str, target: ResultPlace, toolbox: RoleToolbox) -> DefinitionMatch | None:
    """The definition that a name refers to: in the same file, or the only one in code; None when ambiguous."""
    found = [one for one in toolbox.define(name, target.path) if one.symbol.name == name]
    found = [one for one in found if not one.symbol.container or name not in COMMON or is_near(one, target)]
    here = [one for one in found if one.path == target.path]
    if here:
        own = [one for one in here if is_near(one, target)] or [one for one in here if not one.symbol.container]
        return own[0] if own else here[0] if len(here) == 1 else None
    alike = [one for one in found if one.role in {"code", str(role_of(target.path))}]
    return alike[0] if len(alike) == 1 else None


# Method names of many types: one definition with such a name is not evidence that it is the callee.
COMMON = frozenset(
    """
    add append apply bind call catch clear close copy count data done end error filter find first flush format from
    get handle index init insert items join keys last length list load lock log main map match name new next open pop
    process push put read remove replace reset resolve run save send set size sort split start state stop string test
    then time type update value values wait write
    """.split()  # noqa: SIM905 a column of quoted words would hide the list
)


def is_near(one: DefinitionMatch, target: ResultPlace) -> bool:
    """Whether it is defined in the target or in a definition that encloses the target."""
    container = one.symbol.container
    return one.path == target.path and bool(container) and f"{target.name}.".startswith(f"{container}.")


def exits(symbol: Symbol, target: ResultPlace, lines: Sequence[str]) -> Iterator[ResultPlace]:
    for number, text in exit_lines(lines, symbol.start_line, symbol.end_line)[-MOST_EXITS:]:
        yield ResultPlace(target.root, target.path, number, number, symbol.qualified, "", "data", text)


def constants(
    references: Sequence[Reference], target: ResultPlace, area: Area, toolbox: RoleToolbox
) -> Iterator[ResultPlace]:
    names = list(dict.fromkeys(one.name for one in references if _CONSTANT.fullmatch(one.name)))
    for name in names[:MOST_CONSTANTS]:
        one = resolve(name, target, toolbox)
        if one is not None and one.area is area:
            lines = toolbox.shown(one.area, one.path)
            named = cited_line(one.symbol, lines)
            text = one_line(lines[named - 1], 100) if named <= len(lines) else ""
            yield ResultPlace(area.view.root.id, one.path, named, one.symbol.end_line, name, "constant", "config", text)


def config_lines(symbol: Symbol, target: ResultPlace, lines: Sequence[str]) -> Iterator[ResultPlace]:
    """Lines that read the configuration or the environment."""
    found = 0
    for number in range(symbol.start_line, min(symbol.end_line, len(lines)) + 1):
        match = _CONFIGURED.search(lines[number - 1])
        if match and found < MOST_CONSTANTS:
            found += 1
            yield ResultPlace(
                target.root,
                target.path,
                number,
                number,
                one_line(match[0], 60),
                "",
                "config",
                one_line(lines[number - 1], 100),
            )


ROLE = ResearchRole.of(
    "analyzer",
    "analyzer",
    """You explain how something works, using only the evidence: entry points, call paths, inputs and outputs,
    configuration and constants. Each statement includes its file:line. No advice, no guesses.""",
    "search symbols refs read",
    work,
)
