"""Does a line write a name? Assignments, `+=` and `++`, loop variables, fields of literals, keyword arguments, setters.

Decided by the line alone, as `line_kinds` does it, and shared by `grep --kind write` and `refs --kind write`. Where
`name: value` is a field in one language and a type annotation in another, what follows the colon decides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["writes"]

_NAME: Final = re.compile(r"[^\W\d][\w$]*")
_INDEX: Final = r"(?:\s*\[[^\]]*\]|\)|\.\([^)]*\))*"
_OPERATOR: Final = r"(?:=(?![=>~])|:=|(?:[-+*/%&|^.]|<<|>>|>>>|\*\*|//|\?\?|&&|\|\|)=(?!=)|\+\+|--)"
_ASSIGNED: Final = re.compile(rf"{_INDEX}\s*{_OPERATOR}")
_ANNOTATED: Final = re.compile(r"\??\s*:\s*[\w.\[\](){}<>, |&?*'\"$-]*[^=!<>\s]\s*=(?![=>])")
_AMONG_OTHERS: Final = re.compile(r"(?:\s*,\s*\*?[\w.$\[\]]+)+\s*(?::=|=(?!=))")
_LOOP: Final = re.compile(r"\bfor(?:each)?\b\s*\(?\s*(?:(?:const|let|var|auto|final)\s+)?[\w\s,*()]*$")
_LOOPED: Final = re.compile(r"[\s,\w)]*(?:\s(?:in|of)\s|:=|\s:\s)")
_KEY: Final = re.compile(r"[\"'`]?\]?\s*(?::(?![:=])|=>)\s*(?P<value>\S.*)?$")
_PUT: Final = re.compile(r"\bset\w*\s*\((?:[^()]*,)?\s*[\"'`]$", re.IGNORECASE)
_SETTER: Final = re.compile(r"set_?(?=[A-Z_]|$)|set_\w")
# Text after the colon of a declared parameter or field.
_TYPE: Final = re.compile(
    r"(?:&(?:'\w+\s+)?(?:mut\s+)?|\*|\[\]|\?)*(?:(?:string|number|boolean|any|unknown|void|never|object|null|undefined|str"
    r"|bool|char|[iu](?:8|16|32|64|128|size)|f32|f64|int|float|bytes|dict|list|set|tuple|dyn|impl|fn|readonly|keyof|typeof)\b"
    r"|[A-Z]\w*(?:(?:\.|::)[A-Z]\w*)*(?=\s*(?:[<\[|&?,;)=]|$)))[^'\"`(]*$"
)
# A keyword of a query that compares.
_QUERY: Final = re.compile(r"\b(?:filter|exclude|get|where|find\w*|select|Q)\s*\([^()]*$")
_CASE: Final = re.compile(r"\b(?:case|default|when)\b[^:]*$|\?[^:]*$")
_BARE_KEYS: Final = frozenset(
    "go rust javascript typescript tsx jsx vue svelte swift kotlin csharp cpp c ruby dart yaml hcl".split()  # noqa: SIM905
)


def writes(line: str, spans: Iterable[tuple[int, int]] | None, language: str) -> bool:
    """Whether one of the names that `spans` touch is written here; without spans, any name."""
    touched = [(0, len(line))] if spans is None else list(spans)
    for name in _NAME.finditer(line):
        ends = [end for start, end in touched if start < name.end() and name.start() < end]
        # `field__lt=1` in Django compares.
        if ends and "__" not in line[max(ends) : name.end()] and _is_written(line, name, language):
            return True
    return False


def _is_written(line: str, name: re.Match[str], language: str) -> bool:
    before, after = line[: name.start()], line[name.end() :]
    if _QUERY.search(before):
        return False
    quoted = before[-1:] in {"'", '"', "`"} or (before[-1:] == ":" and after.lstrip().startswith("=>"))
    outside_call = before.count("(") == before.count(")")
    return bool(
        _ASSIGNED.match(after)
        or before.rstrip().endswith(("++", "--"))
        or (outside_call and (_AMONG_OTHERS.match(after) or _ANNOTATED.match(after)))
        or (_LOOP.search(before) and _LOOPED.match(after))
        or (after.lstrip().startswith("(") and _SETTER.match(name[0]))
        or (quoted and _PUT.search(before))
        or _is_key(before, after, quoted=quoted, language=language)
    )


def _is_key(before: str, after: str, *, quoted: bool, language: str) -> bool:
    """A field of a literal: `"name": 1`, and in some languages `name: 1` or `Name: 1`."""
    key = _KEY.match(after)
    if key is None or _CASE.search(before) or not (quoted or language in _BARE_KEYS):
        return False
    bare = before.rstrip("\"'`:").rstrip()
    if bare and not bare.endswith(("{", ",", "(", "[")):
        return False
    value = key["value"] or ""
    return quoted or not _TYPE.match(value.rstrip(",; {"))
