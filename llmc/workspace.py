"""A workspace: some roots, opened, indexed and asked in one process.

    from llmc import Workspace

    with Workspace.open("path/to/project") as workspace:
        workspace.index()
        for file in workspace.search("where are passwords hashed").files:
            print(file.path, file.hits[0].start_line)

It joins the two halves that never import each other: `indexer` keeps the store right, `retrieval` answers from it. The
daemon's service is the same thing around one shared library.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from llmc.errors import LlmcError, NotFoundError, OutsideError
from llmc.home import Home, find_home
from llmc.indexer.library import Library
from llmc.indexer.verify import Discrepancy, verify_root
from llmc.nesting import nested
from llmc.retrieval.cache import Answers
from llmc.retrieval.find import FindRequest, find
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.grep import GrepRequest, grep
from llmc.retrieval.search import SearchRequest
from llmc.retrieval.view import View
from llmc.roots import make_root
from llmc.settings import RootEntry, Settings, load
from llmc.text import Binary, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.indexer.keeper import Keeper
    from llmc.indexer.lane import Lane
    from llmc.retrieval.find import FindResult
    from llmc.retrieval.grep import GrepResult
    from llmc.retrieval.results import SearchResult

__all__ = ["Workspace"]


@dataclass(eq=False)
class Workspace:
    """`owned`: the library was made for this workspace and ends with it."""

    library: Library
    settings: Settings
    keepers: Sequence[Keeper]
    cwd: str
    notes: tuple[str, ...] = ()
    owned: bool = False
    answers: Answers = field(default_factory=Answers)

    @classmethod
    def open(
        cls,
        *paths: str,
        home: str | None = None,
        settings: Settings | None = None,
        watch: bool = False,
    ) -> Self:
        """The folders, or those that the settings of the current folder name. `home` is where the index is kept."""
        cwd = os.getcwd()  # noqa: PTH109 - text throughout, as in `paths`
        settings = settings or load(cwd, os.environ).settings
        place = Home(os.path.realpath(home)) if home else find_home(os.environ)
        place.make()
        library = Library(place, watching=watch, processes=False)
        entries = [RootEntry(path=Path(path)) for path in paths] or settings.roots
        workspace = cls.within(library, settings, entries, cwd)
        workspace.owned = True
        return workspace

    @classmethod
    def within(cls, library: Library, settings: Settings, entries: Sequence[RootEntry], cwd: str) -> Self:
        """A workspace in a library that others share."""
        roots = [make_root(str(entry.path), entry.name) for entry in entries]
        own = {root.id: with_patterns(settings, entry) for root, entry in zip(roots, entries, strict=True)}
        kept, notes = nested(roots, own) if len(roots) > 1 else ([(root, own[root.id]) for root in roots], ())
        keepers = [library.open(root, rules) for root, rules in kept]
        anew = {library.lane(keeper).note for keeper in keepers} - {""}
        return cls(library, settings, keepers, cwd, (*notes, *sorted(anew)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.owned:
            self.library.close()

    # ---- indexing ----

    def index(self, on_progress: Callable[[Keeper], bool] = lambda _keeper: True) -> None:
        """Bring every root up to date, and wait for it. `on_progress` is called now and then; False stops the
        waiting.
        """
        self.library.catch_up(self.keepers, self.settings.index.barrier_ms / 1000)
        for keeper in self.keepers:
            while on_progress(keeper) and not keeper.pending.wait_settled(PROGRESS_SECONDS):
                if keeper.error or self.library.lane(keeper).trouble:
                    break
            on_progress(keeper)

    def verify(self) -> list[Discrepancy]:
        """What differs between the disk and the index, and between the stores themselves; nobody writes meanwhile."""
        found: list[Discrepancy] = []
        for keeper in self.keepers:
            lane = self.library.lane(keeper)
            found += lane.do(partial(verify_root, keeper, lane.store.catalog)).result()
        for lane in self.lanes:
            differences = lane.do(lane.store.verify).result()
            found += [Discrepancy(lane.folder, one.problem, one.path, str(one)) for one in differences]
        return found

    def rebuild(self) -> None:
        """Throw the index of these roots away; `index` makes it anew."""
        for lane in self.lanes:
            lane.do(lane.rebuild).result()

    @property
    def lanes(self) -> list[Lane]:
        """One for each family, however many roots of it there are."""
        return list({keeper.root.family: self.library.lane(keeper) for keeper in self.keepers}.values())

    # ---- asking ----

    def views(self) -> list[View]:
        """The roots as they are now: waits for the barrier and, a little, for what is pending."""
        fresh = self.library.settle(self.keepers, self.settings.index.barrier_ms / 1000, SETTLE_SECONDS)
        return [
            self._view(keeper, state.pending, state.share) for keeper, state in zip(self.keepers, fresh, strict=True)
        ]

    def _view(self, keeper: Keeper, pending: frozenset[str], share: float) -> View:
        lane = self.library.lane(keeper)
        lane.store.refresh()
        return View(keeper.root, keeper.door, lane.store, lane.embedder, pending, share)

    def path_filter(self, paths: Sequence[str] = (), **conditions: tuple[str, ...]) -> PathFilter:
        """What a person typed, as paths of the roots that have them."""
        found = [place for typed in paths for place in self.places(typed)]
        return PathFilter(
            under=tuple(path for _, path in found), roots=tuple(keeper.root.id for keeper, _ in found), **conditions
        )

    def locate(self, typed: str) -> tuple[Keeper, str]:
        """(root, path in it) of what a person typed."""
        return self.places(typed)[0]

    def places(self, typed: str) -> list[tuple[Keeper, str]]:
        """Every root that has what a person typed: relative to the current folder; else to a root, or to each that has
        it; absolute; or as replies name it when there are several roots, `root:path`. At least one."""
        outside: OutsideError | None = None
        is_inside = False
        for tries in self._readings(typed):
            found = []
            for keeper, text, base in tries:
                try:
                    path = keeper.door.relative(text, base)
                except OutsideError as error:
                    outside = error
                    continue
                is_inside = True
                if not path or keeper.door.stat(path) is not None:
                    found.append((keeper, path))
            if found:
                return found
        if is_inside or outside is None:
            raise NotFoundError(f"there is no {typed!r} in the roots", path=typed)
        raise outside

    def _readings(self, typed: str) -> Iterator[list[tuple[Keeper, str, str]]]:
        """(root, path, what the path is relative to), the likelier first."""
        yield [(keeper, typed, self.cwd) for keeper in self.keepers]
        yield [(keeper, typed, keeper.root.path) for keeper in self.keepers]
        name, colon, path = typed.partition(":")
        if colon:
            yield [(keeper, path or ".", keeper.root.path) for keeper in self.keepers if keeper.root.name == name]

    def keeper(self, root: str) -> Keeper:
        for keeper in self.keepers:
            if keeper.root.id == root:
                return keeper
        raise NotFoundError("this result is of another workspace", hint="Ask again from that folder.")

    def file_stamp(self, path: str, root: str | None = None) -> str:
        """Changes when the file does; empty when it is gone."""
        for keeper in self.keepers:
            if root in (None, keeper.root.id):
                seen = keeper.door.stat(path)
                if seen is not None:
                    return f"{seen.stamp.size}-{seen.stamp.mtime_ns}-{seen.stamp.ctime_ns}"
        return ""

    def text_of(self, root: str, path: str) -> str | None:
        """The text of a file as it is now; None when there is none."""
        try:
            text = decode(self.keeper(root).door.read(path, LARGEST_TEXT)[0])
        except LlmcError:
            return None
        return None if isinstance(text, Binary) else text.text

    def stamp(self) -> str:
        """Changes whenever anything that is indexed does."""
        return " ".join(
            f"{keeper.root.id}@{self.library.lane(keeper).store.catalog.generation()}" for keeper in self.keepers
        )

    def search(self, query: str, **options: object) -> SearchResult:
        return self.answers.search(self.views(), SearchRequest(query, **options))  # type: ignore[arg-type]

    def grep(self, pattern: str, **options: object) -> GrepResult:
        return grep(self.views(), GrepRequest((pattern,), **options))  # type: ignore[arg-type]

    def find(self, query: str = "", **options: object) -> FindResult:
        return find(self.views(), FindRequest(query, **options))  # type: ignore[arg-type]


PROGRESS_SECONDS = 0.2
# A save is searchable after some 0.3 s; a query that comes sooner waits so long, then reads what is pending from disk.
SETTLE_SECONDS = 0.4
LARGEST_TEXT = 8 << 20


def with_patterns(settings: Settings, entry: RootEntry) -> Settings:
    """A root may include and exclude more than the settings do for all."""
    if not entry.include and not entry.exclude:
        return settings
    index = settings.index
    more = replace(index, include=(*index.include, *entry.include), exclude=(*index.exclude, *entry.exclude))
    return replace(settings, index=more)
