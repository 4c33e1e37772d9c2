"""What export statements of JavaScript and TypeScript export, by text: (exported name, `#name` of this file).

Exports that name another module are imports as well, and `importing` reads them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["exported"]

_DEFAULT = re.compile(r"export\s+default\s+(?:abstract\s+)?(?:async\s+)?(?:(?:class|function)\b\s*\*?\s*)?([\w$]+)")
_ASSIGNED = re.compile(r"export\s*=\s*([\w$]+)")
_LISTED = re.compile(r"export\s+(?:type\s+)?\{([^}]*)\}")
_WRAPPED = re.compile(r"export\s+default\s+[\w$.]+\(\s*([\w$]+)\s*\)")
_NOT_NAMES = frozenset({"class", "function", "async", "extends", "new", "await"})


def exported(text: str) -> Iterator[tuple[str, str]]:
    if found := _WRAPPED.match(text) or _DEFAULT.match(text) or _ASSIGNED.match(text):
        if found[1] not in _NOT_NAMES:
            yield "default", f"#{found[1]}"
    elif found := _LISTED.match(text):
        for one in found[1].split(","):
            words = one.removeprefix("type ").split()
            if words and (words[-1] != words[0]):
                yield words[-1], f"#{words[0]}"
