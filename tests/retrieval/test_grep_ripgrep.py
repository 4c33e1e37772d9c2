"""grep finds what ripgrep finds: hand-picked special cases, and random patterns."""

from __future__ import annotations

import os
import random
import subprocess
from typing import TYPE_CHECKING, Any

import grep_world
import pytest
from grep_world import Asked, ours, theirs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmc.base.errors import QueryError
from llmc.retrieval.grep import grep as grep_module
from llmc.retrieval.grep import large_files as large_module
from llmc.retrieval.grep import ripgrep
from llmc.retrieval.grep.grep import GrepRequest
from llmc.retrieval.grep.large_files import LARGE
from llmc.settings import EmbedderSettings, Settings
from llmc.settings.sections import Index
from llmc.store.keywords.trigrams import trigrams
from llmc.store.protocols import Trigrams
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.retrieval.view import View


PLAIN = Settings(embedder=EmbedderSettings(kind="hash"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, Path]]:
    folder = tmp_path_factory.mktemp("tree")
    grep_world.write(folder)
    with Workspace.open(
        str(folder), home=str(tmp_path_factory.mktemp("home")), settings=PLAIN, watch=True
    ) as workspace:
        workspace.index()
        yield workspace, folder


TRAPS = [
    "alpha", "TODO", r"\balpha\b", "^$", r"^\s*$", "x*", "a.c", r"\w+\(", "[A-Z]{2,}", "é", "(?i)état",
    r"\s+tab", r"foo\.bar\(", r"[^a-z\n]+$", "y{300,}", "(alpha|beta)bet", "(?:al)?pha", r"\d{4}", r"\D+$",
    "[[:alpha:]]+ [[:digit:]]", "日本", "[а-я]+", r"\p{Greek}|\p{Han}", "k", "ß", r"\S\s\S", r"main\(void\)$",
    "{$", "^}", r"a\tb", r"\x61lpha", "(?P<word>alpha)bet", "(?<word>alpha)bet", "a|", "()", "[a-c&&b]",
    r"\Aint", r"party\z", r"alpha\b{end}", "(?s)a.b", "(?x) al pha", r"\bСтрока\b", r"\W$", r"[\w]+@", r"[\s]",
    r"\.", "[.]", "[]a]lpha", "[^]]x", r"[a\-z]x", "a{,3}", "a{2", "(", ")", "[", "*", r"\q", r"\1", "(?=x)",
    "a**", "a{2}{3}", "(?i:AL)pha", r"\u0061", "gr.*e", "K", "ſ", r"\v", r"\f",
]  # fmt: skip
FLAGS: list[dict[str, object]] = [
    {},
    {"ignore_case": True},
    {"smart_case": True},
    {"word": True},
    {"fixed": True},
    {"invert": True},
    {"multiline": True},
    {"before": 1, "after": 2},
    {"ignore_case": True, "word": True},
]


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: "-".join(flags) or "plain")
def test_hand_picked_patterns_find_what_ripgrep_finds(world: tuple[Workspace, Path], flags: dict[str, object]) -> None:
    workspace, folder = world
    wrong = [pattern for pattern in TRAPS if differs(workspace, folder, Asked((pattern,), dict(flags)))]
    assert wrong == []


def differs(workspace: Workspace, folder: Path, asked: Asked) -> bool:
    expected = theirs(folder, asked)
    try:
        return ours(workspace, asked) != expected
    except QueryError:
        return expected is not None


LETTERS = st.sampled_from([*"abeklopsTODK", "é", "ß", "Ч", "本", " ", "_", "ſ"])
ATOMS = st.one_of(
    LETTERS,
    st.text(LETTERS, min_size=2, max_size=5),
    st.sampled_from(
        [".", r"\w", r"\d", r"\s", r"\b", "^", "$", r"\.", r"\(", "[a-k]", "[^a ]", "[éß]", r"[\w.]", "[A-Z]"]
    ),
)


def repeated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "+?"])),
        st.builds("({}|{})".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
    )


PATTERNS = st.recursive(ATOMS, repeated, max_leaves=6)


@pytest.fixture(scope="module", params=list(grep_world.REPOSITORIES))
def repository(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Workspace, Path]]:
    folder = tmp_path_factory.mktemp("repository")
    grep_world.REPOSITORIES[request.param](folder)
    with Workspace.open(
        str(folder), home=str(tmp_path_factory.mktemp("home")), settings=PLAIN, watch=True
    ) as workspace:
        workspace.index()
        yield workspace, folder


# More than five hundred over the three of them; `make fuzz` asks for more.
EACH = int(os.environ.get("LLMC_GREP_PATTERNS", "180"))


@settings(max_examples=EACH, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.builds(Asked, st.tuples(PATTERNS) | st.tuples(PATTERNS, ATOMS), st.sampled_from(FLAGS)),
    in_process=st.booleans(),
)
def test_generated_patterns_find_what_ripgrep_finds(
    repository: tuple[Workspace, Path], monkeypatch: pytest.MonkeyPatch, asked: Asked, in_process: bool
) -> None:
    workspace, folder = repository
    with monkeypatch.context() as patch:
        patch.setattr(grep_module, "IN_PROCESS", 10_000 if in_process else 0)
        assert not differs(workspace, folder, asked)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, Path]]:
    """Files with NUL bytes near and far, alone or in long lines, and with nothing but control characters."""
    folder = tmp_path_factory.mktemp("odd")
    chance = random.Random(7)
    for number in range(60):
        lines = [b"needle" if chance.random() < 0.01 else b"hay" * chance.choice((1, 30, 900)) for _ in range(700)]
        for _ in range(chance.randrange(3)):
            place = chance.choice((0, 1, 20, 200, 600, 699))
            lines[place] += chance.choice((b"\0", b"needle\0", b"\0needle", b"\n\0\nneedle"))
        (folder / f"{number}.txt").write_bytes(b"\n".join(lines[: chance.choice((1, 30, 300, 700))]))
    (folder / "controls.txt").write_bytes(b"\1\2\3\4needle\n" * 20)
    with Workspace.open(str(folder), home=str(tmp_path_factory.mktemp("home")), settings=PLAIN) as workspace:
        workspace.index()
        yield workspace, folder


@pytest.mark.parametrize("in_process", [True, False])
def test_a_file_that_is_partly_binary_is_searched_as_far_as_ripgrep_searches_it(
    odd: tuple[Workspace, Path], monkeypatch: pytest.MonkeyPatch, in_process: bool
) -> None:
    workspace, folder = odd
    monkeypatch.setattr(grep_module, "IN_PROCESS", 10_000 if in_process else 0)
    for pattern in ("needle", "^needle$", "y{3}|eedl", "needleneedle"):
        assert ours(workspace, Asked((pattern,))) == theirs(folder, Asked((pattern,)))
        for flag in ("files_only", "count_only"):
            assert counts(workspace, pattern, flag) == counted_by_ripgrep(folder, pattern, flag)


def counts(workspace: Workspace, pattern: str, flag: str) -> set[str]:
    asked: dict[str, Any] = {flag: True}
    found = grep_module.grep(workspace.views(), GrepRequest((pattern,), **asked))
    return {file.path if flag == "files_only" else f"{file.path}:{file.count}" for file in found.files}


def counted_by_ripgrep(folder: Path, pattern: str, flag: str) -> set[str]:
    command = [ripgrep.program() or "rg", "-l" if flag == "files_only" else "-c", f"--regexp={pattern}"]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return set(done.stdout.splitlines())


def test_a_file_that_changed_a_moment_ago_is_searched_as_it_is(world: tuple[Workspace, Path]) -> None:
    workspace, folder = world
    (folder / "fresh.txt").write_text("brand new zeppelin\n")
    assert ours(workspace, Asked(("zeppelin",))) == ["fresh.txt\x001:brand new zeppelin"]
    (folder / "fresh.txt").write_text("nothing here\n")
    assert ours(workspace, Asked(("zeppelin",))) == []
    (folder / "fresh.txt").unlink()
    assert ours(workspace, Asked(("nothing here",))) == []


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workspace, Path]]:
    """Every file is too large for the index, and none changes during the test."""
    monkeypatch.setattr(large_module, "settled", lambda _stamp: True)
    folder = tmp_path / "tree"
    grep_world.write(folder)
    (folder / "binary.txt").write_bytes(b"alpha\n\0alpha\n" * 9)
    (folder / "late.txt").write_bytes(b"alpha beta\n" * 9_000 + b"\0\nalphabet\n")
    settings = Settings(index=Index.model_construct(max_file_bytes=1), embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(folder), home=str(tmp_path / "home"), settings=settings, watch=True) as workspace:
        workspace.index()
        yield workspace, folder


def look_at_all(workspace: Workspace) -> View:
    """They are read one after the other, alongside a first answer."""
    ours(workspace, Asked(("alpha",)))
    LARGE._beside.submit(int).result(20)
    return workspace.views()[0]


@pytest.mark.parametrize("flags", [{}, {"ignore_case": True}], ids=["plain", "ignore_case"])
def test_files_too_large_for_the_index_are_found_by_their_known_trigrams(
    large: tuple[Workspace, Path], flags: dict[str, object]
) -> None:
    workspace, folder = large
    assert not differs(workspace, folder, Asked(("alpha",), flags))
    view = look_at_all(workspace)
    assert all(LARGE.is_whole(view, path) for path in ("plain.py", "unicode.md", "crlf.c", "deep/er/words.txt"))
    assert [pattern for pattern in TRAPS if differs(workspace, folder, Asked((pattern,), flags))] == []
    assert not LARGE.may_hold(view, "plain.py", Trigrams(all=trigrams("zeppelin")))
    assert not LARGE.may_hold(view, "binary.txt", Trigrams(all=trigrams("alpha")))


def test_known_trigrams_of_a_large_file_expire_with_its_next_change(large: tuple[Workspace, Path]) -> None:
    workspace, folder = large
    assert ours(workspace, Asked(("zeppelin",))) == []
    assert LARGE.is_whole(look_at_all(workspace), "plain.py")
    assert ours(workspace, Asked(("zeppelin",))) == []
    (folder / "plain.py").write_text("a zeppelin\n")
    assert ours(workspace, Asked(("zeppelin",))) == ["plain.py\x001:a zeppelin"]


@pytest.mark.parametrize("in_process", [True, False])
def test_a_first_page_looks_at_no_more_of_a_file_than_anybody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: bool
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "long.txt").write_text("needle\n" * 3_000)
    (tmp_path / "tree" / "short.txt").write_text("needle\n" * 900)
    monkeypatch.setattr(grep_module, "IN_PROCESS", 10_000 if in_process else 0)
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home"), settings=PLAIN) as workspace:
        workspace.index()
        page = grep_module.grep(workspace.views(), GrepRequest(("needle",), stop=1_500))
        assert [(file.count, file.cut) for file in page.files] == [(1_000, True), (900, False)]
        assert not page.complete
        everything = grep_module.grep(workspace.views(), GrepRequest(("needle",)))
        assert everything.matches == 3_900
        assert everything.complete
        counted = grep_module.grep(workspace.views(), GrepRequest(("needle",), count_only=True, stop=200))
        assert counted.files[0].count == 3_000
