"""The headings of Markdown, reStructuredText, AsciiDoc and Org."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from llmc.indexer.syntax.sections import LONGEST_NAME, TextSection, last_line, nest, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.indexer.syntax.outline import Outline

__all__ = ["read_asciidoc", "read_markdown", "read_org", "read_rst"]

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:[^\n]*\n){0,200}?---[ \t]*(?:\n|$)")
_MARKDOWN = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})"
    r"|^ {0,3}(?P<hashes>#{1,6})[ \t]+(?P<title>\S[^\n]*)"
    r"|^(?P<under>[^\s>#|`~*+=-][^\n]*)\n(?P<line>=+|-{2,})[ \t]*$"
    r"|^<(?P<tag>h[1-6])\b[^>\n]*>(?P<html>[^<\n]+)",
    re.MULTILINE,
)
# A title, its underline, perhaps an overline: all of one sign, three times at least.
_UNDERLINED = re.compile(
    r"^(?:(?P<over>([^\w\s])\2{2,})[ \t]*\n[ \t]*)?(?P<title>\S[^\n]*)\n(?P<under>([^\w\s])\5{2,})[ \t]*$", re.MULTILINE
)
# Changelogs name their releases in a directive with a version, or in a bullet, as two extensions of Sphinx have it.
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


def read_markdown(text: str) -> Outline:
    return nest(_markdown(text, offsets(text)), last_line(text))


def _markdown(text: str, lines: list[int]) -> Iterator[TextSection]:
    fence = ""
    front = _FRONT_MATTER.match(text)
    for found in _MARKDOWN.finditer(text, front.end() if front else 0):
        if marks := found["fence"]:
            # A fence ends with as many marks or more; what looks like one inside is text.
            fence = ("" if marks.startswith(fence) else fence) if fence else marks
        elif not fence and (name := _clean(found["title"] or found["under"] or found["html"])):
            yield TextSection(bisect_right(lines, found.start()), _level(found), name)


def _level(found: re.Match[str]) -> int:
    if found["hashes"]:
        return len(found["hashes"])
    return int(found["tag"][1]) if found["tag"] else 1 if found["line"][0] == "=" else 2


def read_rst(text: str) -> Outline:
    """Which sign means which level is decided by the order of their first use."""
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
    """Without links and emphasis."""
    bare = _LINK.sub(r"\1", title[: 4 * LONGEST_NAME]).replace("`", "").replace("**", "")
    return " ".join(bare.rstrip("# \t").split())[:LONGEST_NAME]
