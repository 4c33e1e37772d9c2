"""From scans to a timeline: sorted by when things happened, told once, never taken back."""

from __future__ import annotations

from collections.abc import Iterable

from tracking.models import Scan, Status, Step

RANK = {status: rank for rank, status in enumerate(Status)}


def fold_scans(scans: Iterable[Scan]) -> list[Step]:
    """The steps that a person is shown.

    Carriers report late and out of order, so a scan that would lead back to an earlier status is left out: whoever saw
    "out for delivery" must not see "at the depot" afterwards.
    """
    steps: list[Step] = []
    for scan in sorted(set(scans), key=lambda scan: scan.happened_at):
        if steps and steps[-1].status.is_final:
            break
        if steps and RANK[scan.status] <= RANK[steps[-1].status] and scan.status is not Status.IN_TRANSIT:
            continue
        steps.append(Step(scan.status, scan.happened_at, scan.place.name if scan.place else ""))
    return steps


def current_status(steps: list[Step]) -> Status:
    return steps[-1].status if steps else Status.ANNOUNCED
