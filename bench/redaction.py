"""Do secrets leave, is anything else damaged, and what does it cost?

    python -m bench.redaction [--seed N] [--source DIR] [--show]

Recall counts secrets of which nothing is left, separately for formats of their own and for passwords and fields; damage
counts harmless cases that came back changed. Fair because values are drawn again for each seed and the look-alikes
outnumber what the rules were written against. `--source` measures speed on the files of a folder, warm, one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.redaction_corpus import generic, harmless, known
from llmc.base.text import DecodedText, decode
from llmc.envelope.redact.redactor import redact

if TYPE_CHECKING:
    from bench.redaction_corpus import Case

__all__ = ["damage", "main", "missed", "speed"]


def missed(cases: list[Case]) -> list[Case]:
    """The cases in which a secret, or its revealing half, can still be read."""
    return [case for case in cases if any(left(case, secret) for secret in case.secrets)]


def left(case: Case, secret: str) -> bool:
    shown = redact(case.text, case.path).text
    return secret in shown or (len(secret) > 8 and secret[len(secret) // 2 :] in shown)


def damage(cases: list[Case]) -> list[Case]:
    return [case for case in cases if redact(case.text, case.path).text != case.text]


def speed(folder: Path) -> tuple[float, float]:
    """(MB, MB/s) over every text below the folder, the second time."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    decoded = [(decode(path.read_bytes()), str(path.relative_to(folder))) for path in files]
    texts = [(text.text, name) for text, name in decoded if isinstance(text, DecodedText)]
    size = sum(len(text.encode("utf-8", "replace")) for text, _ in texts) / 1e6
    for _ in range(2):
        began = time.perf_counter()
        for text, name in texts:
            redact(text, name)
        seconds = time.perf_counter() - began
    return size, size / seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--show", action="store_true", help="name what was missed and damaged")
    asked = parser.parse_args()
    for name, cases in (("known formats", known(asked.seed)), ("generic", generic(asked.seed))):
        gone = missed(cases)
        print(f"{name}: {1 - len(gone) / len(cases):.2%} of {len(cases)} recalled")
        show(gone if asked.show else [])
    cases = harmless(asked.seed)
    hurt = damage(cases)
    print(f"look-alikes: {len(hurt) / len(cases):.2%} of {len(cases)} damaged")
    show(hurt if asked.show else [])
    if asked.source:
        size, rate = speed(asked.source)
        print(f"speed: {rate:.1f} MB/s over {size:.1f} MB")
    return 0


def show(cases: list[Case]) -> None:
    for case in cases:
        print(f"  {case.sort} in {case.path}: {redact(case.text, case.path).text!r}")


if __name__ == "__main__":
    sys.exit(main())
