"""How often may a caller ask? A token bucket for each caller, refilled over the minute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class TokenBucket:
    per_minute: int
    tokens: float
    refilled_at: float

    def take(self, now: float) -> bool:
        """Take one token; False means status 429."""
        gained = (now - self.refilled_at) * self.per_minute / 60
        self.tokens = min(self.per_minute, self.tokens + gained)
        self.refilled_at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def retry_after(self) -> int:
        """Seconds until one token is there again."""
        return max(1, round((1 - self.tokens) * 60 / self.per_minute))
