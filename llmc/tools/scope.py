"""Where a call looks: the paths that it names, what the index leaves out there, and what the first line says of it.

    scope = scope_of(asked, asked.paths(), globs=...)
    result = grep(scope.views, GrepRequest(..., paths=scope.paths))
    Envelope(..., notes=scope.notes)

A path that is named is searched although it is ignored. What the denylist refuses is named or counted by folder, and
explained where nothing else was asked for.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from llmc.base.denylist import is_environment_file, is_key_file
from llmc.base.errors import LlmcError, NotFoundError
from llmc.base.root_fs import FileKind
from llmc.envelope.phrases import plural
from llmc.indexer.named import UNREAD, named_path
from llmc.retrieval.find import GLOB, ranking
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.query import is_written_as_query, read_operators
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.indexer.named import NamedPath
    from llmc.indexer.root_index import RootIndex
    from llmc.retrieval.view import View
    from llmc.tool import ToolRequest
    from llmc.workspace import Workspace

__all__ = ["CallScope", "counted", "denied_notes", "in_scope", "names_unindexed", "scope_of", "written_together"]

FEW_DENIED = 3  # files that are named; more are counted by folder


@dataclass(frozen=True, slots=True)
class CallScope:
    views: tuple[View, ...]
    paths: PathFilter
    notes: tuple[str, ...] = ()


def scope_of(
    request: ToolRequest, typed: Sequence[str], name: str = "", *, listing: bool = False, **conditions: tuple[str, ...]
) -> CallScope:
    """`name` is what `find` looks for: it may be the path of an ignored file, and only what is called so is counted as
    denied. `listing`: the reply is a list of files, so that a few denied ones are named. ReadError if nothing is named
    but what the denylist refuses."""
    workspace = request.workspace
    excluded = tuple(part for path in typed if path.startswith("!") for part in path.split())
    conditions["globs"] = (*conditions.get("globs", ()), *excluded)  # `!tests` is what it is as a glob
    named, missing = existing_paths(workspace, [path for path in typed if not path.startswith("!")])
    refused = [(root_index.root.id, one) for root_index, one in named if one.refusal is not None]
    if refused and len(refused) == len(named) and (refusal := refused[0][1].refusal) is not None:
        raise refusal
    filtered = PathFilter(
        under=tuple(one.path for _, one in named),
        roots=tuple(root_index.root.id for root_index, _ in named),
        **conditions,
    )
    extra = unindexed([*named, *files_called(workspace, name)])
    views = tuple(
        replace(view, named=extra[view.root.id]) if extra.get(view.root.id) else view for view in request.views()
    )
    denied = [(root, one.path) for root, one in refused]
    if name:
        wanted = ranking(name)
        views = tuple(
            replace(view, denied=frozenset(path for path in view.denied if wanted(path) is not None)) for view in views
        )
    skipped = [(root_index.root.id, path) for root_index, one in named for path in sorted(one.skipped)]
    absent = (f"no such path: {', '.join(missing)}",) if missing else ()
    sought = request.text("pattern")
    kept_out = denied_notes(workspace, views, filtered, denied, sought=sought, by_name=bool(name), listing=listing)
    notes = (*absent, *kept_out, *counted(workspace, "skipped", skipped))
    return CallScope(views, filtered, (*notes, *unread_notes(workspace, filtered)))


def existing_paths(workspace: Workspace, typed: Sequence[str]) -> tuple[list[tuple[RootIndex, NamedPath]], list[str]]:
    """What was typed as paths, and what of it there is none of. As ripgrep does, the others are searched; NotFoundError
    if there are none."""
    named: list[tuple[RootIndex, NamedPath]] = []
    missing: dict[str, NotFoundError] = {}
    queue = deque(typed)
    while queue:
        one = queue.popleft()
        try:
            named += workspace.named_paths([one])
        except NotFoundError as error:
            if len(parts := written_together(one)) > 1:
                queue.extendleft(reversed(parts))
            else:
                missing[one] = error
    if missing and not named:
        raise next(iter(missing.values()))
    return named, list(missing)


def written_together(text: str) -> list[str]:
    """The parts of `src/a.py:1-20 src/b.py`: where a schema has a single string, models separate several by spaces or
    commas. A name with other characters than those of paths is left alone."""
    parts = [part for part in re.split(r"[\s,]+", text) if part]
    return parts if all(PATH_LIKE.fullmatch(part) for part in parts) else [text]


PATH_LIKE: Final = re.compile(r"[\w./:@$~*+-]+")


def in_scope(request: ToolRequest) -> ToolRequest:
    """The call on the repositories and refs that it names: by argument, or in the query of a search."""
    repos, refs = list(request.texts("repo")), list(request.texts("ref"))
    query = request.text("query") if request.name == "search" else ""
    if request.flag("syntax") or is_written_as_query(query):
        filters = [one for one in read_operators(query).filters if not one.exclude]
        refs += [one.value for one in filters if one.name == "ref"]
        repos += [one.value for one in filters if one.name == "root"] if request.workspace.is_shared else []
    return replace(request, workspace=request.workspace.narrowed(repos, refs)) if repos or refs else request


def unindexed(named: Iterable[tuple[RootIndex, NamedPath]]) -> dict[str, frozenset[str]]:
    """root → files that are asked for by name and are not in the index."""
    found: dict[str, frozenset[str]] = {}
    for root_index, one in named:
        found[root_index.root.id] = found.get(root_index.root.id, frozenset()) | one.files
    return found


def files_called(workspace: Workspace, name: str) -> list[tuple[RootIndex, NamedPath]]:
    """The files that have this very path, where the index does not hold them."""
    if not name or GLOB.search(name):
        return []
    return [
        (root_index, named_path(root_index, path))
        for root_index, path in places_of(workspace, name)
        if (seen := root_index.root_fs.stat(path)) is not None and seen.kind is FileKind.FILE
    ]


def denied_notes(
    workspace: Workspace,
    views: Iterable[View],
    paths: PathFilter,
    named: Sequence[tuple[str, str]] = (),
    *,
    sought: str = "",
    by_name: bool = False,
    listing: bool = False,
) -> tuple[str, ...]:
    """The files in scope that the denylist keeps out, those that are asked for by name first. Keys and certificates
    are only named where files are listed: nothing that is searched for is in them. Files with environment variables
    are named where a variable may be `sought`."""
    found = dict.fromkeys(named)
    for view in views:
        accepts = paths.of(view.root.id).accepts if view.denied else bool
        found |= {(view.root.id, path): None for path in sorted(view.denied) if accepts(path)}

    def may_match(path: str) -> bool:
        return not is_key_file(path) and (not is_environment_file(path) or bool(VARIABLE.search(sought)))

    kept = [place for place in found if listing or by_name or place in named or may_match(place[1])]
    if len(kept) <= FEW_DENIED:
        is_list = listing or by_name or bool(named)
        names = [shown_path(workspace, *place) if is_list else place[1].rpartition("/")[2] for place in kept]
        return (f"denied: {', '.join(names)}",) if kept else ()
    folders = Counter(shown_path(workspace, root, path).rpartition("/")[0] for root, path in kept)
    counts = [f"{count} in {folder or '.'}" for folder, count in folders.most_common(FEW_DENIED)]
    more = ", …" if len(folders) > FEW_DENIED else ""
    return (f"{len(kept)} denied: {', '.join(counts)}{more}",)


VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9]*_[A-Z]")


def unread_notes(workspace: Workspace, paths: PathFilter) -> tuple[str, ...]:
    """What the last walk could not read or enter, by reason: a match there would be missing."""
    found: Counter[str] = Counter()
    walked = [
        (paths.of(root_index.root.id), root_index.tally) for root_index in workspace.root_indexes if root_index.tally
    ]
    for here, tally in walked:
        for why in UNREAD.intersection(tally.passed):
            found[why] += tally.passed[why] if here.is_open else sum(map(here.accepts, tally.examples[why]))
    return tuple(f"{count:,} skipped ({why})" for why, count in found.items() if count)


def counted(workspace: Workspace, word: str, places: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """A single file is named; more are only counted, since every reply of the root says it."""
    if len(places) == 1:
        return (f"{word}: {shown_path(workspace, *places[0])}",)
    return (f"{plural(len(places), 'file')} {word}",) if places else ()


def names_unindexed(request: ToolRequest) -> bool:
    """Whether a path is named that the index does not hold: then nothing tells when the reply is out of date."""
    return any(
        path and root_index.is_unindexed(path)
        for typed in (*request.paths(), *request.texts("name"))
        for root_index, path in places_of(request.workspace, typed)
    )


def places_of(workspace: Workspace, typed: str) -> list[tuple[RootIndex, str]]:
    try:
        return workspace.places(typed)
    except LlmcError:
        return []
