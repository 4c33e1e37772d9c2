"""The results of each role: bounded, deduplicated, in a stable order, and limited to its tools and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import validate
from research_schemas import RESULT, TASK_RESULT, report_schema
from research_world import World, opened, write

from llmc.answers.research import open_session, run_role
from llmc.answers.research.improve import answer_type
from llmc.answers.research.question import QuestionType, understand
from llmc.answers.research.result import Result, ResultStatus, TaskResult, bounded
from llmc.answers.research.roles import ROLES, role
from llmc.settings import Research, RoleEntry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.answers.research import ResearchReport


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("home"), write(tmp_path_factory.mktemp("tree") / "depot")) as made:
        yield made


def played(world: World, name: str, question: str) -> tuple[ResearchReport, Result]:
    report = run_role(open_session(world.workspace, question), name)
    wrapped = report.roles[role(name).key]
    validate(wrapped.as_dict(), TASK_RESULT)
    assert wrapped.value is not None
    return report, wrapped.value


def test_every_role_is_a_short_prompt_with_read_only_tools() -> None:
    tools = {"search", "symbols", "refs", "read", "neighbours"}
    for name in ROLES:
        one = role(name)
        assert one.name == name
        assert len(one.prompt.split()) < 60
        assert one.tools
        assert one.tools <= tools


def test_a_model_answers_in_the_fields_of_a_result() -> None:
    assert answer_type(None).model_json_schema()["properties"].keys() == RESULT["properties"].keys()


@pytest.mark.parametrize(
    ("text", "kind", "subject"),
    [
        ("Where is RetryPolicy implemented?", QuestionType.WHERE, "RetryPolicy"),
        ("which file defines `open_office`?", QuestionType.WHERE, "open_office"),
        ("How does a courier deliver?", QuestionType.HOW, "courier deliver"),
        ("Show me examples of an event handler", QuestionType.EXAMPLE, "event handler"),
        ("how many parcels are sent", QuestionType.DEFAULT, "number count parcels are send"),
    ],
)
def test_a_question_is_understood_by_its_subject(text: str, kind: QuestionType, subject: str) -> None:
    found = understand(text)
    assert (found.type, found.subject) == (kind, subject)


def test_locator_output_has_its_fields_and_is_bounded(world: World) -> None:
    _, value = played(world, "locator", "where are parcels delivered")
    shown = value.as_dict()
    assert set(shown) == {"summary", "references", "key_findings", "confidence", "notes"}
    assert len(shown["summary"]) <= 700
    assert 0 < len(shown["references"]) <= 20
    assert len(shown["key_findings"]) <= 12


def test_locator_evidence_is_deduplicated_stable_and_without_excerpts(world: World) -> None:
    first, value = played(world, "locator", "where is the retry policy")
    _, again = played(world, "locator", "where is the retry policy")
    assert value == again
    assert len(set(value.references)) == len(value.references)
    categories = [finding.split(":")[0] for finding in value.key_findings]
    assert sorted(categories) == ["documentation", "implementation", "tests"]
    assert not any(place.rows for place in first.places["locator"])


def test_locator_references_are_lines_that_name_what_they_stand_for(world: World) -> None:
    report, _ = played(world, "locator", "where does a courier deliver a parcel")
    assert report.places["locator"]
    for place in report.places["locator"]:
        lines = (world.workspace.text_of(place.root, place.path) or "").split("\n")
        assert 1 <= place.line <= len(lines)
        if place.kind in {"method", "class", "function"}:
            assert place.name.rpartition(".")[2] in lines[place.line - 1]


def test_analyzer_lists_callers_calls_data_and_configuration_with_lines(world: World) -> None:
    report, value = played(world, "analyzer", "how does open_office work")
    found = {(place.section, place.name): place for place in report.places["analyzer"] if place.of == "open_office"}
    assert found["definition", "open_office"].says == "Open the office with one courier for each name."
    assert found["calls", "Courier"].path == "src/depot/courier.py"
    assert found["config", "MAX_PARCELS"].line == 7
    assert any(section == "config" and "environ" in name for section, name in found)
    assert any(section == "data" for section, _ in found)
    assert all(":" in reference for reference in value.references)


def test_analyzer_names_callers_of_a_method_and_marks_those_by_name(world: World) -> None:
    report, _ = played(world, "analyzer", "how does Courier.deliver work")
    callers = [(place.path, place.name, place.section) for place in report.places["analyzer"]]
    assert ("src/depot/office.py", "hand_out", "guess") in callers  # the type of the couriers is unknown


def test_pattern_finder_shows_two_to_six_examples_with_few_lines_and_no_look_alikes(world: World) -> None:
    report, value = played(world, "pattern_finder", "examples of an event handler that books in the ledger")
    places = report.places["patterns"]
    assert 2 <= len(places) <= 6
    assert all(1 <= len(place.rows) <= 4 for place in places)
    assert len({"\n".join(text for _, text in place.rows) for place in places}) == len(places)
    assert len(value.references) == len(places)
    assert any(place.path.startswith("src/depot/handlers/") for place in places)


def test_equal_code_is_one_example(tmp_path: Path) -> None:
    body = '''def send_invoice(customer, cents):
    """Send an invoice to the customer and note it."""
    mail = compose_invoice(customer, cents)
    transport.send_mail(mail, retries=3)
    return mail
'''
    for name in ("a", "b", "c"):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "invoice.py").write_text(body)
    with opened(tmp_path / "home", tmp_path / "tree") as world:
        report, value = played(world, "pattern_finder", "examples of sending an invoice")
        assert len(report.places["patterns"]) == 1
        assert "Only one example" in str(value.notes)


def test_notes_are_read_only_where_a_folder_of_thoughts_is_configured(world: World, tmp_path: Path) -> None:
    question = "why does a courier retry five times"
    assert not any(key.startswith("thoughts") for key in world.report(question))
    with opened(tmp_path / "home", write(tmp_path / "depot"), research=Research(thoughts="thoughts")) as noted:
        report = noted.report(question)
        assert report["thoughts_locator"]["value"]["references"] == ["thoughts/2026-01-retries.md:1"]
        assert "five times" in report["thoughts_analyzer"]["value"]["summary"]
        assert not any("thoughts/" in reference for reference in report["locator"]["value"]["references"])


def test_a_root_called_thoughts_is_one(tmp_path: Path) -> None:
    depot = write(tmp_path / "depot")
    (depot / "thoughts").rename(tmp_path / "thoughts")
    with opened(tmp_path / "home", depot, tmp_path / "thoughts") as world:
        report = world.report("why does a courier retry five times")
        assert report["rootsSearched"] == [str(depot), str(tmp_path / "thoughts")]
        assert report["thoughts_locator"]["value"]["references"]


def test_a_role_of_the_users_works_as_its_base_on_its_own_paths(tmp_path: Path) -> None:
    roles = {"prose": RoleEntry(base="locator", paths=("docs/**",)), "crew": RoleEntry(model="x")}
    with opened(tmp_path / "home", write(tmp_path / "depot"), roles=roles) as world:
        report = world.report("where is a parcel sent back")
        validate(report, report_schema("prose"))
        references = report["prose"]["value"]["references"]
        assert references
        assert all(reference.startswith("docs/") for reference in references)


def test_a_role_without_a_tool_says_so_and_the_others_answer(tmp_path: Path) -> None:
    roles = {"blind": RoleEntry(base="locator", tools=("symbols",))}
    with opened(tmp_path / "home", write(tmp_path / "depot"), roles=roles) as world:
        report = world.report("where are parcels delivered")
        assert report["blind"]["error"]["name"] == "tool_denied"
        assert report["synthesis"]["value"]["references"]
        assert "blind" in report["synthesis"]["value"]["notes"]


def test_results_are_cut_to_size_with_a_note() -> None:
    long = Result("word " * 500, tuple(f"a.py:{n}" for n in range(50)), tuple(f"finding {n}" for n in range(50)))
    short = bounded(long)
    assert len(short.summary) <= 700
    assert (len(short.references), len(short.key_findings)) == (20, 12)
    assert "30 references and 38 findings" in str(short.notes)


def test_a_wrapper_has_a_value_or_an_error_and_never_both() -> None:
    results = (TaskResult(ResultStatus.OK, Result("x")), TaskResult(ResultStatus.ERROR))
    wrapped: list[dict[str, Any]] = [one.as_dict() for one in results]
    assert [set(one) - {"status", "timing"} for one in wrapped] == [{"value"}, {"error"}]


def test_a_name_that_is_used_but_not_defined_is_reported(world: World) -> None:
    report, value = played(world, "locator", "where is zip implemented")
    assert report.places["locator"][0].path == "src/depot/office.py"
    assert "zip is used here but not defined" in str(value.notes)


def test_a_file_is_found_by_its_name(world: World) -> None:
    _, value = played(world, "locator", "what does depot.yaml configure")
    assert any(reference.startswith("config/depot.yaml") for reference in value.references)


def test_a_snippet_keeps_its_lines_and_stays_short(world: World) -> None:
    _, value = played(world, "pattern_finder", "examples of an event handler that books in the ledger")
    first = next(finding for finding in value.key_findings if "self.ledger.book" in finding)
    head, *lines = first.split("\n")
    assert head.startswith("src/depot/handlers/")
    assert "    self.ledger.book(" in "\n".join(lines)
    assert all(len(finding) <= 700 for finding in value.key_findings)


def test_notes_alone_are_a_root_like_any_other(tmp_path: Path) -> None:
    (write(tmp_path / "depot") / "thoughts").rename(tmp_path / "thoughts")
    with opened(tmp_path / "home", tmp_path / "thoughts") as world:
        report = world.report("why does a courier retry five times")
        assert report["locator"]["value"]["references"]
        assert "thoughts_locator" not in report


def test_a_component_outside_the_asked_roots_is_not_analysed(world: World) -> None:
    reply = world.ask("analyze_component", component="src/depot/retry.py", roots=["config"])
    assert not reply.error
    assert "Not found" in reply.text
    assert "retry.py:" not in reply.text
