from datetime import datetime, timedelta

from tracking.models import Scan, Status
from tracking.timeline import current_status, fold_scans

START = datetime(2024, 3, 11, 8)


def scan(status: Status, hours: int) -> Scan:
    return Scan("PX204418803", "northpost", status, START + timedelta(hours=hours))


def test_late_scan_does_not_lead_back():
    steps = fold_scans([scan(Status.OUT_FOR_DELIVERY, 4), scan(Status.AT_DEPOT, 5)])
    assert current_status(steps) is Status.OUT_FOR_DELIVERY


def test_nothing_happens_after_delivery():
    steps = fold_scans([scan(Status.DELIVERED, 4), scan(Status.IN_TRANSIT, 9)])
    assert [step.status for step in steps] == [Status.DELIVERED]
