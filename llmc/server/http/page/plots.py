"""Plots of the ledger: SVG, coloured by the style sheet, with each figure as a tooltip."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from llmc.server.http.page.markup import Safe, fill, join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.state.ledger.stats_schema import TimeSlot, ToolStats

__all__ = ["overhead_plot", "served_plot", "tool_plot"]

WIDTH, HEIGHT = 480, 150
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 10, 22
GOAL: Final = 0.01
BAR, GAP = 14, 8
NAMES, TOTALS = 90, 90
DAY: Final = 86_400

FRAME = (
    '<svg class="plot" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
    "<title>{label}</title>{inner}</svg>"
)


def overhead_plot(slots: Sequence[TimeSlot]) -> Safe:
    """Cumulative overhead as a share of content."""
    shares: list[float] = []
    overhead = content = 0
    for one in slots:
        overhead, content = overhead + one.overhead, content + one.content
        shares.append(overhead / content if content else 0.0)
    top = max([GOAL * 1.6, *[share for share, slot in zip(shares, slots, strict=True) if slot.calls]])
    begun = next((at for at, one in enumerate(slots) if one.content), 0)
    points = " ".join(
        f"{x(at, len(slots)):.1f},{y(min(share, top), top):.1f}" for at, share in enumerate(shares) if at >= begun
    )
    goal = fill(
        '<line class="goal" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/><text class="goal" x="{right}" y="{above}" '
        'text-anchor="end">1 %, the goal</text>',
        left=LEFT,
        right=WIDTH - RIGHT,
        y=f"{y(GOAL, top):.1f}",
        above=f"{y(GOAL, top) - 4:.1f}",
    )
    line = fill('<polyline class="overhead" points="{points}"/>', points=points)
    last = f"{shares[-1]:.2%}" if shares else "nothing"
    inner = join([*axis(top, lambda share: f"{share:.1%}"), *times(slots), goal, line])
    return framed(f"Overhead over time, now {last} of content", inner)


def served_plot(slots: Sequence[TimeSlot]) -> Safe:
    """Tokens served, and stacked on top those withheld and not fetched later."""
    heights = [one.content + max(0, one.kept_back - one.fetched) for one in slots]
    top = float(max([1, *heights]))
    bars = join(bar(slot, at, len(slots), top) for at, slot in enumerate(slots) if slot.calls)
    return framed("Tokens served and kept back over time", join([*axis(top, short), *times(slots), bars]))


def bar(slot: TimeSlot, at: int, count: int, top: float) -> Safe:
    kept = max(0, slot.kept_back - slot.fetched)
    width = max(2.0, (WIDTH - LEFT - RIGHT) / count - 1)
    floor, middle, roof = y(0, top), y(slot.content, top), y(slot.content + kept, top)
    words = f"{slot.content:,} served, {kept:,} kept back, {slot.calls:,} calls"
    return fill(
        '<g><title>{words}</title><rect class="served" x="{x}" y="{middle}" width="{width}" height="{served}"/>'
        '<rect class="kept" x="{x}" y="{roof}" width="{width}" height="{kept}"/></g>',
        words=words,
        x=f"{x(at, count) - width / 2:.1f}",
        width=f"{width:.1f}",
        middle=f"{middle:.1f}",
        served=f"{floor - middle:.1f}",
        roof=f"{roof:.1f}",
        kept=f"{middle - roof:.1f}",
    )


def tool_plot(tools: Sequence[ToolStats]) -> Safe:
    top = max([1, *(one.tokens.content + max(0, one.tokens.kept_back) for one in tools)])
    inner = join(tool_bar(one, at, top) for at, one in enumerate(tools))
    return framed("Tokens by tool", inner, len(tools) * (BAR + GAP) + GAP)


def tool_bar(one: ToolStats, at: int, top: int) -> Safe:
    scale = (WIDTH - NAMES - TOTALS) / top
    served, kept = one.tokens.content * scale, max(0, one.tokens.kept_back) * scale
    return fill(
        '<g><title>{words}</title><text x="{name}" y="{text}" text-anchor="end">{tool}</text>'
        '<rect class="served" x="{left}" y="{y}" width="{served}" height="{bar}"/>'
        '<rect class="kept" x="{middle}" y="{y}" width="{kept}" height="{bar}"/>'
        '<text x="{end}" y="{text}">{total}</text></g>',
        words=f"{one.tool}: {one.tokens.content:,} served, {one.tokens.kept_back:,} kept back",
        name=NAMES - 8,
        tool=one.tool[:18],
        left=NAMES,
        middle=f"{NAMES + served:.1f}",
        y=GAP + at * (BAR + GAP),
        text=GAP + at * (BAR + GAP) + BAR - 3,
        served=f"{served:.1f}",
        kept=f"{kept:.1f}",
        bar=BAR,
        end=f"{NAMES + served + kept + 6:.1f}",
        total=short(one.tokens.content) + (f" + {short(one.tokens.kept_back)}" if one.tokens.kept_back else ""),
    )


def framed(label: str, inner: Safe, height: int = HEIGHT) -> Safe:
    return fill(FRAME, width=WIDTH, height=height, label=label, inner=inner)


def axis(top: float, words: Callable[[float], str]) -> Iterator[Safe]:
    for share in (0.0, 0.5, 1.0):
        value = top * share
        yield fill(
            '<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
            '<text x="{edge}" y="{text}" text-anchor="end">{words}</text>',
            left=LEFT,
            right=WIDTH - RIGHT,
            y=f"{y(value, top):.1f}",
            edge=LEFT - 6,
            text=f"{y(value, top) + 4:.1f}",
            words=words(value),
        )


def times(slots: Sequence[TimeSlot]) -> Iterator[Safe]:
    if not slots:
        return
    form = "%H:%M" if slots[-1].at - slots[0].at < DAY else "%d %b"
    ends = {0: "start", len(slots) - 1: "end"} if len(slots) > 1 else {0: "start"}
    for at, anchor in ends.items():
        yield fill(
            '<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>',
            x=f"{x(at, len(slots)):.1f}",
            y=HEIGHT - 6,
            anchor=anchor,
            words=time.strftime(form, time.localtime(slots[at].at)),
        )


def x(at: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (at + 0.5) / max(1, count)


def y(value: float, top: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)


def short(value: float) -> str:
    """1234 → 1.2k."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:.0f}"
