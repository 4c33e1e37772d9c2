"""A small project that searches are asked of: named files, each with one reason to be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILES", "write"]

FILES = {
    "src/depot/retry.py": '''"""Trying again: delays between attempts at a delivery."""

import random


class RetryPolicy:
    """How often and how long to wait before the next attempt."""

    def __init__(self, attempts: int = 5, base: float = 0.5) -> None:
        self.attempts = attempts
        self.base = base

    def delay(self, attempt: int) -> float:
        """Exponential backoff with jitter."""
        return self.base * 2**attempt * random.random()
''',
    "src/depot/courier.py": '''"""Couriers bring parcels to doors."""

from depot.retry import RetryPolicy


class Courier:
    def __init__(self, name: str) -> None:
        self.name = name
        self.policy = RetryPolicy()

    def deliver(self, parcel: str) -> bool:
        """Ring at the door and hand the parcel over; the retry policy says when to come again."""
        for attempt in range(self.policy.attempts):
            if self.ring(parcel):
                return True
            self.policy.delay(attempt)
        return False

    def ring(self, parcel: str) -> bool:
        return bool(parcel)
''',
    "src/depot/ledger.ts": """// The ledger keeps what each customer owes.
export interface Entry { customer: string; cents: number }

export class Ledger {
  private entries: Entry[] = [];

  book(entry: Entry): void {
    this.entries.push(entry);
  }

  balanceOf(customer: string): number {
    return this.entries.filter((e) => e.customer === customer).reduce((sum, e) => sum + e.cents, 0);
  }
}
""",
    "tests/test_retry.py": """from depot.retry import RetryPolicy


def test_retry_policy_waits_longer_with_each_attempt() -> None:
    policy = RetryPolicy(attempts=3, base=1.0)
    retry = policy
    assert retry.delay(9) >= 0
""",
    "docs/returns.md": """# Returns

A customer may send a parcel back within fourteen days. The depot refunds the postage.

## Labels

Print the return label from the customer page.
""",
    "config/depot.yaml": "depot:\n  opening_hours: 8-18\n  refund_days: 14\n",
}


def write(folder: Path) -> Path:
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder
