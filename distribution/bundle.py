"""The MCPB bundle: a folder that `mcpb pack` turns into one file, which Claude Desktop installs by double click.

The bundle has the package and its metadata; the host runs it with uv, which fetches the dependencies for the
platform. Bundling them instead would need 750 MB for each platform and Python version.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llmc
from distribution.plugin import AUTHOR, as_json
from distribution.project import ROOT

if TYPE_CHECKING:
    from distribution.project import Project

__all__ = ["bundle_manifest", "write_bundle"]

METADATA = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
TOOLS = {
    "search": "Ranked places for a question, a name, words, or a pasted error, issue or diff.",
    "grep": "Every match of a regular expression, with the enclosing symbol.",
    "read": "Files, ranges, symbols, or the rest of a reply.",
    "llmc": "All other tools: calls, callers, tests, history, outline, research and more.",
}


def bundle_manifest(project: Project) -> dict[str, Any]:
    folder = {
        "type": "directory",
        "title": "Project folder",
        "description": "The folder that llmc indexes and searches. Nothing outside of it is read.",
        "required": True,
    }
    run = ["run", "--directory", "${__dirname}", "--no-default-groups", "llmc", "serve"]
    return {
        "manifest_version": "0.4",
        "name": "llmc",
        "display_name": "llmc",
        "version": project.version,
        "description": project.description,
        "author": AUTHOR,
        "license": project.license,
        "keywords": list(project.keywords),
        "server": {
            "type": "uv",
            "entry_point": "llmc/__main__.py",
            "mcp_config": {"command": "uv", "args": [*run, "--root", "${user_config.folder}"]},
        },
        "tools": [{"name": name, "description": text} for name, text in TOOLS.items()],
        "tools_generated": True,
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": project.requires_python}},
        "user_config": {"folder": folder},
    }


def write_bundle(folder: Path, project: Project) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    package = Path(llmc.__file__).parent
    shutil.copytree(package, folder / "llmc", ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in METADATA:
        shutil.copy(ROOT / name, folder / name)
    (folder / "manifest.json").write_text(as_json(bundle_manifest(project)), "utf-8")
