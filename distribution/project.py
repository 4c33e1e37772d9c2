"""What the metadata of the project says: name, version and description, from pyproject.toml and the package."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import llmc

__all__ = ["ROOT", "Project", "load_project"]

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Project:
    """`distribution` is the name on PyPI, `registry_name` the name in the MCP registry."""

    distribution: str
    version: str
    description: str
    license: str
    keywords: tuple[str, ...]
    requires_python: str
    registry_name: str


def load_project() -> Project:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = data["project"]
    return Project(
        distribution=project["name"],
        version=llmc.__version__,
        description=project["description"],
        license=project["license"],
        keywords=tuple(project["keywords"]),
        requires_python=project["requires-python"],
        registry_name=data["tool"]["llmc"]["registry-name"],
    )
