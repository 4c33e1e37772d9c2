"""The project's frame: what is tested is what is installed, imports point one way, and the papers are true."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import llmc

REPOSITORY = Path(__file__).parents[1]
PACKAGE = Path(llmc.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# Which packages and top-level modules a package may import, besides what those may import themselves.
MAY_IMPORT: dict[str, set[str]] = {
    "base": set(),
    "settings": {"base"},
    "client": {"base"},
    "embed": {"settings"},
    "store": {"embed"},
    "indexer": {"store"},
    "retrieval": {"store", "embed"},
    "graph": {"store", "embed"},
    "envelope": {"settings"},
    "workspace": {"indexer", "retrieval", "graph"},
    "shared_workspace": {"workspace"},
    "publish": {"indexer", "envelope"},
    "state": {"workspace", "envelope"},
    "tool_arguments": {"settings"},
    "tool_model": {"tool_arguments"},
    "tool": {"state", "tool_model"},
    "tool_schema": {"tool"},
    "answers": {"tool_schema"},
    "extend": {"tool_schema", "answers"},
    "agents": {"extend"},
    "tools": {"state", "extend", "answers"},
    "server": {"tools", "publish", "shared_workspace"},
    "install": {"server", "client"},
    "cli": {"server", "client", "install"},
    "__main__": {"cli"},
    "__init__": {"workspace"},
}
# Each costs from 60 ms to 1.9 s to import: only inside the function that needs it, or in a package that is imported
# as a whole when it is needed. The settings are such a package: its names are imported when they are first used.
HEAVY = {"lancedb", "mcp", "pyarrow", "pydantic", "pydantic_ai", "bpe_openai", "torch", "sentence_transformers"}
HEAVY |= {"starlette", "uvicorn"}
LATE = {PACKAGE / "server" / "mcp", PACKAGE / "server" / "http", PACKAGE / "extend" / "delegates", PACKAGE / "settings"}
LATE |= {PACKAGE / "tool_model.py", PACKAGE / "answers" / "model_bounds.py", PACKAGE / "server" / "shared"}


def imported(nodes: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_ci_tests_the_installed_wheel_and_not_the_checkout() -> None:
    installed = "site-packages" in PACKAGE.parts
    assert installed or os.environ.get("LLMC_TEST_WHEEL") != "1"


def allowed_imports(part: str) -> set[str]:
    """The part itself, what it may import, and what those may."""
    found = {part}
    for name in MAY_IMPORT[part]:
        found |= allowed_imports(name)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    """Over every module, lazy and type-only imports included."""
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.stmt)]
    parts = {name.split(".")[1] for name in imported(nodes) if name.startswith("llmc.")} & MAY_IMPORT.keys()
    assert parts <= allowed_imports(part), f"{path}: {sorted(parts - allowed_imports(part))}"


def test_every_part_of_the_package_has_its_place_among_the_layers() -> None:
    found = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert found - {"__pycache__"} <= MAY_IMPORT.keys() | {"py.typed"}


def test_each_class_name_is_used_once() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_lines_are_scored_in_one_place() -> None:
    """Excerpts, focus and research share one scorer; only the messages of commits are ranked by themselves."""
    scorers = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if re.search(r"from llmc\.base\.bm25 import [^\n]*\bbm25\b", path.read_text("utf-8"))
    }
    assert scorers == {"retrieval/passages/lexical.py", "retrieval/history.py"}


def test_heavy_packages_are_imported_where_they_are_needed() -> None:
    for path in MODULES:
        names = {name.partition(".")[0] for name in imported(ast.parse(path.read_text()).body)}
        assert LATE & {path, *path.parents} or not names & HEAVY, path


def heavy_after(code: str) -> set[str]:
    """The heavy packages that a new process has imported after running the code."""
    command = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {name.partition(".")[0] for name in loaded} & HEAVY


def test_a_command_line_and_the_relay_start_without_heavy_packages() -> None:
    commands = ", ".join(
        f"llmc.cli.{name}" for name in ("search", "grep", "read", "index", "status", "install", "serve")
    )
    assert heavy_after(f"import llmc.cli, llmc.client.daemon_client, llmc.client.relay, {commands}") == set()


def test_a_daemon_starts_with_no_heavy_package_but_pydantic() -> None:
    assert heavy_after("import llmc.server.service, llmc.server.daemon") <= {"pydantic"}


def test_help_imports_no_heavy_package() -> None:
    assert heavy_after("from llmc.cli import run; run(['--help'])") == set()


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    declared = {re.split(r"[^\w-]", each, maxsplit=1)[0] for each in asked}
    packages = packages_distributions()
    for path in MODULES:
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.stmt)]
        for name in {each.partition(".")[0] for each in imported(nodes)} - {*sys.stdlib_module_names, "llmc"}:
            owners = {owner.lower().replace("_", "-") for owner in packages.get(name, [name.replace("_", "-")])}
            assert owners & declared, f"{path}: {name}"


def test_every_module_opens_with_what_it_owns() -> None:
    for path in MODULES:
        text = path.read_text()
        assert not text.strip() or ast.get_docstring(ast.parse(text)), path


def test_links_between_the_papers_lead_somewhere() -> None:
    pages = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]
    assert len(pages) > 5
    for page in pages:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_decision_is_in_the_index() -> None:
    folder = REPOSITORY / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    records = list(folder.glob("[0-9]*.md"))
    assert len(records) > 50
    for record in records:
        assert f"({record.name})" in index, record.name


def test_make_help_lists_the_targets() -> None:
    listed = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    targets = set(re.findall(r"^  make ([a-z-]+)", listed, re.MULTILINE))
    assert {"run", "test", "test-transformers", "lint", "bench", "docs", "build", "clean", "help"} <= targets


def test_ci_is_a_program_that_stops_at_the_first_failure() -> None:
    script = REPOSITORY / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in script.read_text()


def test_the_demo_workspace_is_small_and_speaks_many_languages() -> None:
    files = [path for path in (REPOSITORY / "data" / "demo").rglob("*") if path.is_file()]
    suffixes = {path.suffix for path in files}
    assert {".py", ".ts", ".tsx", ".go", ".rs", ".java", ".c", ".sql", ".sh", ".yaml", ".toml", ".md"} <= suffixes
    assert 30 <= len(files) <= 80
    assert sum(path.stat().st_size for path in files) < 200_000
