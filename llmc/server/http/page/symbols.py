"""The picture of a symbol's neighbourhood: callers on the left, the symbol in the middle, its calls on the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Neighbour", "Picture", "neighbours", "picture"]

NODE_WIDTH, NODE_HEIGHT, ROW = 250, 40, 52
WIDTH: Final = 1_000
MOST_NODES: Final = 9
MARGIN, INNER_MARGIN = 8, 150
LONGEST_NAME: Final = 30


@dataclass(frozen=True, slots=True)
class Neighbour:
    """`lines` are where the call is; `precision` is exact, likely or by name."""

    name: str
    path: str
    line: int
    root: str
    precision: str
    lines: tuple[int, ...] = ()
    place: str = ""  # the file of the call

    @property
    def target(self) -> str:
        """The name with which the page opens it."""
        return f"{self.path}:{self.name}"


@dataclass(frozen=True, slots=True)
class DrawnNode:
    x: float
    y: float
    name: str
    path: str
    target: str
    kind: str
    width: int = NODE_WIDTH
    height: int = NODE_HEIGHT


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    path: str
    likely: bool


@dataclass(frozen=True, slots=True)
class Picture:
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    height: int
    width: int = WIDTH


def neighbours(entries: Sequence[dict[str, Any]]) -> list[Neighbour]:
    """From the data of the tools `calls` and `callers`; each neighbour once."""
    found: dict[tuple[str, str], Neighbour] = {}
    for entry in entries:
        at = entry.get("at") or {}
        one = Neighbour(
            str(entry["name"]),
            str(entry["path"]),
            int(entry["line"]),
            str(entry.get("root", "")),
            str(entry.get("precision", "exact")),
            tuple(at.get("lines", ())),
            str(at.get("path", "")),
        )
        found.setdefault((one.path, one.name), one)
    return list(found.values())


def picture(name: str, path: str, callers: Sequence[Neighbour], callees: Sequence[Neighbour]) -> Picture | None:
    """None if there is nothing to draw."""
    left, right = visible_nodes(callers), visible_nodes(callees)
    if not left and not right:
        return None
    height = max(len(left), len(right), 1) * ROW + 2 * MARGIN
    # With nothing on one side, the symbol takes its place, and both columns move inwards.
    margin = MARGIN if left and right else INNER_MARGIN
    x = (WIDTH - NODE_WIDTH) / 2 if left and right else margin if right else WIDTH - NODE_WIDTH - margin
    middle = DrawnNode(x, (height - NODE_HEIGHT) / 2, short(name), short(path), "", "here")
    nodes, edges = [middle], []
    for column, (items, x) in enumerate(((left, margin), (right, WIDTH - NODE_WIDTH - margin))):
        top = (height - len(items) * ROW) / 2
        for at, (text, below, target, likely) in enumerate(items):
            y = top + at * ROW + (ROW - NODE_HEIGHT) / 2
            nodes.append(DrawnNode(x, y, short(text), short(below), target, "near" if target else "more"))
            start = (x + NODE_WIDTH, y + NODE_HEIGHT / 2) if column == 0 else (middle.x + NODE_WIDTH, height / 2)
            end = (middle.x, height / 2) if column == 0 else (x, y + NODE_HEIGHT / 2)
            edges.append(DrawnEdge(curve(start, end), likely))
    return Picture(tuple(nodes), tuple(edges), height)


def visible_nodes(found: Sequence[Neighbour]) -> list[tuple[str, str, str, bool]]:
    """(name, path, target, likely) of each node; the last one shows the number of nodes that are not drawn."""
    room = MOST_NODES if len(found) <= MOST_NODES else MOST_NODES - 1
    nodes = [(one.name, f"{one.path}:{one.line}", one.target, one.precision != "exact") for one in found[:room]]
    if len(found) > room:
        nodes.append((f"{len(found) - room} more", "listed below", "", False))
    return nodes


def curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    half = (start[0] + end[0]) / 2
    return f"M{start[0]:.0f} {start[1]:.0f}C{half:.0f} {start[1]:.0f} {half:.0f} {end[1]:.0f} {end[0]:.0f} {end[1]:.0f}"


def short(text: str) -> str:
    """The end of a long path or qualified name, which is its most informative part."""
    return text if len(text) <= LONGEST_NAME else f"…{text[-LONGEST_NAME + 1 :]}"
