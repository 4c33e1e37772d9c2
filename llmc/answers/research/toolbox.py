"""The tools of a role: index queries that check permission, deadline and read budget on every call.

A role gets all of its information here: from the catalog, the keyword and vector stores, and from metered file reads.
Nothing walks the disk. Each call is bounded to what is useful to show, because names defined in hundreds of places
carry no information.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from llmc.answers.research.errors import ToolDeniedError
from llmc.answers.research.matches import Area, DefinitionMatch, GraphTarget, TextMatch, UseMatch, nearness
from llmc.answers.research.result import ResultPlace
from llmc.base.errors import LlmcError, NotFoundError, SearchTimeoutError
from llmc.base.languages import role_of
from llmc.base.references import parse_reference
from llmc.base.text import Binary, decode, split_lines
from llmc.base.words import query_words
from llmc.graph.edges import Graph
from llmc.graph.lookup import JOINTS, find_targets
from llmc.graph.testing import is_test
from llmc.retrieval.grep.grep import GrepRequest, grep, role_rank
from llmc.retrieval.grep.pattern import plan_literal
from llmc.retrieval.search import SearchRequest, search
from llmc.store.protocols import Clause, KeywordQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.answers.research.budget import ReadMeter
    from llmc.answers.research.runtime import Stop
    from llmc.base.model import Symbol
    from llmc.envelope.redact.redactor import Redactor
    from llmc.retrieval.globs import PathFilter
    from llmc.retrieval.results import SearchResult
    from llmc.store.catalog.document_paths import DocumentPaths
    from llmc.store.protocols import ChunkHit

__all__ = ["Area", "DefinitionMatch", "GraphTarget", "RoleToolbox", "TextMatch", "UseMatch"]

# Documents whose symbols or references are unpacked for one name, nearest first; 0.1 ms each.
MOST_DEFINING = 12
MOST_USING = 96
BATCH = 24
ENOUGH_USES = 12
# A name in this many documents is a word of the language; its uses carry no information.
TOO_COMMON = 1_000
LARGEST_READ = 8 << 20
NAMES_NEAR = 2_000
GREP_SECONDS = 3.0


def names_file(text: str, path: str) -> bool:
    name = path.rpartition("/")[2]
    spelt = [path, name] if not name.isalnum() else [path] if "/" in path else []
    return any(one in text and re.search(rf"(?<![\w./-]){re.escape(one)}(?![\w-]|\.\w)", text) for one in spelt)


class RoleToolbox:
    """The tools of one task. `allowed` are the names of the tools that the role may use."""

    def __init__(
        self,
        areas: Sequence[Area],
        *,
        role: str,
        allowed: frozenset[str],
        meter: ReadMeter,
        stop: Stop,
        redactor: Redactor,
    ) -> None:
        self.areas = tuple(areas)
        self.role = role
        self.allowed = allowed
        self.meter = meter
        self.stop = stop
        self.redactor = redactor
        self._shown: dict[tuple[str, str], list[str]] = {}
        self._symbols: dict[tuple[str, int], list[Symbol]] = {}
        self.calls: list[str] = []
        self.unread = 0  # files that may match a pattern and were not looked into

    @contextmanager
    def part_of_time(self, share: float) -> Iterator[None]:
        """Limit the calls inside to a share of the time that is left."""
        whole = self.stop
        self.stop = whole.part(share)
        try:
            yield
        finally:
            self.stop = whole

    def _check(self) -> None:
        self.stop.check()  # `self.stop` changes in `part_of_time`

    def _authorize(self, tool: str) -> None:
        self._check()
        if tool not in self.allowed:
            raise ToolDeniedError(
                f"the role {self.role} may not use {tool}", hint=f"Allowed: {', '.join(sorted(self.allowed))}."
            )
        self.calls.append(tool)

    # ---- search ----

    def search(self, query: str, *, limit: int = 10, per_file: int = 3, globs: tuple[str, ...] = ()) -> SearchResult:
        """Ranked places; `globs` narrows them to some files, within what the role may search."""
        self._authorize("search")
        if len(self.areas) == 1 or all(area.paths.is_open for area in self.areas):
            paths = narrowed(self.areas[0].paths, globs)
            request = SearchRequest(query, paths=paths, limit=limit, per_file=per_file)
            found = search([area.view for area in self.areas], request)
        else:
            found = self._search_each_area(query, limit, per_file, globs)
        self.stop.check()
        return found

    def _search_each_area(self, query: str, limit: int, per_file: int, globs: tuple[str, ...]) -> SearchResult:
        """Search areas with different path filters one by one, and merge the hits by score."""
        results = [
            search(
                [area.view],
                SearchRequest(query, paths=narrowed(area.paths, globs), limit=limit, per_file=per_file),
            )
            for area in self.areas
        ]
        files = sorted((file for one in results for file in one.files), key=lambda file: -file.score)
        return replace(
            results[0],
            files=tuple(files[:limit]),
            candidates=sum(one.candidates for one in results),
            pending=sum(one.pending for one in results),
            share=min(one.share for one in results),
        )

    def denied_in(self, text: str) -> list[str]:
        """The files and folders on the denylist that a text names: by path, or by a name that is not a plain word."""
        denied = sorted({path.rstrip("/") for area in self.areas for path in area.view.denied})
        return [path for path in denied if names_file(text, path)]

    # ---- symbols ----

    def define(self, name: str, most: int = MOST_DEFINING) -> list[DefinitionMatch]:
        """Definitions of a name, which may be qualified; code before tests."""
        self._authorize("symbols")
        if JOINTS.search(name):  # the qualifier decides, however many documents define the last part
            return [
                DefinitionMatch(one.area, one.node.doc, one.path, one.symbol)
                for one in self.targets(name)
                if one.symbol is not None
            ]
        found: list[DefinitionMatch] = []
        for area in self.areas:
            catalog, places = area.view.store.catalog, self.places(area)
            nearest = self._nearest_first(area, places.keep(catalog.defining(name)), near="")[:most]
            kept = {doc for _, doc in nearest}
            found += [
                DefinitionMatch(area, one.doc, places[one.doc], one.symbol)
                for one in catalog.symbols(name=name, docs=kept)
            ]
        return sorted(found, key=lambda one: (*nearness(one.path, ""), one.path, one.symbol.start_line))

    def targets(self, name: str) -> list[GraphTarget]:
        """The definitions that a name means, with members that a class only inherits; code before tests."""
        self._authorize("symbols")
        found: list[GraphTarget] = []
        for area in self.areas:
            try:
                lookup = find_targets([area.project], name)
            except LlmcError:
                continue
            graph = self.graph(area)
            found += [GraphTarget(area, graph, one.node) for one in lookup.targets if area.paths.accepts(one.path)]
        return found

    def graph(self, area: Area) -> Graph:
        """The code graph of an area; its queries end when the task must."""
        return Graph(area.project, self._check)

    def symbol_around(self, area: Area, path: str, line: int) -> Symbol | None:
        """The innermost definition around a line."""
        doc = self.doc_of(area, path)
        symbols = self.symbols_of(area, doc) if doc is not None else []
        around = [one for one in symbols if one.start_line <= line <= one.end_line]
        return min(around, key=lambda one: (one.end_line - one.start_line, -one.start_line), default=None)

    def is_test(self, area: Area, path: str, line: int) -> bool:
        """Whether a line belongs to tests: in a test file, or inside of what is marked as a test."""
        facts = area.project.facts_at(path)
        symbol = self.symbol_around(area, path, line) if facts is not None else None
        if role_of(path) == "test" or facts is None or symbol is None:
            return role_of(path) == "test"
        return is_test(facts, symbol.qualified) or not {"test", "tests"}.isdisjoint(symbol.qualified.split("."))

    def symbols_of(self, area: Area, doc: int) -> list[Symbol]:
        """The definitions of a document, read once for a task: finders ask for what is around each line."""
        self._authorize("symbols")
        key = (area.view.root.id, doc)
        if key not in self._symbols:
            self._symbols[key] = [one.symbol for one in area.view.store.catalog.symbols(doc=doc)]
        return self._symbols[key]

    def uses(self, name: str, kinds: frozenset[str], near: str = "") -> list[UseMatch]:
        """Uses of a name in the documents closest to `near`; empty for names that occur almost everywhere."""
        self._authorize("refs")
        condition = plan_literal(name, ignore_case=False).condition
        found: list[UseMatch] = []
        for area in self.areas:
            keywords, places = area.view.store.keywords, self.places(area)
            if condition.is_empty or keywords.estimate(condition) > TOO_COMMON:
                continue
            docs = places.keep(keywords.candidates(condition))
            found += self._used_in(area, name, kinds, self._nearest_first(area, docs, near)[:MOST_USING])
            self.stop.check()
        return found

    def _used_in(
        self, area: Area, name: str, kinds: frozenset[str], listed: list[tuple[str, int]]
    ) -> Iterator[UseMatch]:
        """Unpack documents in batches, because callers mostly need the first few uses."""
        found = 0
        for start in range(0, len(listed), BATCH):
            self.stop.check()
            batch = listed[start : start + BATCH]
            uses = area.view.store.catalog.references_named(name, [doc for _, doc in batch])
            for path, doc in batch:
                for one in uses.get(doc, ()):
                    if one.kind in kinds:
                        found += 1
                        yield UseMatch(area, doc, path, one)
            if found >= ENOUGH_USES:
                return

    def _nearest_first(self, area: Area, docs: Iterable[int], near: str) -> list[tuple[str, int]]:
        places = self.places(area)
        listed = ((places[doc], doc) for doc in docs)
        ranked = sorted((nearness(path, near), path, doc) for path, doc in listed if area.paths.accepts(path))
        return [(path, doc) for _, path, doc in ranked]

    def doc_of(self, area: Area, path: str) -> int | None:
        return area.view.store.catalog.doc_of(area.view.root.id, path)

    def exists(self, reference: str, *, several: bool = False) -> bool:
        """Whether `path`, `path:line` or `path:line:col` exists in an indexed file of the areas."""
        return self.located(reference, several=several) is not None

    def located(self, reference: str, *, several: bool = False) -> ResultPlace | None:
        """The place that a reference names; None unless it exists in an indexed file of the areas."""
        parsed = parse_reference(reference)
        if parsed is None:
            return None
        path, line = parsed
        for area in self.areas:
            root = area.view.root.path
            inner = path.removeprefix(f"{root}/") if several else path
            doc = None if several and inner == path else self.doc_of(area, inner)
            if doc is not None and area.paths.accepts(inner) and line <= area.view.store.catalog.lines(doc):
                return ResultPlace(area.view.root.id, inner, line, line)
        return None

    def area_of(self, root: str) -> Area:
        found = next((area for area in self.areas if area.view.root.id == root), None)
        if found is None:
            raise NotFoundError("this place is in a root outside the scope of the question")
        return found

    # ---- text ----

    def grep(
        self, *patterns: str, most: int | None = None, globs: tuple[str, ...] = (), **options: bool
    ) -> list[TextMatch]:
        """Every line that matches one of the patterns, code before tests and documents; at most about `most` lines."""
        self._authorize("search")
        found: list[TextMatch] = []
        for area in self.areas:
            seconds = max(0.1, min(GREP_SECONDS, self.stop.left))
            paths = narrowed(area.paths, globs)
            request = GrepRequest(patterns, paths=paths, stop=most, seconds=seconds, **options)  # type: ignore[arg-type]
            try:
                result = grep([area.source], request)
            except SearchTimeoutError:  # what other finders know still answers
                self.meter.note_stopped()
                continue
            self.unread += result.unread
            found += [
                TextMatch(area, file.path, line.number, line.text)
                for file in sorted(result.files, key=lambda one: (role_rank(one.path), one.path))
                for line in file.lines
                if line.matched
            ]
            self.stop.check()
        return found

    # ---- names ----

    def occurs(self, name: str) -> bool:
        """Whether this name occurs in any file or path of the areas, ignoring case; every file that may have it is
        looked into."""
        wanted = name.lower()
        return bool(self.grep(name, fixed=True, ignore_case=True, most=1)) or any(
            wanted in path.lower() for area in self.areas for path in self._paths(area)
        )

    def says(self, word: str) -> bool:
        """Whether any chunk, name or path contains this word, compared by stem."""
        self._authorize("search")
        terms = [term for one in query_words(word) for term in (one.term, *one.parts)]
        query = KeywordQuery(tuple(Clause(field, term) for term in terms for field in ("body", "name", "path")))
        for area in self.areas:
            places = self.places(area)
            hits = area.view.store.keywords.search(query, 50)
            if any(hit.doc in places and area.paths.accepts(places[hit.doc]) for hit in hits):
                return True
        return False

    def nearest(self, name: str, most: int = 3) -> tuple[str, ...]:
        """Names of definitions with a similar spelling, as written in their files."""
        self._authorize("symbols")
        last = name.replace("::", ".").replace("->", ".").replace("#", ".").rpartition(".")[2].casefold()
        known: dict[str, None] = {}
        for area in self.areas:
            catalog = area.view.store.catalog
            for prefix in dict.fromkeys((last[:3], last[:1])):
                known.update(dict.fromkeys(catalog.names(prefix, limit=NAMES_NEAR)))
        close = get_close_matches(last, known, most * 3, 0.6)
        spelt = [found[0].symbol.qualified for one in close if (found := self.define(one, most=1))]
        return tuple(dict.fromkeys(spelt))[:most]

    # ---- files ----

    def lines(self, area: Area, path: str) -> list[str] | None:
        """The current lines of a file; None when it is missing, binary, or over the budget."""
        self._authorize("read")
        try:
            text = decode(area.view.root_fs.read(path, LARGEST_READ)[0])
        except LlmcError:
            self.stop.check()
            return None
        return None if isinstance(text, Binary) else split_lines(text.text)

    def shown(self, area: Area, path: str) -> list[str]:
        """Redacted lines of a file, safe to show. The whole file is redacted, as a partial key is not recognized."""
        key = (area.view.root.id, path)
        if key not in self._shown:
            lines = self.lines(area, path) or []
            clean = self.redactor.redact("\n".join(lines), path).text.split("\n") if lines else []
            self._shown[key] = clean
        return self._shown[key]

    # ---- neighbours ----

    def neighbours(self, area: Area, doc: int, ordinal: int, limit: int) -> list[ChunkHit]:
        """The chunks most similar to this one, excluding itself; empty without vectors."""
        self._authorize("neighbours")
        store = area.view.store
        if area.view.embedder is None or not store.vector_state(wait=area.view.wait_for_vectors).answered_by:
            return []
        rows = store.vectors.vectors([doc]).get(doc, ())
        if ordinal >= len(rows):
            return []
        places = self.places(area)
        documents, _ = store.catalog.embedded_total(store.embedding.number)
        within = None if len(places) == documents else set(places)
        hits = store.vectors.search(rows[ordinal], limit, within)
        return [
            hit
            for hit in hits
            if (hit.doc, hit.ordinal) != (doc, ordinal) and hit.doc in places and area.paths.accepts(places[hit.doc])
        ]

    # ---- inside ----

    def places(self, area: Area) -> DocumentPaths:
        return area.view.store.catalog.places(area.view.root.id)

    def _paths(self, area: Area) -> Iterable[str]:
        return (path for path in self.places(area).paths() if area.paths.accepts(path))


def narrowed(paths: PathFilter, globs: tuple[str, ...]) -> PathFilter:
    """The last glob that matches decides, so what a role may not search comes last."""
    return replace(paths, globs=(*globs, *paths.globs)) if globs else paths
