"""The index queries available to a persona while it is resolved: search, get, sources.

All results are redacted, hidden characters are made visible, and text is cut to a token budget at line boundaries. One
context serves one resolution, and all its searches see the same state of the roots.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from llmc.base.errors import AgentError, LlmcError, NotFoundError, QueryError
from llmc.base.words import body, query_words
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.clean import clean
from llmc.envelope.phrases import freshness_notes
from llmc.envelope.redact.redactor import redactor_for
from llmc.envelope.tokens import count, count_line
from llmc.extend.personas.project_documents import ROLES, document_title, documents_of
from llmc.extend.personas.telling_text import telling_lines
from llmc.retrieval.find import listed
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.passages.prune import prune
from llmc.retrieval.search import SearchRequest, search
from llmc.retrieval.targets import Target, find_symbol, lines_of, parse_target
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.indexer.root_index import RootIndex
    from llmc.retrieval.results import FileHits, Hit
    from llmc.retrieval.view import View
    from llmc.workspace import Workspace

__all__ = ["MOST_CALLS", "AgentContext", "ContextDocument", "ContextPassage", "ContextSource"]

# A persona that needs more calls should leave them to its model, which has the tools.
MOST_CALLS = 50
MOST_RESULTS = 50
MOST_DOCUMENTS = 200  # that are read for those that mention a topic
SEARCH_BUDGET, GET_BUDGET, LARGEST_BUDGET = 1_200, 2_000, 8_000
MODES = ("keyword", "hybrid", "semantic")
# A passage with fewer tokens than this is not useful.
LEAST_SHARE = 24
# Lines directly above the best line often explain it.
LEAD = 2


@dataclass(frozen=True, slots=True)
class ContextPassage:
    """A passage. `get` and the tool `read` accept its `id`."""

    id: str
    title: str
    path: str
    source: str
    start_line: int
    end_line: int
    score: float
    text: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ContextDocument:
    id: str
    title: str
    path: str
    source: str
    start_line: int
    end_line: int
    body: str
    cut: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ContextSource:
    name: str
    files: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class AgentContext:
    def __init__(self, workspace: Workspace) -> None:
        self.searches = 0
        self.fetches = 0
        self.notes: list[str] = []
        self._workspace = workspace
        self._calls = 0
        self._known: dict[str, tuple[str, str, int, int]] = {}

    def search(
        self, query: str, *, limit: int = 5, mode: str = "hybrid", source: str = "", budget: int = SEARCH_BUDGET
    ) -> list[ContextPassage]:
        """The best passages, one per file, within `budget` tokens. `source` is the name of a root or a folder."""
        self._count()
        self.searches += 1
        if mode not in MODES:
            raise QueryError(f"unknown mode {mode!r}", hint=f"Available: {', '.join(MODES)}.")
        views, under = self._within(source)
        if not views or not query.strip():
            return []
        off = frozenset({"vectors"}) if mode == "keyword" else frozenset()
        request = SearchRequest(
            query, PathFilter(under=under), limit=clamp(limit, 1, MOST_RESULTS), per_file=1, off=off
        )
        result = search(views, request)
        self.notes += [note for note in freshness_notes(result.pending, result.share) if note not in self.notes]
        hits = [(file, hit) for file in result.files for hit in file.hits[:1]]
        texts = self._clean([item_of(file, hit) for file, hit in hits])
        return self._fit_passages(hits, texts, clamp(budget, LEAST_SHARE, LARGEST_BUDGET))

    def documents(
        self, roles: Sequence[str], *, about: str = "", limit: int = 3, budget: int = SEARCH_BUDGET
    ) -> list[ContextPassage]:
        """The project's own documents by role (`readme`, `decisions`, …), each within its share of `budget` tokens.

        `about` selects the quoted passages, and excludes decision records and runbooks that do not mention it.
        """
        self._count()
        self.searches += 1
        if unknown := [role for role in roles if role not in ROLES]:
            raise QueryError(f"{unknown[0]!r} is not a role of documents", hint=f"Available: {', '.join(ROLES)}.")
        found: list[ContextPassage] = []
        budget, limit = clamp(budget, LEAST_SHARE, LARGEST_BUDGET), clamp(limit, 1, MOST_RESULTS)
        notes = freshness_notes(0, min((view.share for view in self._views), default=1.0), scanned=True)
        self.notes += [note for note in notes if note not in self.notes]
        for view in self._views:
            root_index = self._workspace.root_index(view.root.id)
            for path in documents_of(set(listed(view, lambda known: known.paths())), roles)[:MOST_DOCUMENTS]:
                if len(found) == limit or budget < LEAST_SHARE:
                    return found
                passage = self._document(root_index, path, about, budget // (limit - len(found)))
                if passage is not None:
                    found.append(passage)
                    budget -= count(passage.text)
        return found

    def _document(self, root_index: RootIndex, path: str, about: str, budget: int) -> ContextPassage | None:
        try:
            lines = lines_of(root_index.root_fs, path)
        except LlmcError:  # deleted meanwhile, denied, or not text
            return None
        numbers = telling_lines(lines)
        if about.strip() and not documents_of([path], ("readme",)):
            terms = {word.term for word in query_words(about) if not word.stop}
            if not terms.intersection(body(" ".join(lines)).split()):
                return None
            numbers = prune(lines, about, blocks=(), room=budget) if len(lines) > LEAST_SHARE else numbers
        if not numbers:
            return None
        rows = tuple(Row(lines[number - 1], number) for number in numbers)
        (text,) = self._clean([Item(rows, "", root_index.root.id, path, numbers[0], numbers[-1])])
        kept, _ = cut(text, budget)
        if not any(line.strip() for line in kept):
            return None
        last = numbers[min(len(kept), len(numbers)) - 1]
        shown = shown_path(self._workspace, root_index.root.id, path)
        place = f"{shown}:{numbers[0]}-{last}"
        self._known[place] = (root_index.root.id, path, numbers[0], last)
        title = document_title(lines, shown)
        return ContextPassage(
            place, title, path, root_index.root.name, numbers[0], last, 1.0, "\n".join(kept).rstrip("\n")
        )

    def get(self, id: str, *, budget: int = GET_BUDGET) -> ContextDocument:  # noqa: A002 - the name in the public API
        """The text of a passage found by `search`, or of `path`, `path:10-40`, `path::symbol`."""
        self._count()
        self.fetches += 1
        root_index, path, start, end = self._locate(id)
        lines = lines_of(root_index.root_fs, path)
        start, end = max(1, start), min(end or len(lines), len(lines))
        rows = tuple(Row(line, number) for number, line in enumerate(lines[start - 1 : end], start))
        (text,) = self._clean([Item(rows, "", root_index.root.id, path, start, end)])
        kept, _ = cut(text, clamp(budget, LEAST_SHARE, LARGEST_BUDGET))
        shown = shown_path(self._workspace, root_index.root.id, path)
        body = "\n".join(kept)
        title = document_title(lines, shown)
        return ContextDocument(id, title, path, root_index.root.name, start, end, body, cut=len(kept) < len(text))

    def sources(self) -> list[ContextSource]:
        """The roots by name, with their number of files."""
        self._count()
        found = []
        for root_index in self._workspace.root_indexes:
            catalog = self._workspace.store_of(root_index).catalog
            found.append(ContextSource(root_index.root.name, len(catalog.places(root_index.root.id))))
        return found

    def _count(self) -> None:
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise TooManyCallsError(
                f"it queried the index more than {MOST_CALLS} times", hint="Search once with a larger limit instead."
            )

    @cached_property
    def _views(self) -> list[View]:
        return self._workspace.views()

    def _within(self, source: str) -> tuple[list[View], tuple[str, ...]]:
        """The views and folders of a source; an unknown source is empty, as the specification requires."""
        if not source:
            return self._views, ()
        named = [view for view in self._views if view.root.name == source]
        if named:
            return named, ()
        folder = source.strip("/")
        held = [view for view in self._views if folder and (seen := view.root_fs.stat(folder)) and str(seen.kind)]
        return held, (folder,)

    def _locate(self, name: str) -> tuple[RootIndex, str, int, int]:
        if name in self._known:
            root, path, start, end = self._known[name]
            return self._workspace.root_index(root), path, start, end
        target = parse_target(name)
        root_index, path = self._workspace.locate(target.path)
        if not path:
            raise NotFoundError(f"{name} is a folder", hint="Give the path of a file.")
        if target.symbol:
            view = next(view for view in self._views if view.root.id == root_index.root.id)
            target = find_symbol(view, path, target)
        return root_index, path, *span(target)

    def _clean(self, items: Sequence[Item]) -> list[list[str]]:
        """The cleaned and redacted lines of each item."""
        envelope = Envelope("agent", "", tuple(Group("", (item,)) for item in items))
        redact = redactor_for(self._workspace.settings.redaction)
        cleaned = clean(envelope, redact, self._workspace.text_of, data=False)
        return [[row.text.rstrip() for row in item.rows] for item in cleaned.items()]

    def _fit_passages(
        self, hits: list[tuple[FileHits, Hit]], texts: list[list[str]], budget: int
    ) -> list[ContextPassage]:
        """Cut the passages to the budget; each gets an equal share of what is left."""
        names = {root_index.root.id: root_index.root.name for root_index in self._workspace.root_indexes}
        found: list[ContextPassage] = []
        for at, ((file, hit), text) in enumerate(zip(hits, texts, strict=True)):
            share = budget // (len(hits) - at)
            shown = shown_path(self._workspace, file.root, file.path)
            place = f"{shown}:{hit.start_line}-{hit.end_line}"
            head = count_line(place)
            kept, used = excerpt(text, hit, share - head)
            if not kept or share < LEAST_SHARE:
                continue
            budget -= used + head
            self._known[place] = (file.root, file.path, hit.start_line, hit.end_line)
            title = f"{shown}::{hit.name}" if hit.name else shown
            lines = (hit.start_line, hit.end_line)
            found.append(
                ContextPassage(place, title, file.path, names[file.root], *lines, round(hit.score, 4), "\n".join(kept))
            )
        return found


class TooManyCallsError(AgentError):
    """Ends the resolution, even if a script catches errors."""


def item_of(file: FileHits, hit: Hit) -> Item:
    rows = tuple(Row(line, number) for number, line in enumerate(hit.text.split("\n"), hit.start_line))
    return Item(rows, "", file.root, file.path, hit.start_line, hit.end_line)


def excerpt(lines: list[str], hit: Hit, budget: int) -> tuple[list[str], int]:
    """All lines if they fit, else the first line and the lines around the best match."""
    kept, used = cut(lines, budget)
    best = hit.lines[0] - hit.start_line if hit.lines else 0
    if len(kept) > best or kept == lines or best >= len(lines):
        return kept, used
    first = lines[0]
    name = count_line(f" {first}") + count_line(" …")
    rest, used = cut(lines[max(1, best - LEAD) :], budget - name)
    return ([first, "…", *rest], used + name) if rest else (kept, used)


def cut(lines: list[str], budget: int) -> tuple[list[str], int]:
    """As many lines as fit, and their token count; an ellipsis marks the cut."""
    used = 0
    for at, line in enumerate(lines):
        cost = count_line(f" {line}")
        if used + cost > budget:
            return ([*lines[:at], "…"] if at else []), used
        used += cost
    return lines, used


def span(target: Target) -> tuple[int, int]:
    return target.start, target.end


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))
