"""The values of the service. A scan is what a carrier said; a step is what a person is shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class Status(Enum):
    ANNOUNCED = "announced"
    COLLECTED = "collected"
    AT_DEPOT = "at_depot"
    IN_TRANSIT = "in_transit"
    OUT_FOR_DELIVERY = "out_for_delivery"
    DELIVERED = "delivered"
    RETURNED = "returned"

    @property
    def is_final(self) -> bool:
        return self in (Status.DELIVERED, Status.RETURNED)


@dataclass(frozen=True)
class Place:
    name: str
    latitude: float
    longitude: float


@dataclass(frozen=True)
class Scan:
    parcel: str
    carrier: str
    status: Status
    happened_at: datetime
    place: Place | None = None

    @property
    def key(self) -> tuple[str, str, str, datetime]:
        """Two reports of one event have the same key, however often a carrier sends them."""
        return self.carrier, self.parcel, self.status.value, self.happened_at


@dataclass(frozen=True)
class Step:
    status: Status
    at: datetime
    where: str
