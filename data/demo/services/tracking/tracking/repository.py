"""Scans in the database. Nothing is updated: a correction is a new scan."""

from __future__ import annotations

from typing import Protocol

from tracking.models import Scan

INSERT_SCAN = """
INSERT INTO scans (carrier, parcel, status, happened_at, place)
VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (carrier, parcel, status, happened_at) DO NOTHING
"""


class ScanRepository(Protocol):
    def add(self, scan: Scan) -> bool:
        """Store a scan; False if it was there before."""

    def of_parcel(self, parcel: str) -> list[Scan]: ...


class MemoryRepository:
    """For tests and for the demo."""

    def __init__(self) -> None:
        self._scans: dict[tuple, Scan] = {}

    def add(self, scan: Scan) -> bool:
        fresh = scan.key not in self._scans
        self._scans.setdefault(scan.key, scan)
        return fresh

    def of_parcel(self, parcel: str) -> list[Scan]:
        return [scan for scan in self._scans.values() if scan.parcel == parcel]


class PostgresRepository:
    def __init__(self, connection) -> None:
        self._connection = connection

    def add(self, scan: Scan) -> bool:
        place = scan.place.name if scan.place else None
        with self._connection.cursor() as cursor:
            cursor.execute(INSERT_SCAN, (*scan.key, place))
            return cursor.rowcount == 1

    def of_parcel(self, parcel: str) -> list[Scan]:
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT * FROM timeline_scans WHERE parcel = %s", (parcel,))
            return [Scan(*row) for row in cursor.fetchall()]
