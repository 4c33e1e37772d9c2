"""Structural search: which code has the shape of this code? `requests.get($$$A, verify=False)`.

Patterns are ast-grep's: `$X` matches any node, `$$$ARGS` any number of them, and a variable that occurs twice
must be the same code both times. The words of a pattern narrow the candidates through the trigram index; each
candidate is parsed as it is on disk now. The result has the form of a grep's, so that it is grouped and shown the same
way; a match of several lines is put on one.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from llmc.base.errors import LlmcError, QueryError
from llmc.base.languages import language_of
from llmc.base.text import Binary, decode
from llmc.retrieval.grep.grep import FileMatches, GrepRequest, GrepResult, candidates
from llmc.store.keywords.trigrams import trigrams
from llmc.store.protocols import Trigrams

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.retrieval.view import View

__all__ = ["LANGUAGES", "CodePattern", "CodeShape", "find_shapes", "parsed", "rule_for", "spaced_name"]

# Ours → ast-grep's. Markup, data and shells are searched only if a path or a type selects them.
LANGUAGES: Final = {
    "jsx": "javascript", "python": "python", "javascript": "javascript", "typescript": "typescript", "tsx": "tsx",
    "go": "go", "rust": "rust", "java": "java", "csharp": "csharp", "c": "c", "cpp": "cpp", "ruby": "ruby",
    "php": "php", "kotlin": "kotlin", "swift": "swift", "scala": "scala", "lua": "lua",
}  # fmt: skip
ON_REQUEST: Final = {
    "bash": "bash", "html": "html", "css": "css", "json": "json", "yaml": "yaml", "haskell": "haskell",
    "elixir": "elixir", "nix": "nix", "hcl": "hcl", "dart": "dart", "zig": "zig", "solidity": "solidity",
}  # fmt: skip
# If an expression alone does not parse as one: what is put around it for a second attempt.
AROUND: Final = {
    "go": ("package p\nfunc f() {\n", "\n}\n"),
    "c": ("void f() {\n", ";\n}\n"),
    "cpp": ("void f() {\n", ";\n}\n"),
    "java": ("class C { void f() {\n", ";\n} }\n"),
    "csharp": ("class C { void F() {\n", ";\n} }\n"),
    "rust": ("fn f() {\n", ";\n}\n"),
    "php": ("<?php\n", ";\n"),
}
LONGEST_PATTERN: Final = 1_000
# Matching recurses as deep as the pattern; some thousand levels crash the process.
DEEPEST: Final = 100
LARGEST_FILE: Final = 1 << 20
MOST_MATCHES: Final = 1_000  # of one file
FETCHED: Final = 100  # files of a published repository at once
LONGEST_SHOWN: Final = 1_000
VARIABLE: Final = re.compile(r"\$\$\$[A-Z_]?[A-Z0-9_]*|\$[A-Z_][A-Z0-9_]*")
_WORD: Final = re.compile(r"(?<![\w$])[^\W\d]\w{2,}")
_SPACE: Final = re.compile(r"\s+")
_NAME: Final = re.compile(r"(?<![\w$\"'.>:])[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*")
_JOINT: Final = re.compile(r"(\.|::|->)")


class CodeShape(Protocol):
    """The shape to search for."""

    @property
    def words(self) -> frozenset[str]:
        """Words that every match contains."""

    def may_match(self, text: str) -> bool:
        """Whether a file is worth parsing, which takes a hundred times as long as this check."""

    def matches(self, view: View, text: str, language: str) -> Iterable[tuple[int, str]]:
        """(line, text) of each match, in order; `language` is ast-grep's name."""

    def check(self, languages: Iterable[str]) -> None:
        """QueryError if it cannot match in any of these languages."""


@dataclass(frozen=True)
class CodePattern:
    """A pattern in ast-grep's syntax."""

    text: str

    @property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(VARIABLE.sub(" ", self.text)))

    def may_match(self, text: str) -> bool:
        return all(name.search(text) for name in self._names)

    @cached_property
    def _names(self) -> list[re.Pattern[str]]:
        """The names of the pattern with their qualifiers: `context.TODO`."""
        return [spaced_name(name) for name in dict.fromkeys(_NAME.findall(VARIABLE.sub(" ", self.text)))]

    def check(self, languages: Iterable[str]) -> None:
        listed = sorted(languages)
        if not any(rule_for(self.text, language) for language in listed):
            raise QueryError(
                "the pattern is not code",
                reason=f"it cannot be parsed as {', '.join(listed) or 'any supported language'}",
                hint="Write code, with $X for any expression and $$$ARGS for any arguments; `grep` matches text.",
            )

    def matches(self, view: View, text: str, language: str) -> Iterator[tuple[int, str]]:  # noqa: ARG002 - as CodeShape
        for node in nodes(text, language, self.text):
            yield node.range().start.line + 1, shown(node)


def spaced_name(name: str) -> re.Pattern[str]:
    """`context.TODO`, optionally with white space around the dot."""
    parts = (
        re.escape(part) if part[:1].isalnum() or part[:1] == "_" else rf"\s*{re.escape(part)}\s*"
        for part in _JOINT.split(name)
    )
    return re.compile(rf"\b{''.join(parts)}\b")


def nodes(text: str, language: str, pattern: str) -> Iterator[Any]:
    """The nodes with the shape of the pattern."""
    rule = rule_for(pattern, language)
    root = parsed(text, language) if rule else None
    if rule is None or root is None:
        return
    twins = repeated(pattern)
    for node in root.find_all(rule.as_config):
        if all(same(node, name, other) for name, other in twins):
            yield node


@dataclass(frozen=True, slots=True)
class ShapeRule:
    plain: str
    context: str = ""
    selector: str = ""

    @property
    def readings(self) -> list[Any]:
        plain: list[Any] = [{"pattern": self.plain}] if self.plain else []
        around = [{"pattern": {"context": self.context, "selector": self.selector}}] if self.context else []
        return [*plain, *around]

    @property
    def as_config(self) -> Any:
        return {"rule": {"any": self.readings}}


@lru_cache(maxsize=256)
def rule_for(pattern: str, language: str) -> ShapeRule | None:
    """How a pattern is read in a language; None if it is not code in it."""
    if len(pattern) > LONGEST_PATTERN:
        raise QueryError(
            f"the pattern has {len(pattern):,} characters", reason=f"the limit is {LONGEST_PATTERN:,}", hint="Use $X."
        )
    distinct = renamed(pattern.strip())
    bare = VARIABLE.sub(lambda found: found[0].replace("$", "z"), distinct)
    plain = distinct if bare and kind_of(bare, language, 0, len(bare)) else ""
    before, after = AROUND.get(language, ("", ""))
    selector = kind_of(f"{before}{bare}{after}", language, len(before), len(bare)) if before and bare else ""
    readings = [
        ShapeRule(plain, f"{before}{distinct}{after}" if selector else "", selector),
        ShapeRule("", f"{before}{distinct}{after}", selector),
        ShapeRule(plain),
    ]
    return next((one for one in readings if is_usable(one, language)), None)


def is_usable(rule: ShapeRule, language: str) -> bool:
    if not rule.plain and not rule.selector:
        return False
    try:
        parsed("", language).find_all(rule.as_config)
    except RuntimeError:  # ast-grep's only error: the pattern cannot be parsed
        return False
    return True


def kind_of(text: str, language: str, start: int, size: int) -> str:
    """The kind of the node that is exactly these characters, the innermost of several. Empty if there is none, if it is
    not understood, or if another node of its kind comes before it, which would be taken for it."""
    node, found = parsed(text, language), None
    kinds: list[str] = []
    while node is not None:
        kinds.append(node.kind())
        children = node.children()
        within = [one for one in children if contains(one, start, start + size)]
        kinds += [kind for one in children[: children.index(within[0])] for kind in kinds_in(one)] if within else []
        node = within[0] if within else None
        if node is not None and contains(node, start, start + size, exactly=True):
            found = node if node.kind() != "ERROR" else found
    if found is None or "ERROR" in kinds_in(found):
        return ""
    kind: str = found.kind()
    return kind if kinds.count(kind) == 1 else ""


def contains(node: Any, start: int, end: int, *, exactly: bool = False) -> bool:
    span = node.range()
    first, last = span.start.index, span.end.index
    return bool(first == start and last == end) if exactly else bool(first <= start and end <= last)


def kinds_in(node: Any) -> list[str]:
    """The kinds of a node and of everything inside it. QueryError if these are nested too deeply to be matched."""
    waiting, kinds = [(node, 0)], []
    while waiting:
        current, depth = waiting.pop()
        if depth > DEEPEST:
            raise QueryError(
                "the pattern is nested too deeply", reason=f"the limit is {DEEPEST} levels", hint="Use $X for a part."
            )
        kinds.append(current.kind())
        waiting += [(child, depth + 1) for child in current.children()]
    return kinds


def renamed(pattern: str) -> str:
    """Each occurrence of a variable with a name of its own. Whether two are the same code is decided by their text:
    ast-grep compares them level by level, and a file that is nested deeply enough would end the process."""
    seen: set[str] = set()

    def distinct(found: re.Match[str]) -> str:
        name = found[0]
        if name.lstrip("$") in {"", "_"} or name.startswith(("$_", "$$$_")) or name not in seen:
            seen.add(name)
            return name
        return f"{name}{TWIN}{len(seen) + found.start()}"

    return VARIABLE.sub(distinct, pattern)


TWIN: Final = "_TWIN"


def repeated(pattern: str) -> list[tuple[str, str]]:
    """(variable, its further occurrence), by the names of `renamed`."""
    names = VARIABLE.findall(renamed(pattern.strip()))
    return [(name.partition(TWIN)[0], name) for name in names if TWIN in name]


def same(node: Any, name: str, other: str) -> bool:
    return bound(node, name) == bound(node, other)


def bound(node: Any, name: str) -> str:
    """The code that a variable matched, with normalised white space."""
    bare = name.lstrip("$")
    found = node.get_multiple_matches(bare) if name.startswith("$$$") else [node.get_match(bare)]
    return _SPACE.sub(" ", " ".join(one.text() for one in found if one is not None))


def parsed(text: str, language: str) -> Any:
    from ast_grep_py import SgRoot  # noqa: PLC0415 - 9 ms, which only structural search needs

    return SgRoot(text, language).root()


def shown(node: Any) -> str:
    """The code of a match on one line."""
    return _SPACE.sub(" ", node.text()).strip()[:LONGEST_SHOWN]


# ---- searching ----


def find_shapes(views: Sequence[View], shape: CodeShape, request: GrepRequest) -> GrepResult:
    """Files with matches, code before tests and docs; `request` says where and how much."""
    deadline = time.monotonic() + request.seconds
    found: list[FileMatches] = []
    searched = unread = 0
    named = not request.paths.is_open
    by_view = [(view, languages_of(view, shape, request, named=named)) for view in views]
    shape.check({language for _, files in by_view for language in files.values()} or set(LANGUAGES.values()))
    for view, files in by_view:
        paths = list(files)
        for at, (path, language) in enumerate(files.items()):
            if at % FETCHED == 0:
                view.root_fs.expect(paths[at : at + FETCHED])
            count = sum(file.count for file in found)
            if time.monotonic() > deadline or (request.stop is not None and count >= request.stop):
                unread += 1
                continue
            searched += 1
            matched = match_file(view, path, language, shape)
            kept = request.lines.keep(view, [matched], None) if matched and request.lines else [matched]
            found += [one for one in kept if one is not None]
    bare = request.files_only or request.count_only
    return GrepResult(
        files=tuple(replace(file, rows=b"") if bare else file for file in found),
        complete=not unread,
        unread=unread,
        searched=searched,
        pending=sum(len(view.pending) for view in views),
        share=min((view.share for view in views), default=1.0),
        unsure=next((view.unsure for view in views if view.unsure), ""),
    )


def languages_of(view: View, shape: CodeShape, request: GrepRequest, *, named: bool) -> dict[str, str]:
    """path → language of the files that may match, in the order in which a first page is read."""
    wanted = {trigram for word in shape.words for trigram in trigrams(word)}
    known = {**LANGUAGES, **ON_REQUEST} if named else LANGUAGES
    paths = candidates(view, replace(request, stop=1), Trigrams(all=frozenset(wanted)))
    return {path: known[language] for path in paths if (language := language_of(path)) in known}


def match_file(view: View, path: str, language: str, shape: CodeShape) -> FileMatches | None:
    try:
        text = decode(view.root_fs.read(path, LARGEST_FILE)[0])
    except (LlmcError, OSError):
        return None  # deleted since, or too large to be written by hand
    if isinstance(text, Binary) or not shape.may_match(text.text):
        return None
    rows = [
        f"{line}:{code}".encode()
        for (line, code), _ in zip(shape.matches(view, text.text, language), range(MOST_MATCHES), strict=False)
    ]
    return FileMatches(view.root.id, path, len(rows), b"\n".join(rows)) if rows else None
