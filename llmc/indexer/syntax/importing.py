"""The names that import statements bind, by language: (local name, `module#name`, whether it is re-exported).

The syntax tree delimits a statement; its content is read from its text, since a query's result does not pair the parts
of an import. A name for the module itself has nothing after the `#`; the local name `*` stands for all exports of the
module. `exported` does the same for export statements of JavaScript and TypeScript: (exported name,
`#name` of this file). Exports from another module count as imports as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Imported", "exported", "imported"]

EVERYTHING = "*"
LONGEST = 20_000  # characters of one statement
DEEPEST = 12  # nested braces of a `use`

_COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPACES = re.compile(r"\s+")
_DEFAULT = re.compile(r"export\s+default\s+(?:abstract\s+)?(?:async\s+)?(?:(?:class|function)\b\s*\*?\s*)?([\w$]+)")
_ASSIGNED = re.compile(r"export\s*=\s*([\w$]+)")
_LISTED = re.compile(r"export\s+(?:type\s+)?\{([^}]*)\}")
# The function that is wrapped: `memo(Row)`, `observer(forwardRef(Row))`, `connect(state)(Row)`, `trace({ … })(load)`.
_WRAPPED = re.compile(
    r"export\s+default\s+(?:[\w$.]+(?:<[^()]*>)?\(\s*)+([\w$]+)\s*,?\s*\)|"
    r"export\s+default\s+[\w$.]+\(.*\)\s*\(\s*([\w$]+)\s*,?\s*\)\s*;?\s*$",
    re.DOTALL,
)
_NOT_NAMES = frozenset({"class", "function", "async", "extends", "new", "await"})


class Imported(NamedTuple):
    local: str
    target: str
    exported: bool = False


def imported(grammar: str, statement: str) -> list[Imported]:
    """Empty for languages whose imports are not resolved."""
    read = _READERS.get(grammar)
    return list(read(statement[:LONGEST])) if read else []


def _python(text: str) -> Iterator[Imported]:
    text = _SPACES.sub(" ", re.sub(r"#[^\n]*", "", text).replace("\\\n", " ")).strip()
    if found := re.match(r"from ([.\w ]+?) ?\bimport ?\(?(.*?)\)?$", text):
        module = found[1].replace(" ", "")
        for name, local in _renamed(found[2], " as "):
            yield Imported(local, f"{module}#{name}")
    elif text.startswith("import "):
        for name, local in _renamed(text[7:], " as "):
            alone = name == local
            yield Imported(name.partition(".")[0] if alone else local, f"{name.partition('.')[0] if alone else name}#")


def _renamed(listed: str, joint: str) -> Iterator[tuple[str, str]]:
    for one in listed.split(","):
        name, _, local = (part.strip() for part in one.strip().partition(joint))
        if name:
            yield name, local or name


_STRING = re.compile(r"[\"'`]([^\"'`\n]+)[\"'`]")
_SOURCE = re.compile(r"(?:\bfrom|^\s*import)\s*[\"']([^\"'\n]+)[\"']")  # a path may contain the word `from`
_CLAUSE = re.compile(r"(?:import|export)\s+(?:type\s+|typeof\s+)?(.*?)\s*\bfrom\s*[\"']", re.DOTALL)
_REQUIRE = re.compile(
    r"(?:const|let|var)?\s*([\w$]+|\{[^}]*\})\s*(?::[^=]+)?=\s*(?:await\s+)?(?:require|import)\s*\(\s*[\"'`]([^\"'`]+)[\"'`]\s*\)(?:\.(\w+))?"
)


def _ecma(text: str) -> Iterator[Imported]:
    text = re.sub(r"/\*.*?\*/|(?<![:\"'\w])//[^\n]*", " ", text, flags=re.DOTALL)
    if found := _REQUIRE.search(text):
        yield from _required(found)
        return
    source = _SOURCE.search(text)
    if source is None:
        return
    module, exported = source[1], text.lstrip().startswith("export")
    clause = _CLAUSE.match(text.lstrip())
    for local, name in _clause(clause[1] if clause else ""):
        yield Imported(local, f"{module}#{name}", exported)


def _clause(text: str) -> Iterator[tuple[str, str]]:
    """`D, { a as b, type C }`, `* as ns`, `*`."""
    braces = re.search(r"\{(.*?)\}", text, re.DOTALL)
    if braces:
        text = text[: braces.start()] + text[braces.end() :]
        for one in braces[1].split(","):
            words = one.removeprefix("type ").split()
            words = words[1:] if words[:1] == ["type"] and len(words) not in (1, 3) else words
            if words:
                yield words[-1], words[0]
    for one in text.split(","):
        words = one.split()
        if words == [EVERYTHING]:
            yield EVERYTHING, EVERYTHING
        elif words[:2] == ["*", "as"] and len(words) > 2:  # noqa: PLR2004 - `* as name`
            yield words[2], ""
        elif len(words) == 1:
            yield words[0], "default"


def _required(found: re.Match[str]) -> Iterator[Imported]:
    names, module, part = found[1], found[2], found[3]
    if not names.startswith("{"):
        yield Imported(names, f"{module}#{part or '='}")
        return
    for one in names.strip("{}").split(","):
        name, _, local = (piece.strip() for piece in one.partition("=")[0].partition(":"))
        if name.isidentifier():
            yield Imported(local or name, f"{module}#{name}")


_VERSION = re.compile(r"v\d+")


def _go(text: str) -> Iterator[Imported]:
    source = _STRING.search(text)
    if source is None:
        return
    path, alias = source[1], text[: source.start()].replace("import", "").strip(" (\t\n")
    if alias == ".":
        yield Imported(EVERYTHING, f"{path}#{EVERYTHING}")
    elif alias != "_":
        yield from (Imported(local, f"{path}#") for local in ([alias] if alias else _packages(path)))


def _packages(path: str) -> Iterator[str]:
    """The probable names of the package: `github.com/a/go-b` is `b`, `gopkg.in/yaml.v3` is `yaml`; with a major version
    at the end (`b/v2`), either part may be the name."""
    parts = path.split("/")
    for last in (parts[-1:], parts[-2:])[_VERSION.fullmatch(parts[-1]) is not None]:
        yield last.partition(".")[0].removeprefix("go-").removesuffix("-go").replace("-", "_")


def _rust(text: str) -> Iterator[Imported]:
    text = _SPACES.sub(" ", _COMMENT.sub("", text)).strip().rstrip(";")
    found = re.match(r"(?:#\[[^\]]*\]\s*)*(pub(?:\s*\([^)]*\))?\s+)?use\s+(.*)$", text)
    if found:
        for module, name, local in _use_tree(found[2].strip(), "", 0):
            yield Imported(local, f"{module}#{name}", found[1] is not None)


def _use_tree(text: str, prefix: str, depth: int) -> Iterator[tuple[str, str, str]]:
    text = text.strip()
    if text.endswith("}") and "{" in text and depth < DEEPEST:
        front, _, inner = text.partition("{")
        outer = "::".join(part for part in (prefix, front.strip().strip(":").strip()) if part)
        for one in _top_level(inner[:-1]):
            yield from _use_tree(one, outer, depth + 1)
        return
    path, _, alias = (part.strip() for part in text.partition(" as "))
    whole = "::".join(part for part in (prefix, path.strip(":").strip()) if part)
    module, _, name = whole.rpartition("::")
    if name == "self":
        module, _, name = module.rpartition("::")
    if name:
        yield module, name, alias or name


def _top_level(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [one for one in (*parts, text[start:]) if one.strip()]


def _java(text: str) -> Iterator[Imported]:
    found = re.search(r"import\s+(?:static\s+)?([\w.]+?)(\.\*)?\s*(?:as\s+(\w+)\s*)?;?\s*$", text.strip())
    if found and found[2]:
        yield Imported(EVERYTHING, f"{found[1]}#{EVERYTHING}")
    elif found:
        module, _, name = found[1].rpartition(".")
        yield Imported(found[3] or name, f"{module}#{name}")


def _csharp(text: str) -> Iterator[Imported]:
    text = _COMMENT.sub("", text)
    found = re.search(r"using\s+(?:static\s+)?(?:(\w+)\s*=\s*)?([\w.:]+)\s*(?:<[^;]*>)?\s*;", text)
    if found is None:
        return
    module = found[2].removeprefix("global::")
    if found[1]:
        front, _, name = module.rpartition(".")
        yield Imported(found[1], f"{front}#{name}")
    else:
        yield Imported(EVERYTHING, f"{module}#{EVERYTHING}", "global" in text.partition("using")[0])


def _c(text: str) -> Iterator[Imported]:
    if found := re.search(r"#\s*include\s*([\"<])([^\">]+)[\">]", text):
        yield Imported(EVERYTHING, f"{found[2]}#{EVERYTHING}")
    elif found := re.search(r"using\s+namespace\s+([\w:]+)", text):
        yield Imported(EVERYTHING, f"::{found[1]}#{EVERYTHING}")
    elif found := re.search(r"using\s+([\w:]+)::(\w+)\s*;", text):
        yield Imported(found[2], f"::{found[1]}#{found[2]}")


_READERS: dict[str, Callable[[str], Iterator[Imported]]] = {
    "python": _python,
    "javascript": _ecma,
    "typescript": _ecma,
    "tsx": _ecma,
    "go": _go,
    "rust": _rust,
    "java": _java,
    "kotlin": _java,
    "csharp": _csharp,
    "c": _c,
    "cpp": _c,
}


def exported(text: str) -> Iterator[tuple[str, str]]:
    if found := _WRAPPED.match(text) or _DEFAULT.match(text) or _ASSIGNED.match(text):
        name = next(filter(None, found.groups()))
        if name not in _NOT_NAMES:
            yield "default", f"#{name}"
    elif found := _LISTED.match(text):
        for one in found[1].split(","):
            words = one.removeprefix("type ").split()
            if words and (words[-1] != words[0]):
                yield words[-1], f"#{words[0]}"
