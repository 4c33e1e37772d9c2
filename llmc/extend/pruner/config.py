"""The three environment variables of the pruner contract, read from the client's environment.

Standard library only: `llmc serve` reports invalid values on stderr before anything else is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.settings.overrides import PRUNER_TIMEOUT, PRUNER_URL, USUAL_MS, timeout_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CWD", "DEFAULT_URL", "Config", "config_of"]

CWD = "MCP_PRUNER_CWD"
DEFAULT_URL = "http://localhost:8000/prune"


@dataclass(frozen=True, slots=True)
class Config:
    """An empty `url` switches pruning off. `warnings` are for stderr."""

    url: str
    timeout_ms: int
    cwd: str
    warnings: tuple[str, ...] = ()


def config_of(environ: Mapping[str, str], cwd: str, *, url: str = "", milliseconds: int = USUAL_MS) -> Config:
    """`cwd`, `url` and `milliseconds` apply when a variable is not set; otherwise the defaults of the contract."""
    given = environ.get(PRUNER_TIMEOUT)
    usable, warning = timeout_ms(given) if given is not None else (milliseconds, f"is not set; {milliseconds} is used")
    return Config(
        environ.get(PRUNER_URL, url or DEFAULT_URL),
        usable,
        environ.get(CWD) or cwd,
        (f"{PRUNER_TIMEOUT} {warning}",) if warning else (),
    )
