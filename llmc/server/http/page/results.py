"""Replies of search, grep, find, refs and outline as files with places, from the data of the reply."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final

from llmc.server.http.page.code import highlighted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from markupsafe import Markup

    from llmc.envelope.reply import Reply

__all__ = ["FileResult", "Place", "ShownLine", "result_files"]

WHOLE_PLACE: Final = 16  # lines; a longer place is shown in part
MOST_LINES: Final = 400
SHARE: Final = 3
INDENT: Final = "    "  # of a member in an outline
SYMBOL_KINDS: Final = frozenset({"function", "method", "class", "struct", "interface", "trait", "enum", "type"})


@dataclass(frozen=True, slots=True)
class ShownLine:
    """`number` 0 is a gap."""

    number: int
    html: Markup | str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """`symbol` opens the page of a definition; `note` is a remark about the place, such as its kind."""

    lines: list[ShownLine]
    name: str = ""
    symbol: str = ""
    first: int = 0
    last: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class FileResult:
    """`root` is the name of its root if there are several. `shares` explain the rank: (signal, effect, because)."""

    path: str
    target: str
    root: str = ""
    role: str = ""
    more: str = ""
    places: list[Place] = field(default_factory=list)
    shares: list[Any] = field(default_factory=list)


def result_files(tool: str, reply: Reply, terms: frozenset[str], roots: dict[str, str]) -> list[FileResult] | None:
    """The files of a reply; None for an error or another format, such as the rest of a result."""
    reader = READERS.get(tool)
    if (
        reader is None
        or reply.error
        or not any(isinstance(reply.data.get(key), list) for key in ("files", "references"))
    ):
        return None
    return list(reader(reply.data, terms, roots))


def file_of(entry: dict[str, Any], roots: dict[str, str], **more: Any) -> FileResult:
    path, root = str(entry["path"]), str(entry.get("root", ""))
    target = f"{root}/{path}" if root else path
    return FileResult(path, target, roots.get(root, ""), str(entry.get("role", "")), **more)


def search_files(data: dict[str, Any], terms: frozenset[str], roots: dict[str, str]) -> Iterator[FileResult]:
    for entry in data["files"]:
        places = [search_place(hit, str(entry["path"]), terms) for hit in entry.get("hits", ())]
        shares = [share for share in entry.get("shares") or () if len(share) == SHARE]
        yield file_of(entry, roots, places=places, shares=shares)


def search_place(hit: dict[str, Any], path: str, terms: frozenset[str]) -> Place:
    """The whole place if it is short, or else the lines that the model was shown, with a line around each. Indentation
    that all lines share is left out, since a phone shows 40 characters."""
    first, name = int(hit["start_line"]), str(hit.get("name") or "")
    lines = list(enumerate(highlighted(dedent(str(hit.get("text", "")).removesuffix("\n")), path, terms), first))
    wanted = {near for number in hit.get("lines", ()) for near in range(int(number) - 1, int(number) + 2)}
    if len(lines) > WHOLE_PLACE and wanted:
        lines = [(number, html) for number, html in lines if number in wanted]
    while lines and not lines[0][1].strip():
        del lines[0]
    symbol = f"{path}:{name}" if name and hit.get("kind") in SYMBOL_KINDS else ""
    return Place(list(with_gaps(lines[:WHOLE_PLACE])), name, symbol, first, int(hit["end_line"]))


def with_gaps(lines: Iterable[tuple[int, Markup]]) -> Iterator[ShownLine]:
    last = 0
    for number, html in lines:
        if last and number > last + 1:
            yield ShownLine(0)
        last = number
        yield ShownLine(number, html)


def grep_files(data: dict[str, Any], terms: frozenset[str], roots: dict[str, str]) -> Iterator[FileResult]:
    room = MOST_LINES
    for entry in data["files"]:
        path = str(entry["path"])
        lines = [(int(number), str(text)) for number, text, *_ in entry.get("lines", ())][: max(0, room)]
        room -= len(lines)
        html = highlighted(dedent("\n".join(text for _, text in lines)), path, terms) if lines else []
        shown = [ShownLine(number, one) for (number, _), one in zip(lines, html, strict=True)]
        count = int(entry.get("count", len(lines)))
        more = f" · {count:,}" if count > len(lines) else ""
        yield file_of(entry, roots, places=[Place(shown)] if shown else [], more=more)


def found_files(data: dict[str, Any], _terms: frozenset[str], roots: dict[str, str]) -> Iterator[FileResult]:
    for entry in data["files"][:MOST_LINES]:
        yield file_of(entry, roots)


def reference_files(data: dict[str, Any], terms: frozenset[str], roots: dict[str, str]) -> Iterator[FileResult]:
    """Definitions first, then uses, by file."""
    places: defaultdict[tuple[str, str], list[Place]] = defaultdict(list)
    for entry in (*data.get("definitions", ()), *data["references"]):
        path, line, within = str(entry["path"]), int(entry["line"]), str(entry.get("within") or "")
        (html,) = highlighted(str(entry.get("text", "")).replace("\n", " "), path, terms)
        note = str(entry.get("kind", ""))
        symbol = f"{path}:{within}" if within else ""
        places[str(entry.get("root", "")), path].append(Place([ShownLine(line, html)], within, symbol, note=note))
    for (root, path), found in list(places.items())[:MOST_LINES]:
        yield file_of({"root": root, "path": path}, roots, places=found)


def outline_files(data: dict[str, Any], terms: frozenset[str], roots: dict[str, str]) -> Iterator[FileResult]:
    for entry in data["files"]:
        path = str(entry["path"])
        places = [outline_place(one, path, terms) for one in entry.get("symbols", ())]
        yield file_of(entry, roots, places=places)


def outline_place(symbol: dict[str, Any], path: str, terms: frozenset[str]) -> Place:
    name = ".".join(filter(None, (str(symbol.get("container", "")), str(symbol["name"]))))
    first = int(symbol["start_line"])
    signature = str(symbol.get("signature") or name).replace("\n", " ")
    (html,) = highlighted(INDENT * name.count(".") + signature, path, terms)
    return Place([ShownLine(first, html)], name, f"{path}:{name}", first, int(symbol["end_line"]))


READERS: Final[dict[str, Callable[[dict[str, Any], frozenset[str], dict[str, str]], Iterator[FileResult]]]] = {
    "search": search_files,
    "grep": grep_files,
    "find": found_files,
    "refs": reference_files,
    "outline": outline_files,
}
