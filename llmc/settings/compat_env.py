"""Variables that other programs made known and llmc honours: those of a swe-pruner.

They are gentler than llmc's own: an unusable `PRUNER_TIMEOUT_MS` becomes a usable one, with a word about it, and an
empty `PRUNER_URL` is a choice (no endpoint) and not a variable that was unset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["PRUNER_TIMEOUT", "PRUNER_URL", "foreign", "timeout_ms"]

PRUNER_URL = "PRUNER_URL"
PRUNER_TIMEOUT = "PRUNER_TIMEOUT_MS"
USUAL_MS, LOWEST_MS, HIGHEST_MS = 30_000, 100, 300_000


def foreign(env: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """(variable, key, text of its value, what to say) of each that is there."""
    if PRUNER_URL in env:
        yield PRUNER_URL, "envelope.pruner_url", env[PRUNER_URL].strip(), ""
    if PRUNER_TIMEOUT in env:
        usable, said = timeout_ms(env[PRUNER_TIMEOUT])
        yield PRUNER_TIMEOUT, "envelope.pruner_timeout_ms", str(usable), said


def timeout_ms(text: str) -> tuple[int, str]:
    """The milliseconds in a string, clamped to the bounds, and a warning if they were changed."""
    try:
        meant = int(text.strip())
    except ValueError:
        return USUAL_MS, f"is not a whole number; {USUAL_MS} is used"
    usable = max(LOWEST_MS, min(HIGHEST_MS, meant))
    said = "" if usable == meant else f"{meant} is not within {LOWEST_MS} to {HIGHEST_MS}; {usable} is used"
    return usable, said
