"""Files whose sections extend to the next one of the same or a higher level: headings of Markdown,
reStructuredText, AsciiDoc and Org, keys of YAML, sections of INI files, cells of notebooks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from llmc.base.model import Symbol
from llmc.indexer.syntax.outline import Mark, Outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "LONGEST_NAME",
    "TextSection",
    "last_line",
    "nest",
    "offsets",
    "read_asciidoc",
    "read_ini",
    "read_markdown",
    "read_org",
    "read_rst",
    "read_yaml",
]

LONGEST_NAME = 100
MOST_SECTIONS = 5_000  # of one file; more of them are data
_INI = re.compile(r"^\[([^\]\n]+)\]", re.MULTILINE)
_KEY = re.compile(r"(\"[^\"\n]+\"|'[^'\n]+'|[^\s#\-?\[\]{},&*!|>%@`'\"][^:\n]*?|[\w./$-]+)[ \t]*:(?:[ \t]+(.*)|\s*$)")
_KEY_WITHIN = 240
_NAMED_ITEM = re.compile(r"- +(?:name|id|hosts|title|alias): *[\"']?([^\s\"'#][^\"'#\n]*)")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:[^\n]*\n){0,200}?---[ \t]*(?:\n|$)")
_MARKDOWN = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})"
    r"|^ {0,3}(?P<hashes>#{1,6})[ \t]+(?P<title>\S[^\n]*)"
    r"|^(?P<under>[^\s>#|`~*+=-][^\n]*)\n(?P<line>=+|-{2,})[ \t]*$"
    r"|^<(?P<tag>h[1-6])\b[^>\n]*>(?P<html>[^<\n]+)",
    re.MULTILINE,
)
# A title, its underline, possibly an overline: each a character repeated at least three times.
_UNDERLINED = re.compile(
    r"^(?:(?P<over>([^\w\s])\2{2,})[ \t]*\n[ \t]*)?(?P<title>\S[^\n]*)\n(?P<under>([^\w\s])\5{2,})[ \t]*$", re.MULTILINE
)
# Changelogs name their releases in a directive with a version or in a bullet, for two extensions of Sphinx.
_RELEASE = re.compile(
    r"^\.\. (?:changelog|release)::[^\n]*\n(?:[ \t]+:(?!version:)[^\n]*\n)*[ \t]+:version:[ \t]*(?P<version>\S+)"
    r"|^[*-][ \t]+:release:`(?P<bullet>[^`<\s]+)",
    re.MULTILINE,
)
_BELOW = 100  # deeper than any heading
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S[^\n]*)", re.MULTILINE)
_ORG = re.compile(r"^(\*{1,8})[ \t]+(\S[^\n]*)", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_WORD = re.compile(r"\w")


class TextSection(NamedTuple):
    line: int  # from 1
    level: int
    name: str
    kind: str = "heading"
    signature: str = ""  # the name, if empty


def offsets(text: str) -> list[int]:
    """The offset of each line; `bisect_right` of an offset returns its line number."""
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]


def last_line(text: str) -> int:
    return max(1, text.count("\n") + (not text.endswith("\n")))


def nest(sections: Iterable[TextSection], end: int) -> Outline:
    """`end` is the last line of the text."""
    found = list(sections)[:MOST_SECTIONS]
    ends = [end] * len(found)
    containers = []
    around: list[int] = []
    for at, section in enumerate(found):
        while around and found[around[-1]].level >= section.level:
            ends[around.pop()] = section.line - 1
        containers.append(".".join(found[outer].name for outer in around))
        around.append(at)
    return Outline(tuple(map(_mark, found, containers, ends)))


def _mark(section: TextSection, container: str, end: int) -> Mark:
    line, _, name, kind, signature = section
    return Mark(Symbol(name, kind, container, line, max(line, end), signature or name), line)


def read_ini(text: str) -> Outline:
    lines = offsets(text)
    found = (
        TextSection(
            bisect_right(lines, one.start()), 1, one[1].strip()[:LONGEST_NAME], "section", one[0][:LONGEST_NAME]
        )
        for one in _INI.finditer(text)
    )
    return nest(found, last_line(text))


def read_yaml(text: str) -> Outline:
    return nest(_yaml(text), last_line(text))


def _yaml(text: str) -> Iterator[TextSection]:
    """Keys of the first level, named items of a list there, and keys of the second level with more than one line."""
    inner: int | None = None  # the indentation of the second level; 0 before its first line, None without one
    for number, line in enumerate(text.split("\n"), start=1):
        bare = line.lstrip(" ")
        dent = len(line) - len(bare)
        if not bare.strip() or bare[0] == "#" or (dent and inner is None):
            continue
        key = _KEY.match(bare[:_KEY_WITHIN])
        if not dent:
            item = _NAMED_ITEM.match(bare[:_KEY_WITHIN])
            inner = 0 if key and (key[2] or "")[:1] not in ("|", ">") else None
            if key or item:
                yield _section(number, 1, item[1] if item else key[1] if key else "", bare, key[2] if key else None)
        elif inner in (0, dent):
            inner = None if inner == 0 and bare.startswith("- ") else dent
            if inner and key and not (key[2] or "").strip("|>-+&! \r"):
                yield _section(number, 2, key[1], bare, None)


def _section(line: int, level: int, name: str, text: str, value: str | None) -> TextSection:
    kind = "key" if (value or "").strip() else "section"
    return TextSection(line, level, name.strip("\"' \t\r")[:LONGEST_NAME], kind, text.rstrip()[:LONGEST_NAME])


def read_markdown(text: str) -> Outline:
    return nest(_markdown(text, offsets(text)), last_line(text))


def _markdown(text: str, lines: list[int]) -> Iterator[TextSection]:
    fence = ""
    front = _FRONT_MATTER.match(text)
    for found in _MARKDOWN.finditer(text, front.end() if front else 0):
        if marks := found["fence"]:
            # A fence ends with at least as many marks; shorter ones inside are text.
            fence = ("" if marks.startswith(fence) else fence) if fence else marks
        elif not fence and (name := _clean(found["title"] or found["under"] or found["html"])):
            yield TextSection(bisect_right(lines, found.start()), _level(found), name)


def _level(found: re.Match[str]) -> int:
    if found["hashes"]:
        return len(found["hashes"])
    return int(found["tag"][1]) if found["tag"] else 1 if found["line"][0] == "=" else 2


def read_rst(text: str) -> Outline:
    """Underline characters get their level from the order in which they first appear."""
    lines = offsets(text)
    return nest(sorted([*_underlined(text, lines), *_releases(text, lines)]), last_line(text))


def _underlined(text: str, lines: list[int]) -> Iterator[TextSection]:
    styles: list[tuple[str, bool]] = []
    for found in _UNDERLINED.finditer(text):
        title, under = found["title"].rstrip(), found["under"]
        if len(under) < len(title) - 1 or not _WORD.search(title) or title.startswith(".. "):
            continue
        style = (under[0], found["over"] is not None)
        if style not in styles:
            styles.append(style)
        yield TextSection(bisect_right(lines, found.start()), styles.index(style), _clean(title))


def _releases(text: str, lines: list[int]) -> Iterator[TextSection]:
    for found in _RELEASE.finditer(text):
        yield TextSection(bisect_right(lines, found.start()), _BELOW, found["version"] or found["bullet"])


def read_asciidoc(text: str) -> Outline:
    return _by_prefix(_ASCIIDOC, text)


def read_org(text: str) -> Outline:
    return _by_prefix(_ORG, text)


def _by_prefix(pattern: re.Pattern[str], text: str) -> Outline:
    lines = offsets(text)
    found = (
        TextSection(bisect_right(lines, one.start()), len(one[1]), _clean(one[2])) for one in pattern.finditer(text)
    )
    return nest(found, last_line(text))


def _clean(title: str) -> str:
    """The title without links and emphasis."""
    bare = _LINK.sub(r"\1", title[: 4 * LONGEST_NAME]).replace("`", "").replace("**", "")
    return " ".join(bare.rstrip("# \t").split())[:LONGEST_NAME]
