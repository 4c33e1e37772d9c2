"""Which definitions does a user mean by `name`, `Class.method` or `path:name`?

Inherited members are found through the bases of a class, and names in another case if nothing else matches. If a name
has many definitions, product code comes before tests, and a limit applies to names that thousands of files define.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError, QueryError
from llmc.base.references import is_module, module_splits, without_receiver_type
from llmc.graph.edges import Graph
from llmc.graph.entities import Entity, EntityKind, GraphNode
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS
from llmc.graph.testing import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.graph.project import Project

__all__ = ["JOINTS", "Lookup", "LookupTarget", "find_targets", "name_parts"]

LONGEST_NAME = 300
# Number of documents that are searched for the definitions of one name.
MOST_DEFINING = 500
# Files that declare what other files define.
DECLARATIONS = (".pyi", ".d.ts", ".h", ".hpp", ".hh", ".hxx")
FILE_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z]{1,6}\d?")
JOINTS = re.compile(r"::|->|[.#]")
_OTHER_QUOTES = str.maketrans("'\"", "\"'")
KINDS = CALLABLE_KINDS | TYPE_KINDS


@dataclass(frozen=True)
class LookupTarget:
    graph: Graph
    node: GraphNode

    @property
    def path(self) -> str:
        return self.graph.project.path(self.node.doc)


@dataclass(frozen=True)
class Lookup:
    """`complete` is False if more documents define the name than were searched."""

    targets: tuple[LookupTarget, ...]
    complete: bool = True


def find_targets(projects: Sequence[Project], text: str, kinds: frozenset[str] = KINDS) -> Lookup:
    """At least one definition, of these kinds if there is any; else a NotFoundError with similar names."""
    path, name = name_parts(text)
    found: list[LookupTarget] = []
    complete = True
    for project in projects:
        graph = Graph(project)
        docs = project.defining(_parts(name, project)[-1])
        if path:
            docs = [doc for doc in docs if _is_at(project.path(doc), path)]
        complete = complete and len(docs) <= MOST_DEFINING
        nodes = (
            list(_defined(project, docs[:MOST_DEFINING], name))
            or list(_quoted(project, name, path))
            or list(_inherited(graph, name, path))
            or list(_in_module(project, docs[:MOST_DEFINING], name))
            or list(_in_any_case(project, docs[:MOST_DEFINING], name))
        )
        found += [LookupTarget(graph, node) for node in nodes]
    wanted = [one for one in found if not kinds or _kind(one) in kinds] or found
    if not wanted:
        raise _nothing(projects, name, path)
    whole = [one for one in wanted if one.node.qualified == name]
    if path and whole:  # `path:push` means the function, not every method of that name in the file
        return Lookup(tuple(whole), complete)
    return Lookup(tuple(sorted(wanted, key=lambda one: _rank(one, name))), complete)


def name_parts(text: str) -> tuple[str, str]:
    """Splits `src/a.py:Foo.bar`, also with two colons as in `read`, into path and name. `(*Foo).bar` is a method of
    Go."""
    text = without_receiver_type(text.strip().removesuffix("()"))
    call, bracket, argument = text.partition("(")
    path, colons, name = call.partition("::")
    if colons and name and ("/" in path or FILE_NAME.fullmatch(path)):
        return path.removeprefix("./"), name + bracket + argument
    path, colon, name = call.rpartition(":")
    name += bracket + argument
    if colon and not path.endswith(":") and ("/" in path or "." in path):
        return path.removeprefix("./"), name
    if not text or len(text) > LONGEST_NAME or any(character.isspace() for character in text):
        raise QueryError(
            f"{text[:40]!r} is not a name", hint="Give one name: parse_header, Parser.feed or src/parser.py:feed."
        )
    return "", text


def _is_at(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith(f"/{wanted}") or path.startswith(f"{wanted.rstrip('/')}/")


def _parts(name: str, project: Project) -> list[str]:
    """The parts of a qualified name. A handler is one part although it is named after a call:
    `router.post('/refresh')`."""
    call, bracket, argument = name.partition("(")
    parts = [part for part in JOINTS.split(call) if part] or [name]
    if not bracket:
        return parts
    whole = [".".join(parts[at:]) + bracket + argument for at in range(len(parts))]
    at = next((at for at, one in enumerate(whole) if project.defining(one)), 0)
    return [*parts[:at], whole[at]]


def _defined(project: Project, docs: Iterable[int], name: str) -> Iterable[GraphNode]:
    parts = _parts(name, project)
    dotted = ".".join(parts)
    project.load(docs)
    for doc in docs:
        facts = project.facts(doc)
        names = facts.named(parts[-1]) if facts else ()
        for qualified in names:
            if qualified == dotted or qualified.endswith(f".{dotted}"):
                yield GraphNode(doc, qualified)


def _quoted(project: Project, name: str, path: str) -> Iterable[GraphNode]:
    """The name of a handler as the source writes it: `post("/x")` for `post('/x')`."""
    other = name.translate(_OTHER_QUOTES)
    if other == name:
        return []
    docs = [doc for doc in project.defining(_parts(other, project)[-1]) if not path or _is_at(project.path(doc), path)]
    return _defined(project, docs[:MOST_DEFINING], other)


def _in_any_case(project: Project, docs: Iterable[int], name: str) -> Iterable[GraphNode]:
    """`service.updatetask` for `Service.UpdateTask`: the catalog finds names in any case."""
    dotted = ".".join(_parts(name, project)).casefold()
    for doc in docs:
        facts = project.facts(doc)
        for qualified in facts.by_qualified if facts else ():
            if (folded := qualified.casefold()) == dotted or folded.endswith(f".{dotted}"):
                yield GraphNode(doc, qualified)


def _in_module(project: Project, docs: Sequence[int], name: str) -> Iterable[GraphNode]:
    """`module.name`, where the module is a file."""
    for module, rest in module_splits([part for part in JOINTS.split(name) if part]):
        named = [doc for doc in docs if is_module(project.path(doc), module)]
        found = [node for node in _defined(project, named, rest) if node.qualified == rest]
        if found:
            return found
    return []


def _inherited(graph: Graph, name: str, path: str) -> Iterable[GraphNode]:
    """`Sub.method` where only a base of `Sub` defines it."""
    parts = [part for part in JOINTS.split(name) if part]
    if len(parts) < 2:  # noqa: PLR2004 - a type and a member
        return []
    project = graph.project
    docs = project.defining(parts[-2])[:MOST_DEFINING]
    owners = _defined(
        project, [doc for doc in docs if not path or _is_at(project.path(doc), path)], ".".join(parts[:-1])
    )
    found: dict[GraphNode, None] = {}
    for owner in owners:
        resolution = graph.resolver.member(Entity(EntityKind.INSTANCE, owner), parts[-1])
        found.update(dict.fromkeys(resolution.nodes()))
    return list(found)


def _kind(target: LookupTarget) -> str:
    facts = target.graph.project.facts(target.node.doc)
    return facts.kind(target.node.qualified) if facts else ""


def _rank(target: LookupTarget, name: str) -> tuple[bool, bool, bool, int, str, str]:
    """Product code first, then a function of this name before methods of this name."""
    facts = target.graph.project.facts(target.node.doc)
    tested = facts is not None and is_test(facts, target.node.qualified)
    declared = target.path.endswith(DECLARATIONS)
    is_part = target.node.qualified != name
    return tested, declared, is_part, target.path.count("/"), target.path, target.node.qualified


def _nothing(projects: Sequence[Project], name: str, path: str) -> NotFoundError:
    last = JOINTS.split(name)[-1].casefold()
    known = {one for project in projects for one in project.catalog.names(last[:3], limit=2_000)}
    near = get_close_matches(last, known - {last}, 3)
    where = f" in {path}" if path else ""
    hint = f"Did you mean {', '.join(near)}?" if near else "Try search, which also finds words and ideas."
    return NotFoundError(f"no definition is named {name!r}{where}", reason="none is indexed", hint=hint)
