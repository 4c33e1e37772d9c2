"""Finds the documents of a project: README, CONTRIBUTING, architecture, decision records, runbooks, style guides.

They are found by the names of files and folders, in any markup, and never inside tests, examples or third-party code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["ROLES", "document_title", "documents_of"]

MARKUP: Final = frozenset(
    {"", ".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".asciidoc", ".org", ".textile", ".rdoc"}
)
_FOREIGN: Final = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|thirdparty|external|tests?|testing|testdata|fixtures?|examples?|samples?|"
    r"templates?|locales?|i18n|\.github/(?:ISSUE|PULL)\w*|dist|build|site-packages)(?:/|$)",
    re.IGNORECASE,
)
# Role → (names of files without their ending, names of folders whose documents all have that role)
ROLES: Final[dict[str, tuple[str, str]]] = {
    "readme": (r"readme", r""),
    "contributing": (r"contributing|contributors?.?guide|hacking|develop(?:ment|ing|er)?|building", r""),
    "start": (r"getting.?started|quick.?start|onboarding|setup|install(?:ing|ation)?|tutorial", r"getting.?started"),
    "architecture": (
        r"architecture|design|overview|internals|how.?it.?works|structure",
        r"architecture|design|design.docs",
    ),
    "decisions": (r"adr.?\d+.*|decisions?(?:.log)?", r"adrs?|decisions?|rfcs?|decision.records|proposals"),
    "runbooks": (
        r".*(?:runbook|playbook|troubleshoot|incident|post.?mortem|on.?call|disaster.recovery).*",
        r"runbooks?|playbooks?|on.?call|incidents?|operations|troubleshooting",
    ),
    "style": (
        (
            r"style|.*style.?guide.*|coding.?(?:style|standards?|conventions?|guidelines?)|conventions|guidelines|"
            r"(?:code|documentation|docs|writing).?style|agents|claude"
        ),
        r"style.?guides?",
    ),
}
_HEADING: Final = re.compile(r"(?:#{1,3}|={1,3}|\*)\s+(\S.*)")
_UNDERLINE: Final = re.compile(r"([=\-~^*#\"+`])\1{2,}\s*")
_IDLE: Final = re.compile(r"\s*(?:$|\[?!\[|<|\.\. |:\w+:|---|===|\|?\s*\[!\[|image::|//)")
LOOKED_AT: Final = 40  # lines that are searched for a title


@dataclass(frozen=True, slots=True)
class _Role:
    name: re.Pattern[str]
    folder: re.Pattern[str] | None


_COMPILED: Final = {
    role: _Role(re.compile(names, re.IGNORECASE), re.compile(folders, re.IGNORECASE) if folders else None)
    for role, (names, folders) in ROLES.items()
}


def documents_of(paths: Iterable[str], roles: Sequence[str]) -> list[str]:
    """The documents with these roles: in the order of the roles, those nearest to the top of the project first."""
    found: list[tuple[int, int, str]] = []
    for path in paths:
        pure = PurePosixPath(path)
        if pure.suffix.lower() not in MARKUP or _FOREIGN.search(path):
            continue
        rank = next((at for at, role in enumerate(roles) if role in _COMPILED and _has(_COMPILED[role], pure)), None)
        if rank is not None:
            found.append((rank, len(pure.parts), path))
    return [path for _, _, path in sorted(found)]


def _has(role: _Role, path: PurePosixPath) -> bool:
    name = path.name.removesuffix(path.suffix) if path.suffix else path.name
    if role.name.fullmatch(name):
        return True
    return role.folder is not None and bool(path.suffix) and any(map(role.folder.fullmatch, path.parts[:-1]))


def document_title(lines: Sequence[str], path: str) -> str:
    """The first heading of a document, or its path if it has none."""
    if PurePosixPath(path).suffix.lower() not in MARKUP:
        return path
    for at, line in enumerate(lines[:LOOKED_AT]):
        if heading := _HEADING.fullmatch(line.strip()):
            return heading[1].strip(" #=*")
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if line.strip() and not _IDLE.match(line) and _UNDERLINE.fullmatch(below):
            return line.strip()
    return path
