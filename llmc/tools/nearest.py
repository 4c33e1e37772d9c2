"""The names nearest to a path that is not there: the same name elsewhere, or one written almost so."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError, NotFoundError
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.workspace import Workspace

__all__ = ["with_nearest"]

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
