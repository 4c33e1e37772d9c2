"""The documentation: its commands are accepted, its links lead somewhere, the Python API is as described."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import click
import pytest

import llmc
from llmc import agents, install
from llmc.cli._group import cli
from llmc.cli._options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *(path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "plugin/README.md", "plugin/skills/llmc/SKILL.md")),
    ]
)
LINKED = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "plugin/README.md"])
INLINE = re.compile(r"`(llmc [^`]+)`")
BLOCK = re.compile(r"^(?:    +|\t)?(?:\$ )?(llmc [a-z].*)$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# What ends a command in a shell, and what marks a pattern of a command instead of one.
ENDS = ("|", ">", "<", "&&", "||", ";", "2>", "#", "&", "→", "·")
ABBREVIATED = ("…", "|", "...", "[", "{")


def commands(page: Path) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        fenced ^= line.strip().startswith("```")
        block = BLOCK.match(line)
        if block and (fenced or line.startswith(("    ", "\t"))) and "reference" not in page.parts:
            yield number, re.split(r"\s{2,}|\s#", block[1])[0]
        else:
            yield from ((number, found) for found in INLINE.findall(line))


def words_of(command: str) -> list[str]:
    """The words of a simple command; the first two if it is abbreviated."""
    try:
        words = shlex.split(command.replace("\\|", "|"))[1:]
    except ValueError:
        return []
    end = next((place for place, word in enumerate(words) if word in ENDS), len(words))
    words = ["1" if word == "N" else word for word in words[:end]]
    abbreviated = any(mark in word for word in words for mark in ABBREVIATED if len(word) < 20)
    # `llmc name=grep` calls the MCP tool of that name; capitals stand for any command.
    is_command = bool(words) and "=" not in words[0] and not words[0].isupper()
    return words if is_command and not abbreviated else []


def parse(group: click.Group, words: list[str], parent: click.Context | None = None) -> None:
    """Parse as `llmc` would, without running anything."""
    with group.make_context("llmc", list(words), parent=parent, obj=Options()) as context:
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, command, arguments = group.resolve_command(context, rest)
        assert command is not None
        if isinstance(command, click.Group):
            parse(command, arguments, context)
        else:
            command.make_context(name, arguments, parent=context)


def problem_of(words: list[str]) -> str:
    try:
        parse(cli, words)
    except click.exceptions.Exit:
        return ""  # --help and --version
    except click.MissingParameter:
        return ""  # a command named without its arguments
    except click.UsageError as error:
        message = error.format_message()
        return "" if "Missing" in message or "requires an argument" in message else message
    return ""


def test_the_commands_in_the_documentation_are_accepted() -> None:
    seen = [(page, line, words) for page in PAGES for line, text in commands(page) if (words := words_of(text))]
    wrong = [
        f"{page.relative_to(ROOT)}:{line}: llmc {shlex.join(words)}: {problem}"
        for page, line, words in seen
        if (problem := problem_of(words))
    ]
    assert len(seen) > 150
    assert wrong == []


@pytest.mark.parametrize(
    "words", [["serach", "x"], ["index", "--onec"], ["config", "shwo"], ["install", "--hooks", "x"]]
)
def test_a_wrong_command_would_be_noticed(words: list[str]) -> None:
    assert problem_of(words)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


def test_links_lead_to_files_and_headings() -> None:
    dead = []
    for page in LINKED:
        for link in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text("utf-8")))):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = page if not path else page.parent / path
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert dead == []


def test_the_stable_python_api_is_what_the_page_names() -> None:
    """A name that disappears from here breaks programs of others; see docs/python.md before changing it."""
    assert llmc.__all__ == ["LlmcError", "Workspace", "__version__"]
    assert sorted(install.__all__) == ["ServerRecord", "codex_overrides", "mcp_servers_config", "why_not"]
    assert {"Agent", "AgentContext", "AgentPrompt", "register"} <= set(agents.__all__)
    for module in (llmc, agents, install):
        assert [name for name in module.__all__ if getattr(module, name, None) is None] == []
    parameters = {name: list(inspect.signature(getattr(llmc.Workspace, name)).parameters) for name in STABLE}
    assert parameters == STABLE


STABLE = {
    "index": ["self", "on_progress"],
    "search": ["self", "query", "options"],
    "grep": ["self", "pattern", "options"],
    "find": ["self", "query", "options"],
    "close": ["self"],
}


def test_the_example_of_the_python_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMC_HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text("def hash_password(text: str) -> str:\n    return text\n")
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text("utf-8"), re.DOTALL)
    printed: list[object] = []
    exec(example.replace("path/to/project", str(project)), {"print": lambda *each: printed.append(each)})
    assert printed == [("a.py", 1)]


def test_every_direct_dependency_is_on_the_page_of_licences() -> None:
    listed = (ROOT / "docs/licences.md").read_text("utf-8")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    block = project.split("dependencies = [", 1)[1].split("\n]", 1)[0]
    names = re.findall(r'^  "([A-Za-z0-9_-]+)', block, re.MULTILINE)
    assert [name for name in names if f"| {name} |" not in listed] == []
