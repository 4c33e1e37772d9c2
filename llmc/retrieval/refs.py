"""Where is this name defined, and what uses it? Definitions, references, callers, callees and implementations, as
parsed.

Names are matched, not types: where one definition has the name, its uses are certain; where several share it, each use
may belong to any of them, and the result says so. Documents come from the trigram index, their content from the
catalog; every line is read again before it is shown, and a file that the catalog does not have in its current state is
searched by word.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError, NotFoundError, QueryError
from llmc.base.languages import language_of, role_of
from llmc.base.text import Binary, decode, split_lines
from llmc.retrieval.enclosing import naming_line, symbols_of_files
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.grep.pattern import plan_literal
from llmc.retrieval.line_kinds import USE
from llmc.retrieval.unindexed import unindexed_files
from llmc.retrieval.writes import writes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from llmc.base.model import Reference, Symbol
    from llmc.retrieval.view import View

__all__ = ["RefConfidence", "RefPlace", "RefsRequest", "RefsResult", "refs"]

LARGEST_READ = 8 << 20
LONGEST_NAME = 200
# Number of files read to count the lines that contain a word.
MOST_COUNTED = 100
WORD, CALLED = r"(?<!\w){}(?!\w)", r"(?<!\w){}\s*\("
QUALIFIERS = re.compile(r"::|->|[.#/]")


class RefConfidence:
    """How much a match of names proves."""

    ONE = "one definition has this name"
    SEVERAL = "several definitions share this name; each use may be of any of them"
    NONE = "no definition of this name is indexed; uses are matched by name alone"


@dataclass(frozen=True)
class RefsRequest:
    """`name` may be qualified (`Parser.feed`): its last part is looked up and the rest must match the container."""

    name: str
    kinds: frozenset[str] = frozenset()  # call, import, inherit, type, use; empty is all
    paths: PathFilter = field(default_factory=PathFilter)
    limit: int = 2_000


@dataclass(frozen=True, slots=True)
class RefPlace:
    """`kind` is that of the symbol for a definition, else that of the reference; `within` the enclosing definition."""

    root: str
    path: str
    line: int
    end_line: int
    kind: str
    within: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentRefs:
    """The number of lines of a file that contain the word but are not a use in the parse."""

    root: str
    path: str
    lines: int


@dataclass(frozen=True, slots=True)
class RefsResult:
    name: str
    definitions: tuple[RefPlace, ...]
    references: tuple[RefPlace, ...]
    callees: tuple[str, ...]  # the calls of the definition, most frequent first; only if there is one definition
    sureness: str
    pending: int = 0
    share: float = 1.0
    complete: bool = True
    elsewhere: int = 0  # lines with the word that are not uses in the parse: comments, strings, keywords
    holding: tuple[DocumentRefs, ...] = ()  # the code among them, without files that are listed already

    @property
    def callers(self) -> tuple[RefPlace, ...]:
        return tuple(place for place in self.references if place.kind == "call")

    @property
    def implementations(self) -> tuple[RefPlace, ...]:
        return tuple(place for place in self.references if place.kind == "inherit")


def refs(views: Sequence[View], request: RefsRequest) -> RefsResult:
    name = checked(request.name)
    last = QUALIFIERS.split(name)[-1]
    definitions: list[RefPlace] = []
    references: list[RefPlace] = []
    callees: Counter[str] = Counter()
    elsewhere: list[DocumentRefs] = []
    listed = [(view, holding(view, last)) for view in views]
    for view, docs in listed:
        view.store.expect(docs)
    for view, docs in listed:
        view.store.expect(docs)  # again: of many only the first were fetched with those of the other views
        reader = ViewReader(view)
        definitions += defined(view, name, request, reader, callees)
        references += used(last, docs, request, reader)
        if "write" in request.kinds:
            references += written(last, docs, request, reader, [*definitions, *references])
            references.sort(key=lambda place: (place.root, place.path, place.line))
        elsewhere += others(last, docs, request, reader, [*definitions, *references])
    if not definitions and not references:
        raise nothing_found(views, name)
    distinct = {(place.root, place.path, place.within) for place in definitions}  # overloads are one
    sureness = (
        RefConfidence.NONE if not definitions else RefConfidence.ONE if len(distinct) == 1 else RefConfidence.SEVERAL
    )
    return RefsResult(
        name=name,
        definitions=tuple(definitions),
        references=tuple(references[: request.limit]),
        callees=tuple(callee for callee, _ in callees.most_common(50)) if len(definitions) == 1 else (),
        sureness=sureness,
        pending=sum(len(view.pending) for view in views),
        share=min((view.share for view in views), default=1.0),
        complete=len(references) <= request.limit,
        elsewhere=sum(one.lines for one in elsewhere),
        holding=tuple(unnamed_code(elsewhere, [*definitions, *references])),
    )


def unnamed_code(elsewhere: Iterable[DocumentRefs], known: Iterable[RefPlace]) -> Iterator[DocumentRefs]:
    """An option is passed by keyword or in a string, which parsing does not report; prose about it is only counted."""
    named = {(place.root, place.path) for place in known}
    for one in elsewhere:
        if (one.root, one.path) not in named and role_of(one.path) not in {"doc", "data", "generated"}:
            yield one


def checked(name: str) -> str:
    name = name.strip().removesuffix("()")
    if not name or len(name) > LONGEST_NAME or any(character.isspace() for character in name):
        raise QueryError(
            f"{name[:40]!r} is not a name", hint="Give one identifier, such as parse_header or Parser.feed."
        )
    return name


class ViewReader:
    """The files of a view as they are now, each read once."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._lines: dict[str, list[str] | None] = {}

    def lines(self, path: str) -> list[str] | None:
        if path not in self._lines:
            self._lines[path] = self._read(path)
        return self._lines[path]

    def with_word(self, path: str, name: str, sought: str = WORD) -> Iterator[tuple[int, str]]:
        """(number, line) of every line that contains the name as a whole word."""
        word = re.compile(sought.format(re.escape(name)))
        for number, line in enumerate(self.lines(path) or (), 1):
            if name in line and word.search(line):
                yield number, line

    def line(self, path: str, number: int) -> str | None:
        lines = self.lines(path)
        return lines[number - 1] if lines is not None and 0 < number <= len(lines) else None

    def _read(self, path: str) -> list[str] | None:
        try:
            text = decode(self.view.root_fs.read(path, LARGEST_READ)[0])
        except LlmcError:
            return None
        return None if isinstance(text, Binary) else split_lines(text.text)


def defined(
    view: View, name: str, request: RefsRequest, reader: ViewReader, callees: Counter[str]
) -> Iterator[RefPlace]:
    places = view.store.catalog.places(view.root.id)
    accepts = request.paths.of(view.root.id).accepts
    definitions = view.store.catalog.symbols(name=name)
    view.store.expect({definition.doc for definition in definitions})
    for definition in definitions:
        path = places.get(definition.doc)
        if path is None or path in view.hidden or not accepts(path):
            continue
        symbol = definition.symbol
        found = find_definition(reader, path, symbol)
        if found is None:
            continue
        line, text = found
        called = view.store.catalog.references(definition.doc)
        callees.update(one.name for one in called if one.kind == "call" and within(one, symbol))
        yield RefPlace(
            view.root.id, path, line, line + symbol.end_line - symbol.start_line, symbol.kind, symbol.container, text
        )


def find_definition(reader: ViewReader, path: str, symbol: Symbol) -> tuple[int, str] | None:
    """The line with the name: at or slightly below the start of the definition (decorators come first), or wherever it
    moved to."""
    lines = reader.lines(path)
    if lines is None:
        return None
    first = naming_line(symbol, lambda number: lines[number - 1] if number <= len(lines) else "")
    near = range(first, min(symbol.end_line, first + 30) + 1)
    for number in near:
        if number <= len(lines) and symbol.name in lines[number - 1]:
            return number, lines[number - 1]
    head = symbol.signature.split(symbol.name, 1)[0] + symbol.name if symbol.signature else symbol.name
    for number, line in enumerate(lines, 1):
        if head.strip() in line:
            return number, line
    return None


def within(reference: Reference, symbol: Symbol) -> bool:
    return symbol.start_line <= reference.line <= symbol.end_line


def holding(view: View, name: str) -> Collection[int]:
    """The documents that may contain a name."""
    places = view.store.catalog.places(view.root.id)
    condition = plan_literal(name, ignore_case=False).condition
    return places if condition.is_empty else places.keep(view.store.keywords.candidates(condition))


def others(
    name: str, docs: Collection[int], request: RefsRequest, reader: ViewReader, known: list[RefPlace]
) -> Iterator[DocumentRefs]:
    """Lines with the word that are not among the places; none if too many files would be read. For calls these are
    lines that look like one: code in macros is not parsed as it runs."""
    if request.kinds and "call" not in request.kinds:
        return
    sought = CALLED if request.kinds else WORD
    root = reader.view.root.id
    places, accepts = reader.view.store.catalog.places(root), request.paths.of(root).accepts
    paths = sorted(path for doc in docs if accepts(path := places[doc]) and path not in reader.view.hidden)
    told = {(place.path, place.line) for place in known if place.root == root}
    paths = paths if len(paths) <= MOST_COUNTED else []
    reader.view.root_fs.expect(paths)
    for path in paths:
        lines = sum((path, number) not in told for number, _ in reader.with_word(path, name, sought))
        if lines:
            yield DocumentRefs(root, path, lines)


def used(name: str, docs: Collection[int], request: RefsRequest, reader: ViewReader) -> Iterator[RefPlace]:
    view = reader.view
    places = view.store.catalog.places(view.root.id)
    accepts = request.paths.of(view.root.id).accepts
    uses = view.store.catalog.references_named(name, list(docs))
    view.root_fs.expect(places[doc] for doc in uses)
    for path, doc in sorted((places[doc], doc) for doc in uses):
        if not view.is_stored(path) or not accepts(path):
            continue
        for one in uses[doc]:
            if request.kinds and one.kind not in request.kinds:
                continue
            text = reader.line(path, one.line)
            if text is None or name not in text:
                yield from by_word(path, name, request, reader)
                break
            yield RefPlace(view.root.id, path, one.line, one.line, one.kind, one.container, text)
    for path in sorted(unindexed_files(view, (name,), accepts).paths):
        yield from by_word(path, name, request, reader)


def written(
    name: str, docs: Collection[int], request: RefsRequest, reader: ViewReader, known: list[RefPlace]
) -> list[RefPlace]:
    """Lines that write the name although the parse has them as something else: keyword arguments, fields of literals,
    calls of a setter."""
    view = reader.view
    root = view.root.id
    places, accepts = view.store.catalog.places(root), request.paths.of(root).accepts
    paths = [path for doc in docs if accepts(path := places[doc]) and language_of(path)]
    told = {(place.path, place.line) for place in known if place.root == root}
    word = re.compile(WORD.format(re.escape(name)))
    found: dict[str, list[tuple[int, str]]] = {}
    view.root_fs.expect(paths)
    for path in sorted(paths):
        for number, line in reader.with_word(path, name):
            spans = [match.span() for match in word.finditer(line)]
            if (path, number) not in told and writes(line, spans, language_of(path)):
                found.setdefault(path, []).append((number, line))
    symbols = symbols_of_files(view, list(found))
    return [
        RefPlace(root, path, number, number, "write", around[-1].qualified if around else "", line)
        for path, lines in found.items()
        for number, line in lines
        if (text := symbols[path].text) is not None and text.kind(number, line.find(name)) == USE
        for around in [symbols[path].around(number)]
    ]


def by_word(path: str, name: str, request: RefsRequest, reader: ViewReader) -> Iterator[RefPlace]:
    """A file that the catalog does not have in its current state: every line with the word counts as a use."""
    if request.kinds and "use" not in request.kinds:
        return
    for number, line in reader.with_word(path, name):
        yield RefPlace(reader.view.root.id, path, number, number, "use", "", line)


def nothing_found(views: Sequence[View], name: str) -> NotFoundError:
    last = QUALIFIERS.split(name)[-1].casefold()
    known = {one for view in views for one in view.store.catalog.names(last[:3], limit=2_000)}
    near = get_close_matches(last, known, 3)
    hint = f"Did you mean {', '.join(near)}?" if near else "Try search, which also finds words and ideas."
    share = min((view.share for view in views), default=1.0)
    reason = "no definition and no use of it is indexed"
    if share < 1.0:
        reason, hint = f"{reason}, and {share:.0%} of the files are", "Ask again when the index is built."
    return NotFoundError(f"nothing is called {name!r}", reason=reason, hint=hint)
