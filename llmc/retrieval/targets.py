"""What a user can name to read: a file, lines of it, or a symbol."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from io import BytesIO
from mimetypes import guess_type
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError, QueryError
from llmc.base.model import CALLABLES
from llmc.base.references import parse_range
from llmc.base.text import Binary, decode, split_lines
from llmc.retrieval.enclosing import symbols_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.base.model import Symbol
    from llmc.base.root_fs import RootFs
    from llmc.retrieval.view import View

__all__ = [
    "BinaryFile",
    "Target",
    "find_symbol",
    "lines_of",
    "named_target",
    "overloads_with_body",
    "parse_target",
    "read_target",
]

LARGEST_READ = 64 << 20
LARGEST_HEADER = 1 << 20  # where an image states its size
MOST_PLACES = 3  # other files that define a name


@dataclass(frozen=True, slots=True)
class Target:
    """`end` 0 is the end of the file; `start` 0 means no range."""

    path: str
    start: int = 0
    end: int = 0
    symbol: str = ""
    named: bool = False  # the range is that of a name
    kind: str = ""  # the symbol with this name
    qualified: str = ""
    overloads: tuple[tuple[int, int], ...] = ()  # the first and last lines of the other functions with this name

    @property
    def length(self) -> int:
        return self.end - self.start


def parse_target(text: str) -> Target:
    given = parse_range(text)
    if given is None:
        raise QueryError("there is nothing to read", hint="Name a file, such as src/main.py or src/main.py:10-40.")
    if 0 < given.end < given.start:
        backwards = f"lines {given.start}-{given.end} run backwards"
        raise QueryError(backwards, hint=f"Ask for {given.end}-{given.start}.")
    return Target(*given)


@dataclass(frozen=True, slots=True)
class BinaryFile:
    """What is known of a file that is not text. `width` and `height` are 0 if it is not an image."""

    kind: str
    size: int
    width: int = 0
    height: int = 0

    def __str__(self) -> str:
        dimensions = f"{self.width} × {self.height} pixels" if self.width else ""
        return " · ".join(filter(None, (self.kind, dimensions, f"{self.size:,} bytes")))


def read_target(root_fs: RootFs, path: str) -> list[str] | BinaryFile:
    """The lines of a file, or a description of one that is not text."""
    data, _ = root_fs.read(path, LARGEST_READ, follow=True)
    text = decode(data)
    return binary_file(path, data) if isinstance(text, Binary) else split_lines(text.text)


def lines_of(root_fs: RootFs, path: str) -> list[str]:
    lines = read_target(root_fs, path)
    if isinstance(lines, BinaryFile):
        raise QueryError(f"{path} is not text", reason=str(lines), hint="Only text can be read.")
    return lines


def binary_file(path: str, data: bytes) -> BinaryFile:
    import imagesize  # noqa: PLC0415 - few read a file that is not text

    kind = guess_type(path)[0] or "binary"
    try:
        width, height = imagesize.get(BytesIO(data[:LARGEST_HEADER]))
    except Exception:  # noqa: BLE001 - the header of a damaged image
        width = height = 0
    return BinaryFile(kind, len(data), *((int(width), int(height)) if width > 0 and height > 0 else ()))


def find_symbol(view: View, path: str, target: Target) -> Target:
    known = symbols_of(view, path).symbols
    wanted = target.symbol.replace("::", ".").removesuffix("()")
    fitting = [one for one in known if one.name == wanted or f".{one.qualified}".endswith(f".{wanted}")]
    if fitting:
        return named_target(path, [one for one in fitting if one.qualified == fitting[0].qualified])
    raise NotFoundError(f"{path} defines no {target.symbol}", hint=_hint(view, wanted, known), path=path)


def _hint(view: View, wanted: str, known: Sequence[Symbol]) -> str:
    """Where else the name is defined, or a similar name of the file."""
    places = view.store.catalog.places(view.root.id)
    found = [(places.get(one.doc), one.symbol.start_line) for one in view.store.catalog.symbols(name=wanted)]
    if elsewhere := sorted({f"{path}:{line}" for path, line in found if path is not None and view.is_stored(path)}):
        return f"{wanted} is defined in {', '.join(elsewhere[:MOST_PLACES])}."
    near = get_close_matches(wanted, [one.qualified for one in known] + [one.name for one in known], 3)
    return f"Did you mean {', '.join(dict.fromkeys(near))}?" if near else "`outline` shows what it defines."


def named_target(path: str, symbols: Iterable[Symbol]) -> Target:
    """The longest of several symbols with one qualified name, which has the body; the other functions are overloads."""
    symbol, *others = sorted(symbols, key=lambda one: (one.start_line - one.end_line, one.start_line))
    start, end = symbol.start_line, symbol.end_line
    spans = {
        (one.start_line, one.end_line)
        for one in others
        if {one.kind, symbol.kind} <= CALLABLES and (one.end_line < start or end < one.start_line)
    }
    return Target(path, start, end, "", True, symbol.kind, symbol.qualified, tuple(sorted(spans)))


def overloads_with_body(target: Target, lines: Sequence[str]) -> list[tuple[int, int]]:
    """The overloads that say more than their signature, unless the target has no body either."""
    if any(end > len(lines) for _, end in target.overloads) or is_declaration(lines[target.start - 1 : target.end]):
        return list(target.overloads)
    return [(start, end) for start, end in target.overloads if not is_declaration(lines[start - 1 : end])]


def is_declaration(lines: Sequence[str]) -> bool:
    """Whether these lines end like a declaration, rather than a body or an expression body (`=> value;`)."""
    text = " ".join(lines).rstrip()
    return text.endswith("...") or (text.endswith(";") and "=>" not in text and "{" not in text)
