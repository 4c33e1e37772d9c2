"""Which lines of a document are about the project? Logos, badges, lists of links and sections about sponsors are not.

A README often has a screen of them above its first sentence, in HTML, markdown or reStructuredText, over several lines.
Paragraphs are judged as a whole, by what is left of them without markup. A heading is kept with the text below it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["telling_lines"]

_MARKED: Final = re.compile(r"(#{1,6}|={1,6})\s+(?P<title>\S.*)")
_UNDERLINE: Final = re.compile(r"([=\-~^*#\"+`:.'_])\1{2,}\s*")
_FENCE: Final = re.compile(r"\s*(```+|~~~+)")
# Titles of sections about other things than the project.
_ASIDE: Final = re.compile(
    r"\W*(?:\w+\s){0,2}?(?:donat\w+|sponsor(?:s|ship|ing)?|backers?|supporters?|for enterprises?|(?:table of )?contents"
    r"|our users|star history|badges)\W*",
    re.IGNORECASE,
)
# What surrounds text and says nothing itself: tags, images, links, names of links, directives, included files, fields.
_MARKUP: Final = re.compile(
    r"<!--.*?-->|<[^>]*>|!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|&\w+;"
    r"|^\s*\.\.\s(?:image|figure|contents|include|_|\|).*?(?=^\S|\Z)|^:[\w -]+:\s.*?(?=^\S|\Z)"
    r"|^(?:image|include)::.*$|\|[\w-]+\|",
    re.MULTILINE | re.DOTALL,
)
_LINK: Final = re.compile(
    r"<a\b[^>]*>.*?</a>|(?<!!)\[[^\]!]*\](?:\([^)]*\)|\[[^\]]*\])|^\[[^\]]+\]:\s*\S+[^\n]*|`[^`<]*<[^>]*>`__?",
    re.MULTILINE | re.DOTALL,
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
FEWEST_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines from 1, both included. `level` is 0 for a paragraph; other numbers only compare headings of a document."""

    first: int
    last: int
    level: int = 0
    title: str = ""


def telling_lines(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines about the project, from 1, with the empty line below each paragraph."""
    found: list[int] = []
    headings: list[_Part] = []
    aside = 0
    for part in _parts(lines):
        if part.level:
            aside = aside if aside and part.level > aside else part.level if _ASIDE.fullmatch(part.title) else 0
            headings = [*(one for one in headings if one.level < part.level), part]
        elif not aside and _is_telling("\n".join(lines[part.first - 1 : part.last])):
            for one in [*headings, part]:
                found += range(one.first, one.last + 1)
                found += [one.last + 1] if one.last < len(lines) and not lines[one.last].strip() else []
            headings = []
    return found


def _is_telling(text: str) -> bool:
    """Whether a paragraph is more than markup: a short one without any is."""
    left = _LINK.sub(" ", _MARKUP.sub(" ", _LINK.sub(" ", text)))  # a badge is an image inside a link
    return left == text or len(_WORD.findall(left)) >= FEWEST_WORDS


def _parts(lines: Sequence[str]) -> Iterator[_Part]:
    """Headings, paragraphs and fenced blocks, in order."""
    levels: dict[str, int] = {}
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        part = _heading(lines, at, levels) or _Part(at + 1, _end(lines, at))
        yield part
        at = part.last


def _heading(lines: Sequence[str], at: int, levels: dict[str, int]) -> _Part | None:
    if marked := _MARKED.fullmatch(lines[at]):
        return _Part(at + 1, at + 1, len(marked[1]), marked["title"].strip(" #="))
    over = _UNDERLINE.fullmatch(lines[at]) is not None
    title, below = at + over, at + over + 1
    if below >= len(lines) or not lines[title].strip() or not _UNDERLINE.fullmatch(lines[below]):
        return None
    if _UNDERLINE.fullmatch(lines[title]) or len(lines[below].strip()) < len(lines[title].strip()) - 2:
        return None
    level = levels.setdefault(f"{over}{lines[below][0]}", len(levels) + 1)
    return _Part(at + 1, below + 1, level, lines[title].strip())


def _end(lines: Sequence[str], at: int) -> int:
    """The last line of the paragraph or fenced block that begins at an index."""
    if fence := _FENCE.match(lines[at]):
        closed = (n for n in range(at + 1, len(lines)) if lines[n].strip() == fence[1])
        return next(closed, len(lines) - 1) + 1
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _FENCE.match(lines[end]) and not _heading(lines, end, {}):
        end += 1
    return end
