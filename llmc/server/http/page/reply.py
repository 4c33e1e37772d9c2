"""Renders a reply for a person: the lines that a model reads, in groups, with colours and links.

The reply is parsed from its text line by line: text of a file follows a line number or a space, everything else is
written by llmc, and only the last line can be the handle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from llmc.server.http.page.code import coloured, terms_of
from llmc.server.http.page.markup import Safe, fill, join, link

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from llmc.envelope.reply import Reply

__all__ = ["ParsedReply", "parsed", "shown"]

REST: Final = re.compile(r"\+(?P<left>.+) → (?P<handle>h[a-z2-7]{3,32})")
ROW: Final = re.compile(r"(?P<number>\d{1,9})(?:-\d{1,9})?(?: (?P<text>.*))?", re.DOTALL)
GAP: Final = "…"
SPAN: Final = re.compile(r"(?P<name>.*) (?P<start>\d{1,9})-(?P<end>\d{1,9})")
COUNT: Final = re.compile(r"(?P<path>.+?)(?P<more> · [\d,]+| \(also in .*\))?")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    head: str
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    left: str = ""
    handle: str = ""


@dataclass(slots=True)
class PageGroup:
    title: str
    lines: list[str] = field(default_factory=list)


def parsed(text: str) -> ParsedReply:
    head, *lines = text.split("\n")
    rest = REST.fullmatch(lines[-1]) if lines else None
    groups = [PageGroup("")]
    for line in lines[:-1] if rest else lines:
        if not line or line.startswith(" ") or ROW.fullmatch(line) or SPAN.fullmatch(line):
            groups[-1].lines.append(line)
        else:
            groups.append(PageGroup(line))
    found = tuple((one.title, tuple(one.lines)) for one in groups if one.title or one.lines)
    return ParsedReply(head, found, rest["left"] if rest else "", rest["handle"] if rest else "")


def shown(tool: str, query: str, reply: Reply, roots: Mapping[str, str]) -> Safe:
    """`roots` maps names to folders if there are several; titles then start with the name."""
    found = parsed(reply.text)
    terms = terms_of(query) if tool != "read" else frozenset()
    reasons = reasons_of(reply.data)
    read = query.partition(":")[0] if tool == "read" else ""
    groups = join(
        group(PagePlace.of(title, roots) or PagePlace(read, read), title, lines, terms, reasons)
        for title, lines in found.groups
    )
    rest = fill(REST_LINK, url=link("/", tool="read", q=found.handle), left=found.left, handle=found.handle)
    weight = reply.weight
    tokens = fill(" · {tokens} tokens", tokens=f"{weight.content + weight.frame:,}") if weight else Safe()
    kind = "error" if reply.error else "found"
    head = fill(
        '<p class="{kind}" id="found">{head}<small>{tokens}</small></p>', kind=kind, head=found.head, tokens=tokens
    )
    return join([head, groups, rest if found.handle else Safe()])


REST_LINK: Final = '<p class="rest"><a class="go next" href="{url}">+{left}</a> <code>{handle}</code></p>'


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A file: its path in the root, the `read` target, and the rest of the title."""

    path: str
    target: str
    shown: str = ""
    more: str = ""

    @classmethod
    def of(cls, title: str, roots: Mapping[str, str]) -> PagePlace | None:
        named = COUNT.fullmatch(title)
        if named is None:
            return None
        name, _, path = named["path"].partition(":")
        more = named["more"] or ""
        if path and name in roots:
            return cls(path, f"{roots[name]}/{path}", named["path"], more)
        return cls(named["path"], named["path"], named["path"], more)


def group(
    place: PagePlace, title: str, lines: tuple[str, ...], terms: Collection[str], reasons: Mapping[str, tuple[Any, ...]]
) -> Safe:
    heading = fill(
        '<h2><a class="go" href="{url}">{shown}</a><small>{more}</small></h2>',
        url=link("/", tool="read", q=place.target),
        shown=place.shown,
        more=place.more,
    )
    why = reasons.get(place.path, ()) if title else ()
    rows = join(row(line, place, terms) for line in numbered(lines))
    return fill(
        '<section class="file">{heading}{why}{body}</section>',
        heading=heading if title else Safe(),
        why=explained(why) if why else Safe(),
        body=fill("<pre>{rows}</pre>", rows=rows) if lines else Safe(),
    )


def numbered(lines: Iterable[str]) -> Iterator[str]:
    """Every line of a file with its number: one that begins with a space, or is blank, follows the line above it."""
    last = 0
    for line in lines:
        found = ROW.fullmatch(line)
        if found:
            last = int(found["number"])
            yield line
        elif last and line.strip() != GAP and (not line or line.startswith(" ")):
            last += 1
            yield f"{last} {line[1:]}"
        else:
            last = 0
            yield line.removeprefix(" ")


def row(line: str, place: PagePlace, terms: Collection[str]) -> Safe:
    found = ROW.fullmatch(line)
    if found:
        number, text = found["number"], found["text"] or ""
        return fill(
            '<span class="row"><a class="number" href="{url}">{number}</a>{text}\n</span>',
            url=link("/", tool="read", q=f"{place.target}:{around(int(number))}"),
            number=number,
            text=coloured(text, place.path, terms),
        )
    span = SPAN.fullmatch(line)
    if span and place.path:
        url = link("/", tool="read", q=f"{place.target}:{span['start']}-{span['end']}")
        return fill('<a class="symbol" href="{url}">{line}\n</a>', url=url, line=line)
    return fill('<span class="plain">{line}\n</span>', line=coloured(line, place.path, terms))


AROUND: Final = 15


def around(number: int) -> str:
    return f"{max(1, number - AROUND)}-{number + AROUND}"


def reasons_of(data: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """path → (signal, effect, because), for replies with explanations."""
    files = data.get("files")
    listed = files if isinstance(files, list) else []
    return {str(one.get("path")): tuple(one.get("shares") or ()) for one in listed if isinstance(one, dict)}


def explained(reasons: tuple[Any, ...]) -> Safe:
    return fill(
        '<details class="why"><summary>why it is here</summary><table>{rows}</table></details>',
        rows=join(reason_rows(reasons)),
    )


def reason_rows(reasons: tuple[Any, ...]) -> Iterator[Safe]:
    for signal, effect, because in reasons:
        template = "<tr><th>{signal}</th><td class=figure>{effect}</td><td>{because}</td></tr>"
        yield fill(template, signal=signal, effect=f"{effect:.3g}", because=because)
