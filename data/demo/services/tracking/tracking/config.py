"""Settings of the service: the file first, the environment above it."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path

PREFIX = "PARCELO_"


@dataclass(frozen=True)
class Estimate:
    cutoff_hour: int = 17
    speed_kmh: float = 55
    confidence: float = 0.8


@dataclass(frozen=True)
class Webhooks:
    max_attempts: int = 8
    timeout_seconds: float = 5
    signature_ttl_seconds: int = 300


@dataclass(frozen=True)
class Config:
    estimate: Estimate = Estimate()
    webhooks: Webhooks = Webhooks()


def load_config(path: Path) -> Config:
    """Read the file and let variables such as PARCELO_ESTIMATE_SPEED_KMH win over it."""
    table = tomllib.loads(path.read_text())
    estimate = _section(Estimate(), table.get("estimate", {}), "ESTIMATE")
    webhooks = _section(Webhooks(), table.get("webhooks", {}), "WEBHOOKS")
    return Config(estimate, webhooks)


def _section(default, table, name):
    changes = {}
    for field in fields(default):
        text = os.environ.get(f"{PREFIX}{name}_{field.name.upper()}")
        if text is not None:
            changes[field.name] = type(getattr(default, field.name))(text)
        elif field.name in table:
            changes[field.name] = table[field.name]
    return replace(default, **changes)
