"""When will it arrive? The estimate is redone on every scan, and never moves to an earlier day."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta

from tracking.config import Estimate
from tracking.models import Place, Scan

EARTH_RADIUS_KM = 6371.0
WEEKEND = 5


def estimate_arrival(scan: Scan, destination: Place, shown: date | None, settings: Estimate) -> date:
    """The day on which the parcel should arrive.

    `shown` is the day that the customer has already seen; see docs/decisions/0002.
    """
    start = departure(scan.happened_at, settings.cutoff_hour)
    hours = distance_km(scan.place, destination) / settings.speed_kmh if scan.place else 24
    arrival = next_working_day((start + timedelta(hours=hours)).date())
    return max(arrival, shown) if shown else arrival


def departure(reached: datetime, cutoff_hour: int) -> datetime:
    """What reaches the depot after the cutoff leaves on the morning of the next working day."""
    if reached.hour < cutoff_hour:
        return reached
    return datetime.combine(next_working_day(reached.date() + timedelta(days=1)), time(6), reached.tzinfo)


def next_working_day(day: date) -> date:
    while day.weekday() >= WEEKEND:
        day += timedelta(days=1)
    return day


def distance_km(start: Place, end: Place) -> float:
    """Great-circle distance by the haversine formula; the route planner uses the crate `geo` for the same."""
    phi_1, phi_2 = math.radians(start.latitude), math.radians(end.latitude)
    half_phi = (phi_2 - phi_1) / 2
    half_lambda = math.radians(end.longitude - start.longitude) / 2
    chord = math.sin(half_phi) ** 2 + math.cos(phi_1) * math.cos(phi_2) * math.sin(half_lambda) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(chord))
