"""What `read NAME` means: the places that define a name, or one of them if it is the obvious one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError, NotIndexedYetError
from llmc.base.languages import role_of
from llmc.base.references import is_module, module_splits, without_receiver_type
from llmc.envelope.phrases import plural
from llmc.retrieval.targets import Target, named_target
from llmc.retrieval.unindexed import unindexed_definitions
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.base.model import Symbol
    from llmc.indexer.root_index import RootIndex
    from llmc.retrieval.view import View
    from llmc.tool import ToolRequest

__all__ = ["located", "places_of"]

# What is shorter has no body: a declaration, or a name that is handed on.
BODY_LINES = 3
MOST_PLACES = 5

Found = tuple["RootIndex", str, Target]


def located(request: ToolRequest, target: Target) -> list[Found]:
    """A path; or a name that is none, such as `Parser.feed`: where it is defined, if one place is the obvious one. The
    other places follow."""
    try:
        return [(*request.workspace.locate(target.path), target)]
    except NotFoundError:
        name = without_receiver_type(".".join(filter(None, (target.path, target.symbol))))
        found = [(index, path, part_of(one, target)) for index, path, one in defined(request, name)]
        if not found:
            raise
    found.sort(key=lambda one: (role_of(one[1]) != "code", -one[2].length))
    meant = obvious(found, name)
    if meant is None:
        reason = f"{plural(len(found), 'definition')} have this name"
        raise NotFoundError(f"{name} is ambiguous", reason=reason, hint=f"Read one: {places_of(request, found)}.")
    return [meant, *(one for one in found if not is_within(one, meant))]


def is_within(one: Found, meant: Found) -> bool:
    """Such as the constructor of a class that is shown."""
    return one[:2] == meant[:2] and meant[2].start <= one[2].start <= one[2].end <= meant[2].end


def part_of(symbol: Target, target: Target) -> Target:
    """Lines of a symbol: numbers of the file where they lie in it, else counted from its first line."""
    if not target.start:
        return symbol
    inside = symbol.start <= target.start <= symbol.end
    first = target.start if inside else min(symbol.start + target.start - 1, symbol.end)
    last = (target.end or symbol.length + 1) + first - target.start
    return replace(symbol, start=first, end=min(last, symbol.end), named=False, kind="", overloads=())


def obvious(found: list[Found], name: str) -> Found | None:
    """The only one; else the only one in code that is no test, stub or copy; else of those the only one with a body, or
    with a body and no more to its name (`getSchema`, not `Service.getSchema`)."""
    if len(found) == 1:
        return found[0]
    code = [one for one in found if role_of(one[1]) == "code"]
    bodies = [one for one in code if one[2].length >= BODY_LINES]
    whole = [one for one in bodies if one[2].qualified == name]
    return next((only[0] for only in (code, bodies, whole) if len(only) == 1), None)


def places_of(request: ToolRequest, found: list[Found], most: int = MOST_PLACES) -> str:
    shown = [
        f"{shown_path(request.workspace, root_index.root.id, path)}:{one.start}" for root_index, path, one in found
    ]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def defined(request: ToolRequest, name: str) -> list[Found]:
    """One for each file and qualified name: overloads are one target."""
    if not is_encodable(name):  # a file name that is not UTF-8, which the catalog cannot look up
        return []
    wanted = name.replace("::", ".").removesuffix("()")
    found: dict[tuple[str, str, str], list[Symbol]] = {}
    last = wanted.rpartition(".")[2]
    complete = True
    for view in request.workspace.views():
        places = view.store.catalog.places(view.root.id)
        known = [
            (path, one.symbol)
            for one in view.store.catalog.symbols(name=wanted)
            if (path := places.get(one.doc)) is not None and view.is_stored(path)
        ] or in_module(view, places, wanted)
        unindexed, scanned = unindexed_definitions(view, wanted) if view.pending else ([], True)
        complete = complete and scanned and not view.unsure
        known += unindexed
        spelled = [one for one in known if one[1].name == last] or known  # `Session` is not `session`
        for path, symbol in spelled:
            found.setdefault((view.root.id, path, symbol.qualified), []).append(symbol)
    if not found and not complete:
        raise NotIndexedYetError(
            f"{name} was not found so far", reason="the index is still being built", hint="Ask again in a moment."
        )
    return [
        (request.workspace.root_index(root), path, named_target(path, symbols))
        for (root, path, _), symbols in found.items()
    ]


def in_module(view: View, places: Mapping[int, str], name: str) -> list[tuple[str, Symbol]]:
    """`module.name`, where the module is a file."""
    for module, rest in module_splits(name.split(".")):
        found = [
            (path, one.symbol)
            for one in view.store.catalog.symbols(name=rest)
            if (path := places.get(one.doc)) is not None
            and view.is_stored(path)
            and one.symbol.qualified == rest
            and is_module(path, module)
        ]
        if found:
            return found
    return []


def is_encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
