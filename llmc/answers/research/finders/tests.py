"""Which tests cover it? Tests that reach a definition in the graph, and tests that mention the name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import cited_line, terms_of
from llmc.answers.research.finders.answers import answer, joined, target_names, targets_of
from llmc.answers.research.result import Confidence, ResultPlace
from llmc.base import words
from llmc.base.languages import role_of
from llmc.envelope.phrases import plural
from llmc.graph.lookup import JOINTS
from llmc.graph.reach import test_limits, tests_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, RoleToolbox
    from llmc.base.model import Symbol
    from llmc.graph.reach import Tests

__all__ = ["tests_for"]

# Maximum length of call chains; a test five calls away says little about a function.
DEPTH = 2
# Documents read for the uses of all targets, and again for those of their callers: 0.5 to 2 ms each.
MOST_DOCUMENTS = 600
MOST_TESTS = 16
MOST_MATCHES = 400
CASES = frozenset({"function", "method", "test", "class"})


def tests_for(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    name, targets = targets_of(brief, toolbox)
    direct: dict[tuple[str, str, int], ResultPlace] = {}
    through = 0
    reached: list[Tests] = []
    for target in targets:
        found = tests_of(target.graph, target.node, DEPTH, mocks=False, documents=MOST_DOCUMENTS // len(targets))
        reached.append(found)
        through += sum(bool(test.chain) for test in found.tests)
        for test in (one for one in found.tests if not one.chain):
            case = type(target)(target.area, target.graph, test.test)
            if target.area.paths.accepts(case.path) and case.symbol is not None:
                place = test_place(toolbox, target.area, case.path, case.symbol)
                direct.setdefault(place.key, place)
    mentioned = {place.key: place for place in mentions(name, toolbox)} if name else {}
    places = ranked({**direct, **mentioned}.values(), brief)
    if not places:
        return about(brief, toolbox)
    shown = places[:MOST_TESTS]
    files = Counter(place.path for place in places)
    notes = [f"{len(places) - len(shown)} more tests mention it." if len(places) > len(shown) else ""]
    notes += [f"{plural(through, 'test')} reach it through other functions." if through else ""]
    notes += [f"Not complete: {limits}." if (limits := test_limits(reached)) else ""]
    listed = joined([place.name or place.path for place in shown], 3)
    spread = joined([f"{path} ({count})" for path, count in files.most_common()], 4)
    summary = f"{name} is covered by {plural(len(places), 'test')}, among them {listed}; by file: {spread}."
    return answer(brief, summary, shown, Confidence.HIGH if direct else Confidence.MED, notes)


def mentions(name: str, toolbox: RoleToolbox) -> Iterable[ResultPlace]:
    """The test cases around lines of test files that contain the name as a word."""
    last = [part for part in JOINTS.split(name) if part][-1]
    matches = toolbox.grep(last, fixed=True, word=True)
    for match in sorted(matches, key=lambda one: role_of(one.path) != "test")[:MOST_MATCHES]:
        if not toolbox.is_test(match.area, match.path, match.line):
            continue
        symbol = case_around(toolbox, match.area, match.path, match.line)
        if symbol is not None:
            yield test_place(toolbox, match.area, match.path, symbol)
        else:
            yield ResultPlace(match.area.view.root.id, match.path, match.line, match.line, "", "", "test")


def case_around(toolbox: RoleToolbox, area: Area, path: str, line: int) -> Symbol | None:
    """The outermost test around a line; helpers inside it belong to it."""
    doc = toolbox.doc_of(area, path)
    around = [
        one
        for one in (toolbox.symbols_of(area, doc) if doc is not None else ())
        if one.start_line <= line <= one.end_line and one.kind in CASES
    ]
    cases = [one for one in around if one.kind != "class"]
    return min(cases or around, key=lambda one: one.start_line, default=None)


def test_place(toolbox: RoleToolbox, area: Area, path: str, symbol: Symbol) -> ResultPlace:
    line = cited_line(symbol, toolbox.lines(area, path) or [])
    return ResultPlace(area.view.root.id, path, line, symbol.end_line, symbol.qualified, symbol.kind, "test")


def ranked(places: Iterable[ResultPlace], brief: Brief) -> list[ResultPlace]:
    """Tests with the subject in their name or file name first, then files with many of them."""
    terms = terms_of(brief.question.target)
    listed = list(places)
    per_file = Counter(place.path for place in listed)

    def named(place: ResultPlace) -> int:
        return len(terms & set(words.body(f"{place.name} {place.path.rpartition('/')[2]}").split()))

    return sorted(listed, key=lambda one: (-named(one), -per_file[one.path], one.path, one.line))


def about(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    """Tests found by search, for a question that describes a behaviour instead of naming it."""
    if target_names(brief):
        return None
    terms = terms_of(brief.question.target)
    found = toolbox.search(f"test {brief.question.target}", limit=14, per_file=4).files
    places: dict[tuple[str, str, int], ResultPlace] = {}
    for file in found:
        area = toolbox.area_of(file.root)
        for hit in file.hits if role_of(file.path) == "test" else ():
            symbol = case_around(toolbox, area, file.path, hit.start_line)
            if symbol is not None:
                place = test_place(toolbox, area, file.path, symbol)
                lines = toolbox.lines(area, file.path) or []
                contained = words.body(
                    " ".join([place.path, place.name, *lines[symbol.start_line - 1 : symbol.end_line]])
                ).split()
                if len(terms & set(contained)) >= 0.6 * len(terms):
                    places.setdefault(place.key, place)
    if not places:
        return None
    shown = ranked(places.values(), brief)[:8]
    summary = f"{joined([one.name for one in shown], 3)} cover {brief.question.target}."
    return answer(brief, summary, shown, Confidence.LOW)
