"""What does the ledger cost a call?

    python -m bench.ledger [--calls 20000] [--json FILE]

Two prices: `size` and `note`, which are paid in the call's own thread, and the writing, which another thread pays later
and which a call feels only as CPU that is not there. `size` is the worst case, the 2,000 matches at which grep stops.
`weigh` is not extra (a session's figures need it anyway) and is given for comparison; its reply is as large as a budget
lets it be. A flush now and then makes sure that every line was written within the time that is divided.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.reply import Reply
from llmc.envelope.tokens import plain_size, weigh
from llmc.state.connected_sessions import ConnectedSession
from llmc.state.ledger import Ledger, LedgerDatabase, LedgerFilter, figures

__all__ = ["measure"]

LIMIT_MS = 1.0  # the budget of the design


def measure(calls: int = 20_000) -> dict[str, Any]:
    """Milliseconds for a call, and the time of `stats` over all of them."""
    text = "\n".join(f" {number} return estimate(parcel, depot[{number}])" for number in range(120))
    weigh(text)  # the table of tokens is loaded with the first
    started = time.perf_counter()
    for _ in range(100):
        weight = weigh(text, "\n+8 more → habcd", 3 * len(text))
    weighed = (time.perf_counter() - started) / 100
    reply = Reply(text, handle="habcd", weight=weight)
    sized = sizing()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(LedgerDatabase(str(Path(folder, "ledger.db"))))
        session, taken = ConnectedSession("bench"), []
        begun = time.perf_counter()
        for _ in range(calls):
            at = time.perf_counter()
            ledger.note(session, "search", 0.005, reply)
            taken.append(time.perf_counter() - at)
            if len(taken) % 1_000 == 0:
                ledger.flush()
        ledger.flush()
        whole = (time.perf_counter() - begun) / calls
        at = time.perf_counter()
        found = figures(ledger.database, LedgerFilter())
        read = time.perf_counter() - at
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        ledger.close()
    assert found.tokens.calls == calls
    return {
        "calls": calls,
        "size_ms": sized * 1_000,
        "note_ms": statistics.median(taken) * 1_000,
        "note_p99_ms": sorted(taken)[calls * 99 // 100] * 1_000,
        "with_writing_ms": whole * 1_000,
        "weigh_ms": weighed * 1_000,
        "stats_ms": read * 1_000,
        "bytes_per_call": size / calls,
        "limit_ms": LIMIT_MS,
    }


def sizing() -> float:
    """Seconds to add up the largest envelope that a grep with a budget produces."""
    rows = [Item((Row("    return estimate(parcel, depot)", number),)) for number in range(1, 41)]
    envelope = Envelope(
        "grep", "2,000 matches", tuple(Group(f"src/depot/file_{at}.py", tuple(rows)) for at in range(50))
    )
    taken = []
    for _ in range(100):
        at = time.perf_counter()
        plain_size(envelope)
        taken.append(time.perf_counter() - at)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = measure(given.calls)
    for name, value in found.items():
        print(f"{name:16} {value:,.4g}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
