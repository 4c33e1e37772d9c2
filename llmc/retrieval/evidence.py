"""Strong evidence in a text: what a person or a program copied from the code, separated from the words around it.

Stack frames of common languages, paths, dotted module names, identifiers (in backticks, in calls, or by their form),
exception types, quoted strings and error messages, command-line flags, error codes and versions. Every pattern is
linear in the length of the text, and the caller bounds that length. What the evidence is worth is decided by
`recall` and `signals`.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from llmc.base.languages import PLAIN, language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Evidence", "EvidenceKind", "distinct", "extract"]

# Limit per kind, most frequent first: a log of ten thousand lines names the same few things over and over.
MOST_OF_A_KIND: Final = 24
LONGEST: Final = 200


class EvidenceKind(StrEnum):
    FRAME = "stack frame"
    PATH = "path"
    MODULE = "module"
    IDENTIFIER = "identifier"
    EXCEPTION = "exception"
    STRING = "verbatim text"
    FLAG = "flag"
    CODE = "error code"
    VERSION = "version"


class Evidence(NamedTuple):
    """`line` and `function` belong to a stack frame; `times` is how often the text contains it."""

    kind: EvidenceKind
    text: str
    line: int = 0
    function: str = ""
    times: int = 1


K = EvidenceKind
# Each has `path`, most have `line` and `function`: Python; JavaScript; Java, Kotlin, Scala; Go; Rust; C#; Ruby; PHP.
_AT = r"^[ \t]{0,40}at "
_LINE = r"(?P<line>\d{1,7})"
_FRAMES: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf'File "(?P<path>[^"\n]{{1,300}})", line {_LINE}(?:, in (?P<function>[\w<>.]{{1,100}}))?',
        rf"{_AT}(?:async )?(?:(?P<function>[\w$.<>\[\] ]{{1,100}}) \()?(?P<path>[^\s():]{{1,300}}):{_LINE}:\d+\)?",
        rf"{_AT}(?P<function>[\w$.<>]{{1,200}})\((?P<path>[\w$-]{{1,100}}\.(?:java|kt|scala|groovy)):{_LINE}\)",
        rf"^[ \t]{{1,40}}(?P<path>\S{{1,300}}\.go):{_LINE}(?: \+0x|$)",
        rf"^[ \t]{{0,40}}(?:-->|at) (?P<path>[\w./\\-]{{1,300}}\.\w{{1,5}}):{_LINE}",
        rf"{_AT}(?P<function>[\w.<>`]{{1,200}}\([^)\n]{{0,200}}\)) in (?P<path>(?:\w:)?[^\n:]{{1,300}}):line {_LINE}",
        rf"^[ \t]{{0,40}}(?:from )?(?P<path>[\w./-]{{1,300}}\.rb):{_LINE}:in [`'](?P<function>[^'`\n]{{1,100}})'",
        rf"^[ \t]{{0,40}}#\d+ (?P<path>[^\s():]{{1,300}})\({_LINE}\): (?P<function>[\w\\:>-]{{1,200}})",
    )
)
_PATHS: Final = re.compile(
    r"(?<![\w/\\.:@-])(?:[A-Za-z]:)?[\\/]{0,2}(?:[\w.@+~-]{1,80}[/\\]){0,24}[\w@+~-][\w.@+~-]{0,80}"
)
_PATH_LINE: Final = re.compile(r":(\d{1,7})\b|\(line (\d{1,7})\)|#L(\d{1,7})")
_MODULE: Final = re.compile(r"(?<![\w./\\@-])[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){1,8}(?![\w/\\@])")
_COLONS: Final = re.compile(r"(?<![\w:])[A-Za-z_]\w{0,60}(?:::[A-Za-z_]\w{0,60}){1,8}")
_TICKS: Final = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,200})\1(?!`)")
_CALL: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w{2,60})\(")
_FORMED: Final = re.compile(
    r"(?<![\w.])(?:_{0,2}[a-z][a-z0-9]*(?:_[a-z0-9]+)+_{0,2}|__\w{1,60}__|[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+"
    r"|[a-z]+[0-9]*(?:[A-Z][a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?!\w)"
)
_EXCEPTION: Final = re.compile(r"(?<!\w)([A-Z]\w{0,60}(?:Error|Exception|Warning|Failure|Fault|Panic))\b")
# `KeyError: 'x'`, `error: cannot …`, `panic: …`, `E   AssertionError: …`
_MESSAGE: Final = re.compile(
    r"^[ \t>E|]{0,12}(?:[\w.:\[\]]{0,80}?(?:Error|Exception|Warning|Failure|panic|fatal|error|ERROR|FATAL|WARN)\w{0,20}"
    r"(?:\[\w{1,12}\])?): (?P<message>[^\n]{8,300})",
    re.MULTILINE,
)
_QUOTED: Final = re.compile(r"(?<![\w\"'])(?:\"([^\"\n]{3,200})\"|'([^'\n]{3,200})'|“([^”\n]{3,200})”)(?![\w\"'])")
# A line separate from the prose around it: indented, quoted, in a fence, or alone after a colon.
_SET_APART: Final = re.compile(
    r"(?:(?<=:\n)|(?<=:\n\n)|(?:(?<=\n)|\A)(?:[ ]{2,12}|\t|> {0,3})|(?<=```\n))"
    r"(?P<line>[^\s>`|#*+@$/<{(-][^\n]{16,300})(?=\n|\Z)"
)
_PROGRAM: Final = re.compile(
    r"[;{}]\s*$|^\w+ = |[=!]=|->|=>|^(?:at|from|import|in|File|def|class|return|if|for|let|const|var) "
)
MOST_SET_APART: Final = 4
LEAST_WORDS: Final = 4
_FLAG: Final = re.compile(r"(?<![\w-])--[A-Za-z][\w-]{1,60}")
_CODE: Final = re.compile(
    r"\b(?:[A-Z]{1,5}\d{3,6}|E(?!RROR)[A-Z]{3,14}|ERR_[A-Z_]{2,40}|0x[0-9A-Fa-f]{8}|SQLSTATE\W?\w{5})\b"
)
_VERSION: Final = re.compile(
    r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){1,3}(?:[-.]?(?:rc|a|b|dev|alpha|beta|post)\.?\d*)?(?![\w.])"
)
_DIFF_PATH: Final = re.compile(r"^(?:\+\+\+ b/|--- a/|diff --git a/)(?P<path>\S{1,300}).*", re.MULTILINE)
_URL: Final = re.compile(r"\b(?:https?|ftp|git|ssh)://[^\s<>\"')\]]{1,500}")
_REPO_URL: Final = re.compile(r"/(?:blob|tree|raw|blame)/[^/]{1,100}/(?P<path>[^\s#?]{1,300})(?:#L(?P<line>\d{1,7}))?")
_WORDS: Final = re.compile(r"[A-Za-z]{2,}")
_WORDY: Final = re.compile(r"[A-Za-z]{2}")
_SPOKEN: Final = frozenset({"e.g", "i.e", "etc", "vs", "and/or", "n/a", "w/o", "a/b", "his/her", "yes/no"})


def extract(text: str) -> tuple[Evidence, ...]:
    """Everything that the text quotes, strongest kind first, without duplicates."""
    links = _URL.findall(text)
    plain = _URL.sub(" ", text)
    undiffed = _DIFF_PATH.sub(" ", plain)  # `a/x.c` and `b/x.c` of a diff are one file; there is no folder `a`
    found: Counter[Evidence] = Counter()
    for one in (*_frames(plain), *_linked(links), *_diffed(plain), *_paths(undiffed), *_names(plain), *_rest(plain)):
        found[one] += 1
    kept: list[Evidence] = []
    for kind in EvidenceKind:
        of_kind = [one._replace(times=times) for one, times in found.items() if one.kind is kind]
        kept += _best(kind, of_kind)
    return tuple(kept)


def _best(kind: EvidenceKind, found: list[Evidence]) -> list[Evidence]:
    """Frames stay in order, since the innermost is at one end; other kinds by frequency."""
    if kind is K.FRAME:
        return found[: MOST_OF_A_KIND // 2] + found[MOST_OF_A_KIND // 2 :][-MOST_OF_A_KIND // 2 :]
    return sorted(found, key=lambda one: -one.times)[:MOST_OF_A_KIND]


def _frames(text: str) -> Iterator[Evidence]:
    for pattern in _FRAMES:
        for match in pattern.finditer(text):
            function = (match.groupdict().get("function") or "").strip()
            yield Evidence(K.FRAME, _clean_path(match["path"]), int(match["line"]), function)


def _linked(links: list[str]) -> Iterator[Evidence]:
    for link in links:
        if match := _REPO_URL.search(link):
            yield Evidence(K.PATH, match["path"], int(match["line"] or 0))


def _diffed(text: str) -> Iterator[Evidence]:
    for match in _DIFF_PATH.finditer(text):
        yield Evidence(K.PATH, match["path"])


def _paths(text: str) -> Iterator[Evidence]:
    for match in _PATHS.finditer(text):
        path = _clean_path(match[0])
        if not _WORDY.search(path) or path.lower() in _SPOKEN or len(path) > LONGEST:
            continue
        known_ending = language_of(path) != PLAIN or path.endswith(".txt")
        if known_ending and "." in path.rpartition("/")[2][1:]:
            line = _PATH_LINE.match(text, match.end())
            yield Evidence(K.PATH, path, int(next(filter(None, line.groups()))) if line else 0)
        elif path.count("/") > 1:
            yield Evidence(K.PATH, path)


def _clean_path(path: str) -> str:
    return path.replace("\\", "/").rstrip(".:/").removeprefix("./")


def _names(text: str) -> Iterator[Evidence]:
    for match in _MODULE.finditer(text):
        if match[0].lower() not in _SPOKEN and language_of(match[0]) == PLAIN:
            yield Evidence(K.MODULE, match[0])
    for match in _COLONS.finditer(text):
        yield Evidence(K.MODULE, match[0])
    for pattern, group in ((_CALL, 1), (_FORMED, 0)):
        for match in pattern.finditer(text):
            yield Evidence(K.IDENTIFIER, match[group])
    for match in _TICKS.finditer(text):
        inner = match[2].strip()
        if re.fullmatch(r"[A-Za-z_$@][\w$]{1,60}(?:\(\))?", inner):
            yield Evidence(K.IDENTIFIER, inner.removesuffix("()").lstrip("@$"))
    for match in _EXCEPTION.finditer(text):
        yield Evidence(K.EXCEPTION, match[1])


def _set_apart(text: str) -> Iterator[Evidence]:
    """Messages pasted on lines of their own; a dump of many such lines is not one."""
    lines = [match["line"].strip() for match in _SET_APART.finditer(text)]
    if len(lines) <= MOST_SET_APART:
        for line in lines:
            if len(_WORDS.findall(line)) >= LEAST_WORDS and not _PROGRAM.search(line):
                yield Evidence(K.STRING, line[:LONGEST])


def _rest(text: str) -> Iterator[Evidence]:
    yield from _set_apart(text)
    for match in _MESSAGE.finditer(text):
        yield Evidence(K.STRING, match["message"].strip())
    for match in _QUOTED.finditer(text):
        quoted = next(filter(None, match.groups())).strip()
        if " " in quoted and _WORDY.search(quoted):
            yield Evidence(K.STRING, quoted)
    for kind, pattern in ((K.FLAG, _FLAG), (K.CODE, _CODE), (K.VERSION, _VERSION)):
        for match in pattern.finditer(text):
            yield Evidence(kind, match[0])


# Kinds of evidence that may contain another kind, and more.
_BROADER: Final = {K.PATH: {K.FRAME}, K.IDENTIFIER: {K.EXCEPTION, K.FRAME}, K.STRING: {K.STRING}}


def distinct(evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """The evidence to show: without the path or function of a listed stack frame, the name of a listed exception, and
    parts of a longer message."""
    for one in evidence:
        others = [other for other in evidence if other is not one and other.kind in _BROADER.get(one.kind, ())]
        part = one.kind is K.STRING and any(one.text in other.text for other in others)
        if not part and not any(one.text in {other.text, other.function} for other in others):
            yield one
