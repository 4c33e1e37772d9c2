"""An `index.scip` next to the code: what a compiler found, used in place of our own resolution where it still fits.

The index is opened once for each state of the file; of its documents only those that a question touches are read. A
document counts only if the names that it notes are where it notes them: so a file that changed since, or an index of
another commit, is left to our own resolution. A damaged or oversized index is reported and ignored.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from llmc.graph.entities import EXTERNAL, Entity, EntityKind, GraphNode, Resolution
from llmc.graph.facts import TYPE_KINDS
from llmc.graph.scip import DEFINITION, ScipError, document_spans, read_document

if TYPE_CHECKING:
    from llmc.base.model import Reference
    from llmc.graph.facts import Facts
    from llmc.graph.project import Project
    from llmc.graph.scip import ScipDocument

__all__ = ["SCIP_FILE", "ScipIndex", "descriptor_name", "open_scip"]

SCIP_FILE = "index.scip"
LARGEST = 128 << 20
# Number of parsed documents that are cached; each takes about 200 bytes per occurrence.
MOST_KEPT = 200
# Share of definitions that may be missing at their recorded places; half of that for uses, since aliases have other
# names.
MISPLACED = 0.1
MOST_CANDIDATES = 60
_DESCRIPTOR = re.compile(r"(?:`((?:[^`]|``)*)`|([\w$+-]+))(?:\([^)]*\)\.|[#./:!])$|[(\[](?:`([^`]*)`|([\w$+-]+))[)\]]$")
_CONSTRUCTORS = frozenset({"<constructor>", "constructor", "__init__"})


def descriptor_name(symbol: str) -> str:
    """The last name of a symbol: `pkg 1 app/Flask#run().` → run."""
    found = _DESCRIPTOR.search(symbol)
    name = next((part for part in found.groups() if part is not None), "") if found else ""
    return name.replace("``", "`").removeprefix("<get>").removeprefix("<set>")


class Checked(NamedTuple):
    """A document that matches its file: symbols by (line, name), and where it defines symbols."""

    used: dict[tuple[int, str], frozenset[str]]
    defined: dict[str, tuple[int, str]]  # symbol → line, name
    implementing: dict[str, tuple[str, ...]]  # symbol → symbols that it implements


class ScipIndex:
    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._spans = document_spans(self._data)
        self._kept: OrderedDict[tuple[str, int], Checked | None] = OrderedDict()
        self.damaged = 0

    def __contains__(self, path: str) -> bool:
        return path in self._spans

    def document(self, project: Project, facts: Facts) -> Checked | None:
        """The index data of a file, if it still matches the file."""
        key = (facts.path, facts.doc)
        if facts.path not in self._spans:
            return None
        if key not in self._kept:
            self._kept[key] = self._read(project, facts.path)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def _read(self, project: Project, path: str) -> Checked | None:
        start, end = self._spans[path]
        try:
            document = read_document(self._data[start:end])
        except ScipError:
            self.damaged += 1
            return None
        return _checked(document, project.text(path).split("\n"))

    def reference(self, project: Project, facts: Facts, reference: Reference) -> Resolution | None:
        """The target of a use; None if the index does not contain it."""
        document = self.document(project, facts)
        symbols = document.used.get((reference.line, reference.name)) if document else None
        if not symbols:
            return None
        nodes: dict[GraphNode, None] = {}
        for symbol in symbols:
            node = self._definition(project, facts, symbol)
            if node is not None:
                nodes[node] = None
        if not nodes:
            return EXTERNAL
        return Resolution(tuple(Entity(EntityKind.DEFINITION, node) for node in nodes))

    def _definition(self, project: Project, facts: Facts, symbol: str) -> GraphNode | None:
        """Our definition of a symbol: in the same file, or in one that defines its name."""
        if symbol.startswith("local "):
            return None
        name = descriptor_name(symbol)
        owner = descriptor_name(symbol.removesuffix(_last(symbol))) if name in _CONSTRUCTORS else name
        for doc in self._candidates(project, facts.doc, owner, symbol):
            other = project.facts(doc)
            document = self.document(project, other) if other else None
            place = document.defined.get(symbol) if document else None
            if place is not None and other is not None:
                return _node_at(other, *place)
        return None

    def _candidates(self, project: Project, own: int, name: str, symbol: str) -> list[int]:
        """Files that define the name; first those whose file name is part of the symbol, as with most indexers."""
        docs = [doc for doc in project.defining(name) if doc != own]
        if len(docs) > MOST_CANDIDATES:
            stems = {doc: project.path(doc).rpartition("/")[2].partition(".")[0] for doc in docs}
            docs = sorted(docs, key=lambda doc: stems[doc] not in symbol)
        return [own, *docs[:MOST_CANDIDATES]]

    def implementing(self, project: Project, node: GraphNode) -> list[GraphNode]:
        """The implementations of a definition according to the compiler, in files that define the same name."""
        facts = project.facts(node.doc)
        document = self.document(project, facts) if facts else None
        if facts is None or document is None:
            return []
        wanted = {symbol for symbol, place in document.defined.items() if _node_at(facts, *place) == node}
        found: dict[GraphNode, None] = {}
        for doc in project.defining(node.name)[:MOST_CANDIDATES] if wanted else ():
            other = project.facts(doc)
            checked = self.document(project, other) if other else None
            if other is None or checked is None:
                continue
            for symbol, bases in checked.implementing.items():
                if wanted.intersection(bases) and symbol in checked.defined:
                    implementation = _node_at(other, *checked.defined[symbol])
                    if implementation is not None:
                        found[implementation] = None
        return list(found)


def _last(symbol: str) -> str:
    found = _DESCRIPTOR.search(symbol)
    return found[0] if found else ""


def _node_at(facts: Facts, line: int, name: str) -> GraphNode | None:
    fitting = [one for one in facts.symbols if one.name == name and one.start_line <= line <= one.end_line]
    if not fitting:
        return None
    qualified = max(fitting, key=lambda one: one.start_line).qualified
    owner = qualified.rpartition(".")[0]
    is_constructor = name in _CONSTRUCTORS and facts.kind(owner) in TYPE_KINDS
    return facts.node(owner if is_constructor else qualified)


def _checked(document: ScipDocument, lines: list[str]) -> Checked | None:
    used: dict[tuple[int, str], set[str]] = {}
    defined: dict[str, tuple[int, str]] = {}
    placed: dict[bool, list[bool]] = {True: [], False: []}
    for one in document.occurrences:
        line = lines[one.line] if one.line < len(lines) else ""
        text = line[one.start : one.end] if one.line == one.end_line else ""
        name = descriptor_name(one.symbol)
        is_definition = bool(one.roles & DEFINITION)
        if name and line.isascii() and name not in _CONSTRUCTORS and not one.symbol.endswith("/"):
            # scip-typescript numbers some: `header0:`
            placed[is_definition].append(bool(text) and name.startswith(text))
        if not text.isidentifier() and not text.startswith("#"):
            continue
        if is_definition:
            defined.setdefault(one.symbol, (one.line + 1, text))
        else:
            used.setdefault((one.line + 1, text), set()).add(one.symbol)
    if placed[True].count(False) > len(placed[True]) * MISPLACED or placed[False].count(False) > len(placed[False]) / 2:
        return None
    bases: dict[str, list[str]] = {}
    for relation in document.relations:
        if relation.is_implementation:
            bases.setdefault(relation.symbol, []).append(relation.other)
    return Checked(
        {key: frozenset(some) for key, some in used.items()}, defined, {k: tuple(v) for k, v in bases.items()}
    )


def open_scip(project: Project) -> tuple[ScipIndex | None, str]:
    """The index of a root, or why there is none; the reason is empty if the file does not exist."""
    size = project.size(SCIP_FILE)
    if size is None:
        return None, ""
    if size > LARGEST:
        return None, f"{SCIP_FILE} is ignored: {size >> 20} MB, at most {LARGEST >> 20} are read"
    data = project.data(SCIP_FILE, LARGEST)
    if data is None:
        return None, f"{SCIP_FILE} is ignored: it cannot be read"
    try:
        return ScipIndex(data), ""
    except ScipError as error:
        return None, f"{SCIP_FILE} is ignored: {error.reason or error.message}"
