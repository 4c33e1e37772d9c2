"""In which part of a reply does a file belong? Code comes first; tests, docs, migrations and the rest follow."""

from __future__ import annotations

import re
from typing import Final

from llmc.base.languages import role_of

__all__ = ["ORDER", "section_of"]

_OTHERS: Final = "generated and data"
ORDER: Final = ("code", "tests", "docs", "migrations", _OTHERS)
_SECTIONS: Final = {
    "code": "code",
    "config": "code",
    "legacy": "code",
    "stub": "code",
    "test": "tests",
    "doc": "docs",
    "example": "docs",
}
# Steps of a schema: they have a number or a date, unlike code about migrating something. Alembic names them by a hash.
_MIGRATION: Final = re.compile(
    r"(?:^|/)\w*migrat(?:e|ions?)/(?:.*/)?v?\d[^/]*$|(?:^|/)alembic/versions/[^/]+$", re.IGNORECASE
)


def section_of(path: str, role: str = "") -> str:
    """`role` is that of the path, unless a caller knows better."""
    section = _SECTIONS.get(role or role_of(path), _OTHERS)
    return "migrations" if section == "code" and _MIGRATION.search(path) else section
