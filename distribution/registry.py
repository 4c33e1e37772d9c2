"""`server.json` for the MCP registry: where the package is, and how a client starts it over stdio.

The registry accepts a name below a domain or GitHub organisation of the publisher, and a package on PyPI whose
description contains `mcp-name: NAME`; pyproject.toml has both names, and the README contains the mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distribution.plugin import as_json

if TYPE_CHECKING:
    from distribution.project import Project

__all__ = ["SCHEMA_URL", "server_json"]

SCHEMA_URL = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
MAX_DESCRIPTION = 100  # the schema's


def server_json(project: Project) -> str:
    assert len(project.description) <= MAX_DESCRIPTION, project.description
    package = {
        "registryType": "pypi",
        "identifier": project.distribution,
        "version": project.version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [
            {"type": "positional", "value": "serve"},
            {
                "type": "named",
                "name": "--root",
                "description": "Folder to search; without it, the git work tree of the folder the client starts it in",
                "format": "filepath",
                "isRepeated": True,
            },
        ],
    }
    return as_json(
        {
            "$schema": SCHEMA_URL,
            "name": project.registry_name,
            "title": "llmc",
            "description": project.description,
            "version": project.version,
            "packages": [package],
        }
    )
