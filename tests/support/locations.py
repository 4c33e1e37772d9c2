"""Where the repository, its demo workspace and the helpers of the tests are."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DEMO", "FORMATS", "GOLDEN_LOGS", "REPOSITORY", "SUPPORT", "TESTS"]

SUPPORT = Path(__file__).parent
TESTS = SUPPORT.parent
REPOSITORY = TESTS.parent
DEMO = REPOSITORY / "data" / "demo"
FORMATS = TESTS / "store" / "formats"
GOLDEN_LOGS = TESTS / "envelope" / "golden_logs"
