"""`outline Class`: a type with its bases in the order of lookup, its own members, and on request the inherited ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.base.errors import NotFoundError
from llmc.base.languages import language_of
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.facts import TYPE_KINDS
from llmc.graph.hierarchy import ancestors
from llmc.graph.lookup import find_targets
from llmc.graph.project import project_of
from llmc.retrieval.enclosing import FileSymbols
from llmc.retrieval.line_kinds import FileText
from llmc.tools.graph_output import Lines, limited, notes_of
from llmc.tools.outline_layout import label, longest_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.base.model import Symbol
    from llmc.graph.hierarchy import Ancestor
    from llmc.graph.lookup import Lookup, LookupTarget
    from llmc.tool import ToolRequest

__all__ = ["find_types", "outline_types"]


def find_types(request: ToolRequest, text: str) -> Lookup | None:
    """The types of this name; None if there are none."""
    projects = [project_of(view.root, view.root_fs, view.store) for view in request.views()]
    try:
        found = find_targets(projects, text.replace("::", ":", 1) if "/" in text else text, TYPE_KINDS)
    except NotFoundError:
        return None
    types = tuple(one for one in found.targets if kind_of(one) in TYPE_KINDS)
    return type(found)(types, found.complete) if types else None


def kind_of(target: LookupTarget) -> str:
    facts = target.graph.project.facts(target.node.doc)
    return facts.kind(target.node.qualified) if facts else ""


def outline_types(request: ToolRequest, lookup: Lookup) -> Envelope:
    shown, more = limited(lookup)
    lines = Lines(request)
    found = [TypeOutline(lines, one, inherited=request.flag("inherited")) for one in shown]
    own = sum(len(one.own) for one in found)
    inherited = sum(len(members) for one in found for _, members in one.inherited())
    said = f"{plural(own, 'member')}, {inherited} inherited" if request.flag("inherited") else plural(own, "member")
    return Envelope(
        "outline",
        said,
        groups=tuple(group for one in found for group in one.groups()),
        notes=notes_of(request, more),
        data={"types": [one.data() for one in found]},
        in_order=True,
    )


def member_row(member: Symbol, known: FileSymbols) -> Row:
    text = label(member, known)
    return Row(text, member.start_line, longest=longest_label(member, text))


class TypeOutline:
    def __init__(self, lines: Lines, target: LookupTarget, *, inherited: bool) -> None:
        self._lines = lines
        self._graph = target.graph
        self._node = target.node
        self._is_whole = inherited
        self._order = ancestors(target.graph, target.node)
        self.own = self._members(self._order[0])

    def _members(self, one: Ancestor) -> list[Symbol]:
        """Each name once, in the order of the source; in Go the methods may be in other files of the package."""
        project = self._graph.project
        if one.node is None or (facts := project.facts(one.node.doc)) is None:
            return []
        folder = project.in_folder(facts.path.rpartition("/")[0]) if facts.language == "go" else ()
        beside = [other for doc in sorted(folder) if doc != facts.doc and (other := project.facts(doc)) is not None]
        inside = [each for file in (facts, *beside) for each in file.symbols if each.container == one.node.qualified]
        return list({each.name: each for each in inside}.values())

    def inherited(self) -> Iterator[tuple[Ancestor, list[Symbol]]]:
        """What each base adds that nothing before it has."""
        known = {one.name for one in self.own}
        for ancestor in self._order[1:]:
            fresh = [one for one in self._members(ancestor) if one.name not in known]
            known |= {one.name for one in fresh}
            if fresh:
                yield ancestor, fresh

    def groups(self) -> Iterator[Group]:
        project = self._graph.project
        path = project.path(self._node.doc)
        bases = ", ".join(self._place(one) for one in self._order[1:])
        title = f"{self._lines.place(self._graph, self._node)} {self._node.qualified}"
        known = self._file(path)
        items = [
            Item((member_row(one, known),), "", project.root.id, path, one.start_line, one.end_line) for one in self.own
        ]
        order = [Item((), f"looked up in: {bases}", project.root.id, path)] if bases else []
        yield Group(title, (*order, *items))
        for ancestor, members in self.inherited() if self._is_whole else ():
            yield Group(f"from {self._place(ancestor)}", (self._listed(ancestor, members),))

    def _file(self, path: str) -> FileSymbols:
        text = self._lines.asked.workspace.text_of(self._graph.project.root.id, path)
        language = language_of(path)
        return FileSymbols(path, language, self.own, None if text is None else FileText(text, language))

    def _place(self, one: Ancestor) -> str:
        if one.node is None:
            return f"{one.name} (outside)"
        return f"{one.node.qualified} {self._lines.place(self._graph, one.node, self._node.doc)}"

    def _listed(self, ancestor: Ancestor, members: Sequence[Symbol]) -> Item:
        path = self._graph.project.path(ancestor.node.doc) if ancestor.node else ""
        text = ", ".join(f"{one.name} {one.start_line}" for one in members)
        return Item((Row(text),), "", self._graph.project.root.id, path, members[0].start_line, members[0].end_line)

    def data(self) -> dict[str, Any]:
        inherited = self.inherited() if self._is_whole else ()
        return {
            **self._lines.data(self._graph, self._node),
            "bases": [
                self._lines.data(self._graph, one.node) if one.node else {"name": one.name} for one in self._order[1:]
            ],
            "members": [one._asdict() for one in self.own],
            "inherited": {one.name: [member.name for member in members] for one, members in inherited},
        }
