"""The goals that were set before llmc was built, beside the figures of a run.

A missed goal stays in the list; goals that a run did not measure are omitted from its table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.workload import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FRUGAL", "TYPICAL", "Goal", "goals"]

LARGEST_PEER, TYPICAL, FRUGAL = "desktop-commander", "desktop-commander typical", "desktop-commander frugal"
SETS = {"A": "tuned", "A later": "held out until looked at", "A held out": "held out"}


@dataclass(frozen=True, slots=True)
class Goal:
    """`better` says whether more or less is better."""

    question: str
    better: str
    bound: float
    figure: float
    unit: str

    @property
    def met(self) -> bool:
        return self.figure >= self.bound if self.better == "more" else self.figure <= self.bound


def goals(found: dict[str, Any]) -> Iterator[Goal]:
    raw = found["raw"]
    yield from of_definitions({row["server"]: row["fixed"] for row in raw.get("fixed", ()) if "fixed" in row})
    for table, which in SETS.items():
        yield from of_answers(found["workload"].get(table, {}), which)
        yield from of_ratios(found["apart"].get(table, {}).get("others", {}), f"{which}, no text as such")
    for row in raw.get("session", ()):
        if row["stands for"]:
            overhead = row["overhead, % of content"]
            yield Goal(f"definitions and frame in {row['session']}, of content", "less", 1.0, overhead, "%")
    if "ledger" in raw:
        spent = raw["ledger"]["size_ms"] + raw["ledger"]["with_writing_ms"]
        yield Goal("the ledger, for the largest call", "less", 1.0, spent, "ms")


def of_definitions(fixed: dict[str, int]) -> Iterator[Goal]:
    lean = fixed.get("llmc lean", 0)
    peers = {name: tokens for name, tokens in fixed.items() if not name.startswith(OURS)}
    if lean:
        yield Goal("definitions and instructions", "less", 300, lean, "tokens")
    if lean and LARGEST_PEER in peers:
        yield Goal(f"the same, of {LARGEST_PEER}'s", "less", 3, 100 * lean / peers[LARGEST_PEER], "%")
    if lean and peers:
        least = min(peers, key=peers.__getitem__)
        yield Goal(f"the same, of the least peer's ({least})", "less", 50, 100 * lean / peers[least], "%")


def of_answers(actors: dict[str, dict[str, Any]], which: str) -> Iterator[Goal]:
    yield from of_ratios(actors, which)
    if OURS in actors:
        yield Goal(f"answered in the first reply ({which})", "more", 95, 100 * actors[OURS]["in the first reply"], "%")


def of_ratios(actors: dict[str, dict[str, Any]], which: str) -> Iterator[Goal]:
    for name, bound in ((TYPICAL, 25.0), (FRUGAL, 4.0)):
        if "to llmc" in actors.get(name, {}):
            yield Goal(f"tokens against {name} ({which})", "more", bound, actors[name]["to llmc"], "× fewer")
