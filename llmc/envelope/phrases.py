"""Phrases used in several replies: counts with nouns, notes about freshness."""

from __future__ import annotations

__all__ = ["freshness_notes", "plural"]


def plural(count: int, noun: str) -> str:
    """1 file, 2 files, 3 matches, 4 entries."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def freshness_notes(pending: int, share: float, *, unsure: str = "", scanned: bool = False) -> tuple[str, ...]:
    """`pending` files are not indexed yet, and the first build has reached `share` of the root. `scanned`: the tool
    reads the rest from disk. `unsure` is the reason why changes may have been missed."""
    notes = []
    if share < 1.0:
        notes.append(f"indexing, {share:.0%} done" + (", the rest scanned" if scanned else ""))
    if pending and share >= 1.0:
        notes.append(f"{plural(pending, 'file')} pending")
    if unsure:
        notes.append(f"changes may be missing: {unsure}")
    return tuple(notes)
