"""Hypothesis without deadlines: machines are shared, and a slow one is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("llmc", deadline=None)
settings.load_profile("llmc")
