"""A path that is not there: the file whose path ends so, else the nearest names."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError, NotFoundError
from llmc.retrieval.targets import parse_target
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.workspace import Workspace

__all__ = ["completed", "with_nearest"]

OFFERED = 3
# Comparing takes 20 µs a name: a tenth of a second for an error.
COMPARED = 5_000


def with_nearest(workspace: Workspace, error: LlmcError) -> LlmcError:
    """The error, with a hint if it is a path that was not found and something is near."""
    path = error.context.get("path")
    if isinstance(error, NotFoundError) and isinstance(path, str) and not error.hint:
        near = list(islice(nearest(workspace, path.rstrip("/")), OFFERED))
        error.hint = f"Did you mean {', '.join(near)}?" if near else "`find` and `tree` show what there is."
    return error


def completed(workspace: Workspace, text: str) -> str:
    """A target with its whole path, if it names the end of one file's path: `Parser.java:10-40`. A name without a dot
    or a slash is that of a symbol more often than that of a file."""
    typed = parse_target(text).path
    end = typed.removeprefix("./")
    if not text.startswith(typed) or not ("." in end or "/" in end) or is_there(workspace, typed):
        return text
    found = ending_with(workspace, end)
    if len(found) > 1:
        more = f" and {len(found) - OFFERED} more" if len(found) > OFFERED else ""
        raise NotFoundError(
            f"{typed!r} is not the whole path of a file",
            reason=f"{len(found)} paths end with it",
            hint=f"Name one: {', '.join(found[:OFFERED])}{more}.",
        )
    return found[0] + text[len(typed) :] if found else text


def ending_with(workspace: Workspace, end: str) -> list[str]:
    """The files whose path ends with these folders and this name. The index has none that the denylist keeps out."""
    found = {
        shown_path(workspace, view.root.id, path)
        for view in workspace.views()
        for paths in (view.store.catalog.places(view.root.id).holding(end)[1], view.pending)
        for path in paths
        if f"/{path}".endswith(f"/{end}") and view.root_fs.refusal(path) is None
    }
    return sorted(shown for shown in found if is_there(workspace, shown))


def nearest(workspace: Workspace, typed: str) -> Iterator[str]:
    known = [(shown_path(workspace, root, path), path) for root, path in indexed(workspace)]
    folder, _, name = typed.rpartition("/")
    found = [shown for shown, path in known if path.rpartition("/")[2] == name]
    if not found and (exact := [shown for shown, path in known if path.casefold() == typed.casefold()]):
        found = exact
    if not found:
        beside = [(shown, path) for shown, path in known if path.rpartition("/")[0] == folder]
        found = close(name, beside) or close(name, alike(name, known))
    there = {shown for shown in found if is_there(workspace, shown)}
    yield from sorted(there, key=lambda shown: (-shared(shown, typed), shown))


def is_there(workspace: Workspace, shown: str) -> bool:
    """The index may still name a file that was deleted a moment ago."""
    try:
        workspace.locate(shown)
    except LlmcError:
        return False
    return True


def indexed(workspace: Workspace) -> Iterator[tuple[str, str]]:
    for root_index in workspace.root_indexes:
        catalog = workspace.store_of(root_index).catalog
        yield from ((root_index.root.id, path) for path in catalog.places(root_index.root.id).values())


def alike(name: str, known: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that a slip could have been: of the same kind and about as long."""
    ending = name.rpartition(".")[2] if "." in name else ""
    return [
        (shown, path)
        for shown, path in known
        if path.endswith(ending) and abs(len(path.rpartition("/")[2]) - len(name)) <= OFFERED
    ][:COMPARED]


def close(name: str, known: list[tuple[str, str]]) -> list[str]:
    names = dict.fromkeys(path.rpartition("/")[2] for _, path in known)
    near = get_close_matches(name, names, OFFERED)
    return [shown for wanted in near for shown, path in known if path.rpartition("/")[2] == wanted]


def shared(shown: str, typed: str) -> int:
    """How many folders two paths have in common."""
    return len(set(shown.split("/")) & set(typed.split("/")))
