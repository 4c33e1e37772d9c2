"""Sections of documents: which lines belong to a heading or an entry (markdown, reStructuredText, AsciiDoc and plain
text), and which of them to quote.

A section ends at the next heading. An entry (`.. py:data:: NAME`) ends where its indentation does. A paragraph and the
code block that follows it are kept together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import loose_words, terms_of
from llmc.answers.research.prose import one_line
from llmc.base import words
from llmc.base.text import indent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Section", "best_block", "excerpt", "introduced", "paragraphs", "section_at", "sections_of"]

_HASH = re.compile(r"(#{1,6}|={1,6})\s+(?P<title>\S.*?)\s*#*$")
# Manual pages: sections, subsections, and tagged paragraphs, whose tag is on the next line.
_ROFF = re.compile(r"\.(SH|SS|TP)\b\s*(?P<title>\D.*)?$")
# A release in a changelog without markup: `Changes in 4.0.0`, `Version 2.1 (2024-03-01)`, `v1.4.2`.
_RELEASE = re.compile(
    r"(?:(?:changes|new|what's new|release notes)\s+(?:in|for)\s+)?(?:[\w-]+\s+)?v?\d+\.\d+(?:\.\d+)*(?:[-.]?\w+)?"
    r"\s*(?:[(\[][^)\]]{4,40}[)\]]|[-–:,]\s*[\d\w ,./-]{4,30})?:?$",
    re.IGNORECASE,
)
_FONT = re.compile(r"^\.[A-Z]+\s+|\\f[A-Z]|\\")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_ENTRY = re.compile(
    r"\.\.\s+(?!auto|code|note|warning|seealso|tip|image|include|toctree|admonition|version|deprecated|sidebar|contents|topic|figure|_)[\w:-]+::\s+(?P<title>\S.*)$"
)
_FENCE = re.compile(r"\s*(?:```|----+\s*$|\.\.\s+(?:code|code-block|sourcecode|literalinclude|prompt)\b)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_NOISE = re.compile(
    r"\s*(?:<a\s|\.\.\s+_|\[!\[|<!--|:release-|\[[^\]]+\]:\s|\.\.\s+(?:auto\w+|(?:current)?module|contents|toctree|index|highlight|meta)::"
    r"|:(?:[\w-]*members|show-inheritance|no-?index|synopsis|local|depth|maxdepth|hidden|caption|titlesonly)\b[\w-]*:)"
)


MOST_INTRODUCED = 8
FENCE = 3  # backticks


@dataclass(frozen=True, slots=True)
class Section:
    """Lines from 1, both included; `title` is the heading, `level` its depth."""

    title: str
    start: int
    end: int
    level: str = ""


def sections_of(lines: Sequence[str]) -> list[Section]:
    """Every section and entry of a document, in order."""
    heads = list(_headings(lines))
    found: list[Section] = []
    for at, (start, title, level) in enumerate(heads):
        end = heads[at + 1][0] - 1 if at + 1 < len(heads) else len(lines)
        if level == "entry":
            end = min(end, _indented_end(lines, start))
        found.append(Section(title, start, max(start, end), level))
    if not heads or heads[0][0] > 1:
        found.insert(0, Section("", 1, heads[0][0] - 1 if heads else len(lines)))
    return found


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    skipped = _front_matter(lines)
    for number, (line, fenced) in enumerate(zip(lines, _fenced(lines), strict=True), 1):
        if number <= skipped or fenced:
            continue
        if match := _ROFF.match(line):
            title = match["title"] or (lines[number] if number < len(lines) else "")
            yield number, _FONT.sub("", title).strip(' "'), f"roff {match[1]}"
        elif (match := _HASH.match(line)) and not _UNDERLINE.match(line):
            yield number, match["title"], match[1]
        elif (match := _ENTRY.match(line)) and _indented_end(lines, number) > number:
            yield number, match["title"], "entry"
        elif _RELEASE.match(line) and _is_apart(lines, number):
            yield number, line.strip(" :"), "release"
        elif _is_title(lines, number):
            over = number > 1 and _UNDERLINE.match(lines[number - 2]) is not None
            yield number, line.strip(), f"{'over ' if over else ''}{lines[number][0]}"


def _fenced(lines: Sequence[str]) -> Iterator[bool]:
    """Whether each line belongs to a fenced block. A fence with the name of a language opens a block and never closes
    one; a block left open ends there."""
    fenced = False
    for number, line in enumerate(lines, 1):
        mark = line.lstrip()
        if not mark.startswith("```") or (not fenced and _is_underline(lines, number)):
            yield fenced
            continue
        fenced = bool(mark.strip("`").strip()) or not fenced
        yield True


def _front_matter(lines: Sequence[str]) -> int:
    """The last line of the fields between `---` at the top of a page; 0 if there are none."""
    if not lines or lines[0].strip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:60], 2) if line.strip() == "---"), 0)


def _is_underline(lines: Sequence[str], number: int) -> bool:
    """Whether backticks underline the title above them, as in reStructuredText, rather than opening a block."""
    return len(lines[number - 1].rstrip()) > FENCE and number > 1 and _is_title(lines, number - 1)


def _is_title(lines: Sequence[str], number: int) -> bool:
    """Whether this line is a title: the line below underlines it at about its length."""
    if number >= len(lines) or not _UNDERLINE.match(lines[number]):
        return False
    title = lines[number - 1].strip()
    if not title or _UNDERLINE.match(title) or title.startswith("|"):
        return False
    alone = lines[number][0] in "=-" and (number == 1 or not lines[number - 2].strip())
    return alone or len(lines[number].strip()) >= len(title) - 2


def _is_apart(lines: Sequence[str], number: int) -> bool:
    """Whether a line has empty lines around it, or an indented or listed one below it."""
    above = lines[number - 2].strip() if number > 1 else ""
    below = lines[number] if number < len(lines) else ""
    return not above and (not below.strip() or below.startswith((" ", "\t", "-", "*")))


def _indented_end(lines: Sequence[str], start: int) -> int:
    end = start
    for number in range(start + 1, len(lines) + 1):
        line = lines[number - 1]
        if line.strip() and not line.startswith((" ", "\t")):
            break
        end = number if line.strip() else end
    return end


def section_at(sections: Sequence[Section], line: int) -> Section | None:
    around = [one for one in sections if one.start <= line <= one.end]
    return min(around, key=lambda one: one.end - one.start, default=None)


def excerpt(lines: Sequence[str], section: Section, question: str, most: int) -> tuple[tuple[int, str], ...]:
    """The lines of a section to quote: all of a short one; otherwise its first paragraph and those with most words of
    the question, each with the block that it introduces."""
    parts = list(_parts(lines, section))
    if sum(len(part) for part in parts) <= most:
        chosen = parts
    else:
        terms = terms_of(question)
        scored = sorted(range(len(parts)), key=lambda at: (-len(terms & set(words.body(_text(parts[at])).split())), at))
        kept: list[int] = []
        room = most
        for at in dict.fromkeys([*scored[:1], *([0] if parts else []), *scored[1:]]):
            if len(parts[at]) <= room or not kept:
                kept.append(at)
                room -= len(parts[at])
        chosen = [parts[at] for at in sorted(kept)]
    return tuple(row for part in chosen for row in part)[: most + 4]


def introduced(lines: Sequence[str], sections: Sequence[Section], section: Section) -> tuple[tuple[int, str], ...]:
    """The headings or entries directly below a section that ends with a colon, each with its first sentence."""
    last = next((lines[n - 1].rstrip() for n in range(section.end, section.start, -1) if lines[n - 1].strip()), "")
    below = [one for one in sections if one.start > section.end]
    if not last.endswith(":") or not below or below[0].level == section.level:
        return ()
    found: list[tuple[int, str]] = []
    for one in takewhile(lambda one: one.level == below[0].level, below[:MOST_INTRODUCED]):
        found.append((one.start, lines[one.start - 1]))
        for part in islice(_parts(lines, one), 1):
            sentence = " ".join(text.strip() for _, text in part).partition(". ")[0]
            found.append((part[0][0], " " * indent_of(part[0][1]) + one_line(sentence)))
    return tuple(found)


def best_block(lines: Sequence[str], section: Section, question: str) -> tuple[int, int] | None:
    """First and last line of the code block with most words of the question; None without a code block."""
    blocks = list(_blocks(lines, section))
    terms = terms_of(question)

    def matches(block: tuple[int, int]) -> int:
        return len(terms & set(words.body(" ".join(lines[block[0] - 1 : block[1]])).split()))

    return max(blocks, key=lambda block: (matches(block), -block[0]), default=None)


def _blocks(lines: Sequence[str], section: Section) -> Iterator[tuple[int, int]]:
    """Fenced blocks, and indented ones after a line that ends with a colon or is a code directive."""
    number = section.start + (2 if section.level and _is_title(lines, section.start) else 0)
    while number < min(section.end, len(lines)):
        line = lines[number - 1]
        if line.lstrip().startswith("```"):
            end = next((at for at in range(number + 1, section.end + 1) if lines[at - 1].lstrip().startswith("```")), 0)
            if end > number + 1:
                yield number + 1, end - 1
            number = max(end, number)
        elif _FENCE.match(line) or (line.rstrip().endswith("::") and not line.lstrip().startswith("..")):
            first = next((at for at in range(number + 1, section.end + 1) if lines[at - 1].strip()), 0)
            while first and first <= section.end and re.match(r"\s+:\w", lines[first - 1]):  # options of a directive
                first = next((at for at in range(first + 1, section.end + 1) if lines[at - 1].strip()), 0)
            end = first
            while (
                first
                and end < section.end
                and (not lines[end].strip() or indent_of(lines[end]) >= indent_of(lines[first - 1]))
            ):
                end += 1
            if first and indent_of(lines[first - 1]) > indent_of(line):
                yield first, end
                number = end
        number += 1


def paragraphs(lines: Sequence[str], section: Section) -> Iterator[set[str]]:
    """The words of each pair of consecutive paragraphs."""
    parts = [loose_words(_text(part)) for part in _parts(lines, section)]
    for at, part in enumerate(parts):
        yield part | (parts[at + 1] if at + 1 < len(parts) else set())


def _text(part: Sequence[tuple[int, str]]) -> str:
    return " ".join(text for _, text in part)


def _parts(lines: Sequence[str], section: Section) -> Iterator[list[tuple[int, str]]]:
    """Paragraphs of a section without its heading; a code block belongs to the paragraph above it."""
    part: list[tuple[int, str]] = []
    first = section.start + (2 if _is_title(lines, section.start) else 1) if section.level else section.start
    numbers = range(max(first, _front_matter(lines) + 1), section.end + 1)
    blank = fenced = False
    margin = min((indent_of(lines[n - 1]) for n in numbers if lines[n - 1].strip()), default=0)
    for number in numbers:
        line = lines[number - 1].rstrip()
        if not line.strip():
            blank = not fenced
            continue
        if not fenced and (_NOISE.match(line) or (_ENTRY.match(line) and number != section.start)):
            continue
        code = fenced or _FENCE.match(line) is not None or indent_of(line) > margin
        if line.lstrip().startswith("```"):
            fenced = not fenced
        item = _ITEM.match(line) is not None and indent_of(line) == margin and not fenced
        if part and ((blank and not code) or item):
            yield part
            part = []
        blank = False
        part.append((number, line))
    if part:
        yield part
