"""Analyzer: how does it work? Per definition: documentation, callers, callees, return values and configuration."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import TYPES, cited_line, terms_of
from llmc.answers.research.finders.usages import unresolved
from llmc.answers.research.matches import GraphTarget
from llmc.answers.research.prose import doc_sentence, exit_lines, one_line
from llmc.answers.research.question import to_base_form
from llmc.answers.research.result import Confidence, Result, ResultPlace, RoleOutcome
from llmc.answers.research.roles import Brief, ResearchRole
from llmc.base import words
from llmc.base.text import indent_of
from llmc.graph.entities import GraphNode
from llmc.graph.trees import callees as graph_callees
from llmc.graph.trees import callers as graph_callers
from llmc.retrieval.passages.documentation import documentation
from llmc.retrieval.passages.lexical import compared, wanted
from llmc.retrieval.passages.segments import is_comment
from llmc.retrieval.statements import decides, logs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.answers.research.toolbox import RoleToolbox
    from llmc.base.model import Symbol

MOST_CALLERS, MOST_CALLEES, MOST_MEMBERS, MOST_CONSTANTS, MOST_EXITS = 3, 5, 4, 2, 2
MOST_INNER, MOST_DECIDING, LONGEST_COMMENT = 6, 4, 6
# Lines quoted of a definition together with the lines they depend on; log lines below a branch that explain it; how far
# above a branch the value that it tests may be set.
MOST_QUOTED, MOST_MESSAGES, SET_WITHIN = 6, 3, 4
# Several definitions with their deciding lines say more than the surroundings of one of them.
ENOUGH_EXPLAINED = 2
# Weight of a branch or an exit, relative to the line with most words of the question.
DECIDES = 0.3
SECTIONS = ("definition", "member", "entry", "guess", "calls", "data", "config")
_CONSTANT = re.compile(r"_{0,2}[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{4,}")
_KEYWORD = re.compile(
    r"^[\s})]*(?:else\s+)?(?:return|throw|raise|yield|if|elif|while|until|unless|case|for|await|new)\b"
)
# A line with only an argument of a call, or a part of a string over several lines.
_ARGUMENT = re.compile(r"[\w.$&*]+,|(?:\w+[,;:]?\s){5,}[^=(){}]*")
_EXIT = re.compile(r"[\s})]*(?:return|raise|throw|yield|break|continue)\b")
_SETS = re.compile(
    r"\s*(?:(?:const|let|var|final|auto|val|int|long|bool|boolean)\s+)*(?P<name>\w+)(?:\s*,\s*\w+)*\s*:?=(?!=)"
)
_NAME = re.compile(r"[A-Za-z_]\w+")
_CONFIGURED = re.compile(
    r"\b(?:settings|config|conf|cfg|environ|getenv|process\.env|env::var|viper)\b[.\[(](?P<quote>['\"])?[\w.-]*\w(?(quote)['\"][\])]?)",
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
        confidence=Confidence.MED if brief.targets[0].weight == 0.0 else Confidence.LOW,
        notes=truncation(toolbox),
    )
    return RoleOutcome(result, tuple(places))


def truncation(toolbox: RoleToolbox) -> str | None:
    return toolbox.meter.note or None


VERBS = {
    "definition": "",
    "member": "has",
    "entry": "called by",
    "guess": "perhaps called by",
    "calls": "calls",
    "data": "",
    "config": "depends on",
}


def finding(brief: Brief, place: ResultPlace) -> str:
    verb = VERBS[place.section]
    words_ = [verb, place.name if place.section != "data" else "", brief.reference(place)]
    text = " ".join(word for word in words_ if word)
    head = f"{text}: {place.says}" if place.says else text
    return "\n".join([head, *(f"{number} {line}" for number, line in place.rows)])


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
    rows = deciding_lines(brief, symbol, lines) if symbol.kind not in TYPES else ()
    says = doc_sentence(lines, symbol.start_line, named, symbol.end_line)
    says = says or ("" if rows and brief.question.asks_for_a_flow else one_line(symbol.signature))
    yield ResultPlace(
        target.root, target.path, named, symbol.end_line, symbol.qualified, symbol.kind, "definition", says, rows
    )
    graph = toolbox.graph(area)
    node = GraphTarget(area, graph, GraphNode(doc, symbol.qualified))
    if brief.beside >= ENOUGH_EXPLAINED:
        return
    found = list(callers(node))
    yield from found or unresolved([node], [], toolbox)[:MOST_CALLERS]
    if symbol.kind in TYPES:
        yield from members(brief, symbol, symbols, target, lines)
    else:
        yield from callees(brief, node, toolbox)
        yield from exits(symbol, target, lines)
    yield from constants(node, toolbox)
    yield from config_lines(symbol, target, lines)


def symbol_at(symbols: Sequence[Symbol], target: ResultPlace, lines: Sequence[str]) -> Symbol | None:
    """The definition named by the target, else the innermost one around its line."""
    around = [one for one in symbols if one.start_line <= target.line <= one.end_line and one.kind != "heading"]
    exact = [one for one in around if one.qualified == target.name and cited_line(one, lines) == target.line]
    innermost = sorted(around, key=lambda one: (one.end_line - one.start_line, -one.start_line))
    return next(iter(exact or innermost), None)


def callers(target: GraphTarget) -> Iterator[ResultPlace]:
    """Resolved callers and subclasses, code before tests, each once."""
    tree = graph_callers(target.graph, target.node, 1)
    branches = [one for one in tree.branches if not (one.by_value and not one.node.qualified)]
    code = [one for one in branches if not target.graph.in_test(one.node)]
    for branch in (code or branches)[:MOST_CALLERS]:
        path = target.graph.project.path(branch.site_doc)
        if target.area.paths.accepts(path):
            caller = branch.node.qualified or path.rpartition("/")[2]
            says = f"derives from {target.node.name}" if branch.kinds == {"inherit"} else ""
            line = branch.lines[0]
            yield ResultPlace(target.area.view.root.id, path, line, line, caller, "call", "entry", says)


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


def callees(brief: Brief, target: GraphTarget, toolbox: RoleToolbox) -> Iterator[ResultPlace]:
    """The calls of a definition in source order, each with its own calls; only matching ones if there are many. Edges
    by name alone are omitted, since they would present guesses as facts."""
    terms = terms_of(brief.question.subject)
    tree = graph_callees(target.graph, target.node, 2)
    branches = [one for one in tree.branches if target.area.paths.accepts(target.graph.project.path(one.node.doc))]

    def matches(at: int) -> int:
        named = [branches[at].node.name, *(child.node.name for child in branches[at].children)]
        return len(terms & set(words.body(" ".join(named)).split()))

    kept = sorted(range(len(branches)), key=lambda at: (-matches(at), at))[:MOST_CALLEES]
    for at in sorted(kept):
        branch = branches[at]
        callee = GraphTarget(target.area, target.graph, branch.node)
        symbol, lines = callee.symbol, toolbox.shown(target.area, callee.path)
        if symbol is None:
            continue
        named = cited_line(symbol, lines)
        inner = [child.node.name for child in branch.children][:MOST_INNER]
        says = doc_sentence(lines, symbol.start_line, named, symbol.end_line)
        says = " ".join(filter(None, (one_line(says, 90), f"→ {', '.join(inner)}" if inner else "")))
        yield ResultPlace(
            target.area.view.root.id, callee.path, named, symbol.end_line, symbol.qualified, symbol.kind, "calls", says
        )


def deciding_lines(brief: Brief, symbol: Symbol, lines: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """The lines of a body with most words of the question, rare words first, each text once. Branches and exits rank
    before other lines and fill the remaining room, since they decide. Each line comes with the lines it depends on."""
    body = range(symbol.start_line, min(symbol.end_line, len(lines)))
    prose = set(documentation((number, lines[number]) for number in body))
    numbers = [number for number in body if number not in prose and is_statement(lines[number])]
    texts = [said_of(lines, number, body) for number in numbers]
    found = compared(texts, wanted(to_base_form(brief.question.text)))
    most = max(found, default=0.0) or 1.0
    scores = {
        number: score / most + (DECIDES if decides(lines[number]) else 0.0)
        for score, number in zip(found, numbers, strict=True)
    }
    ordered = sorted((number for number in numbers if scores[number] > 0), key=lambda number: (-scores[number], number))
    best = list({lines[number].strip(): number for number in reversed(ordered)}.values())[::-1]
    chosen: dict[int, None] = {}
    for number in best[:MOST_DECIDING]:
        for one in (number, needed_by(lines, number, numbers)):
            if one is not None and len(chosen) < MOST_QUOTED:
                chosen.setdefault(one)
    return tuple((number + 1, one_line(lines[number], 100)) for number in sorted(chosen))


def needed_by(lines: Sequence[str], number: int, numbers: Sequence[int]) -> int | None:
    """For an exit, the branch around it; for a branch, the line just above that sets the value it tests."""
    above = [one for one in reversed(numbers) if one < number]
    if _EXIT.match(lines[number]):
        outer = next((one for one in above if indent_of(lines[one]) < indent_of(lines[number])), None)
        return outer if outer is not None and decides(lines[outer]) else None
    if not decides(lines[number]):
        return None
    tested = set(_NAME.findall(lines[number]))
    return next(
        (
            one
            for one in above
            if one >= number - SET_WITHIN and (match := _SETS.match(lines[one])) and match["name"] in tested
        ),
        None,
    )


def said_of(lines: Sequence[str], number: int, body: range) -> str:
    """The words of a line without its keyword, of the comment above it, and of the comments and logs at the start of
    its block."""
    below = []
    for text in lines[number + 1 : min(number + 1 + MOST_MESSAGES, body.stop)] if decides(lines[number]) else ():
        if not is_comment(text.strip()) and not logs(text):
            break
        below.append(text)
    text = _KEYWORD.sub("", lines[number], count=1)
    return " ".join([*comment_above(lines, number, body.start), text, *below])


def is_statement(text: str) -> bool:
    bare = text.strip()
    return (
        bool(bare.strip(" ()[]{}\"',;"))
        and _ARGUMENT.fullmatch(bare) is None
        and not (bare.count(")") > bare.count("(") and bare[0] not in ")}")
        and not bare.startswith(('"', "'", 'f"'))
        and not is_comment(bare)
        and not logs(text)
    )


def comment_above(lines: Sequence[str], number: int, first: int) -> list[str]:
    """The comment directly above a line."""
    start = number
    while start > max(first, number - LONGEST_COMMENT) and is_comment(lines[start - 1].strip()):
        start -= 1
    return list(lines[start:number])


def exits(symbol: Symbol, target: ResultPlace, lines: Sequence[str]) -> Iterator[ResultPlace]:
    for number, text in exit_lines(lines, symbol.start_line, symbol.end_line)[-MOST_EXITS:]:
        yield ResultPlace(target.root, target.path, number, number, symbol.qualified, "", "data", text)


def constants(target: GraphTarget, toolbox: RoleToolbox) -> Iterator[ResultPlace]:
    """Constants used by a definition, as the graph resolves them."""
    area, graph = target.area, target.graph
    found: dict[GraphNode, None] = {}
    for edge in graph.outgoing(target.node, frozenset({"use"})).edges:
        if _CONSTANT.fullmatch(edge.target.name):
            found.setdefault(edge.target)
    for node in list(found)[:MOST_CONSTANTS]:
        one = GraphTarget(area, graph, node)
        if one.symbol is None or not area.paths.accepts(one.path):
            continue
        lines = toolbox.shown(area, one.path)
        named = cited_line(one.symbol, lines)
        text = one_line(lines[named - 1], 100) if named <= len(lines) else ""
        yield ResultPlace(
            area.view.root.id, one.path, named, one.symbol.end_line, node.name, "constant", "config", text
        )


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
