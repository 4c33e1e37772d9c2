"""Parses a reply into groups of lines with links, for replies that have no layout of their own on the page.

The reply is parsed from its text line by line: text of a file follows a line number or a space, everything else is
written by llmc, and only the last line can be the handle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from llmc.server.http.page.code import highlighted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from markupsafe import Markup

__all__ = ["PageGroup", "PageLine", "ParsedReply", "page_groups", "parsed"]

REST: Final = re.compile(r"\+(?P<left>.+) → (?P<handle>h[a-z2-7]{3,32})")
ROW: Final = re.compile(r"(?P<number>\d{1,9})(?:-\d{1,9})?(?: (?P<text>.*))?", re.DOTALL)
SPAN: Final = re.compile(r"(?P<name>.*) (?P<start>\d{1,9})-(?P<end>\d{1,9})")
TITLE: Final = re.compile(r"(?P<path>.+?)(?P<more> · [\d,]+| \(also in .*\))?")
GAP: Final = "…"
AROUND: Final = 15


@dataclass(frozen=True, slots=True)
class ParsedReply:
    head: str
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    left: str = ""
    handle: str = ""


@dataclass(frozen=True, slots=True)
class PageLine:
    """`target` opens the line; `symbol` is the name of a definition if the line is one."""

    number: int
    html: Markup
    target: str = ""
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class PageGroup:
    """Lines of one file. `root` is the name of its root if there are several."""

    path: str
    target: str
    root: str = ""
    more: str = ""
    lines: list[PageLine] = field(default_factory=list)


def parsed(text: str) -> ParsedReply:
    head, *lines = text.split("\n")
    rest = REST.fullmatch(lines[-1]) if lines else None
    groups: list[tuple[str, list[str]]] = [("", [])]
    for line in lines[:-1] if rest else lines:
        if not line or line.startswith(" ") or ROW.fullmatch(line) or SPAN.fullmatch(line):
            groups[-1][1].append(line)
        else:
            groups.append((line, []))
    found = tuple((title, tuple(lines)) for title, lines in groups if title or lines)
    return ParsedReply(head, found, rest["left"] if rest else "", rest["handle"] if rest else "")


def page_groups(reply: ParsedReply, roots: Mapping[str, str], terms: Collection[str] = ()) -> Iterator[PageGroup]:
    """`roots` maps names to folders if there are several; titles then start with the name."""
    for title, lines in reply.groups:
        named = TITLE.fullmatch(title)
        whole = named["path"] if named else ""
        root, _, inner = whole.partition(":")
        if inner and root in roots:
            group = PageGroup(inner, f"{roots[root]}/{inner}", root, (named and named["more"]) or "")
        else:
            group = PageGroup(whole, whole, more=(named and named["more"]) or "")
        group.lines.extend(page_lines(lines, group, terms))
        yield group


def page_lines(lines: tuple[str, ...], group: PageGroup, terms: Collection[str]) -> Iterator[PageLine]:
    """Every line of a file with its number: one that begins with a space, or is blank, follows the line above it."""
    texts, numbers, spans = [], [], []
    last = 0
    for line in lines:
        row, span = ROW.fullmatch(line), SPAN.fullmatch(line)
        if row:
            last = int(row["number"])
            texts.append(row["text"] or "")
        elif last and line.strip() != GAP and (not line or line.startswith(" ")):
            last += 1
            texts.append(line[1:])
        else:
            last = 0
            texts.append(line.removeprefix(" "))
        numbers.append(last)
        spans.append(None if row else span)
    if not lines:
        return
    for number, html, span in zip(numbers, highlighted("\n".join(texts), group.path, terms), spans, strict=True):
        if span and group.path:
            yield PageLine(0, html, f"{group.target}:{span['start']}-{span['end']}", span["name"].strip())
        else:
            yield PageLine(number, html, f"{group.target}:{around(number)}" if number and group.target else "")


def around(number: int) -> str:
    return f"{max(1, number - AROUND)}-{number + AROUND}"
