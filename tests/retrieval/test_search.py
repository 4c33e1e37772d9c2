"""Search over a small project: what is found, in which order, and what the reply says about itself."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from search_world import write

from llmc import Workspace
from llmc.base.errors import NotFoundError, QueryError
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.search import SearchRequest, search
from llmc.retrieval.signals import SIGNALS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Workspace]:
    root = write(tmp_path / "depot")
    with Workspace.open(str(root), home=str(tmp_path / "home")) as workspace:
        workspace.index()
        yield workspace


def paths(workspace: Workspace, query: str, **options: object) -> list[str]:
    return [file.path for file in workspace.search(query, **options).files]


def root_of(workspace: Workspace) -> Path:
    from pathlib import Path

    return Path(workspace.views()[0].root.path)


def test_the_definition_of_a_symbol_comes_first(project: Workspace) -> None:
    (first, *_) = project.search("RetryPolicy").files
    assert first.path == "src/depot/retry.py"
    assert first.hits[0].name.startswith("RetryPolicy")


def test_a_question_finds_the_code_that_answers_it(project: Workspace) -> None:
    assert paths(project, "how long is waited before the next attempt")[0] == "src/depot/retry.py"
    assert paths(project, "what does a customer owe")[0] == "src/depot/ledger.ts"


def test_a_question_about_a_document_finds_the_document(project: Workspace) -> None:
    assert paths(project, "return label refunds postage")[0] == "docs/returns.md"
    assert paths(project, "opening hours")[0] == "config/depot.yaml"


def test_a_test_ranks_behind_the_code_unless_the_query_asks_for_tests(project: Workspace) -> None:
    code_first = paths(project, "retry policy attempts")
    assert code_first.index("src/depot/retry.py") < code_first.index("tests/test_retry.py")
    assert paths(project, "test that the retry policy waits longer")[0] == "tests/test_retry.py"


def test_a_list_of_words_ranks_behind_text_that_explains_them(project: Workspace) -> None:
    words = ["attic", "postage", "refunds", "returns", "label", "zebra", *(f"word{number}" for number in range(40))]
    (root_of(project) / "vocabulary.txt").write_text("\n".join(sorted(words)))
    (root_of(project) / "docs/attic.md").write_text("What is kept in the attic is listed once a year.\n" * 3)
    project.index()
    assert paths(project, "attic") == ["docs/attic.md", "vocabulary.txt"]
    (_, behind) = project.search("attic").files
    assert ("list", 0.3) in {(share.signal, share.effect) for share in behind.shares}
    assert paths(project, "vocabulary.txt")[0] == "vocabulary.txt"


def test_code_that_other_code_uses_ranks_before_a_copy_that_nothing_uses(project: Workspace) -> None:
    source = root_of(project) / "src/depot"
    for name, kind in (("weigh_a.py", "ScaleOld"), ("weigh_b.py", "ScaleNew")):
        (source / name).write_text(f"class {kind}:\n    def tare(self):\n        return 'tare of the pallet'\n")
    for number in range(6):
        (source / f"dock{number}.py").write_text(f"def unload{number}():\n    return ScaleNew().lift({number})\n")
    project.index()
    by_words = frozenset({"vectors"})
    assert paths(project, "tare of the pallet", off=by_words | {"used"})[:2] == [
        "src/depot/weigh_a.py",
        "src/depot/weigh_b.py",
    ]
    first, second, *_ = project.search("tare of the pallet", off=by_words).files
    assert (first.path, second.path) == ("src/depot/weigh_b.py", "src/depot/weigh_a.py")
    assert [share.because for share in first.shares if share.signal == "used"] == ["6 places"]


def test_what_a_matching_test_uses_ranks_first_and_so_does_its_package(project: Workspace) -> None:
    for package in ("alpha", "omega"):
        folder = root_of(project) / "packages" / package
        folder.mkdir(parents=True)
        (folder / "seal.py").write_text(f"def seal_{package}(lid):\n    return 'the lid is sealed with wax'\n")
        (folder / "melt.py").write_text(f"def melt_{package}(pot):\n    return 'wax for a lid to be sealed'\n")
    (root_of(project) / "tests/test_wax.py").write_text("def test_lid_sealed_with_wax():\n    assert seal_omega(1)\n")
    project.index()
    off = frozenset({"vectors", "used"})

    def order(name: str, *more: str) -> list[str]:
        found = paths(project, "lid sealed with wax", off=off | set(more))
        return [path.split("/")[1] for path in found if path.endswith(f"/{name}")]

    assert order("seal.py", "tested", "package") == order("melt.py", "tested", "package") == ["alpha", "omega"]
    assert order("seal.py") == order("melt.py") == ["omega", "alpha"]
    shares = {
        (file.path.removeprefix("packages/"), share.signal): share.because
        for file in project.search("lid sealed with wax", off=off).files
        for share in file.shares
    }
    assert shares["omega/seal.py", "tested"] == "tests/test_wax.py uses seal_omega"
    assert ("omega/melt.py", "tested") not in shares
    assert ("alpha/melt.py", "package") in shares


def test_code_for_windows_ranks_behind_the_same_file_for_other_platforms(project: Workspace) -> None:
    for platform in ("unix", "win"):
        folder = root_of(project) / "src" / platform
        folder.mkdir()
        (folder / "pallet_lift.c").write_text("int pallet_lift(int floor) { return raise_platform(floor); }\n" * 2)
    (root_of(project) / "src/win/winch.c").write_text("int winch(int rope) { return wind_rope(rope); }\n")
    project.index()
    lifts = ["src/unix/pallet_lift.c", "src/win/pallet_lift.c"]
    assert paths(project, "lift the pallet")[:2] == lifts
    signals = {file.path: {share.signal for share in file.shares} for file in project.search("pallet rope winch").files}
    assert "platform" in signals["src/win/pallet_lift.c"]
    assert "platform" not in signals["src/win/winch.c"]
    named = project.search("lift the pallet on windows").files
    assert not any(share.signal == "platform" for file in named for share in file.shares)


def test_a_path_is_found_by_its_end(project: Workspace) -> None:
    assert paths(project, "depot/courier.py")[0] == "src/depot/courier.py"
    assert paths(project, "returns.md")[0] == "docs/returns.md"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("customer lang:typescript", {"src/depot/ledger.ts"}),
        ("customer lang:md", {"docs/returns.md"}),
        ("customer path:docs/", {"docs/returns.md"}),
        ("retry path:*.py -path:tests", {"src/depot/retry.py", "src/depot/courier.py"}),
        ("retry -lang:python -courier", set()),
        ("customer -postage -lang:typescript -return", set()),
        ('"hand the parcel over"', {"src/depot/courier.py"}),
        ('parcel "ring at the door"', {"src/depot/courier.py"}),
        ("retry kind:class", {"src/depot/retry.py", "src/depot/courier.py"}),
        ("retry kind:test", {"tests/test_retry.py"}),
    ],
)
def test_filters_keep_to_what_they_name(project: Workspace, query: str, expected: set[str]) -> None:
    assert set(paths(project, query)) == expected


def test_a_scope_keeps_to_its_folder_or_to_an_earlier_result(project: Workspace) -> None:
    assert set(paths(project, "retry", paths=PathFilter(under=("tests",)))) == {"tests/test_retry.py"}
    root = project.views()[0].root.id
    within = frozenset({(root, "docs/returns.md"), (root, "src/depot/ledger.ts")})
    assert set(paths(project, "customer parcel retry", within=within)) <= {path for _, path in within}


@pytest.mark.parametrize(
    "query", ["customer lang:pyhton", "customer root:nowhere", "customer langage:go", "customer path:dcos"]
)
def test_a_filter_that_names_nothing_is_answered_with_the_nearest_right_thing(project: Workspace, query: str) -> None:
    with pytest.raises((QueryError, NotFoundError)) as caught:
        project.search(query)
    assert caught.value.hint


def test_a_deleted_file_is_not_shown_though_the_index_still_has_it(project: Workspace) -> None:
    views = project.views()
    (root_of(project) / "src/depot/retry.py").unlink()
    assert "src/depot/retry.py" not in [file.path for file in search(views, SearchRequest("RetryPolicy")).files]


def test_lines_of_a_file_that_changed_are_found_again(project: Workspace) -> None:
    views = project.views()
    file = root_of(project) / "src/depot/ledger.ts"
    file.write_text("// a note\n" * 20 + file.read_text("utf-8"), "utf-8")
    (first, *_) = search(views, SearchRequest("Ledger balanceOf")).files
    hit = first.hits[0]
    assert hit.moved
    assert hit.text.split("\n")[0] == file.read_text("utf-8").split("\n")[hit.start_line - 1]
    assert "Ledger" in hit.text or "balanceOf" in hit.text


def test_a_file_that_is_not_indexed_yet_is_read_from_disk(project: Workspace) -> None:
    views = project.views()
    (root_of(project) / "src/depot/customs.py").write_text("def declare_customs(parcel): ...\n", "utf-8")
    (view,) = (replace(view, pending=frozenset({"src/depot/customs.py"})) for view in views)
    result = search([view], SearchRequest("declare customs"))
    assert result.files[0].path == "src/depot/customs.py"
    assert result.pending == 1


def test_every_hit_is_the_text_on_disk_and_its_telling_lines_lie_within(project: Workspace) -> None:
    files = project.search("how is a parcel delivered with the retry policy").files
    assert any(hit.lines for file in files for hit in file.hits)
    for file in files:
        lines = (root_of(project) / file.path).read_text("utf-8").split("\n")
        for hit in file.hits:
            assert hit.text == "\n".join(lines[hit.start_line - 1 : hit.end_line])
            assert all(hit.start_line <= number <= hit.end_line for number in hit.lines)


def test_shares_explain_the_score(project: Workspace) -> None:
    files = project.search("retry policy").files
    assert any(len(file.shares) > 2 for file in files)
    for file in files:
        start = sum(share.effect for share in file.shares if share.signal in {"keywords", "vectors"})
        factors = [share.effect for share in file.shares if share.signal not in {"keywords", "vectors"}]
        assert math.isclose(file.score, start * math.prod(factors), rel_tol=1e-9)


def test_a_signal_that_is_switched_off_has_no_share(project: Workspace) -> None:
    off = frozenset(signal.name for signal in SIGNALS)
    files = project.search("retry policy", off=off).files
    assert files
    for file in files:
        assert not {share.signal for share in file.shares} & off


def test_two_roots_are_ranked_together_and_named_in_the_reply(tmp_path: Path) -> None:
    first, second = write(tmp_path / "one"), tmp_path / "two"
    second.mkdir()
    (second / "policy.py").write_text("class ReturnPolicy:\n    refund_days = 14\n", "utf-8")
    with Workspace.open(str(first), str(second), home=str(tmp_path / "home")) as workspace:
        workspace.index()
        (best, *_) = workspace.search("ReturnPolicy").files
        assert (best.root, best.path) == (str(second), "policy.py")
        assert {file.root for file in workspace.search("policy root:one").files} == {str(first)}


def test_the_same_question_gets_the_same_order(project: Workspace) -> None:
    answers = [paths(project, "parcel customer depot policy") for _ in range(5)]
    assert answers == [answers[0]] * 5


def test_a_phrase_that_nothing_has_gives_the_best_match_without_it_and_says_so(project: Workspace) -> None:
    result = project.search('"door the at ring"')
    assert result.files[0].path == "src/depot/courier.py"
    assert result.missing == ('"door the at ring"',)
