"""Geometry of the plots: values become bars, lines and ticks that the templates draw as SVG."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.state.ledger.figures import TimeSlot, ToolStats

__all__ = ["LARGE", "SMALL", "BarChart", "Chart", "savings_chart", "short_number", "tool_chart"]

LARGE, SMALL = (1_120, 250), (420, 190)
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 26
HOUR, DAY = 3_600, 86_400
# Distances between ticks on the time axis, in seconds.
STEPS: Final = (300, 900, 1_800, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY)
TICK_WIDTH: Final = 90
HALF_LABEL: Final = 20  # half the width of a tick's label, which is centred below it
NICE: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """`kind` is a class of the style sheet; `text` is the tooltip."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    label: str
    bars: tuple[Bar, ...]
    values: tuple[Tick, ...]  # on the vertical axis
    times: tuple[Tick, ...]  # on the horizontal axis
    zero: float
    width: int
    height: int
    each: str  # the duration that a bar covers
    left: int = LEFT

    @property
    def right(self) -> int:
        return self.width - RIGHT


@dataclass(frozen=True, slots=True)
class BarChart:
    """A row: shares of the longest row, in percent."""

    tool: str
    served: float
    kept: float
    served_text: str
    kept_text: str


def savings_chart(slots: Sequence[TimeSlot], size: tuple[int, int] = LARGE) -> Chart:
    """Tokens saved above the line, tokens wasted below it, by time."""
    width, height = size
    saved = [max(0, slot.kept_back - slot.fetched) for slot in slots]
    wasted = [slot.overhead + slot.lost for slot in slots]
    step = nice_step(max([1, *saved]) + max([0, *wasted]))
    top = step * max(1, -(-max([1, *saved]) // step))
    bottom = step * -(-max([0, *wasted]) // step)
    scale = (height - TOP - BOTTOM) / (top + bottom)
    zero = TOP + top * scale
    slot_width = (width - LEFT - RIGHT) / max(1, len(slots))
    bars = []
    for at, slot in enumerate(slots):
        if not slot.calls and not wasted[at]:
            continue
        x, wide = LEFT + at * slot_width + slot_width * 0.12, max(1.5, slot_width * 0.76)
        text = f"{clock(slot.at)}: {saved[at]:,} tokens saved, {wasted[at]:,} wasted, {slot.calls:,} calls"
        bars.append(Bar(x, zero - saved[at] * scale, wide, saved[at] * scale, "saved", text))
        bars.append(Bar(x, zero, wide, wasted[at] * scale, "wasted", text))
    levels = [step * number for number in range(int(-bottom // step), int(top // step) + 1)]
    values = tuple(Tick(zero - level * scale, short_number(level).replace("-", "−")) for level in levels)
    label = f"Tokens over time: {sum(saved):,} saved, {sum(wasted):,} wasted"
    return Chart(label, tuple(bars), values, tuple(time_ticks(slots, width)), zero, width, height, slot_length(slots))


def nice_step(span: float) -> float:
    """A round distance between ticks, so that there are about four."""
    rough = max(1.0, span / 4)
    power = 10.0 ** (len(str(int(rough))) - 1)
    return next(factor * power for factor in NICE if factor * power >= rough or factor == NICE[-1])


def time_ticks(slots: Sequence[TimeSlot], width: int) -> Iterator[Tick]:
    """At full hours, or full days for longer spans, in local time."""
    if not slots:
        return
    first = slots[0].at
    length = slots[1].at - first if len(slots) > 1 else HOUR
    last = slots[-1].at + length
    step = next((one for one in STEPS if (last - first) / one <= width / TICK_WIDTH), STEPS[-1])
    offset = time.localtime(first).tm_gmtoff
    at = -(-(first + offset) // step) * step - offset
    form = "%H:%M" if step < DAY else "%d %b"
    while at < last:
        x = LEFT + (width - LEFT - RIGHT) * (at - first) / (last - first)
        if x <= width - HALF_LABEL:
            yield Tick(x, time.strftime(form, time.localtime(at)))
        at += step


def slot_length(slots: Sequence[TimeSlot]) -> str:
    """`30 min`, `1 h`, `1 d`."""
    length = slots[1].at - slots[0].at if len(slots) > 1 else HOUR
    unit, name = (DAY, "d") if length >= DAY else (HOUR, "h") if length >= HOUR else (60, "min")
    return f"{length / unit:.1f}".removesuffix(".0") + f" {name}"


def clock(at: float) -> str:
    return time.strftime("%d %b %H:%M", time.localtime(at))


def tool_chart(tools: Sequence[ToolStats]) -> list[BarChart]:
    """Tokens served and kept back by tool, the longest bar full."""
    longest = max([1, *(one.tokens.content + max(0, one.tokens.kept_back) for one in tools)])
    return [
        BarChart(
            one.tool,
            round(100 * one.tokens.content / longest, 2),
            round(100 * max(0, one.tokens.kept_back) / longest, 2),
            short_number(one.tokens.content),
            short_number(one.tokens.kept_back),
        )
        for one in tools
    ]


def short_number(value: float) -> str:
    """1234 → 1.2k."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:.0f}"
